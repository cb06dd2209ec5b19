"""Writes a working adapter in a language, to be filled with one's own summarizer."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Literal

from attrs import frozen

from tercet_conformance import adapters
from tercet_conformance.files import write_wholly

Language = Literal["js", "java", "python"]
ADAPTERS = Path(adapters.__file__).parent
WIDTH = 100


@frozen
class Skeleton:
    """The files of a skeleton, the command that runs it as the suite is told, what is needed, and what to change."""

    folder: str
    files: tuple[str, ...]
    implementation: str
    needs: str
    change: str


SKELETONS: dict[Language, Skeleton] = {
    "js": Skeleton(
        "javascript",
        ("adapter.js", "summarizer.js", "loop.js"),
        "-- node adapter.js",
        "Node 20 or newer",
        "`summarizer.js` is a complete small summarizer, and `loop.js` an agent's loop with middleware over it: put "
        "yours in their place. `adapter.js` is the wire around them; what it declares in `CAPABILITIES` is asked of "
        "yours: take out what yours cannot do, and the line from `hooks` on where it has no loop.",
    ),
    "java": Skeleton(
        "java",
        ("Summarizer.java",),
        "-- java Summarizer.java",
        "Java 17 or newer",
        "`Summarizer.java` holds a complete small summarizer, the wire around it, and the JSON that the wire needs. "
        "Put yours in the place of `SummarizedThread`; what is declared in `CAPABILITIES` is asked of yours: take out "
        "what yours cannot do.",
    ),
    "python": Skeleton(
        "python",
        ("my_adapter.py", "my_agent.py"),
        "my_adapter:Mine",
        "Python 3.11 or newer",
        "`my_agent.py` is a small summarizer, not a right one: put yours in its place. `my_adapter.py` is what the "
        "suite drives; declare in `capabilities` what yours can do, and more rules are asked of it.",
    ),
}
README = """# A summarizer under Tercet

{change}

It needs {needs}, and the suite: `pip install 'tercet[check]'`. In this folder:

```sh
tercet smoke {implementation}     # can it be driven? What is wrong is said in words
tercet check {implementation}     # which rules does it keep? Each broken one comes with a small thread
```

`spec/wire.md` of Tercet says what goes over the wire, `tercet explain` lists the rules, and `tercet explain RULE` says
why one is there.
"""


class Occupied(Exception):
    """Raised where a file is in the way: nothing was written."""


def write_skeleton(language: Language, folder: Path) -> Iterator[Path]:
    """Write a skeleton, all of it or nothing, and name its files; raises Occupied and OSError."""
    skeleton = SKELETONS[language]
    texts = {name: (ADAPTERS / skeleton.folder / name).read_text("utf-8") for name in skeleton.files}
    texts["README.md"] = README.format(
        change=fill(skeleton.change, WIDTH), needs=skeleton.needs, implementation=skeleton.implementation
    )
    if taken := [name for name in texts if (folder / name).exists()]:
        raise Occupied(f"{folder / taken[0]} is there already, and nothing was written; name another folder")
    for name, text in texts.items():
        write_wholly(text, folder / name)
        yield folder / name
