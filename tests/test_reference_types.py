"""What is generic over the message type is generic to a type checker too."""

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api", reason="mypy is not installed")
ROOT = Path(__file__).parent.parent
TYPED = ROOT / "tests" / "typing" / "generic.py"


def check(path: Path, cache: Path) -> tuple[str, int]:
    report, errors, status = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache), "--no-error-summary", str(path)]
    )
    return report + errors, status


def test_right_uses_have_their_types_and_wrong_ones_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert check(TYPED, tmp_path) == ("", 0)
    wrong = tmp_path / "wrong.py"
    lines = TYPED.read_text(encoding="utf-8").splitlines()
    wrong.write_text("\n".join(line.partition("  # type: ignore")[0] for line in lines), encoding="utf-8")
    report, status = check(wrong, tmp_path)
    assert status == 1
    found = {int(line.split(":")[1]) for line in report.splitlines() if ": error: " in line}
    assert found == {number for number, line in enumerate(lines, 1) if "# type: ignore" in line}
