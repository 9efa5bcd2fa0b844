"""What sums and products of every dtype add up in: the same eagerly, compiled, and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]
REDUCTIONS = ["sum", "prod", "mean", "max", "min", "any", "all", "cumsum", "cumprod"]
CONTRACTIONS = {
    "vector @ vector": (lambda np, a, b: a[0] @ b[0]),
    "dot": (lambda np, a, b: np.dot(a[0], b[0])),
    "inner": (lambda np, a, b: np.inner(a, b)),
    "vecdot": (lambda np, a, b: np.vecdot(a, b)),
    "tensordot": (lambda np, a, b: np.tensordot(a, b, axes=2)),
    "einsum ij,jk": (lambda np, a, b: np.einsum("ij,kj->ik", a, b)),
    "einsum ij,ij": (lambda np, a, b: np.einsum("ij,ij->", a, b)),
    "matrix @ matrix": (lambda np, a, b: a @ b.T),
    "batched": (lambda np, a, b: np.stack([a, b]) @ np.stack([b, a]).swapaxes(1, 2)),
    "matrix @ vector": (lambda np, a, b: a @ b[0]),
    "outer": (lambda np, a, b: np.outer(a[0], b[0])),
    "kron": (lambda np, a, b: np.kron(a, b)),
}


def _operands(dtype, n=6):
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return np.ones((4, n), bool), np.ones((4, n), bool)  # an even number of terms
    a, b = rng.integers(0, 3, (2, 4, n))
    return a.astype(dtype), b.astype(dtype)


def _ours(function):
    return lambda a, b: function(ag, a, b)


def _agree(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-3)


@pytest.mark.share(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions(name, dtype):
    function = CONTRACTIONS[name]
    a, b = _operands(dtype)
    if name == "vecdot" and not hasattr(np, "vecdot"):
        expected = (a.conj() * b).sum(-1, dtype=dtype)
    else:
        expected = np.asarray(function(np, a, b))
    x, y = ag.tensor(a), ag.tensor(b)
    eager = _ours(function)(x, y)
    _agree(eager, expected.astype(eager.dtype))
    _agree(ag.jit(_ours(function))(x, y), eager)


@pytest.mark.share(18)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(dtype, axis):
    a, _ = _operands(dtype)
    x = ag.tensor(a)
    for name in REDUCTIONS:
        if dtype.startswith("complex") and name in ("max", "min"):
            continue
        if name.startswith("cum") and axis is None:
            continue
        eager = getattr(ag, name)(x, axis=axis)
        compiled = ag.jit(lambda x, name=name: getattr(ag, name)(x, axis=axis))(x)
        assert eager.dtype == compiled.dtype, name
        np.testing.assert_allclose(compiled, eager, rtol=1e-3, err_msg=name)
        expected = getattr(np, name)(a, axis=axis)
        np.testing.assert_allclose(eager, expected, rtol=1e-2, err_msg=name)
