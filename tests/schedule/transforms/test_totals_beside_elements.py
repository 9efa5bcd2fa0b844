"""Totals beside the elements that they are of: taken by rows, in one pass over these."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(60_000,), (59_999,), (300, 200), (6, 40, 250), (30_000, 2)])
def test_totals_of_what_a_nest_writes(shape):
    """A loss and its gradient, say: no thread begins with all of the sum."""
    def function(x):
        e = ag.exp(x)
        return e.mean(), e.max(), e * x

    x = ag.tensor(RNG.standard_normal(shape))
    compiled, exact = ag.jit(function), function(x)
    found = []
    for threads in (1, 2):
        with ag.config(threads=threads):
            found.append(compiled(x))
    for a, b, e in zip(*found, exact, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_allclose(a.numpy(), e.numpy(), rtol=1e-13)
    lines = str(compiled.plan()).split("\n")
    totals = {line.split()[0] for line in lines if "float64[], " in line}
    assert totals
    for line in lines:
        written = set(line.partition(" -> ")[2].replace(",", " ").split())
        assert not (written & totals and "on all threads" in line), line


def test_what_elements_have_from_their_row_is_there_once():
    """The squares of a softmax and their gradient: exponentials are not taken again."""
    x = ag.tensor(RNG.standard_normal((300, 200)))
    function = ag.value_and_grad(lambda x: (ag.softmax(x, axis=1) ** 2).sum())
    compiled = ag.jit(function)
    for a, e in zip(compiled(x), function(x), strict=True):
        np.testing.assert_allclose(a.numpy(), e.numpy(), rtol=1e-12, atol=1e-15)
    kernels = [line for line in str(compiled.plan()).split("\n") if " -> " in line]
    assert len(kernels) == 2
    assert "a0" not in kernels[1]  # adds up rows


def test_short_vectors_of_costly_elements_have_no_rows():
    def f(x):
        y = x / (x + 3)
        slope = ag.grad(lambda a: ag.special.betainc(a, 2.0, 0.5))(ag.min(y) + 1)
        return (slope, ag.masked_scatter(y, y > 0, y))[0]

    x = ag.tensor([0.25, 0.5, 0.75])
    np.testing.assert_allclose(ag.jit(f)(x), f(x), rtol=1e-5)
