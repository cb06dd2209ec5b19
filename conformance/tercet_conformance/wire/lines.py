"""Writes and reads the lines of the wire: one JSON object each, in ASCII as we write it, in UTF-8 as we read it."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin

import msgspec
from attrs import fields_dict, has

from tercet_conformance.driver import field_names
from tercet_conformance.garbage import Broken, described, shortened
from tercet_conformance.names import WORDS, near

T = TypeVar("T")
ENCODER = json.JSONEncoder(separators=(",", ":"))
LARGEST = 2**53
"""No number is larger: other languages read it as another."""
ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
LONG_NUMBER = b"0" * len(str(LARGEST))
"""A number that is too large has so many digits at least; they are looked for with each digit read as a zero."""


def line_of(envelope: Mapping[str, object]) -> bytes:
    """Write an envelope, and the values in it, as one line."""
    try:
        line = msgspec.json.encode(envelope)
    except UnicodeEncodeError:  # half a character
        line = b"\xff"
    if not line.isascii():
        line = ENCODER.encode(msgspec.to_builtins(envelope)).encode("ascii")
    return line + b"\n"


def fields_of(value: object) -> dict[str, object]:
    """Turn a value into the fields that stand in an envelope beside its name."""
    return {name: getattr(value, name) for name in field_names(value)}


def object_of(line: bytes) -> dict[str, Any]:
    """Read a line; raises Broken, which says what keeps it from being an object."""
    found = read_fast(line)
    if found is None:
        found = read_strictly(line)
    if not isinstance(found, dict):
        raise Broken(f"{quoted(line)}, which is no JSON object")
    return found


def read_fast(line: bytes) -> object:
    """Read a line that is written as we write one; None where it is not, or may hold what is refused.

    What is the same line when it is written again has no field twice.
    """
    try:
        found: object = msgspec.json.decode(line)
        is_plain = msgspec.json.encode(found) == line[:-1] and LONG_NUMBER not in line.translate(ZEROS)
    except (ValueError, RecursionError):
        return None
    return found if is_plain else None


def read_strictly(line: bytes) -> object:
    """Read a line; raises Broken, which says what keeps it from being JSON that every reader reads alike."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise Broken(f"{quoted(line)}, which is not UTF-8 at byte {error.start + 1}{OTHER_ENCODING}") from error
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        hint = "; stdout is the wire's alone: write everything else to stderr"
        if error.msg == "Extra data":
            hint = f"; after an object comes more at character {error.pos + 1}: end each with a line feed"
        raise Broken(f"{quoted(line)}, which is not JSON ({error.msg} at character {error.pos + 1}){hint}") from error
    except RecursionError as error:
        raise Broken(f"{quoted(line)}, which is nested too deep") from error
    except Ambiguous as error:
        raise Broken(f"{quoted(line)}, {error}") from error


OTHER_ENCODING = "; write UTF-8, or ASCII with escapes, whatever the encoding of the terminal is"


class Ambiguous(ValueError):
    """Raised for what two readers of JSON take for different things."""


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; raises Ambiguous where it has a field twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Ambiguous(f"which has the field {next(n for n in names if names.count(n) > 1)!r} twice")
    return found


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's reader takes."""
    raise Ambiguous(f"which holds {name}; that is no JSON")


def whole(digits: str) -> int:
    """Read a whole number; raises Ambiguous where it is too large."""
    number = int(digits) if len(digits) < 20 else LARGEST + 1
    if abs(number) > LARGEST:
        raise Ambiguous(f"which holds the number {shortened(digits, 40)}, beyond 2^53")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=without_repeats, parse_constant=refuse_constant, parse_int=whole)


def value_of(read: object, kind: type[T], what: str) -> T:
    """Read a value strictly, fields that are not known left aside; raises Broken, which names what is wrong."""
    try:
        return msgspec.convert(read, kind)
    except msgspec.ValidationError as error:
        raise Broken(f"{what} what cannot be read: {error}{hint(str(error), kind)}; it was {written(read)}") from error
    except UnicodeEncodeError as error:
        raise Broken(f"{what} what cannot be read: a text stands where none may; it was {written(read)}") from error


def hint(problem: str, kind: type) -> str:
    """Say which words may stand where another stands in a value of a kind."""
    found = re.search(r"^Invalid enum value '(.*)' - at `\$.*?(\w+)(\[[\d.]+\])?`$", problem, re.DOTALL)
    words = words_of(kind, found[2]) if found else ()
    return f"; {near(found[1], words)}" if found and words else ""


def words_of(kind: type, field: str) -> tuple[str, ...]:
    """The words that may stand in a field of a value, or of one within it."""
    own = getattr(fields_dict(kind).get(field), "type", None) if has(kind) else None
    return get_args(own) if get_origin(own) is Literal else WORDS.get(field, ())


def written(value: object) -> str:
    """Write what was read as it was written, shortened."""
    return shortened(json.dumps(value), 300)


def quoted(line: bytes) -> str:
    """Show a line, shortened."""
    return described(line.decode(errors="backslashreplace").rstrip("\n"))
