"""The wheel holds the three packages and nothing else, and works where only attrs is installed."""

import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"spec": "tercet_spec", "reference": "tercet", "conformance": "tercet_conformance"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build", reason="build is not installed")
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def beside(name: str) -> Path:
    """Find the file or folder of an installed package."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin)
    return origin.parent if origin.name == "__init__.py" else origin


def only(folder: Path, *names: str) -> Path:
    """Make a folder of these installed packages alone."""
    folder.mkdir()
    for name in names:
        source = beside(name)
        (folder / source.name).symlink_to(source)
    return folder


def run(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Run code with nothing to import from but the standard library and these folders."""
    program = f"import sys; sys.path += {[str(path) for path in paths]!r}\n{code}"
    return subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)


def command(*arguments: str) -> str:
    return f"sys.argv = {['tercet', *arguments]!r}\nfrom tercet_conformance.command import main\nsys.exit(main())"


def test_it_holds_the_three_packages_with_their_types_and_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    version = wheel.name.split("-")[1]
    assert {name.split("/")[0] for name in names} == {*PACKAGES.values(), f"tercet-{version}.dist-info"}
    for root, package in PACKAGES.items():
        files = (path.relative_to(ROOT / root) for path in (ROOT / root / package).rglob("*") if path.is_file())
        kept = {
            file
            for file in files
            if not any(part.startswith((".", "__pycache__", "node_modules", "package-lock")) for part in file.parts)
        }
        assert {str(file) for file in kept} <= names
        assert f"{package}/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_licence_and_the_command_come_with_it(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    information = f"tercet-{wheel.name.split('-')[1]}.dist-info"
    assert f"{information}/licenses/LICENSE" in archive.namelist()
    assert "tercet = " in archive.read(f"{information}/entry_points.txt").decode()


def test_the_reference_and_the_spec_need_attrs_alone(installed: Path, tmp_path: Path) -> None:
    attrs = only(tmp_path / "attrs", "attr", "attrs")
    done = run("import tercet, tercet_spec.rules; print(len(tercet_spec.rules.RULES))", installed, attrs)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def test_the_command_says_what_to_install_where_its_extra_is_missing(installed: Path, tmp_path: Path) -> None:
    attrs = only(tmp_path / "attrs", "attr", "attrs")
    done = run(command("explain", "cut.reaches"), installed, attrs)
    assert done.returncode == 2
    assert "pip install 'tercet[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def cli(tmp_path: Path) -> Path:
    """What the extra ``cli`` installs: neither Hypothesis nor pytest."""
    names = ("attr", "attrs", "click", "rich", "msgspec", "pygments", "markdown_it", "mdurl")
    return only(tmp_path / "cli", *names)


def test_a_rule_is_explained_from_the_installed_wheel(installed: Path, cli: Path) -> None:
    done = run(command("explain", "cut.reaches"), installed, cli)
    assert done.returncode == 0, done.stderr
    assert "the latest usable one" in done.stdout


def test_a_line_replays_without_hypothesis(installed: Path, cli: Path) -> None:
    done = run(command("replay", "limit 5 keep 3: u a(x) a(y) t(x) t(y) u"), installed, cli)
    assert done.returncode == 0, done.stderr


def test_a_check_without_hypothesis_says_what_to_install(installed: Path, cli: Path) -> None:
    done = run(command("check"), installed, cli)
    assert done.returncode == 2
    assert "pip install 'tercet[check]'" in done.stderr
    assert "Traceback" not in done.stderr
