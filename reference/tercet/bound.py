"""The bound: the longest beginning of whole characters within so many tokens."""

from tercet_spec.vocabulary import CHARACTERS_PER_TOKEN, WHITE_SPACE, Character

WIDEST: dict[Character, int] = {"code point": 1, "UTF-16 unit": 2, "UTF-8 byte": 4}


def bounded(text: str, max_tokens: int, character: Character) -> str:
    """Cut a text to at most ``max_tokens`` tokens of four characters; keeps ``bound.longest``."""
    limit = max_tokens * CHARACTERS_PER_TOKEN
    if len(text) * WIDEST[character] <= limit:
        return text
    used = 0
    for position, code_point in enumerate(text):
        used += width(code_point, character)
        if used > limit:
            return text[:position]
    return text


def width(code_point: str, character: Character) -> int:
    """Count the characters of one code point."""
    match character:
        case "code point":
            return 1
        case "UTF-16 unit":
            return 1 if code_point <= "\uffff" else 2
        case "UTF-8 byte":
            return 1 + (code_point > "\x7f") + (code_point > "\u07ff") + (code_point > "\uffff")


def is_blank(text: str) -> bool:
    """Tell whether a text is empty or only white space."""
    return not text.strip(WHITE_SPACE)
