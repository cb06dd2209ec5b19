"""What ``import tercet`` loads, and what it costs."""

import subprocess
import sys
from pathlib import Path

import attrs

ROOT = Path(__file__).parent.parent
ROOTS = [str(ROOT / root) for root in ("spec", "reference", "conformance")]
LISTS = (
    "import sys; sys.path[:0] = {roots!r}; before = set(sys.modules); import tercet; print(*set(sys.modules) - before)"
)


def loaded() -> set[str]:
    """Import it in a new interpreter that sees nothing but the three packages and what is installed."""
    program = LISTS.format(roots=[*ROOTS, str(Path(attrs.__file__).parent.parent)])
    return set(
        subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_nothing_but_attrs_the_vocabulary_and_the_standard_library_is_loaded() -> None:
    modules = loaded()
    assert "tercet.plan" in modules
    strange = {name for name in modules if name.partition(".")[0] not in {*sys.stdlib_module_names, "attr", "attrs"}}
    assert {name for name in strange if name.partition(".")[0] != "tercet"} == {"tercet_spec", "tercet_spec.vocabulary"}
    assert not {name for name in strange if "integrations" in name}


def test_no_dear_module_of_the_standard_library_is_loaded() -> None:
    assert not loaded() & {"asyncio", "dataclasses", "json", "pathlib", "random", "socket", "subprocess", "unittest"}
