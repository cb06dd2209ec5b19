"""Mutants of a module's source, and running something where one of them stands in the original's place.

mutmut's operators are used, all of them: they change arguments, assignments, strings, cases and
operators. Of Cosmic Ray's those are that change what mutmut leaves: conditions, comparisons, numbers
and loops. What no program does otherwise for it is left alone: annotations, imports, decorators,
docstrings, the words of errors and violations, and what is said of a value for others to read.
"""

import ast
import difflib
import importlib
import os
import pickle
import re
import resource
import select
import signal
import sys
import tomllib
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Any

import libcst
from attrs import frozen
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider
from mutmut.mutation.mutators import mutation_operators

CONDITIONS = re.compile("AddNot|NumberReplacer|ZeroIteration|ExceptionReplacer|ReplaceComparison(?!.*_Is(Not)?$)")
"""Cosmic Ray's operators that are used. Identity in the place of equality is the interpreter's affair."""
sys.path.append(str(Path(__file__).parents[1]))
RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = "# Mutation testing\n"
SAID = ("repr", "eq", "statement", "why", "level", "profile", "origin")
"""Arguments that say something of a value, for others to read."""
MEMORY = 4 * 2**30
"""So much may a mutant take."""


@frozen
class Mutant:
    """A module's source with one change: ``line`` is the first that differs, ``was`` and ``now`` what differs there."""

    module: str
    line: int
    tool: str
    operator: str
    was: str
    now: str
    source: str

    @property
    def name(self) -> str:
        """The change, in a line."""
        return f"{self.module}:{self.line}: {self.was} -> {self.now}"


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Make every mutant of a module, each once, in the order of its lines."""
    told = {meaning(source)}
    mutants = []
    for tool, make in (("mutmut", by_mutmut), ("cosmic-ray", by_cosmic_ray)):
        for operator, mutated in make(source):
            try:
                says = meaning(mutated)
            except SyntaxError:
                continue
            if says in told:
                continue
            told.add(says)
            line, was, now = change(source, mutated)
            mutants.append(Mutant(module, line, tool, operator, was, now, mutated))
    return sorted(mutants, key=lambda mutant: (mutant.line, mutant.tool, mutant.operator, mutant.now))


def by_mutmut(source: str) -> Iterator[tuple[str, str]]:
    """Apply mutmut's operators wherever they can be."""
    module = libcst.parse_module(source)
    made = [
        (operator.__name__.removeprefix("operator_"), node, new)
        for node in nodes(module)
        for kind, operator in mutation_operators
        if isinstance(node, kind)
        for new in operator(node)
    ]
    for operator, node, new in made:
        changed: Any = module.deep_replace(node, new)
        yield operator, changed.code


def nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    """Give a node and all that it holds."""
    yield node
    for child in node.children:
        yield from nodes(child)


def by_cosmic_ray(source: str) -> Iterator[tuple[str, str]]:
    """Apply those of Cosmic Ray's operators that mutmut has none like."""
    operators = OperatorProvider()
    for name in operators:
        if not CONDITIONS.match(name):
            continue
        operator, occurrence = operators[name], 0
        while (mutated := mutate_code(source, operator(), occurrence)) is not None:
            yield name, mutated
            occurrence += 1


class Silenced(ast.NodeTransformer):
    """Takes out of a module what no program does otherwise for it."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns, node.decorator_list = None, []
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if names_a_type(node) else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Expr(ast.Constant(None)) if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise(node.exc.func) if isinstance(node.exc, ast.Call) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) == "Violation":
            return node.func
        node.keywords = [keyword for keyword in node.keywords if keyword.arg not in SAID]
        return self.generic_visit(node)


def names_a_type(node: ast.Assign) -> bool:
    """Tell whether an assignment is for a type checker: to a name as types have them."""
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    return all(name == name[0].upper() + name[1:].lower() for name in names) and len(names) == len(node.targets)


def meaning(source: str) -> str:
    """Write down what of a source can make a difference."""
    return ast.dump(Silenced().visit(ast.parse(source)))


def change(before: str, after: str) -> tuple[int, str, str]:
    """Find what two sources differ in: the first line, what was there, what is there now."""
    was, now = before.splitlines(), after.splitlines()
    matched = difflib.SequenceMatcher(None, was, now, autojunk=False)
    changes = [each for each in matched.get_opcodes() if each[0] != "equal"]
    first, last = changes[0], changes[-1]
    before, after = (" ".join(map(str.strip, part)) for part in (was[first[1] : last[2]], now[first[3] : last[4]]))
    return first[1] + 1, before, after


def isolated(work: Callable[[], Any], seconds: float, otherwise: Any) -> Any:
    """Return what is done in a process of its own; something else where it takes too long or ends by itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            sys.dont_write_bytecode = True
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        is_done = select.select([pipe], [], [], seconds)[0]
        if not is_done:
            os.kill(child, signal.SIGKILL)
        told = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(told) if told else otherwise


