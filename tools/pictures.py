"""Draw what runs, from a run: the call trees in ``docs/architecture.md``.

``python -m tools.pictures`` runs three short programs (one eager operation, ``backward``, one
jitted step) under Python's profiler and writes the calls that go from one file, or one folder, of
``src/agnesi`` to another into the page, between its ``picture`` marks. ``--check`` writes nothing
and fails where the page is not what a run gives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import agnesi as ag
from agnesi.compiler.eager import load

ROOT = Path(__file__).parents[1]
SOURCES = Path(ag.__file__).resolve().parent
PAGE = ROOT / "docs/architecture.md"
#: Folders that are drawn nowhere: every file uses them.
EVERYWHERE = ("core/support/",)
#: Functions that Python names itself.
UNNAMED = ("<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


class Call(NamedTuple):
    """A call into a place from another one: where it goes, and the function that is called."""

    place: str
    function: str


class Calls:
    """Record which places (files or folders) a program calls first, and through which others.

    Parameters
    ----------
    place : maps a path such as ``ops/base/gather/elements.py`` to the name that is drawn.

    Attributes
    ----------
    lines : (depth, place, function) of each call that is drawn: the first into each place, and
        those that lead to it, in the order of the calls.
    """

    def __init__(self, place: Callable[[str], str]):
        self.place = place
        self.lines: list[tuple[int, str, str]] = []
        self.seen: set[str] = set()
        self.drawn: list[Call] = []
        self.open: list[tuple[FrameType, list[Call], bool]] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Follow Python's calls and returns; what a module does at its import is left out."""
        if event == "return" and self.open and self.open[-1][0] is frame:
            self.open.pop()
        if event != "call":
            return
        _, chain, importing = self.open[-1] if self.open else (None, [], False)
        code = frame.f_code
        importing = importing or code.co_name == "<module>"
        path = Path(code.co_filename)
        if not importing and path.is_relative_to(SOURCES) and code.co_name not in UNNAMED:
            inner = path.relative_to(SOURCES).as_posix()
            name = self.place(inner)
            if not inner.startswith(EVERYWHERE) and (not chain or chain[-1].place != name):
                chain = [*chain, Call(name, code.co_qualname.replace(".<locals>", ""))]
                if name not in self.seen:
                    self.draw(chain)
        self.open.append((frame, chain, importing))

    def draw(self, chain: list[Call]) -> None:
        """Add the lines of the calls in ``chain`` that are not those of the line before."""
        self.seen.add(chain[-1].place)
        same = 0
        while same < len(self.drawn) and self.drawn[same] is chain[same]:
            same += 1
        self.lines += [(depth, *chain[depth]) for depth in range(same, len(chain))]
        self.drawn = chain


def calls(program: Callable[[], object], place: Callable[[str], str]) -> str:
    """Return the call tree of ``program`` as text, a line for each place at its first call."""
    recorder = Calls(place)
    sys.setprofile(recorder)
    try:
        program()
    finally:
        sys.setprofile(None)
    width = max((2 * depth + len(name) for depth, name, _ in recorder.lines), default=0)
    rows = [f"{'  ' * depth + name:<{width}}  {function}"
            for depth, name, function in recorder.lines]
    return "\n".join(rows) or "(no Python function of the library runs)"


def file(path: str) -> str:
    """Return the place of a source file in a picture of files: the file itself."""
    return path


def folder(path: str) -> str:
    """Return the place of a source file in a picture of folders: its folder under the package."""
    return "/".join(path.split("/")[:-1][:2]) or path


def pictures() -> dict[str, str]:
    """Return the text of each picture by its name; programs run twice, the second run is drawn."""
    x = ag.tensor([[1.0, 2.0]])
    w = ag.tensor([[0.5], [0.25]], requires_grad=True)

    def loss(x: ag.Tensor) -> ag.Tensor:
        return (x @ w).tanh().sum()

    def step(x: ag.Tensor) -> ag.Tensor:
        w.grad = None
        y = loss(x)
        y.backward()
        with ag.no_grad():
            w.sub_(0.1 * w.grad)
        return y

    def first() -> object:
        return ag.jit(step)(x)

    load()  # what runs after some thousand calls
    drawn = {}
    with ag.config(cache=False, verify=False):
        for _ in range(2):
            drawn["eager"] = calls(lambda: x @ w, file)
            w.grad = None
            y = loss(x)
            drawn["backward"] = calls(y.backward, file)
            drawn["compile"] = calls(first, folder)
    compiled = ag.jit(step)
    compiled(x), compiled(x)
    drawn["call"] = calls(lambda: compiled(x), file)
    return drawn


def page(text: str, drawn: dict[str, str]) -> str:
    """Return the page with its pictures exchanged for ``drawn``."""
    for name, picture in drawn.items():
        mark = re.compile(rf"(<!-- picture: {name} -->\n```text\n).*?(\n```)", re.S)
        text, count = mark.subn(lambda m, picture=picture: m[1] + picture + m[2], text)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for the picture {name!r}, not 1")
    return text


def main(arguments: list[str]) -> int:
    """Write the pictures, or compare them (``--check``); return the exit status."""
    before = PAGE.read_text(encoding="utf-8")
    after = page(before, pictures())
    if "--check" not in arguments:
        PAGE.write_text(after, encoding="utf-8")
    elif after != before:
        print(f"{PAGE.name} does not show what runs now: python -m tools.pictures", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
