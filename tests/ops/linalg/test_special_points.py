"""Gradients where formulae divide by nothing: repeated and vanishing values, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.testing import check_grads

L: Any = ag.linalg
_TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
#: Symmetric, with an eigenvalue that comes up twice.
TWICE = _TURN @ np.diag([1.0, 2.0, 2.0, 5.0]) @ _TURN.T


@pytest.mark.parametrize("x", [np.eye(3), TWICE, np.diag([2.0, -2.0, 1.0])])
def test_repeated_singular_values(x: np.ndarray) -> None:
    def energy(x: Any) -> Any:
        return (L.svdvals(x) ** 2).sum() + (L.svdvals(x) ** 4).sum()

    check_grads(energy, [x], order=1)
    gradient = ag.grad(energy)(ag.asarray(x)).numpy()
    np.testing.assert_allclose(gradient, 2 * x + 4 * x @ x.T @ x, 1e-9, 1e-9)
    nuclear = ag.grad(lambda x: L.matrix_norm(x, ord="nuc"))(ag.asarray(x)).numpy()
    u, _, vh = np.linalg.svd(x)
    np.testing.assert_allclose(nuclear, u @ vh, 1e-9, 1e-9)


def test_spaces_of_repeated_values_have_derivatives() -> None:
    def projected(x: Any) -> Any:  # onto the space of the value that comes up twice
        v = L.eigh((x + x.mT) / 2).eigenvectors[:, 1:3]
        return v @ v.mT

    check_grads(projected, [TWICE], order=1)
    assert np.isfinite(ag.grad(lambda x: projected(x)[0, 1])(ag.asarray(TWICE)).numpy()).all()


def _conj(x: Any) -> Any:
    return ag.conj(x.mT)


#: Functions that are smooth wherever a matrix is regular.
SMOOTH: dict[str, Any] = {
    "polar": lambda x: L.polar(x).u, "polar, right": lambda x: L.polar(x).p,
    "polar, left": lambda x: L.polar(x, "left").p, "polar of rows": lambda x: L.polar(x[:2]).u,
    "polar of columns": lambda x: L.polar(x[:, :2], "left").p,
    "nuclear norm": lambda x: L.matrix_norm(x, ord="nuc"), "pinv": L.pinv,
    "pinvh": lambda x: L.pinvh(x + _conj(x)), "lstsq": lambda x: L.lstsq(x, x[:, :1]).x,
    "orthogonal_procrustes": lambda x: L.orthogonal_procrustes(x, x @ x).R,
    "slogdet": lambda x: L.slogdet(x)[1], "solve": lambda x: L.solve(x, x @ x[:, :1]),
    "cholesky": lambda x: L.cholesky(x @ _conj(x)), "lu": lambda x: L.lu_factor(x).lu,
    "matrix_power": lambda x: L.matrix_power(x, -2), "expm": L.expm,
    "solve_sylvester": lambda x: L.solve_sylvester(x, x, x),
    "solve_discrete_lyapunov": lambda x: L.solve_discrete_lyapunov(x * 0.1, x),
    **{name: getattr(L, name) for name in ("sqrtm", "logm", "signm", "inv", "det", "cosm")},
}


@pytest.mark.share(12)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_at_repeated_values(name: str) -> None:
    """Twice in both modes: multiples of 1, values that come up twice, a block of Jordan's form."""
    for x in (2 * np.eye(3), TWICE, TWICE.astype(complex),
              np.array([[2.0, 1, 0], [0, 2, 1], [0, 0, 2]])):
        check_grads(SMOOTH[name], [x], order=2)


def test_compiled_polar_factors_call_no_python() -> None:
    x = ag.asarray(TWICE + np.diag([1.0, 0, 0, 0]))
    for name in ("polar", "polar of columns", "nuclear norm", "pinvh"):
        second = ag.grad(lambda x, f=SMOOTH[name]: (ag.grad(lambda x: f(x).sum())(x) ** 2).sum())
        compiled = ag.jit(second)
        np.testing.assert_allclose(compiled(x).numpy(), second(x).numpy(), 1e-8, 1e-10)
        assert "python" not in str(compiled.plan()) or "generated" in L.backend()


