"""Tools whose arguments a JSON Schema describes. Needs ``jsonschema``."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from attrs import field, frozen
from jsonschema import SchemaError, ValidationError  # type: ignore[import-untyped]
from jsonschema.validators import validator_for  # type: ignore[import-untyped]
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from tercet.errors import ConfigurationRefused
from tercet.tools import Tool


def schema_tool(name: str, schema: Mapping[str, Any] | bool) -> Tool:
    """Make a tool whose calls' arguments must be JSON that a schema allows; nothing is fetched for it.

    The schema's ``$schema`` says which draft it is of, else the latest. Raises ConfigurationRefused
    for a schema that is none.
    """
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        problem = f"the schema of {name!r} is wrong at {error.json_path}: {error.message}"
        raise ConfigurationRefused((problem,)) from error
    return Tool(name, Problems(kind(schema, registry=REGISTRY)))


@frozen
class Problems:
    """Says what is wrong with the text of a call's arguments, by a validator of jsonschema."""

    validator: Any = field(repr=False)

    def __call__(self, arguments: str) -> tuple[str, ...]:
        """List what is wrong: where, and what is asked for there; that it is no JSON, where it is none."""
        try:
            value = json.loads(arguments, parse_constant=no_constant)
            errors = sorted(self.validator.iter_errors(value), key=lambda error: (error.json_path, error.message))
        except RecursionError:
            return ("they are nested too deep; write flatter ones",)
        except ValueError as error:
            return (f"they are no JSON, {error}; write one JSON text, such as {{}}",)
        return tuple(map(said, errors))


def no_constant(name: str) -> NoReturn:
    """Refuse what Python reads as a number and JSON has no word for."""
    raise ValueError(f"{name} is no JSON number")


def said(error: ValidationError) -> str:
    """Say where arguments break a schema, and how."""
    where = "" if error.json_path == "$" else f"{error.json_path.removeprefix('$').removeprefix('.')}: "
    return f"{where}{error.message}"
