"""What a function says, and settings that it leaves changed: in each call as eagerly."""

from __future__ import annotations

import contextlib
import decimal
import io
import logging
import os
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag

LOG, COUNTS = logging.getLogger("agnesi.tests.said"), {"n": 0}
LOG.propagate = False


def prints(x):
    print("shape", x.shape, sep=":", end=";")
    print()
    return x * 2


def prints_where(x):
    print("up" if x.sum() > 0 else "down")
    return x * 2


def prints_and_fails(x):
    print("before")
    if x.shape[0] == 2:
        raise ValueError("two")
    return x


def prints_in_a_loop(x):
    return ag.while_loop(lambda v: v.sum() < 3, lambda v: (print("turn"), v + 1)[1], x * 0)


def logs(x):
    LOG.info("shape %s", x.shape)
    LOG.debug("never")
    return x * 2


def counts(x):
    COUNTS["n"] += 1
    print(COUNTS["n"])
    return x * COUNTS["n"]


def deeper():
    warnings.warn("deeper", stacklevel=2)


def warns(x):
    warnings.warn("often", stacklevel=1)
    warnings.warn(DeprecationWarning("of a kind"), stacklevel=1)
    deeper()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("hidden", stacklevel=1)
    return x * 2


PRINT = print


def prints_by_another_name(x):
    PRINT("here")
    return x * 2


SAYING = [prints, prints_where, prints_and_fails, prints_in_a_loop, logs, counts, warns,
          prints_by_another_name]


def _said(function: Any) -> list[Any]:
    found: list[Any] = []
    COUNTS["n"] = 0
    handler = logging.StreamHandler(stream := io.StringIO())
    LOG.handlers, LOG.level = [handler], logging.INFO
    for x in (ag.ones(3), ag.ones(3), -ag.ones(3), ag.ones(2), ag.ones(3)):
        with contextlib.redirect_stdout(stream), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                found.append(function(x).tolist())
            except ValueError as error:
                found.append(str(error))
        found += [stream.getvalue(), [(str(w.message), w.category, w.lineno) for w in told
                                      if "runs eagerly" not in str(w.message)]]
    return found


@pytest.mark.parametrize("function", SAYING, ids=lambda f: f.__name__)
def test_each_call_says_it(function: Any) -> None:
    assert _said(ag.jit(function)) == _said(function)


@pytest.mark.parametrize("function", [prints, prints_where, logs, warns])
def test_functions_that_say_something_are_compiled(function: Any) -> None:
    compiled = ag.jit(function)
    _said(compiled)
    assert compiled.versions.ready


def test_gradients_say_nothing_more(capsys: Any) -> None:
    w = ag.ones(3, requires_grad=True)
    compiled = ag.jit(lambda x: (print("once"), (x * w).sum())[1])
    for _ in range(2):
        compiled(ag.ones(3)).backward()
        assert capsys.readouterr().out == "once\n"


def test_a_warning_that_is_an_error_is_raised_in_the_call() -> None:
    compiled = ag.jit(warns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(ag.ones(2))
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="often"):
            compiled(ag.ones(2))


EVENT, LOCK, SEMAPHORE = threading.Event(), threading.Lock(), threading.Semaphore(9)


@pytest.mark.parametrize(("change", "ask", "restore"), [
    (lambda: np.seterr(divide="raise"), np.geterr, lambda was: np.seterr(**was)),
    (lambda: np.set_printoptions(precision=3), lambda: np.get_printoptions(),
     lambda was: np.set_printoptions(**was)),
    (lambda: setattr(decimal.getcontext(), "prec", 5), lambda: decimal.getcontext().prec,
     lambda was: setattr(decimal.getcontext(), "prec", was)),
    (lambda: sys.setrecursionlimit(2345), sys.getrecursionlimit, sys.setrecursionlimit),
    (lambda: os.chdir("/"), os.getcwd, os.chdir),
    (lambda: ag.set_default_dtype("float64"), lambda: ag.config.default_float,
     ag.set_default_dtype),
    (lambda: ag.set_grad_enabled(False), ag.is_grad_enabled, ag.set_grad_enabled),
    (EVENT.set, EVENT.is_set, lambda was: EVENT.clear()),
    (LOCK.acquire, LOCK.locked, lambda was: LOCK.release()),
    (SEMAPHORE.acquire, lambda: SEMAPHORE._value, lambda was: SEMAPHORE.release()),
], ids=("errors", "printing", "decimal", "recursion", "folder", "dtype", "recording", "event",
        "lock", "semaphore"))
def test_each_call_leaves_settings_changed(change: Any, ask: Any, restore: Any) -> None:
    compiled, before, found = ag.jit(lambda x: (change(), x * 2)[1]), ask(), []
    with pytest.warns(RuntimeWarning, match="runs eagerly, for it changes"):
        for _ in range(3):
            try:
                assert compiled(ag.ones(2)).tolist() == [2.0, 2.0]
            finally:
                found.append(ask())
                restore(before)
    assert found[0] == found[1] == found[2] != before == ask()


def test_filters_of_modules_that_a_trace_imports_are_no_obstacle(tmp_path: Any,
                                                                 monkeypatch: Any) -> None:
    """As ``scipy.special`` adds one, which a density may be the first to ask for."""
    (tmp_path / "adds_a_filter.py").write_text(
        "import warnings\nwarnings.simplefilter('always', ImportWarning, append=False)\n")
    monkeypatch.syspath_prepend(tmp_path)

    @ag.jit
    def f(x):
        import adds_a_filter  # type: ignore[import-not-found]

        return x * 2 if adds_a_filter else x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(ag.ones(2)).tolist() == [2.0, 2.0]
        assert len(f.specialisations) == 1


def test_errors_of_a_function_that_runs_eagerly_have_no_trace_behind() -> None:
    def fails(x):
        raise KeyError(eval("3"))

    with pytest.warns(RuntimeWarning, match="evaluates"), pytest.raises(KeyError) as found:
        ag.jit(fails)(ag.ones(2))
    assert found.value.__context__ is None
