"""The words that the rules speak in, as frozen values.

Nothing here checks a value against the rules: a configuration that must be refused, or a
history that no provider accepts, can be said in these words too.
"""

from typing import Literal, get_args

from attrs import frozen

Role = Literal["system", "user", "assistant", "tool"]

CHARACTERS_PER_TOKEN = 4
"""The bound's measure: four characters a token, rounded up."""
LEAST_MAX_SUMMARY_TOKENS = 32
"""The smallest bound that a configuration may set, in tokens."""
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""The code points with the Unicode property White_Space."""


@frozen
class ToolCall:
    """A call that an assistant message carries.

    ``id`` may be empty or missing (``None``): missing equals missing, and is not the empty id.
    """

    id: str | None
    name: str = "tool"
    arguments: str = "{}"


@frozen
class Message:
    """One message of a thread.

    ``answers`` holds the ids of the calls that a tool message answers: one, or several where a
    form packs several results into one message. ``id`` is the stored id, unique in a history;
    a message that is not stored has none.
    """

    role: Role
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: tuple[str | None, ...] = ()
    id: str | None = None

    def equals(self, other: "Message") -> bool:
        """Tell whether both are the same message, whatever ids they are stored under."""
        return (self.role, self.content, self.calls, self.answers) == (
            other.role,
            other.content,
            other.calls,
            other.answers,
        )

    def stored_under(self, stored_id: str) -> "Message":
        """Make the message that this one is when it is stored under an id."""
        return Message(self.role, self.content, self.calls, self.answers, stored_id)


@frozen
class PendingCall:
    """A call that the host still waits for, named by its message's stored id and its place there."""

    message: str
    place: int = 0


@frozen
class Note:
    """A message that another middleware puts into a request and nobody stores.

    It follows the message stored under ``after``, or stands before the first where that is ``None``.
    """

    after: str | None
    message: Message


@frozen
class Summary:
    """A summary's text and the stored id of the last message that it covers."""

    text: str
    through: str


@frozen
class Trigger:
    """The size that a request may have before summarization fires, in messages or in tokens."""

    kind: str
    limit: int


@frozen
class TokenCounter:
    """A token count that any language writes in two lines: base + ceil(characters / divisor).

    The characters are those of a message's content and of its calls' names and arguments. A
    request's count is the sum over its messages.
    """

    base: int = 0
    divisor: int = 4


@frozen
class Configuration:
    """How summarization is configured, as data; it may be one that must be refused.

    ``beside`` names what else manages this thread's context: ``"window"``, a pruning context
    window, or ``"summarizer"``, a second summarizer on the same key.
    """

    trigger: Trigger
    keep_recent: int
    max_summary_tokens: int = 1000
    token_counter: TokenCounter = TokenCounter()
    beside: tuple[str, ...] = ()


ThreadCapability = Literal[
    "message-trigger",
    "token-trigger",
    "bound",
    "system",
    "summary-shown",
    "exact-input",
    "missing-ids",
    "notes",
    "pending",
    "model-step",
    "turns",
    "attempts",
    "suspend",
    "configure",
    "checkpoint",
    "edit",
    "restores-key",
    "usage",
    "refuses",
    "beside",
    "warns",
]
LoopCapability = Literal[
    "hooks",
    "writes",
    "sections",
    "tools",
    "input-blocks",
    "output-blocks",
    "suspends",
    "approvals",
    "questions",
]
Capability = Literal[ThreadCapability, LoopCapability]
ALL_CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))
LOOP_CAPABILITIES: frozenset[Capability] = frozenset(get_args(LoopCapability))
Character = Literal["code point", "UTF-16 unit", "UTF-8 byte"]


@frozen
class Description:
    """What an implementation says of itself before anything is asked of it.

    ``before`` and ``after`` stand around the summary's text in the summary message.
    ``failed_compressor`` says what a step does whose compressor failed: it ``"fails"``, or it
    ``"sends"`` the request as measured. ``parts`` says whether a span may go to the compressor
    in consecutive parts. ``sets_aside`` says whether a stored summary does not apply while a result
    after it answers a call that it covers.
    """

    name: str
    version: str
    language: str = "Python"
    capabilities: frozenset[Capability] = frozenset()
    character: Character = "code point"
    before: str = ""
    after: str = ""
    failed_compressor: Literal["fails", "sends"] = "fails"
    parts: bool = False
    sets_aside: bool = False


@frozen
class Entry:
    """A key of a thread's state and the value under it."""

    key: str
    value: str


Update = tuple[Entry, ...]
"""What a hook writes into a thread's state; also what the state holds."""


@frozen
class State:
    """What an implementation shows of a thread between two operations; ``usage`` counts tokens.

    ``entries`` are the thread's state by key, without the key of summarization, which ``summary`` shows.
    """

    history: tuple[Message, ...] = ()
    summary: Summary | None = None
    usage: int = 0
    warnings: tuple[str, ...] = ()
    entries: Update = ()
