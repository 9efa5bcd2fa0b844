"""Linear algebra against NumPy, SciPy and mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import agnesi as ag
from agnesi.testing.matrices import ANY, LEFT, RIGHT, SQUARE, STACK, TALL, A, B

L: Any = ag.linalg
POSITIVE = tuple((x @ x.conj().swapaxes(-1, -2) + 4 * np.eye(x.shape[-1]),) for (x,) in SQUARE)
LOW = LEFT @ RIGHT

#: Functions of one matrix that are NumPy's.
SAME: list[tuple[str, Any]] = [
    ("cholesky", POSITIVE), ("inv", SQUARE), ("det", SQUARE), ("pinv", ANY), ("qr", ANY),
    ("slogdet", SQUARE), ("eigvalsh", POSITIVE), ("eigh", POSITIVE), ("svd", ANY),
    ("svdvals", ANY), ("matrix_rank", (*ANY, (LOW,))), ("cond", SQUARE), ("norm", ANY),
    ("matrix_norm", ANY), ("vector_norm", ANY), ("trace", SQUARE), ("diagonal", SQUARE),
    ("matrix_transpose", ANY),
]


def _close(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert type(found)._fields == type(expected)._fields
        for x, y in zip(found, expected, strict=True):
            _close(x, y)
        return
    assert found.numpy().dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.numpy(), expected, 1e-9, 1e-9)


@pytest.mark.share(3)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "samples"), SAME)
def test_same_as_numpy(name: str, samples: Any, compiled: bool) -> None:
    function, expected = getattr(L, name), getattr(np.linalg, name)
    if compiled:
        function = ag.jit(function)
    for (x,) in samples:
        if name == "norm" and x.ndim > 2:
            continue
        _close(function(ag.asarray(x)), expected(x))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision_stays(dtype: str) -> None:
    x = ag.asarray((A + 5 * np.eye(4)).astype(dtype))
    for function in (L.inv, L.det, L.expm, L.pinv, lambda x: L.solve(x, x), lambda x: L.lu(x)[2]):
        for f in (function, ag.jit(function)):
            assert f(x).dtype == dtype
    for f in (L.svdvals, L.eigvalsh, L.cond):
        assert f(x).dtype == "float32"
    assert L.eigvals(x).dtype == "complex64"


def test_pytorchs_forms() -> None:
    a, b = A + 1j, B
    factors = L.lu_factor(a, pivot=True)
    _close(L.lu_solve(*factors, b), np.linalg.solve(a, b))
    _close(L.lu_solve(*factors, b, adjoint=True), np.linalg.solve(a.conj().T, b))
    _close(L.lu_solve(*factors, b.T, left=False), np.linalg.solve(a.T, b).T)
    _close(L.lu_solve(*factors, b.T, left=False, adjoint=True), np.linalg.solve(a.conj(), b).T)
    with pytest.raises(ValueError, match="leave out pivot"):
        L.lu(a, pivot=False)
    x = ag.tensor([[3.0, 4.0]], dtype="float64")
    _close(ag.nn.functional.normalize(x, p=-1.0), np.array([[1.75, 7 / 3]]))


@pytest.mark.parametrize("b", [B, B[:, 0], np.zeros((4, 0))])
def test_systems(b: np.ndarray) -> None:
    for f in (L.solve, ag.jit(L.solve)):
        _close(f(ag.asarray(A), ag.asarray(b)), np.linalg.solve(A, b))
    factors = scipy.linalg.lu_factor(A)
    for trans in (0, 1, 2):
        found = L.lu_solve(L.lu_factor(A), ag.asarray(b), trans)
        _close(found, scipy.linalg.lu_solve(factors, b, trans))
        for lower in (False, True):
            given = (A, b, trans, lower)
            _close(L.solve_triangular(*given), scipy.linalg.solve_triangular(*given))
    if b.size:
        for f in (L.lstsq, ag.jit(L.lstsq)):
            for x, y in zip(f(ag.asarray(TALL), ag.asarray(LEFT)),
                            np.linalg.lstsq(TALL, LEFT), strict=True):
                np.testing.assert_allclose(x.numpy(), y)


def test_factors_of_scipy() -> None:
    for x in (A, TALL, TALL.T):
        for found, expected in zip(L.lu(x), scipy.linalg.lu(x), strict=True):
            _close(found, expected)
        indices, lower, upper = L.lu(x, p_indices=True)
        np.testing.assert_allclose(lower.numpy()[indices.numpy()] @ upper.numpy(), x)
        lu, pivots = L.lu_factor(x)
        expected_lu, expected_pivots = scipy.linalg.lu_factor(x)
        _close(lu, expected_lu)
        np.testing.assert_array_equal(pivots.numpy(), expected_pivots)
        q, r = L.qr(x, "complete")
        np.testing.assert_allclose((q @ r).numpy(), x)
        np.testing.assert_allclose(L.qr(x, "r").numpy(), np.linalg.qr(x, "r"))
    _close(L.expm(A * 9), scipy.linalg.expm(A * 9))
    for side in ("right", "left"):
        for found, expected in zip(L.polar(A, side), scipy.linalg.polar(A, side), strict=True):
            _close(found, expected)


def test_many_small_matrices_at_once() -> None:
    a = np.random.default_rng(0).standard_normal((200, 3, 3))
    b = np.random.default_rng(1).standard_normal((200, 3, 2))
    for function in (lambda x: x, ag.jit):
        wrap: Any = function
        _close(wrap(L.solve)(ag.asarray(a), ag.asarray(b)), np.linalg.solve(a, b))
        for lower in (False, True):
            solved = wrap(lambda x, y, low=lower: L.solve_triangular(x, y, lower=low))
            triangle = np.tril(a) if lower else np.triu(a)
            _close(solved(ag.asarray(a), ag.asarray(b)), np.linalg.solve(triangle, b))
        permutation, lower_part, upper = wrap(L.lu)(ag.asarray(a))
        _close(permutation @ lower_part @ upper, a)
        for trans, expected in ((0, a), (1, a.swapaxes(1, 2))):
            _close(L.lu_solve(L.lu_factor(a), b, trans), np.linalg.solve(expected, b))


def test_numpy_takes_over_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from agnesi.ops.linalg import lapack

    found = lapack.getrf(A), lapack.potrf(POSITIVE[0][0]), lapack.trsm(A, B, True, False, False)
    solved = [lapack.getrs(*found[0], B.T.copy(), t) for t in (False, True)]
    monkeypatch.setattr(lapack, "address", lambda name: None)
    again = lapack.getrf(A), lapack.potrf(POSITIVE[0][0]), lapack.trsm(A, B, True, False, False)
    for x, y in zip((*found[0], *again[1][1:], found[2], *solved),
                    (*again[0], *found[1][1:], again[2],
                     *(lapack.getrs(*again[0], B.T.copy(), t) for t in (False, True))),
                    strict=True):
        np.testing.assert_allclose(x, y)
    np.testing.assert_allclose(np.tril(found[1][0]), np.tril(again[1][0]))


def test_ill_conditioned_systems_are_as_exact_as_numpys() -> None:
    n = 10
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1)
    with mpmath.workdps(60):
        exact = mpmath.lu_solve(mpmath.matrix(hilbert.tolist()), mpmath.matrix([1] * n))
        expected = np.array([float(v) for v in exact])
    for f in (L.solve, ag.jit(L.solve)):
        found = f(ag.asarray(hilbert), ag.ones(n, dtype="float64")).numpy()
        numpys = np.linalg.solve(hilbert, np.ones(n))
        assert abs(found - expected).max() <= 4 * abs(numpys - expected).max()


@pytest.mark.parametrize("scale", [1e-8, 0.3, 3.0, 30.0])
def test_exponentials_are_exact(scale: float) -> None:
    x = A[:3, :3] * scale
    with mpmath.workdps(50):
        expected = np.array(mpmath.expm(mpmath.matrix(x.tolist())).tolist(), dtype=float)
    size = abs(expected).max()
    assert abs(L.expm(x).numpy() - expected).max() < 1e-13 * size * max(1.0, scale)


def _by_loop(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(function(ag.asarray(v)).numpy()) for v in x])


@pytest.mark.parametrize("name", [
    "inv", "det", "pinv", "expm", "svdvals", "eigvals", "cond", "norm", "matrix_rank",
])
def test_vmap(name: str) -> None:
    function = getattr(L, name)
    found = ag.vmap(function)(ag.asarray(STACK))
    np.testing.assert_allclose(found.numpy(), _by_loop(function, STACK), 1e-9)


def test_vmap_of_factors_and_systems() -> None:
    many = np.random.default_rng(2).standard_normal((5, 3))
    a = STACK[0]
    expected = np.linalg.solve(a, many.T).T
    for f in (lambda f: f, ag.jit):
        solve: Any = f(ag.vmap(lambda b: L.solve(ag.asarray(a), b)))
        np.testing.assert_allclose(solve(ag.asarray(many)).numpy(), expected)
        each: Any = f(ag.vmap(L.solve))
        np.testing.assert_allclose(
            each(ag.asarray(STACK), ag.asarray(many[:2])).numpy(),
            np.linalg.solve(STACK, many[:2, :, None])[..., 0],
        )
    permutation, lower, upper = ag.vmap(L.lu)(ag.asarray(STACK))
    np.testing.assert_allclose((permutation @ lower @ upper).numpy(), STACK)
    w, _ = ag.vmap(L.eigh)(ag.asarray(STACK + STACK.swapaxes(1, 2)))
    np.testing.assert_allclose(w.numpy(), np.linalg.eigvalsh(STACK + STACK.swapaxes(1, 2)))
    triangular = ag.vmap(lambda b: L.solve_triangular(ag.asarray(a), b, lower=True))
    np.testing.assert_allclose(
        triangular(ag.asarray(many)).numpy(), np.linalg.solve(np.tril(a), many.T).T
    )


def test_symbolic() -> None:
    x, b = ag.symbolic.matrix("x"), ag.symbolic.vector("b")
    y = L.solve(x, b)
    f = ag.function([x, b], [y, ag.grad(y.sum(), x), L.slogdet(x).logabsdet])
    given = A.astype("float32"), B[:, 0].astype("float32")
    solved, gradient, size = f(*given)
    np.testing.assert_allclose(solved, np.linalg.solve(*given), 1e-4)
    adjoint = np.linalg.solve(given[0].T, np.ones(4, "float32"))
    np.testing.assert_allclose(gradient, -np.outer(adjoint, solved), 1e-3, 1e-4)
    np.testing.assert_allclose(size, np.linalg.slogdet(given[0])[1], 1e-4)


def test_logarithms_of_determinants_do_not_overflow() -> None:
    x = ag.asarray(np.eye(200) * 1e3)
    for f in (lambda x: ag.log(L.det(x)), lambda x: ag.log(ag.abs(L.det(-x)))):
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), 200 * np.log(1e3))
    assert np.isnan(ag.jit(lambda x: ag.log(L.det(x)))(ag.asarray(np.diag([-1.0, 2.0]))).numpy())


def test_methods() -> None:
    x = ag.asarray(A)
    np.testing.assert_allclose(x.det().numpy(), np.linalg.det(A))
    np.testing.assert_allclose(x.inverse().numpy(), np.linalg.inv(A))
    np.testing.assert_allclose(x.kron(B).numpy(), np.kron(A, B))
    np.testing.assert_allclose(x.matrix_exp().numpy(), scipy.linalg.expm(A))
    np.testing.assert_allclose(x.matrix_power(3).numpy(), np.linalg.matrix_power(A, 3))
    with pytest.raises(ag.ShapeError, match="must be square"):
        ag.asarray(B).inverse()


@pytest.mark.parametrize("name", ["inv", "cholesky", "det", "svdvals", "expm", "eigvalsh"])
def test_matrices_without_elements(name: str) -> None:
    x = np.zeros((2, 0, 0))
    for f in (getattr(L, name), ag.jit(getattr(L, name))):
        _close(f(ag.asarray(x)), getattr(scipy.linalg if name == "expm" else np.linalg, name)(x))
