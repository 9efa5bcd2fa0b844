"""PyTensor's own tests, run through ``agnesi.compat.theano``.

``python tools/pytensor_tests.py CHECKOUT`` takes a directory with PyTensor's sources, lets
imports of ``pytensor`` lead to our module, and writes which tests do not pass and why to
``tests/compat/theano/pytensor_excluded.txt``.  Each file runs in a process of its own, each test
for at most ``SECONDS``.  With further arguments for pytest it only runs those.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

OURS = "agnesi.compat.theano"
TENSOR = ("elemwise", "subtensor", "basic", "math", "extra_ops")
FILES = [*(f"tests/tensor/test_{name}.py" for name in TENSOR), "tests/scan"]
#: How long a test may take, and a file.
SECONDS, FILE_SECONDS = 120, 3600
EXCLUDED = Path(__file__).parent.parent.resolve() / "tests/compat/theano/pytensor_excluded.txt"


class NotInModuleError(Exception):
    """A test uses what our module does not have."""


class TooLongError(BaseException):
    """A test took longer than ``SECONDS``."""


class Missing:
    """A name of PyTensor's that our module does not have: tests that use it fail."""

    #: Whether tests run: while they are collected, what is missing is missing results.
    runs: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def _fail(self, *args: Any, **keywords: Any) -> Any:
        raise NotInModuleError(f"uses {self.name}, which is not in the module")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._fail() if Missing.runs else Missing(f"{self.name}()")

    __iter__ = __enter__ = __contains__ = _fail

    def __instancecheck__(self, x: Any) -> bool:
        return bool(Missing.runs and self._fail())

    def __mro_entries__(self, bases: Any) -> tuple[Any, ...]:
        return (object,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("dtype", "shape"):  # NumPy looks for them
            raise AttributeError(name)
        return Missing(f"{self.name}.{name}")


class Mod(types.ModuleType):
    """A module of PyTensor's: what ours of that name has, else what is missing."""

    __path__: ClassVar[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        ours = self.__dict__.get("_ours")
        try:
            return getattr(ours, name)
        except (AttributeError, ImportError):
            pass
        if f"{self.__name__}.{name}" in sys.modules:
            return sys.modules[f"{self.__name__}.{name}"]
        return Missing(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        ours = self.__dict__["_ours"]
        if not callable(ours):  # a module whose package has a function of its name, as ``scan``
            package, _, name = self.__name__.rpartition(".")
            ours = getattr(_ours(package), name)
        return ours(*args, **keywords)


def _ours(name: str) -> Any:
    """Our module for one of PyTensor's, or the one around it: its names may be there."""
    while name:
        target = OURS + name.removeprefix("pytensor")
        try:
            return importlib.import_module(target)
        except ImportError:
            name = name.rpartition(".")[0]
    return None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of ``pytensor`` and what is below it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name == "pytensor" or name.startswith("pytensor."):
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        made = Mod(spec.name)
        made.__dict__["_ours"] = _ours(spec.name)
        return made

    def exec_module(self, module: Any) -> None:
        pass


class Outcomes:
    """What became of each test, and why."""

    def __init__(self, notes: str | None = None) -> None:
        self.kinds: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.collected = 0
        #: Where outcomes are written down, in case that the process does not come to its end.
        self.notes = notes

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.collected, Missing.runs = len(items), True
        self._note(str(len(items)))

    def _note(self, line: str) -> None:
        if self.notes is not None:
            with open(self.notes, "a") as file:
                file.write(f"{line}\n")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        kind = self.kinds.get(nodeid, "fails")
        self._note(json.dumps([nodeid, kind, self.reasons.get(nodeid, "")]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        try:
            return (yield)
        finally:
            signal.alarm(0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid
        if report.failed:
            self.kinds[name] = "fails"
            self.reasons.setdefault(name, _reason(report.longreprtext))
        elif report.skipped:
            self.kinds.setdefault(name, "skipped" if not hasattr(report, "wasxfail") else "fails")
            if hasattr(report, "wasxfail"):
                self.reasons.setdefault(name, "xfail")
        elif report.when == "call":
            self.kinds.setdefault(name, "passes")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            print(report.longreprtext[-3000:])


def _too_long(number: int, frame: Any) -> None:
    raise TooLongError(f"takes longer than {SECONDS} s")


def _reason(text: str) -> str:
    """The first line of an error."""
    lines = [line[2:].strip() for line in text.splitlines() if line.startswith("E ")]
    return re.sub(r"^[\w.]*NotInModuleError: ", "", lines[0] if lines else text[-80:])[:90]


def _without_numba() -> None:
    """Let marks name a warning of numba's, where that is not installed."""
    if importlib.util.find_spec("numba") is None:
        stand_in = sys.modules["numba"] = types.ModuleType("numba")
        for name in ("NumbaWarning", "NumbaPerformanceWarning"):
            stand_in.__dict__[name] = type(name, (Warning,), {})


def main() -> None:
    """Run the tests, print the share that passes, write the others down."""
    checkout, *rest = sys.argv[1:]
    if rest:
        _show(_run(os.path.abspath(checkout), rest))
        return
    found = Outcomes()
    for file in _files(Path(checkout)):
        part = _in_a_process(checkout, file)
        _show(part, file)
        found.collected += part.collected
        found.kinds |= part.kinds
        found.reasons |= part.reasons
    _show(found)
    _write(found)


def _files(checkout: Path) -> list[str]:
    """The files of tests, those of a folder one by one."""
    return [str(f.relative_to(checkout)) for name in FILES
            for f in ([checkout / name] if name.endswith(".py")
                      else sorted((checkout / name).glob("test_*.py")))]


def _in_a_process(checkout: str, file: str) -> Outcomes:
    """Run one file; what is known of it is written down behind each test."""
    found = Outcomes()
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "outcomes"
        call = [sys.executable, __file__, checkout, file, "--show-capture=no"]
        try:
            subprocess.run(call, env={**os.environ, "PYTENSOR_OUTCOMES": str(notes)},
                           timeout=FILE_SECONDS, check=False, stdout=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print(f"{file} takes longer than {FILE_SECONDS} s")
        lines = notes.read_text().splitlines() if notes.exists() else ["0"]
    found.collected = int(lines[0])
    for line in lines[1:]:
        name, kind, why = json.loads(line)
        found.kinds[name] = kind
        if why:
            found.reasons[name] = why
    return found


def _run(checkout: str, arguments: list[str]) -> Outcomes:
    """Run pytest in this process."""
    root = Path(__file__).parent.parent.resolve()
    sys.path[:0] = [str(root / "src"), checkout]
    os.chdir(checkout)
    sys.meta_path.insert(0, Finder())
    _without_numba()
    found = Outcomes(os.environ.get("PYTENSOR_OUTCOMES"))
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "-W", "ignore",
                 "--tb=short", *arguments], [found])
    return found


def _show(found: Outcomes, name: str = "all") -> None:
    counts = Counter(found.kinds.values())
    print(f"{name}: {found.collected} collected, {counts['passes']} pass "
          f"({counts['passes'] / max(found.collected, 1):.1%}), {counts['skipped']} skip, "
          f"{counts['fails']} do not, {found.collected - counts.total()} did not run", flush=True)


def _write(found: Outcomes) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, kind in found.kinds.items():
        if kind == "fails":
            groups[name.partition("[")[0]].append(found.reasons.get(name, ""))
    counts = Counter(found.kinds.values())
    lines = [
        "# Tests of PyTensor's (tests/tensor: elemwise, subtensor, basic, math, extra_ops; "
        "tests/scan) that do not",
        f"# pass through {OURS}: {found.collected} collected, {counts['passes']} pass, "
        f"{counts['skipped']} skip, {counts['fails']} do not "
        f"({datetime.now(UTC):%Y-%m-%d}).",
        "# test: how many of its cases, and the first one's reason.  `make pytensor` writes this.",
        *(f"{name}: {len(why)}: {why[0]}" for name, why in sorted(groups.items()))]
    EXCLUDED.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
