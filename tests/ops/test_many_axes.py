"""More axes than NumPy's older functions take (32): what works with 10 works with 33, 40 and 64.

Where a result would have more than 64 axes, one error says so, eagerly and compiled.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.tree import flatten
from tests.share import EVERY, share
from tests.testing.calls import Call, call_of, functions

#: They double the size of each axis, or add one for each: no memory holds what they give.
GROWING = ("pad", "nn.functional.interpolate", "nn.functional.max_unpool", "nn.functional.upsample",
           "nn.functional.upsample_nearest")
LIMIT = "an array has 64 at most"


def padded(call: Call, n: int, behind: bool) -> Call | None:
    """The call with axes of size 1 before or behind those of its first tensor."""
    done = False

    def visit(x: Any) -> Any:
        nonlocal done
        if isinstance(x, ag.Tensor) and x.ndim and not done:
            done = True
            ones = (1,) * (n - x.ndim)
            return ag.tensor(x.numpy().reshape((*x.shape, *ones) if behind else (*ones, *x.shape)))
        if isinstance(x, dict):
            return {k: visit(v) for k, v in x.items()}
        return type(x)(map(visit, x)) if type(x) in (list, tuple) else x

    args, keywords = visit(call[0]), visit(call[1])
    return (args, keywords) if done else None


@functools.cache
def cases() -> list[tuple[str, Any, Call, bool]]:
    """Calls of public functions that work with ten axes."""
    found = []
    for name, f in functions():
        if name in (*GROWING, "clone", "save") or name.startswith("sparse."):
            continue
        try:
            call = call_of(name, f)
        except Exception:
            continue
        for behind in (False, True):
            many = padded(call, 10, behind) if call is not None else None
            if many is not None and outcome(f, many)[0] == "":
                found.append((name, f, call, behind))
    return found


def outcome(f: Any, call: Call) -> tuple[str, list[Any]]:
    """What is wrong ("" if nothing), and the results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "", flatten(f(*call[0], **call[1]))[0]
        except Exception as error:
            return f"{type(error).__name__}: {error}", []


def test_functions_take_many_axes() -> None:
    wrong = []
    assert len(cases()) > 500
    for name, f, call, behind in cases():
        for n in share((33, 64), 2, name):
            told, _ = outcome(f, padded(call, n, behind))  # type: ignore[arg-type]
            limited = LIMIT in told and told.startswith("ShapeError")
            if told and not limited:
                wrong.append((name, n, behind, told[-200:]))
    assert wrong == []


def drawn() -> Any:
    """Where the random numbers are."""
    return np.array(ag.random.default_generator().state)


def in_one_program(n: int, first: int, step: int) -> tuple[list[str], list[Any], Any]:
    """Functions' names ("" for draws), eager results, and those of one program with all of them."""
    names: list[str] = []
    wanted: list[Any] = []
    inputs, given, outputs = [], [], []
    for name, f, call, behind in cases()[first::step]:
        many: Any = padded(call, n, behind)
        told, values = outcome(f, many)
        if told:
            continue
        leaves, shape = flatten((list(many[0]), many[1]))
        at = [i for i, x in enumerate(leaves) if isinstance(x, ag.Tensor)]
        own = list(leaves)
        for i in at:
            own[i] = ag.symbolic.tensor(own[i].dtype, own[i].shape)
        args, keywords = shape.build(own)
        state = drawn()
        try:
            found = flatten(f(*args, **keywords))[0]
        except (ag.TraceError, ValueError) as error:  # its results' sizes are values
            late = "not known before the run" in str(error)
            assert late or isinstance(error, ag.TraceError), name
            continue
        inputs += [own[i] for i in at]
        given += [leaves[i] for i in at]
        for y, value in zip(found, values, strict=True):
            if type(y) is ag.Tensor:  # no selection
                names.append("" if (drawn() != state).any() else name)
                wanted.append(value)
                outputs.append(y)
    return names, wanted, ag.function(inputs, outputs, optimizer="None")(*given)


@pytest.mark.share(4)
@pytest.mark.parametrize("n", [33, 64])
def test_compiled_functions_take_as_many(n: int) -> None:
    with ag.config(symbolic_float="float32"):  # as eager floats are
        program = in_one_program(n, n % 5, 5 if EVERY else 15)
    for name, wanted, found in zip(*program, strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype, name
        if found.dtype.kind in "fc" and name:
            np.testing.assert_allclose(found, wanted.numpy(), 1e-4, 1e-6, err_msg=name)


@pytest.mark.parametrize("n", [33, 40, 64])
def test_derivatives_of_many_axes(n: int) -> None:
    x = ag.tensor(np.arange(1.0, 9.0).reshape(2, *(1,) * (n - 3), 2, 2))

    def f(x: Any) -> Any:
        y = ag.sort(x * x.swapaxes(0, -1), axis=0) + ag.softmax(x, axis=-1) * ag.flip(x)
        return (y * x.sum(axis=-2, keepdims=True)).sum()

    wanted = ag.grad(f)(ag.reshape(x, (2, 2, 2)))
    for found in (ag.grad(f)(x), ag.jit(ag.grad(f))(x)):
        assert found.shape == x.shape
        np.testing.assert_allclose(found.numpy().reshape(2, 2, 2), wanted.numpy(), rtol=1e-12)


ADDED = {
    "getitem": lambda x: x[None], "expand_dims": lambda x: ag.expand_dims(x, 0),
    "reshape": lambda x: x.reshape((1, *x.shape)), "stack": lambda x: ag.stack([x, x]),
    "broadcast_to": lambda x: ag.broadcast_to(x, (2, *x.shape)),
    "zeros": lambda x: ag.zeros((1, *x.shape)), "ones": lambda x: ag.ones((1, *x.shape)),
    "full": lambda x: ag.full((1, *x.shape), 2.0), "empty": lambda x: ag.empty((1, *x.shape)),
}


@pytest.mark.parametrize("name", ADDED)
def test_an_axis_more_is_an_error_of_both_ways(name: str) -> None:
    x = ag.ones((2, *(1,) * 63))
    for f in (ADDED[name], ag.jit(ADDED[name])):
        with pytest.raises(ag.ShapeError, match=rf"(?s){name}\(.*would have 65 axes.*{LIMIT}.*\n"):
            f(x)
