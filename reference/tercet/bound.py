"""The bound: the longest beginning of whole characters within so many tokens."""

from collections.abc import Sequence

from tercet_spec.vocabulary import CHARACTERS_PER_TOKEN, WHITE_SPACE, Character

WIDEST: dict[Character, int] = {"code point": 1, "UTF-16 unit": 2, "UTF-8 byte": 4}


def bounded(text: str, max_tokens: int, character: Character) -> str:
    """Cut a text to at most ``max_tokens`` tokens of four characters; keeps ``bound.longest``."""
    return beginning(text, max_tokens * CHARACTERS_PER_TOKEN, character)


def bounded_together(texts: Sequence[str], max_tokens: int, character: Character) -> Sequence[str]:
    """Cut texts to at most so many tokens of four characters in all: behind the first that is cut, nothing is left."""
    limit = max_tokens * CHARACTERS_PER_TOKEN
    if sum(map(len, texts)) * WIDEST[character] <= limit:
        return texts
    kept = []
    for text in texts:
        kept.append(beginning(text, limit, character))
        limit -= length(text, character)
    return kept


def beginning(text: str, limit: int, character: Character) -> str:
    """Find the longest beginning of at most ``limit`` characters that ends with a whole code point."""
    if len(text) * WIDEST[character] <= limit:
        return text
    used = 0
    for position, code_point in enumerate(text):
        used += width(code_point, character)
        if used > limit:
            return text[:position]
    return text


def length(text: str, character: Character) -> int:
    """Count the characters of a text."""
    if text.isascii():
        return len(text)
    return sum(width(code_point, character) for code_point in text)


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
