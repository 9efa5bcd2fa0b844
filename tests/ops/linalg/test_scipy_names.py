"""SciPy's linear algebra under its names, against SciPy; eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import agnesi as ag
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError
from agnesi.testing.matrices import LEFT, RIGHT, STACK, TALL, TURNED, A, B

L: Any = ag.linalg
POSITIVE = A @ A.T + np.eye(4)
CALLS: dict[str, tuple[Any, ...]] = {
    "cosm": (A,), "sinm": (TURNED,), "tanm": (A * 0.3,), "coshm": (TURNED,), "sinhm": (A,),
    "tanhm": (A * 0.3,), "sqrtm": (POSITIVE,), "logm": (POSITIVE,),
    "signm": (POSITIVE - np.eye(4),),
    "expm_frechet": (A, A.T), "solve_sylvester": (A, STACK[0], B),
    "solve_continuous_lyapunov": (TURNED, A), "solve_discrete_lyapunov": (A * 0.2, A.T),
    "solve_lyapunov": (A, A.T), "pinvh": (POSITIVE,), "orthogonal_procrustes": (A, A.T),
    "subspace_angles": (TALL, LEFT), "solve_circulant": (A[0] + 9, B),
    "solve_toeplitz": (A[0] + np.array([9, 0, 0, 0]), B), "matmul_toeplitz": ((A[0], A[1]), B),
    "issymmetric": (POSITIVE,), "ishermitian": (TURNED,), "schur": (A,),
    "fiedler": (A[0],), "leslie": (A[0], A[1, :3]),
}
TABLES: dict[str, list[tuple[Any, ...]]] = {
    "dft": [(5,), (4, "sqrtn"), (3, "n")], "hadamard": [(1,), (8,)], "helmert": [(4,), (5, True)],
    "pascal": [(5,), (4, "lower"), (4, "upper")], "invhilbert": [(1,), (6,)],
    "invpascal": [(5,), (4, "lower"), (4, "upper")], "diagsvd": [(A[0], 4, 6), (A[0], 5, 4)],
    "convolution_matrix": [(A[0], 3), (A[0], 6, "same"), (A[0], 2, "valid"), (A[0], 3, "same")],
    "fractional_matrix_power": [(POSITIVE, 0.3), (A, 2), (POSITIVE, -0.5)],
}


def _same(found: Any, expected: Any) -> None:
    leaves = tree.flatten(list(found) if isinstance(found, tuple) else found)[0]
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(leaves, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), y, 1e-9, 1e-9)


@pytest.mark.share(9)
@pytest.mark.parametrize("name", CALLS)
def test_against_scipy(name: str) -> None:
    given = CALLS[name]
    tensors = tree.map_leaves(lambda x: ag.asarray(x), list(given))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.linalg, name)(*given)
    _same(getattr(L, name)(*tensors), expected)
    if name == "subspace_angles":  # the ranks must be known
        return
    _same(ag.jit(getattr(L, name))(*tensors), expected)


@pytest.mark.parametrize(("name", "given"), [(n, g) for n, gs in TABLES.items() for g in gs])
def test_tables_against_scipy(name: str, given: tuple[Any, ...]) -> None:
    with ag.config(default_float="float64"):
        found = getattr(L, name)(*given)
    _same(found, getattr(scipy.linalg, name)(*given))


def test_products_with_orthogonal_factors() -> None:
    q, r = np.linalg.qr(TALL)
    _same(L.qr_multiply(TALL, TALL.T @ TALL, "left"), (q @ (TALL.T @ TALL), r))
    _same(L.qr_multiply(TALL, TALL.T), (TALL.T @ q, r))


@pytest.mark.parametrize("mode", ["full", "economic"])
@pytest.mark.parametrize("x", [A, TALL, TALL.T, TURNED])
def test_triangles_in_front_of_orthogonal_factors(x: np.ndarray, mode: Any) -> None:
    expected = scipy.linalg.rq(x, mode=mode)
    for f in (L.rq, ag.jit(L.rq)):
        r, q = f(ag.asarray(x), mode=mode)
        assert (r.shape, q.shape) == (expected[0].shape, expected[1].shape)
        _same(ag.abs(r), np.abs(expected[0]))
        _same(r @ q, x)
        _same(q @ ag.conj(q.mT), np.eye(q.shape[0]))
    _same(ag.abs(L.rq(x, "r")), np.abs(scipy.linalg.rq(x, mode="r")))


def test_functions_that_are_not_real_are_nan_and_complex_ones_are_not() -> None:
    turn = ag.tensor([[-1.0, 0.0], [0.0, 4.0]], dtype="float64")
    assert np.isnan(L.sqrtm(turn).numpy()).all()
    _same(L.sqrtm(turn.astype("complex128")), np.diag([1j, 2]))
    assert np.isnan(L.logm(turn).numpy()).all()
    _same(L.logm(turn.astype("complex128")), np.diag([np.pi * 1j, np.log(4)]))
    assert np.isnan(L.sqrtm(turn * np.nan).numpy()).all()


def test_bases_of_ranges_and_of_what_is_mapped_to_nothing() -> None:
    for x in (LEFT @ RIGHT, A, TURNED, LEFT[:, :1] @ TURNED[:1], np.zeros((3, 2))):
        basis, rest = L.orth(x).numpy(), L.null_space(x).numpy()
        rank = np.linalg.matrix_rank(x)
        assert basis.shape == (x.shape[0], rank)
        assert rest.shape == (x.shape[1], x.shape[1] - rank)
        _same(basis.conj().T @ basis, np.eye(rank))
        _same(basis @ (basis.conj().T @ x), x)
        _same(rest.conj().T @ rest, np.eye(rest.shape[1]))
        _same(x @ rest, np.zeros((x.shape[0], rest.shape[1])))


def test_bases_of_stacks_are_those_of_each_matrix() -> None:
    stack = np.stack([A[:3], 2.0 - A[1:]])
    for name, x in (("null_space", stack), ("orth", stack.swapaxes(-1, -2))):
        found = getattr(L, name)(x).numpy()
        for one, base in zip(x, found, strict=True):
            _same(base @ base.T, (lambda v: v @ v.T)(getattr(L, name)(one).numpy()))
        with pytest.raises(ShapeError, match=f"{name}.*different ranks, 0 to 3"):
            getattr(L, name)(x * np.array([0.0, 1.0]).reshape(2, 1, 1))
        assert getattr(L, name)(x[:0]).shape[0] == 0


def test_schur_of_complex_and_without_a_library() -> None:
    for settings in ({}, {"lapack": "none"}):
        with ag.config(**settings):
            for x in (STACK, TURNED):
                t, z = L.schur(x, "complex")
                assert t.dtype == "complex128"
                _same(z @ t @ ag.conj(z.mT), x)
                assert not np.tril(t.numpy(), -1).any()
            _same(L.solve_sylvester(STACK, A, STACK[..., :1] * A[0]),
                  np.stack([scipy.linalg.solve_sylvester(s, A, s[:, :1] * A[0]) for s in STACK]))


@pytest.mark.parametrize("compiled", [False, True])
def test_equations_without_one_solution_are_errors(compiled: bool) -> None:
    solve = ag.jit(L.solve_sylvester) if compiled else L.solve_sylvester
    with pytest.raises(np.linalg.LinAlgError, match="have an eigenvalue in common"):
        solve(ag.eye(2), ag.eye(2) * -1, ag.ones((2, 2)))


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"must be 2 by 3, as \(2, 2\) and \(3, 3\) ask for"):
        L.solve_sylvester(ag.eye(2), ag.eye(3), ag.ones((3, 2)))
    for call, text in ((lambda: L.hadamard(3), "power of 2"), (lambda: L.pascal(2, "x"), "kind"),
                       (lambda: L.rq(A, "raw"), "mode must be"), (lambda: L.dft(2, "x"), "scale"),
                       (lambda: L.schur(A, "x"), "output must be"),
                       (lambda: L.diagsvd(A[0], 3, 3), "do not fit"),
                       (lambda: L.leslie(A[0], A[0]), "rates of survival"),
                       (lambda: L.matmul_toeplitz(A[0], A[0, :2]), "does not fit"),
                       (lambda: L.expm_frechet(A, STACK[0]), "differ in shape")):
        with pytest.raises(ValueError, match=text):
            call()
