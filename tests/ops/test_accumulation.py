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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_of_many_floats_are_compiled_when_they_are_wanted_often(
        monkeypatch, name, dtype):
    pytest.importorskip("llvmlite.binding")
    monkeypatch.setattr("agnesi.compiler.eager._COMPILE_MULTIPLY_ADDS", 1)
    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=s) * 0.1 + (name == "cumprod")).astype(dtype)
             for s in ((2000,), (3, 700), (2, 3, 400), (200, 8), (300, 7), (1100, 2))]
    cases[0][[1000, 1500]] = np.inf, np.nan
    for x in [*cases, cases[1].T, cases[1][:, ::-1]]:
        for axis in range(x.ndim):
            found = getattr(ag, name)(ag.tensor(x), axis).numpy()
            with np.errstate(invalid="ignore"):
                wanted = getattr(np, name)(x.astype("float64"), axis)
            np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float32" else 1e-11,
                                       atol=1e-3 if dtype == "float32" else 1e-11)
    row = ag.tensor(cases[1], requires_grad=True)
    slope = ag.grad(lambda x: (getattr(ag, name)(x, 1) ** 2).sum())(row)
    with ag.config(compile=False):
        expected = ag.grad(lambda x: (getattr(ag, name)(x, 1) ** 2).sum())(row)
    np.testing.assert_allclose(slope.numpy(), expected.numpy(), rtol=2e-2, atol=1e-3)


def test_powers_of_booleans_and_averages_of_complex_numbers():
    a, z = np.array([[True, True], [False, True]]), np.array([1 + 2j, 3 - 1j])
    w = np.array([1.0, 3.0])
    for run in (lambda f: f, ag.jit):
        for n in (0, 1, 2, 5):
            found = run(lambda x, n=n: ag.linalg.matrix_power(x, n))(ag.tensor(a))
            assert np.array_equal(found, np.linalg.matrix_power(a, n))
        for weights in (w, w + 1j):
            found = run(lambda x, w: ag.average(x, weights=w))(ag.tensor(z), ag.tensor(weights))
            np.testing.assert_allclose(found, np.average(z, weights=weights))
