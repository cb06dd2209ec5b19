"""The published schema of the wire, made from the types that encode and decode its lines.

Run ``python -m tercet_conformance.wire.schema`` to print it.
"""

import json
import sys
from typing import Any

import msgspec

from tercet_spec import wire

WHOLE = {"type": "integer", "minimum": 0, "maximum": 2**53}
TEXT = {"type": "string"}


def schema() -> dict[str, Any]:
    """Make the schema: a line is one of the suite's or one of the process's."""
    tables = (wire.CALLS, wire.RETURNS, wire.QUESTIONS, wire.ANSWERS)
    kinds = {wire.Failed, *(kind for table in tables for kind in table.values())}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    _, parts = msgspec.json.schema_components(ordered, ref_template="#/$defs/{name}")
    suite = [called(name, parts) for name in wire.CALLS]
    suite += [line({"ask": WHOLE, "answered": ref(kind)}) for kind in wire.ANSWERS.values()]
    suite.append(line({"ask": WHOLE, "failed": ref(wire.Failed)}))
    returned = {kind.__name__: kind for kind in wire.RETURNS.values()}
    process = [line({"id": WHOLE, "returned": {"anyOf": [ref(kind) for kind in returned.values()]}})]
    process.append(line({"id": WHOLE, "refused": {"type": "array", "items": TEXT}}))
    process += [line({"id": WHOLE, field: TEXT}) for field in ("unsupported", "raised")]
    for name, kind in wire.QUESTIONS.items():
        process.append(beside({"ask": WHOLE, "session": WHOLE, "question": {"const": name}}, parts[kind.__name__]))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The wire, version {wire.VERSION}",
        "description": "A line between the suite and a process that holds an implementation; spec/wire.md says more.",
        "anyOf": [{"$ref": "#/$defs/FromSuite"}, {"$ref": "#/$defs/FromProcess"}],
        "$defs": {"FromSuite": {"anyOf": suite}, "FromProcess": {"anyOf": process}, **parts},
    }


def ref(kind: type) -> dict[str, str]:
    """Refer to a value of the wire."""
    return {"$ref": f"#/$defs/{kind.__name__}"}


def line(properties: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a line with these fields; one more is ignored."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def beside(envelope: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a line that has a value's fields beside its own."""
    made = line({**envelope, **part["properties"]})
    return {**made, "required": [*envelope, *part["required"]]}


def called(name: wire.CallName, parts: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a call."""
    session = {} if name == "hello" else {"session": WHOLE}
    return beside({"id": WHOLE, "call": {"const": name}, **session}, parts[wire.CALLS[name].__name__])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
