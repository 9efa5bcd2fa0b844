"""Reductions of rows in nests that read across them: once for each row, not for each element."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


def _numbers(*shape):
    return np.sin(np.arange(np.prod(shape), dtype="float32")).reshape(shape)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


CASES = {
    "shares turned": (lambda x: ag.softmax(x, -1).T, lambda x: _softmax(x).T),
    "rows without their mean, turned": (lambda x: (x - x.mean(1, keepdims=True)).T,
                                        lambda x: (x - x.mean(1, keepdims=True)).T),
    "largest of rows along columns": (lambda x: ag.exp(x.T - x.max(1)),
                                      lambda x: np.exp(x.T - x.max(1))),
    "totals of rows along columns": (lambda x: x - x.sum(1), lambda x: x - x.sum(1)),
    "two kinds": (lambda x: (x - x.sum(1)) * x.max(0)[:, None],
                  lambda x: (x - x.sum(1)) * x.max(0)[:, None]),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [3, 40, 129, 200])
def test_squares(name, n):
    ours, theirs = CASES[name]
    x = _numbers(n, n)
    found = ag.jit(ours)(ag.tensor(x)).numpy()
    np.testing.assert_allclose(found, theirs(x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["shares turned", "largest of rows along columns",
                                  "totals of rows along columns"])
def test_a_reduction_has_a_kernel_of_its_own(name):
    f = ag.jit(CASES[name][0])
    f(ag.tensor(_numbers(128, 128)))
    assert len(f.plan().layout.kernels) == 2


def test_rows_that_lead_keep_theirs():
    f = ag.jit(lambda x: ag.softmax(x, -1))
    f(ag.tensor(_numbers(128, 128)))
    assert len(f.plan().layout.kernels) == 1


def test_sizes_known_at_run_time():
    f = ag.jit(CASES["shares turned"][0])
    for n in (70, 80, 90, 200, 5, 131):
        x = _numbers(n, n)
        np.testing.assert_allclose(f(ag.tensor(x)).numpy(), _softmax(x).T, rtol=2e-4, atol=1e-6)


def test_layers_alike():
    def net(x):
        for _ in range(4):
            x = ag.softmax(x @ x, -1).T
        return x

    x = _numbers(130, 130)
    expected = x
    for _ in range(4):
        expected = _softmax(expected @ expected).T
    np.testing.assert_allclose(ag.jit(net)(ag.tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_in_a_loop():
    def steps(x):
        return ag.fori_loop(0, 3, lambda i, x: ag.softmax(x, -1).T, x)

    x = _numbers(130, 130)
    expected = x
    for _ in range(3):
        expected = _softmax(expected).T
    np.testing.assert_allclose(ag.jit(steps)(ag.tensor(x)).numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_sums_whose_axis_hides_a_loop_outside_of_them(dtype):
    """The same name counts results' rows and what is summed over."""
    def f(x):
        x = ag.cumprod(x, axis=3)
        rows = ag.sum(x * 2 - x.sum(axis=(1, 2, 3), keepdims=True), axis=(0, 3))
        return (rows / 64 * ag.sum(rows, axis=-1, keepdims=True)).T

    x = ag.ones((3, 3, 3, 3), dtype=dtype)
    np.testing.assert_allclose(ag.jit(f)(x).astype("float32").numpy(),
                               np.full((3, 3), 225 / 64 * 675), rtol=0.02)
