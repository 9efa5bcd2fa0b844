"""Products of unrolled steps with one matrix: one product, as far as no step waits for it."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Product

pytestmark = pytest.mark.native_plans
RANDOM = np.random.default_rng(3)
STEPS, ROWS, INPUT, WIDTH = 6, 3, 20, 24


def _draw(*shape):
    return ag.tensor(RANDOM.normal(size=shape) * 0.3)


def _products(f):
    return [k.sizes for k in f.plan().layout.kernels if isinstance(k, Product)]


def _agree(function, *args):
    """The function compiled, after its values and gradients are as they are eagerly."""
    f = ag.jit(function)
    np.testing.assert_allclose(f(*args).numpy(), function(*args).numpy(), 1e-10, 1e-12)
    slope = ag.grad(lambda *xs: (function(*xs) ** 2).sum(), argnums=tuple(range(len(args))))
    compiled = ag.jit(slope)
    for a, b in zip(slope(*args), compiled(*args), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-9, 1e-11)
    return f, compiled


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_parts_of_operands_that_are_there_before(first):
    def recurrence(xs, w, state):
        for t in range(STEPS):
            parts = [xs[t], state] if first else [state, xs[t]]
            state = ag.tanh(ag.concat(parts, 1) @ w)
        return state

    args = _draw(STEPS, ROWS, INPUT), _draw(INPUT + WIDTH, WIDTH), _draw(ROWS, WIDTH)
    values, slopes = _agree(recurrence, *args)
    found = _products(values)
    assert found.count((1, STEPS * ROWS, WIDTH, INPUT)) == 1
    assert found.count((1, ROWS, WIDTH, WIDTH)) == STEPS
    # Gradients to what was there before are one product too, in its columns of the others.
    assert (1, STEPS * ROWS, INPUT, WIDTH) in _products(slopes)


def test_whole_operands_and_results():
    def recurrence(xs, w, v, state):
        for t in range(STEPS):
            state = ag.tanh(xs[t] @ w + state @ v)
        return state

    args = _draw(STEPS, ROWS, INPUT), _draw(INPUT, WIDTH), _draw(WIDTH, WIDTH), _draw(ROWS, WIDTH)
    values, slopes = _agree(recurrence, *args)
    assert _products(values)[0] == (1, STEPS * ROWS, WIDTH, INPUT)
    assert len(_products(values)) == STEPS + 1
    assert (1, STEPS * ROWS, INPUT, WIDTH) in _products(slopes)


def test_products_that_wait_for_each_other():
    """Each of two sets of products could be one, but not both."""

    def both(x, y, v, w):
        first, second = x @ v, y @ w
        return ag.concat([first, second, (second @ ag.ones((40, 40))) @ v,
                          (first @ ag.ones((40, 40))) @ w])  # fmt: skip

    args = [_draw(2, 40), _draw(2, 40), _draw(40, 40), _draw(40, 40)]
    f, _ = _agree(both, *args)
    assert sorted(m for _, m, _, _ in _products(f)) == [2, 2, 2, 2, 4]


def test_matrices_that_are_read_soon_stay_apart():
    """Where operands are larger than the matrix, moving them would take longer."""
    f, _ = _agree(lambda x, y, w: (x @ w) * ag.sin(y @ w), _draw(50, 8), _draw(50, 8), _draw(8, 9))
    assert [s[1] for s in _products(f)] == [50, 50]


def test_columns_that_a_step_needs_stay_apart():
    def steps(x, w):
        kept = []
        for _ in range(STEPS):
            both = ag.sin(x) @ w
            x, other = both[:, :WIDTH], both[:, WIDTH:]
            kept.append(other)
        return ag.concat(kept)

    f, _ = _agree(steps, _draw(ROWS, WIDTH), _draw(WIDTH, 2 * WIDTH))
    assert (1, STEPS * ROWS, WIDTH, WIDTH) in _products(f)
    assert len(_products(f)) == STEPS  # the last step's other columns are not used
