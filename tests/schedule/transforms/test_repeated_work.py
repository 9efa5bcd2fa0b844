"""No kernel computes again, inside of its loops, what does not change in them.

The verifier counts instructions while programs are scheduled (``schedule/verify.py``); here are
programs that took n**3 steps for n**2 values before it did.
"""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


def _normalized(x):
    return (x - x.mean(1, keepdims=True)) / ag.sqrt(x.var(1, keepdims=True) + 1e-5)


def _kernel(x):
    d = ((x[:, None, :4] - x[None, :, :4]) ** 2).sum(-1)
    k = ag.exp(-d)
    s = k.sum(1) ** -0.5
    return s[:, None] * k * s[None, :]


def _similarities(x):
    return ag.exp(-(x[0][:, None] - x[1][None, :]) ** 2)


def _balanced(k):
    return k / ag.sqrt(k.sum(1))[:, None] / ag.sqrt(k.sum(0))[None, :]


def _centred_squares(k):
    return ((k - k.mean(0) - k.mean(1, keepdims=True) + k.mean()) ** 2).sum(0)


def _gradient(loss):
    return lambda x: ag.grad(lambda t: loss(x, t))(x[0])


def _weighted_by_shares(x):
    """The shares of columns are in kernels in which their sums are read, and in others made."""
    y = x * ag.softmax(x, axis=0).mean(1, keepdims=True)
    return ((y - y.mean(1, keepdims=True)) * y.var(0, keepdims=True)).sum(1)


def _beside_turned(y):
    return y * y[::-1]


def _places(x):
    return ag.arange(x.size).reshape(x.shape) * 7 % x.shape[0]


ORDERS = {
    "shares taken along columns": lambda x: ag.take_along_axis(
        ag.softmax(x, axis=1), _places(x), 0),
    "centred, picked": lambda x: (x - x.mean(1, keepdims=True))[_places(x), _places(x.T)],
    "weighted by shares, deviations": _weighted_by_shares,
    "shares of rows, summed over columns": lambda x: ag.softmax(x, axis=1).sum(0),
    "the largest of them": lambda x: ag.softmax(x, axis=1).max(0),
    "shares of columns, summed over rows": lambda x: ag.softmax(x, axis=0).sum(1),
    "shares of a turned matrix": lambda x: ag.softmax(x.T, axis=1).sum(0),
    "layer norm, largest": lambda x: _normalized(x).max(0),
    "layer norm, sum": lambda x: _normalized(x).sum(0),
    "layer norm, deviation": lambda x: _normalized(x).std(0),
    "double centring": lambda x: x - x.mean(0) - x.mean(1, keepdims=True) + x.mean(),
    "rows of length 1": lambda x: (x / ag.sqrt((x * x).sum(1, keepdims=True))).sum(0),
    "columns of length 1": lambda x: (x / ag.sqrt((x * x).sum(0))).max(1),
    "attention, averaged": lambda x: ag.softmax(x @ x.T * 0.01, axis=1).mean(0),
    "attention, averaged the other way": lambda x: ag.softmax(x @ x.T * 0.01, axis=0).mean(1),
    "argmax of shares": lambda x: ag.argmax(ag.softmax(x, axis=1), axis=0),
    "a graph's kernel": _kernel,
    "sums of it": lambda x: _kernel(x).sum(0),
    "gradient by a row": _gradient(lambda x, t: (ag.softmax(x + t, axis=1) * x).sum()),
    "gradient by a row, squares": _gradient(lambda x, t: (ag.softmax(x + t, axis=1) ** 2).sum()),
    "gradient by a column": _gradient(
        lambda x, t: (ag.softmax(x + t[:, None], axis=0) ** 2).sum()),
    "running sums": lambda x: ag.softmax(ag.cumsum(x, axis=1), axis=1).sum(0),
    "exponentials of sums": lambda x: (ag.exp(x.sum(1) * 0.01)[None, :] * x).sum(1),
    "both shares": lambda x: ag.softmax(x, axis=0) * ag.softmax(x, axis=1),
    "logarithms of shares": lambda x: (x - ag.logsumexp(x, axis=1, keepdims=True)).max(0),
    "neighbours of something costly": lambda x: sum(
        ag.cos(x)[a:180 + a, b:180 + b] for a in (0, 1) for b in (0, 1)),
    "products of exponentials": lambda x: (ag.exp(x)[:, None, :8] * x[None, :, :8]).sum(-1),
    "shares, averaged, beside themselves turned": lambda x: _beside_turned(
        ag.softmax(x, axis=1).mean(0)),
    "similarities, centred twice, squares": lambda x: _centred_squares(_similarities(x)),
    "similarities, gradient of their average": lambda x: ag.grad(
        lambda t: _similarities(ag.stack([t, t])).mean() ** 2)(x[0]),
    "similarities, divided both ways": lambda x: _balanced(_similarities(x)).max(0),
}


@pytest.mark.share(6)
@pytest.mark.parametrize("name", ORDERS)
def test_orders(name):
    x = ag.tensor(np.random.default_rng(0).normal(size=(182, 182)))
    with ag.config(verify=True):
        found = ag.jit(ORDERS[name])(x)
    np.testing.assert_allclose(found, ORDERS[name](x), rtol=1e-6, atol=1e-9)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [*[*ORDERS][:-2:3], *[*ORDERS][-2:]])
def test_sizes_that_are_not_known(name):
    f = ag.jit(ORDERS[name])
    for n in (182, 200) if "neighbours" in name else (6, 7, 200):
        x = ag.tensor(np.random.default_rng(n).normal(size=(n, n)))
        np.testing.assert_allclose(f(x), ORDERS[name](x), rtol=1e-6, atol=1e-9)