@contextmanager
def copied(package: Path) -> Iterator[Path]:
    """Copy a package to a temporary directory, which is given."""
    with TemporaryDirectory() as folder:
        copytree(package, Path(folder) / package.name, ignore=ignore_patterns("__pycache__"))
        yield Path(folder)


def load_from(folder: Path, *packages: str) -> None:
    """Forget some packages, and find them in a folder from now on."""
    forget(*packages)
    sys.path.insert(0, str(folder))


def forget(*packages: str) -> None:
    """Forget modules, and those below them, so that they are loaded anew."""
    for name in list(sys.modules):
        if any(name == package or name.startswith(package + ".") for package in packages):
            del sys.modules[name]
    importlib.invalidate_caches()


@frozen
class Known:
    """Survivors that somebody looked at: ``kind`` is what they are, ``reason`` why."""

    kind: str
    reason: str
    module: str
    was: str
    now: tuple[str, ...]


def known_survivors(path: Path) -> list[Known]:
    """Read what is known of survivors."""
    listed = tomllib.loads(path.read_text())["survivors"] if path.exists() else []
    return [Known(**{**each, "now": tuple(each["now"])}) for each in listed]


def kind_of(mutant: Mutant, listed: Sequence[Known]) -> str | None:
    """Say what a survivor is known as."""
    return next(
        (k.kind for k in listed if (k.module, k.was) == (mutant.module, mutant.was) and mutant.now in k.now), None
    )


def stale(listed: Sequence[Known], survivors: Collection[Mutant], modules: Collection[str]) -> Iterator[str]:
    """Name what is listed as a survivor of these modules, and is none."""
    alive = {(mutant.module, mutant.was, mutant.now) for mutant in survivors}
    for each in listed:
        for now in each.now if each.module in modules else ():
            if (each.module, each.was, now) not in alive:
                yield f"{each.module}: {each.was} -> {now}"


def survivors(listed: Sequence[Known], alive: Sequence[Mutant]) -> str:
    """List survivors with what is known of them."""
    lines = []
    for kind in dict.fromkeys(each.kind for each in listed):
        lines += [f"### {kind}", ""]
        for each in (each for each in listed if each.kind == kind):
            lines += [f"- `{each.module}`: {each.reason}", "  ```diff", f"  - {each.was}"]
            lines += [*(f"  + {now}" for now in each.now), "  ```"]
        lines.append("")
    others = [mutant.name for mutant in alive if kind_of(mutant, listed) is None]
    return "\n".join([*lines, *(["### Not explained", "", *(f"- `{name}`" for name in others)] if others else [])])


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; numbers stand to the right."""
    lines = [head, ["---", *("--:" for _ in head[1:])], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def write_section(title: str, text: str) -> None:
    """Write one section of the results anew, and leave the others; those that sum up come first."""
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", RESULTS.read_text(), re.MULTILINE | re.DOTALL))
    sections[title] = f"\n{text.strip()}\n\n"
    order = sorted(sections, key=lambda name: name not in ("The reference", "The rules"))
    body = "".join(f"## {name}\n{sections[name]}" for name in order)
    RESULTS.write_text(HEAD + body.rstrip() + "\n")


def processor_seconds() -> float:
    """So much time this process and those that it waited for took."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