def test_polar_factors_of_singular_matrices() -> None:
    x = ag.asarray(np.outer([1.0, 2.0], [3.0, 1.0]))
    gradient = ag.grad(lambda x: L.matrix_norm(x, ord="nuc"))(x).numpy()
    np.testing.assert_allclose((gradient * x.numpy()).sum(), L.matrix_norm(x, ord="nuc").item())
    assert np.linalg.norm(gradient, 2) <= 1 + 1e-12
    for grad in (ag.grad(lambda x: L.polar(x).u[0, 0]),
                 ag.jit(ag.grad(lambda x: L.polar(x).u[0, 0]))):
        with pytest.raises(np.linalg.LinAlgError):
            grad(ag.zeros((2, 2), dtype="float64"))


def test_repeated_eigenvalues() -> None:
    for f in (lambda x: (L.eigvalsh(x) ** 3).sum(), lambda x: (L.eigh(x)[0] ** 3).sum()):
        gradient = ag.grad(f)(ag.asarray(TWICE)).numpy()
        np.testing.assert_allclose(gradient, 3 * TWICE @ TWICE, 1e-9, 1e-9)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinants_of_singular_matrices(rank: int) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 3))
    check_grads(L.det, [x], order=2)
    check_grads(L.det, [x + 1j * x], order=2)


def test_determinant_beside_zeros() -> None:
    x = ag.asarray(np.diag([0.0, 2.0, 3.0]))
    np.testing.assert_allclose(ag.grad(L.det)(x).numpy(), np.diag([6.0, 0, 0]), atol=1e-12)


def test_norms_at_zero() -> None:
    zero = ag.zeros((2, 2), dtype="float64")
    np.testing.assert_array_equal(ag.grad(L.norm)(zero).numpy(), 0)


def test_gradients_of_hermitian_matrices_are_hermitian() -> None:
    x = ag.asarray(TWICE + np.diag([0, 1.0, 2, 3]))
    for f in (L.cholesky, lambda x: abs(L.eigh(x)[1])):
        gradient = ag.grad(lambda x, f=f: f(x).sum())(x).numpy()
        np.testing.assert_allclose(gradient, gradient.T, 1e-9, 1e-9)


def test_vectors_beyond_the_values_have_no_derivative() -> None:
    x = ag.asarray(np.random.default_rng(5).standard_normal((4, 2)))
    np.testing.assert_allclose(
        ag.grad(lambda x: L.svd(x).S.sum())(x).numpy(),
        ag.grad(lambda x: L.svdvals(x).sum())(x).numpy(),
    )
    with pytest.raises(ag.GradientError, match="full_matrices=False"):
        ag.grad(lambda x: L.svd(x).U.sum())(x)
    with pytest.raises(ag.GradientError, match="mode='reduced'"):
        ag.grad(lambda x: L.qr(x, "complete").Q.sum())(x)


def test_a_result_that_was_changed_is_told() -> None:
    x = ag.asarray(TWICE).requires_grad_()
    w, v = L.eigh(x)
    y = (v ** 2).sum() + w.sum()
    with ag.no_grad():
        v.mul_(2)
    with pytest.raises(ag.GradientError, match="changed in place"):
        y.backward()


def test_second_derivatives_use_the_same_factors() -> None:
    check_grads(lambda x: L.slogdet(x @ x.mT)[1] + L.inv(x).sum(), [TWICE + 1], order=3)


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("upper", [False, True])
def test_factors_of_some_matrices_only(wrap, upper):
    x = ag.tensor([[[4.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]], requires_grad=True)
    factor, info = wrap(lambda x: L.cholesky_ex(x, upper=upper))(x)
    assert info.tolist() == [0, 2] and info.dtype == "int32" and bool(ag.isnan(factor[1]).all())
    np.testing.assert_allclose(factor[0].detach(), L.cholesky(x[0], upper=upper).detach())
    ours, = ag.autograd.grad(ag.nansum(factor), x)
    one, = ag.autograd.grad(L.cholesky(x[:1], upper=upper).sum(), x)
    np.testing.assert_allclose(ours, one)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        L.cholesky_ex(x, check_errors=True)
