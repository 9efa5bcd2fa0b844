"""Python numbers as arguments of compiled functions: dtypes are those of the eager call."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.base.elementwise import TABLE

X = np.array([0.25, 0.5])
CASES = {
    "full": lambda x, c: ag.full((2,), c),
    "full_like": lambda x, c: ag.full_like(x, c),
    "stack": lambda x, c: ag.stack([c, c]),
    "stack beside": lambda x, c: ag.stack([x[0], c]),
    "where": lambda x, c: ag.where(x > 0.3, c, 0.0),
    "where of two": lambda x, c: ag.where(x > 0.3, c, c),
    "where beside": lambda x, c: ag.where(x > 0.3, c, x),
    "plus": lambda x, c: x + c,
    "of a number": lambda x, c: x * (c * 2 + 1),
    "sin": lambda x, c: ag.sin(c),
    "sin beside": lambda x, c: ag.sin(c) * x,
    "maximum": lambda x, c: ag.maximum(x, c),
    "clip": lambda x, c: ag.clip(x, 0.0, c),
    "power": lambda x, c: x ** c,
    "arctan2": lambda x, c: ag.atan2(x, c),
    "astype": lambda x, c: ag.astype(x, np.float64) * c,
    "asarray": lambda x, c: ag.asarray(c),
    "concat": lambda x, c: ag.concat([x, ag.reshape(ag.asarray(c), (1,))]),
    "sum": lambda x, c: ag.sum(c * x),
    "whole numbers": lambda x, c: ag.arange(3) * c,
    "carry of a scan": lambda x, c: ag.scan(
        lambda s, row: (s + row.astype("float32"), s), ag.asarray(c), x)[0],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_dtypes(name, dtype):
    x = ag.tensor(X.astype(dtype))
    eager, compiled = CASES[name](x, 0.75), ag.jit(CASES[name])(x, 0.75)
    assert compiled.dtype == eager.dtype and compiled.shape == eager.shape
    np.testing.assert_allclose(compiled, eager, rtol=1e-6)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [n for n, op in TABLE.items()
                                  if op.arity == 1 and "f" in op.kinds and not n.startswith("_")
                                  and callable(getattr(ag, n, None))])
def test_functions_of_one_number(name):
    function = getattr(ag, name)
    found, expected = ag.jit(function)(0.75), function(0.75)
    if name not in ("negative", "positive", "abs", "square", "reciprocal"):  # Python's own, too
        assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_dtypes_as_arguments():
    f = ag.jit(lambda x, d: x.astype(d))
    assert f(ag.ones(2), np.int8).dtype == np.int8
    assert f(ag.ones(2), "float64").dtype == np.float64
    assert f(ag.ones(2), np.dtype("int32")).dtype == np.int32


@pytest.mark.share(2)
@pytest.mark.parametrize("function", [
    lambda a, x: ag.hypot(x, 1 + a * a), lambda a, x: ag.maximum(x, a * 2),
    lambda a, x: ag.where(x > 0, x, a + 1), lambda a, x: ag.logaddexp(x, -a),
    lambda a, x: ag.clip(x, a * 1, a + 2), lambda a, x: ag.stack([x, a * 1]),
    lambda a, x: ag.arctan2(x, ag.exp(a)), lambda a, x: ag.full(x.shape, a * 2) * x,
])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_numbers_that_all_examples_share(function, dtype):
    """A number that was computed with, and then met an array, keeps what it was given there."""
    x = ag.tensor(np.linspace(-1, 1, 3)).astype(dtype)
    expected = ag.stack([function(0.5, x[i]) for i in range(3)])
    for way in (ag.vmap, lambda *args: ag.jit(ag.vmap(*args)), lambda f, axes: ag.vmap(
            ag.jit(f), axes)):
        found = way(function, (None, 0))(0.5, x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3)
