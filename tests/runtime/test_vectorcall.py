"""Compiled functions are called without a tuple of arguments, and as every callable otherwise."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.symbolic as T

_HAS_VECTORCALL = 1 << 11


@ag.jit
def plus_one(x: Any) -> Any:
    return x + 1


def warm_jit() -> Any:
    f = ag.jit(lambda x: x + 1)
    for _ in range(3):
        f(ag.ones(3))
    return f


def warm_function() -> Any:
    v = T.fvector("v")
    f = ag.function([v], v + 1)
    for _ in range(3):
        f(np.ones(3, np.float32))
    return f


@pytest.mark.parametrize("make", [warm_jit, warm_function])
def test_calls_do_not_pass_through_the_class(make: Any) -> None:
    f = make()
    assert type(f).__flags__ & _HAS_VECTORCALL
    assert f._native
    np.testing.assert_array_equal(np.asarray(f(np.ones(3, np.float32))), [2, 2, 2])


@pytest.mark.parametrize("make", [warm_jit, warm_function])
def test_every_way_to_call(make: Any) -> None:
    f, x = make(), np.ones(3, np.float32)
    name = "x" if make is warm_jit else "v"

    class Holds:
        call = staticmethod(f)

    ways = [f(x), f(*[x]), f(**{name: x}), f.__call__(x), functools.partial(f, x)(),
            *map(f, [x]), Holds().call(x), f(np.ones(3, np.float32))]
    for got in ways:
        np.testing.assert_array_equal(np.asarray(got), [2, 2, 2])
    with pytest.raises(TypeError):
        f()
    with pytest.raises(TypeError):
        f(x, x)
    np.testing.assert_array_equal(np.asarray(f(np.ones(5, np.float32))), [2] * 5)


def test_a_function_that_returns_to_python_is_called_by_python() -> None:
    f = warm_jit()
    seen = []

    def spied(*args: Any) -> Any:
        seen.append(args)
        return f.dispatch(*args)

    f.call_directly(staticmethod(spied))
    f(ag.ones(3))
    assert len(seen) == 1


def test_functions_are_collected_and_the_native_code_lives_as_long_as_its_call() -> None:
    f: Any = warm_jit()
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    held: list[Any] = []

    def rebinds(x: Any) -> Any:
        held[0].call_directly(held[0].dispatch)
        return x

    step = ag.jit(lambda x: ag.callback(rebinds, x, x) + 1)
    held.append(step)
    for _ in range(4):
        np.testing.assert_array_equal(step(ag.ones(3)).numpy(), [2, 2, 2])


def test_pickles_and_copies_of_called_functions() -> None:
    plus_one(ag.ones(3)), plus_one(ag.ones(3))
    assert pickle.loads(pickle.dumps(plus_one)) is plus_one
    function = warm_function()
    for other in (copy.copy(function), copy.deepcopy(function),
                  pickle.loads(pickle.dumps(function))):
        assert other(np.ones(2, np.float32)).tolist() == [2, 2]
        assert function(np.ones(3, np.float32)).tolist() == [2, 2, 2]
