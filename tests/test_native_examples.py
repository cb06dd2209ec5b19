"""The examples in JavaScript and Java keep durable, the former keeps hooks too; each of their twins has one fault."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import Any, cast

import pytest

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("spec", "reference", "conformance")),
}
ADAPTERS = ROOT / "conformance" / "tercet_conformance" / "adapters"
JAVASCRIPT = ("node", str(ADAPTERS / "javascript" / "adapter.js"))
JAVA = ("java", str(ADAPTERS / "java" / "Summarizer.java"))
IMPATIENT = (
    *(
        sys.executable,
        "-c",
        "import os, sys; [os.set_blocking(end, False) for end in (0, 1)]; os.execvp('node', ['node', *sys.argv[1:]])",
    ),
    *JAVASCRIPT[1:],
)
"""Its pipes say that they are not ready, where they would wait: so Node sets those that it has made streams of."""
EXAMPLES = pytest.mark.parametrize("command", [JAVASCRIPT, JAVA], ids=["javascript", "java"])
TWINS = pytest.mark.parametrize(
    ("command", "rule"),
    [
        (("node", str(ADAPTERS / "javascript" / "wrong.js")), "trigger.strictly-past"),
        (("node", str(ADAPTERS / "javascript" / "wrong-loop.js")), "hooks.tools-offered"),
        ((*JAVA, "wrong"), "cut.pairs"),
    ],
    ids=["javascript", "a loop in javascript", "java"],
)
TEXTS = ('é€😀\u2028\x85 \x7f"\\/\t' * 20_000, "half a character: \ud83d, and the other \ude00", "")


@pytest.fixture(autouse=True)
def folder(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = "node" if command is IMPATIENT else command[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tercet_conformance", "check", "--budget", "quick", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


@EXAMPLES
def test_an_example_keeps_durable_and_hooks_where_it_has_a_loop(command: tuple[str, ...]) -> None:
    done = check("--profile", "durable", "--", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "profile kept: durable" in done.stdout
    assert ("profile hooks, beside it: kept" in done.stdout) == (command is JAVASCRIPT)


@TWINS
def test_a_twin_breaks_one_rule(command: tuple[str, ...], rule: str, folder: Path) -> None:
    done = check("--report", "report.json", "--", *command)
    assert done.returncode == 1, done.stdout + done.stderr
    rules = json.loads((folder / "report.json").read_text())["rules"]
    of_loops = {each["id"] for each in rules if each["id"].startswith("hooks.")}
    unasked = dict.fromkeys(of_loops, "not applicable") if command[0] == "java" else {}
    assert {each["id"]: each["verdict"] for each in rules if each["verdict"] != "pass"} == {rule: "fail", **unasked}


class Conversation:
    """Lines written by hand: UTF-8 that is not escaped, in pieces that divide characters."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.calls = 0

    def call(self, name: str, **fields: object) -> dict[str, Any]:
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.calls += 1
        called = {"id": self.calls, "call": name, "session": 1, **fields}
        line = json.dumps(called, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
        for at in range(0, len(line), 30_011):
            self.popen.stdin.write(line[at : at + 30_011])
            self.popen.stdin.flush()
        select([self.popen.stdout], [], [], 5)
        time.sleep(0.1)  # more than a pipe holds may come
        return cast("dict[str, Any]", json.loads(self.popen.stdout.readline()))

    def end(self) -> int:
        rest, _ = self.popen.communicate(timeout=5)
        assert rest == b""
        return self.popen.returncode


@pytest.fixture
def conversation(command: tuple[str, ...], folder: Path) -> Iterator[Conversation]:
    conversation = Conversation(command)
    yield conversation
    conversation.popen.kill()
    conversation.popen.communicate()


@pytest.mark.parametrize("command", [JAVASCRIPT, JAVA, IMPATIENT], ids=["javascript", "java", "impatient"])
def test_texts_come_back_as_they_went(conversation: Conversation) -> None:
    conversation.call("hello", wire=1)
    configuration = {
        "trigger": {"kind": "messages", "limit": 9},
        "keep_recent": 2,
        "max_summary_tokens": 32,
        "token_counter": {"base": 0, "divisor": 4},
        "beside": [],
    }
    conversation.call("open", configuration=configuration)
    for text in TEXTS:
        state = conversation.call("append", messages=[{"role": "user", "content": text}])["returned"]["state"]
        assert [message["content"] for message in state["history"]["add"]] == [text]
    assert conversation.end() == 0


@EXAMPLES
def test_an_error_is_told_and_the_next_call_is_answered(conversation: Conversation) -> None:
    assert "raised" in conversation.call("no such call")
    assert conversation.call("hello", wire=1)["returned"]["wire"] == 1
    assert conversation.end() == 0
