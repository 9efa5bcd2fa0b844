"""What code reads of the process, of libraries' modules and of their objects: each call sees it."""

from __future__ import annotations

import abc
import collections
import contextlib
import decimal
import math
import os
import string
import sys
import threading
import types
import uuid
import warnings
import weakref
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agnesi as ag


@contextlib.contextmanager
def other(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    yield
    setattr(owner, name, before)


class Base(abc.ABC):  # noqa: B024 - it is registered with
    pass


class Some:
    pass


class Descriptor:
    def __init__(self) -> None:
        self.value = 2.0

    def __get__(self, owner: Any, kind: Any = None) -> float:
        return self.value


DESCRIPTOR = Descriptor()


class Described:
    value = DESCRIPTOR


SOME, DESCRIBED = Some(), Described()
HELD: dict[str, Any] = {"default": 2.0, "v": 1.0}
DEFAULTS: Any = collections.defaultdict(lambda: HELD["default"])
VALUES, PROXY, GET = HELD.values(), types.MappingProxyType(HELD), HELD.get
SET: weakref.WeakSet[Any] = weakref.WeakSet([SOME])
PROXIED = weakref.proxy(DESCRIPTOR)
EVENT, LOCK = threading.Event(), threading.Lock()
WEIGHT = ag.ones(2)
THIRD = decimal.Decimal(3)


def precise(x):
    return x * float(1 / THIRD)


def precision(x):
    return x * decimal.getcontext().prec


def registered(x):
    return x * (2.0 if isinstance(SOME, Base) else 3.0)


def subclass(x):
    return x * (2.0 if issubclass(Some, Base) else 3.0)


def described(x):
    return x * DESCRIBED.value


def defaults(x):
    return x * DEFAULTS["missing"]


def shown(x):
    return x * (sum(VALUES) + PROXY["v"] + GET("v"))


def members(x):
    return x * len(SET)


def proxied(x):
    return x * PROXIED.value


def states(x):
    return x * (EVENT.is_set() + 2.0 * LOCK.locked())


def flags(x):
    return x * (2.0 if WEIGHT.requires_grad else 3.0)


def imported(x):
    import string
    import sys

    return x * (len(string.digits) + len(sys.argv))


def environment(x):
    import os

    return x * float(os.environ.get("AGNESI_TEST_NUMBER", "2"))


def library_data(x):
    return x * len(string.digits)


def folder(x):
    return x * len(os.getcwd())


def named_thread(x):
    return x * len(threading.current_thread().name)


def recorded(x):
    return x * (2.0 if ag.is_grad_enabled() else 3.0)


def errors_of_numpy(x):
    return x * len(np.geterr()["divide"])


def filters(x):
    return x * len(warnings.filters)


def late_global(x):
    return x * globals().get("LATE", 1.0)


def late_builtin(x):
    try:
        return x * agnesi_made_late
    except NameError:
        return x


def register():
    Base.register(Some)
    yield
    Base._abc_registry_clear()
    Base._abc_caches_clear()


def change(owner: Any, name: str, value: Any) -> Any:
    return lambda: other(owner, name, value)


@contextlib.contextmanager
def entry(mapping: Any, key: Any, value: Any) -> Iterator[None]:
    before = mapping.get(key)
    mapping[key] = value
    yield
    mapping.pop(key)
    if before is not None:
        mapping[key] = before


@contextlib.contextmanager
def member() -> Iterator[None]:
    more = Some()
    SET.add(more)
    yield
    SET.discard(more)


@contextlib.contextmanager
def signalled() -> Iterator[None]:
    EVENT.set()
    with LOCK:
        yield
    EVENT.clear()


@contextlib.contextmanager
def cleared() -> Iterator[None]:
    DEFAULTS.clear()
    with entry(HELD, "default", 5.0):
        yield
    DEFAULTS.clear()


def patched(x):
    return x * ag.nn.functional.relu(-x) + math.sqrt(4) * np.floor(2.5)


def replaced_module(x):
    return x * math.pi


def imported_module(x):
    import agnesi_test_module

    return x * agnesi_test_module.number


sys.modules["agnesi_test_module"] = MODULE = types.ModuleType("agnesi_test_module")
MODULE.number = 2.0  # type: ignore[attr-defined]

CASES = [
    (patched, change(ag.nn.functional, "relu", lambda x: x * 7)),
    (patched, change(math, "sqrt", lambda x: 7.0)), (patched, change(np, "floor", lambda x: 7.0)),
    (replaced_module, lambda: entry(globals(), "math", types.SimpleNamespace(pi=3.0))),
    (imported_module, lambda: entry(sys.modules, "agnesi_test_module",
                                    types.SimpleNamespace(number=3.0))),
    (precise, lambda: decimal.localcontext(prec=2)),
    (precision, lambda: decimal.localcontext(prec=9)),
    (registered, contextlib.contextmanager(register)),
    (subclass, contextlib.contextmanager(register)),
    (described, change(DESCRIPTOR, "value", 7.0)), (defaults, cleared),
    (shown, lambda: entry(HELD, "v", 4.0)), (members, member),
    (proxied, change(DESCRIPTOR, "value", 7.0)), (states, signalled),
    (flags, change(WEIGHT, "requires_grad", True)), (imported, change(string, "digits", "01")),
    (imported, change(sys, "argv", ["a"] * 50)),
    (environment, lambda: entry(os.environ, "AGNESI_TEST_NUMBER", "5")),
    (library_data, change(string, "digits", "01")), (folder, lambda: contextlib.chdir("/")),
    (named_thread, change(threading.current_thread(), "name", "another one")),
    (recorded, ag.no_grad), (errors_of_numpy, lambda: np.errstate(divide="raise")),
    (filters, change(warnings, "filters", [])),
    (late_global, lambda: entry(globals(), "LATE", 5.0)),
    (late_builtin, lambda: entry(vars(sys.modules["builtins"]), "agnesi_made_late", 5.0)),
]


@pytest.mark.parametrize(("function", "changed"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_each_call_sees_what_there_is(function: Any, changed: Any) -> None:
    x, compiled = ag.ones(2), ag.jit(function)
    found = []
    for f in (function, compiled):
        values = [f(x).tolist()]
        with changed():
            values += [f(x).tolist(), f(x).tolist()]
        found.append([*values, f(x).tolist()])
    assert found[0] == found[1]
    assert found[0][0] == found[0][3] != found[0][1]


def asks_files(x):
    return x * Path("/").exists()


def reads_clock(x):
    return x * datetime.now().year


def imports_clock(x):
    import time

    return x * time.perf_counter()


def draws(x):
    return x, uuid.uuid4()


def evaluates(x):
    return x * eval("len('ab')")


def looks_at_callers(x):
    return x * len(sys._getframe(1).f_code.co_name)


@pytest.mark.parametrize(("function", "why"), [
    (asks_files, "asks the file system"), (reads_clock, "reads the clock"),
    (imports_clock, "reads the clock"), (draws, "draws random numbers"),
    (evaluates, "evaluates a text"), (looks_at_callers, "looks at its callers")])
def test_what_differs_in_each_call_runs_eagerly(function: Any, why: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"{function.__name__} runs eagerly, for it {why}"):
        ag.jit(function)(ag.ones(2))


@pytest.mark.parametrize("module", [string, np, ag], ids=lambda m: m.__name__)
def test_attributes_that_come_to_a_module_of_a_library_are_kept(module: Any) -> None:
    def step(x: Any) -> Any:
        module.seen_by_test = getattr(module, "seen_by_test", 0) + 1
        return x * module.seen_by_test

    found = []
    for run in (step, ag.jit(step)):
        found.append([float(run(ag.ones(()))) for _ in range(4)])
        del module.seen_by_test
    assert found[0] == found[1] == [1, 2, 3, 4]


def test_a_module_of_a_library_is_asked_what_it_may_have_later() -> None:
    f = ag.jit(lambda x: x * 2 if hasattr(string, "seen_by_test") else x)
    before = float(f(ag.ones(())))
    string.seen_by_test = True  # type: ignore[attr-defined]
    after = float(f(ag.ones(())))
    del string.seen_by_test  # type: ignore[attr-defined]
    assert (before, after, float(f(ag.ones(())))) == (1, 2, 1)
