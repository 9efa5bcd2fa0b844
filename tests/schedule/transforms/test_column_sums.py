"""Sums over the rows of what a nest writes: gradients to biases, and others over leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag


def compared(function: Any, *arrays: np.ndarray) -> Any:
    """The compiled function, which gives what the eager one does, on any number of threads."""
    compiled = ag.jit(function)
    expected = function(*map(ag.tensor, arrays))
    results = []
    for threads in (1, 2):
        with ag.config(threads=threads):
            results.append(compiled(*map(ag.tensor, arrays)))
    for a, b, exact in zip(*results, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_allclose(a.numpy(), exact.numpy(), rtol=2e-4, atol=1e-3)
    return compiled


def scores(x: Any, w: Any, labels: Any) -> Any:
    """What a language model does with scores: a loss, gradients to the matrix and to the bias."""
    h = ag.matmul(x, w)
    change = ag.softmax(h) - (labels[:, None] == np.arange(h.shape[-1]))
    return ag.cross_entropy(h, labels), ag.matmul(x.T, change), change.sum(0)


@pytest.mark.share(4)
@pytest.mark.parametrize(("rows", "columns"), [
    (400, 1000), (64, 5003), (402, 1000), (16, 20000), (397, 1000), (12, 30000), (8, 33000),
    (400, 10),
])
def test_the_gradient_to_a_bias(rows, columns):
    rng = np.random.default_rng(rows)
    x, w = (rng.standard_normal(s).astype("f") for s in ((rows, 8), (8, columns)))
    compared(scores, x, w, rng.integers(0, columns, rows))


def test_rows_of_several_axes_and_several_sums():
    def step(x, w, b):
        h = ag.maximum(ag.matmul(x, w) + b, 0)
        y = ag.where(ag.matmul(x, w) > 0, ag.matmul(h, w.T) @ w, 0)
        return ag.matmul(y, w.T), y.sum((0, 1)), y.sum((0, 1)) * 2 - b

    rng = np.random.default_rng(1)
    x, w, b = (rng.standard_normal(s) for s in ((16, 30, 8), (8, 1040), (1040,)))
    compared(step, x, w, b)


def test_other_sums_stay_as_they_are():
    """Of float64; over columns; over some of the rows; of what is written in two steps."""
    def step(x):
        a, b = ag.exp(x), ag.exp(-x)
        a[:200] += 1
        return a.sum(0), b.sum(1), b[:300].sum(0), b, b.sum(0)

    compared(step, np.random.default_rng(2).standard_normal((512, 400)))


def test_sums_of_nothing_but_minus_zero():
    @ag.jit
    def step(x):
        y = ag.tanh(x)
        return y, y.sum(0)

    _, total = step(ag.tensor(np.full((512, 1024), -0.0, "f")))
    assert np.signbit(total.numpy()).all()


@pytest.mark.share(4)
@pytest.mark.parametrize("shape", [(700, 777), (300, 1024), (40, 20, 513), (3, 7, 90, 640)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_columns_of_rows_from_afar(shape, dtype):
    """Rows that fill no whole number of registers, along one axis or several, in several sums."""
    rng = np.random.default_rng(shape[0])
    x = (rng.standard_normal(shape) * 9).astype(dtype)
    weights = (rng.standard_normal(shape[:-1]) * 9).astype(dtype)

    def sums(x: Any, weights: Any) -> Any:
        heavy = x * weights[..., None]
        outer = tuple(range(len(shape) - 1))
        return (heavy.sum(-2) / 64, heavy.sum(outer) / 512, x.max(outer) - x.min(outer),
                (heavy - x).sum(-2) / 64 + (heavy * 2).sum(-2) / 64)

    compiled = compared(sums, x, weights)
    if dtype == "int64":
        exact = (x * weights[..., None]).sum(-2) / 64
        np.testing.assert_array_equal(compiled(*map(ag.tensor, (x, weights)))[0].numpy(), exact)


def test_values_of_few_steps_are_computed_again():
    """What two sums read of an outer product and a kept value needs no memory of its own."""
    @ag.jit
    def step(x, column, row):
        y = ag.tanh(x)
        slope = column[:, :, None] * row * (1 - y * y)
        return ag.matmul(y, y.mT), slope.sum(1), slope.sum((0, 2))

    rng = np.random.default_rng(3)
    x, column, row = (rng.standard_normal(s) for s in ((30, 20, 512), (30, 20), (512,)))
    found = step(*map(ag.tensor, (x, column, row)))
    slope = column[:, :, None] * row * (1 - np.tanh(x) ** 2)
    for a, b in zip(found[1:], (slope.sum(1), slope.sum((0, 2))), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-9)
    assert step.plan().arena_bytes < 2 * x.nbytes


def test_what_follows_from_sums_of_columns_is_computed_once() -> None:
    """The root of a variance is one for each column, not for each element that is divided by it."""
    x = np.random.default_rng(0).standard_normal((5000, 20))

    def normal(x: ag.Tensor) -> ag.Tensor:
        centred = x - x.mean(0)
        return centred / ag.sqrt((centred * centred).mean(0) + 1e-5)

    compiled = ag.jit(normal)
    centred = x - x.mean(0)
    exact = centred / np.sqrt((centred**2).mean(0) + 1e-5)
    np.testing.assert_allclose(compiled(ag.tensor(x)).array, exact, rtol=1e-9)
    assert "temporary sqrt: float64[20]" in str(compiled.plan())


def test_lengths_of_sequences():
    """Rows of any number."""
    def step(x, w, labels):
        return scores(x.reshape(-1, 8), w, labels.reshape(-1))

    rng = np.random.default_rng(0)
    w = rng.standard_normal((8, 1000)).astype("f")
    compiled = ag.jit(step)
    for n in (40, 50, 3, 2, 77):
        x = rng.standard_normal((n, 16, 8)).astype("f")
        labels = rng.integers(0, 1000, (n, 16))
        for a, exact in zip(compiled(x, w, labels), step(*map(ag.tensor, (x, w, labels))),
                            strict=True):
            np.testing.assert_allclose(a.numpy(), exact.numpy(), rtol=2e-4, atol=1e-3)
    assert len(compiled.specialisations) == 2
