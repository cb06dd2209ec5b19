"""What init writes can be driven as it is."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tercet_conformance import cli
from tercet_conformance.skeletons import SKELETONS, Language

NEEDED = {"js": "node", "java": "java", "python": "python3"}


@pytest.mark.parametrize("language", SKELETONS)
def test_a_skeleton_passes_its_own_smoke(
    language: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(NEEDED[language]) is None:
        pytest.skip(f"{NEEDED[language]} is not installed")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init", "--language", language, "mine"]) == 0
    out = capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.syspath_prepend(".")
    (command,) = re.findall(r"next: cd mine && tercet (.*)", out)
    assert f"tercet {command}" in Path("README.md").read_text()
    assert cli.run(shlex.split(command)) == 0
    out = capsys.readouterr().out
    assert "it can be driven" in out
    assert "  ok            asks the compressor past the limit" in out


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "summarizer.js").write_text("mine")
    assert cli.run(["init", "--language", "js", str(tmp_path)]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "summarizer.js is there already, and nothing was written; name another folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["summarizer.js"]


@pytest.mark.parametrize(
    ("arguments", "problem"), [([], "--language"), (["--language", "cobol"], "'cobol' is not one of")]
)
def test_wrong_usage_is_said(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", *arguments]) == 2
    assert problem in capsys.readouterr().err
