"""An implementation is found by its name; where it is not, the message says what to do."""

import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tercet_conformance import loading
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.loading import LoadingError, load
from tercet_spec.vocabulary import Description

GOOD = Description("mine", "1", capabilities=frozenset({"message-trigger"}))
ADAPTER = """
from tercet_conformance.adapters.reference import Reference

class Mine(Reference):
    pass

class Nothing:
    pass

class Half:
    def describe(self):
        return None
    def open(self, configuration, host):
        return None

class Nested:
    factory = Mine

def failing():
    raise RuntimeError("no licence")

def leaving():
    raise SystemExit(3)

async def waiting():
    return Mine()

THREE = 3
"""


@pytest.fixture(autouse=True)
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_for_loading.py").write_text(ADAPTER)
    (tmp_path / "broken_for_loading.py").write_text("import nonesuch_library")
    (tmp_path / "leaving_for_loading.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_bundled_name_and_a_factory_of_the_folder_are_found() -> None:
    assert load("reference") == Reference()
    assert load("mine_for_loading:Mine").describe() == Reference().describe()
    assert load("mine_for_loading:Nested.factory").describe() == Reference().describe()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refrence", "'refrence' is neither a bundled name nor module:factory; did you mean reference?"),
        ("", "there are: reference, langchain"),
        ("mine_for_loading", "named by its module and what makes it"),
        ("mine_for_loading:", "neither a bundled name nor module:factory"),
        (
            "nonesuch_module:Mine",
            "cannot import nonesuch_module: ModuleNotFoundError: No module named 'nonesuch_module'; it was looked",
        ),
        ("mine_for_loading.py:Mine", "; a module is named as it is imported: mine_for_loading"),
        ("./src/mine_for_loading.py:Mine", "; a module is named as it is imported: src.mine_for_loading"),
        ("mine_for_loading:waiting", "returned a coroutine; mine_for_loading:waiting() is called synchronously"),
        ("nonesuch", "langchain-js, deepagents-js. Your own is named"),
        ("broken_for_loading:Mine", "No module named 'nonesuch_library'"),
        ("leaving_for_loading:Mine", "cannot import leaving_for_loading: SystemExit: 3"),
        ("mine_for_loading:Mien", "has no 'Mien'; did you mean Mine?"),
        ("mine_for_loading:THREE", "is 3, which cannot be called"),
        ("mine_for_loading:failing", "mine_for_loading:failing() raised RuntimeError: no licence"),
        ("mine_for_loading:leaving", "raised SystemExit: 3"),
        ("mine_for_loading:Nothing", "returned Nothing, which has no describe and no open"),
        ("mine_for_loading:Half", "describe() of mine_for_loading:Half returned None; it returns a Description"),
    ],
)
def test_a_name_that_stands_for_nothing_is_explained(name: str, said: str) -> None:
    with pytest.raises(LoadingError) as refused:
        load(name)
    assert said in str(refused.value)


def test_a_bundled_adapter_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tercet_conformance.adapters.langchain", None)
    with pytest.raises(LoadingError, match=r"pip install 'tercet\[check,langchain\]'"):
        load("langchain")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", None, "name=None; it is a text"),
        ("before", 3, "before=3; it is a text"),
        ("capabilities", {"bound"}, "they are a frozenset"),
        (
            "capabilities",
            frozenset({"message-triger"}),
            "'message-triger'; did you mean message-trigger",
        ),
        ("capabilities", frozenset({"bound"}), "neither the capability message-trigger nor token-trigger"),
        ("character", "byte", "character='byte'; it is one of code point, UTF-16 unit, UTF-8 byte"),
        ("parts", None, "parts=None; it is True or False"),
        ("failed_compressor", "retries", "failed_compressor='retries'"),
    ],
)
def test_a_description_is_looked_at_before_anything_is_run(field: str, value: object, said: str) -> None:
    change: dict[str, Any] = {field: value}
    problem = loading.description_problem(evolve(GOOD, **change))
    assert problem is not None
    assert said in problem
    assert loading.description_problem(GOOD) is None


def test_a_describe_that_raises_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> Description:
        raise RuntimeError("offline")

    monkeypatch.setattr(Reference, "describe", fail)
    with pytest.raises(LoadingError, match=r"describe\(\) of reference raised RuntimeError: offline"):
        load("reference")


class Whole(Reference):
    """The reference, with another road that cannot be had."""

    def whole_road(self) -> object:
        raise RuntimeError("no store")


class Nowhere(Reference):
    def whole_road(self) -> object:
        return 3


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("Whole", "whole_road() of test_loading:Whole raised RuntimeError: no store"),
        ("Nowhere", "whole_road() of test_loading:Nowhere returned int, which has no describe and no open"),
    ],
)
def test_the_whole_road_is_looked_at_too(factory: str, said: str) -> None:
    with pytest.raises(LoadingError) as refused:
        load(f"test_loading:{factory}")
    assert said in str(refused.value)


def test_an_interrupt_while_loading_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(_: object) -> Description:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reference, "describe", press)
    with pytest.raises(KeyboardInterrupt):
        load("reference")
