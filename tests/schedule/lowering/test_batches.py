"""Matrix products over any number of batch axes use the product template."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Product

X = np.random.default_rng(0).normal(size=(2, 5, 3, 4))
W = np.random.default_rng(1).normal(size=(4, 6))

CASES = {
    "two batch axes": lambda x, w: x @ x.swapaxes(-1, -2),
    "heads": lambda x, w: x.swapaxes(1, 2) @ x.swapaxes(1, 2).swapaxes(-1, -2),
    "batch axes exchanged": lambda x, w: x.swapaxes(0, 1) @ w,
    "one matrix": lambda x, w: x @ w,
    "one on the left": lambda x, w: w.T @ x.swapaxes(-1, -2),
    "inner broadcast": lambda x, w: x @ x[:, :1].swapaxes(-1, -2),
    "outer broadcast": lambda x, w: x @ x[1].swapaxes(-1, -2),
    "both broadcast": lambda x, w: x[:, :1] @ x[1].swapaxes(-1, -2),
    "axes of size one": lambda x, w: x[:1, :, None] @ w,
    "only size one": lambda x, w: x[:1, 2:3] @ w,
    "every other": lambda x, w: x[:, ::2, ::-1] @ w,
    "epilogue": lambda x, w: ag.tanh(x @ w + 1),
    "epilogue over batches": lambda x, w: x @ w * ag.arange(5, dtype="float64")[:, None, None],
    "epilogue of another order": lambda x, w: (x @ w)[::-1, ::-1] + 1,
    "five axes": lambda x, w: x[:, :, None] @ w[None, None, None],
    "pieces": lambda x, w: ag.concat([x, x * 2], 1) @ w,
    "odd reshape": lambda x, w: x.reshape(5, 2, 12).swapaxes(0, 1).reshape(2, 3, 5, 4) @ w,
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_batches(name):
    x, w = ag.asarray(X), ag.asarray(W)
    f = ag.jit(CASES[name])
    np.testing.assert_allclose(f(x, w).numpy(), CASES[name](x, w).numpy(), rtol=1e-12, atol=1e-12)
    assert any(isinstance(k, Product) for k in f.plan().layout.kernels)


def test_heads_are_read_where_they_lie():
    """Batch axes that are no single one cost no copies: each operand is found along all of them."""
    x = ag.asarray(np.random.default_rng(2).normal(size=(3, 6, 2 * 4 * 5)))

    def scores(x):
        q, k = (x.reshape(3, 6, 2, 4, 5)[:, :, i].swapaxes(1, 2) for i in range(2))
        return q @ k.swapaxes(-1, -2)

    f = ag.jit(scores)
    np.testing.assert_allclose(f(x).numpy(), scores(x).numpy(), rtol=1e-12)
    assert [type(k) for k in f.plan().layout.kernels] == [Product]
