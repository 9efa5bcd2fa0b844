"""Large reductions with few results: cut in parts that threads share, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

RNG = np.random.default_rng(0)
CASES = {
    "all": (lambda x: x.sum(), (1000, 500)),
    "columns": (lambda x: (x * x).sum(0), (9000, 50)),
    "planes": (lambda x: x.mean((0, 2, 3)), (6, 20, 60, 61)),
    "one image": (lambda x: x.mean((0, 2, 3)), (1, 20, 150, 142)),
    "both": (lambda x: (x.max(), x.min(), x.sum(0)), (5000, 100)),
    "variance": (lambda x: x.var(0), (11000, 40)),
    "prime": (lambda x: x.sum(0), (20011, 30)),
    "gathered": (lambda x: x[ag.arange(7000) % 7].sum(0), (7, 64)),
    "product": (lambda x: ag.where(x > 0, -1.0, 1.0).prod(), (768, 600)),
    "many": (lambda x: [(x + i).sum(0) for i in range(6)], (16384, 33)),
}


def leaves(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", CASES)
def test_like_numpy_on_any_number_of_threads(name, dtype):
    function, shape = CASES[name]
    x = (RNG.standard_normal(shape) * 10).astype(dtype)
    compiled = ag.jit(function)
    found = []
    for threads in (1, 2, 3):
        with ag.config(threads=threads):
            found.append(leaves(compiled(ag.tensor(x))))
    exact = leaves(function(ag.tensor(x, "float64")))
    for a, b, c, e in zip(*found, exact, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_array_equal(a.numpy(), c.numpy())
        scale = np.abs(e.numpy()).max() + 1
        np.testing.assert_allclose(a.numpy(), e.numpy(), rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("name", ["all", "columns", "planes", "one image", "variance", "gathered"])
def test_threads_share_them(name):
    function, shape = CASES[name]
    compiled = ag.jit(function)
    compiled(ag.tensor(RNG.standard_normal(shape).astype("float32")))
    assert "on all threads" in str(compiled.plan())


def test_layers_that_are_alike():
    """Kernels that are made again for the next layer, and their gradients."""
    rng = np.random.default_rng(7)
    x = ag.tensor(rng.standard_normal((9000, 48)).astype("float32"))
    weights = [ag.tensor(rng.standard_normal(48).astype("float32")) for _ in range(6)]

    def loss(weights, x):
        for w in weights:
            x = ag.tanh((x - x.mean(0)) / ag.sqrt(x.var(0) + 1e-5) * w)
        return (x * x).mean()

    gradients = ag.jit(ag.grad(loss))(weights, x)
    for a, b in zip(gradients, ag.grad(loss)(weights, x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-6)
