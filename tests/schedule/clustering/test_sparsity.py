"""Products with what dropout or relu left: zeros are skipped, and the numbers stay the same."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.nn.functional import dropout
from agnesi.schedule.clustering.sparsity import zeros_of

_ROWS, _WIDTH, _SCORES = 200, 160, 600


def _operands(dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = (_ROWS, _WIDTH), (_SCORES, _WIDTH), (_ROWS, _SCORES)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def _layer(x, w, g):
    kept = dropout(x.reshape(10, -1, _WIDTH), 0.5).reshape(-1, _WIDTH)
    return kept, kept @ w.T + w[:, 0], w - 0.1 * (g.T @ kept), kept.T @ g


def _references(kept, w, g):
    return kept @ w.T + w[:, 0], w - 0.1 * (g.T @ kept), kept.T @ g


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_dropped_values(dtype: str) -> None:
    x, w, g = _operands(dtype)
    kept, *found = (t.numpy() for t in ag.jit(_layer)(*map(ag.asarray, (x, w, g))))
    assert 0.45 < (kept == 0).mean() < 0.55
    for value, expected in zip(found, _references(kept, w, g), strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_products_of_any_share_of_zeros(share: float) -> None:
    x, w, g = _operands("float32")
    signs = np.where(np.random.default_rng(1).random(x.shape) < share, -1, 1)
    x = np.abs(x) * signs.astype(x.dtype)
    found = ag.jit(lambda x, w, g: _references(ag.relu(x), w, g))(*map(ag.asarray, (x, w, g)))
    for value, expected in zip(found, _references(np.maximum(x, 0), w, g), strict=True):
        np.testing.assert_allclose(value.numpy(), expected, rtol=0, atol=1e-4)


def test_zero_times_infinity_is_no_number() -> None:
    x, w, g = _operands("float32")
    x[7, 11], w[3, 5], g[2, 9] = np.nan, np.inf, -np.inf
    kept, *found = (t.numpy() for t in ag.jit(_layer)(*map(ag.asarray, (x, w, g))))
    with np.errstate(invalid="ignore"):
        expected = _references(kept, w, g)
    for value, same in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isnan(value), np.isnan(same))
        assert np.isnan(value).any()


def test_shares_of_zeros() -> None:
    share = []

    def looked(x, p=0.4):
        share.append(zeros_of(dropout(x, p).reshape(-1, 4).T.node))
        share.append(zeros_of((x * ag.random.dropout_mask(x.shape, p)).node))
        share.append(zeros_of(ag.relu(x).node))
        share.append(zeros_of(ag.where(x > 0, x + 1, 0).node))
        share.append(zeros_of(ag.where(x > 1, x, 0).node))
        return x

    ag.jit(looked)(ag.ones((8, 8)))
    np.testing.assert_allclose(share, [0.4, 0.4, 0.5, 0.5, 0.0], atol=1e-6)
