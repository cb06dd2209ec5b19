"""Characters, tokens of a text, and the longest beginning within a bound.

An implementation declares its character: a code point, a UTF-16 unit or a UTF-8 byte. Four of
them make a token, always rounded up.
"""

from tercet_spec.vocabulary import CHARACTERS_PER_TOKEN, WHITE_SPACE, Character, Message, TokenCounter


def length(text: str, character: Character) -> int:
    """Count the characters of a text; half a character counts as its encoding would be long."""
    match character:
        case "code point":
            return len(text)
        case "UTF-16 unit":
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case "UTF-8 byte":
            return len(text.encode("utf-8", "surrogatepass"))


def tokens(text: str, character: Character) -> int:
    """Count the tokens of a text as the bound does: four characters a token, rounded up."""
    return -(-length(text, character) // CHARACTERS_PER_TOKEN)


def bounded(text: str, max_tokens: int, character: Character) -> str:
    """Return the longest beginning of whole characters that has at most ``max_tokens`` tokens, empty where none has."""
    beginnings = (text[:end] for end in range(len(text), -1, -1))
    return next((beginning for beginning in beginnings if tokens(beginning, character) <= max_tokens), "")


def is_blank(text: str) -> bool:
    """Tell whether a text is empty or only white space."""
    return not text.strip(WHITE_SPACE)


def trimmings(text: str) -> tuple[str, ...]:
    """Return the text with and without its outer white space, on either side or both."""
    stripped = (text, text.lstrip(WHITE_SPACE), text.rstrip(WHITE_SPACE), text.strip(WHITE_SPACE))
    return tuple(dict.fromkeys(stripped))


def is_half(character: str) -> bool:
    """Tell whether a code point is half a character: an unpaired surrogate."""
    return "\ud800" <= character <= "\udfff"


def size(message: Message, counter: TokenCounter, character: Character) -> int:
    """Count the tokens of one message as a configuration's tokenCounter does."""
    texts = (message.content, *(part for call in message.calls for part in (call.name, call.arguments)))
    characters = sum(length(text, character) for text in texts)
    return counter.base + -(-characters // counter.divisor)
