"""Roots, logarithms and what is made of them: eager, compiled without Python, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import agnesi as ag
from agnesi.testing import check_op

RANDOM = np.random.default_rng(3)
ROOTS = {"sqrtm": scipy.linalg.sqrtm, "logm": scipy.linalg.logm, "signm": scipy.linalg.signm,
         "fractional_matrix_power": lambda x: scipy.linalg.fractional_matrix_power(x, 0.3)}


def ours(name):
    if name == "fractional_matrix_power":
        return lambda x: ag.linalg.fractional_matrix_power(x, 0.3)
    return getattr(ag.linalg, name)


def compiled(function, x):
    fn = ag.jit(function)
    y = fn(ag.tensor(x)).numpy()
    assert "python" not in str(fn.plan()) or ag.linalg.backend() == "generated code and NumPy"
    return y


def matrices(n, dtype):
    a = RANDOM.normal(size=(n, n))
    a = a @ a.T + np.eye(n) + 0.3 * RANDOM.normal(size=(n, n))
    return (a + 1j * RANDOM.normal(size=(n, n)) if dtype[0] == "c" else a).astype(dtype)


@pytest.mark.native_plans
@pytest.mark.share(6)
@pytest.mark.filterwarnings("ignore:logm result")
@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values_are_those_of_scipy(name, dtype):
    for n in (1, 2, 7, 30):
        a = matrices(n, dtype)
        expected = ROOTS[name](a)
        size = np.abs(expected).max() * (2e-4 if a.dtype.itemsize // a.real.itemsize * 4
                                         == a.dtype.itemsize else 2e-12)
        for found in (ours(name)(ag.tensor(a)).numpy(), compiled(ours(name), a)):
            np.testing.assert_allclose(found, expected, 0, size)
            assert found.dtype == dtype


SPECIAL = np.stack([
    np.eye(3), np.diag([1e-8, 1, 1e8]) + np.triu(np.ones((3, 3)), 1), np.zeros((3, 3)),
    -np.eye(3), [[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.full((3, 3), np.nan),
    np.diag([1.0, np.inf, 2.0]), np.diag([1, 2, -3.0]), [[2, 1, 0], [0, 2, 1], [0, 0, 2]],
    np.diag([1e100, 1e-100, 1.0]),
])


@pytest.mark.native_plans
@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_special_matrices_are_alike_in_compiled_code(name, dtype):
    """Singular ones, ones without a real root or without any, and ones that are not finite."""
    x = SPECIAL.astype(dtype)
    eager = ours(name)(ag.tensor(x)).numpy()
    np.testing.assert_allclose(compiled(ours(name), x), eager, 1e-12, 1e-12)
    real = [0, 1, 2, 8, 9] if name == "sqrtm" else [0, 1, 8, 9]
    assert np.isfinite(eager[real]).all()
    if dtype == "float64":
        assert np.isnan(eager[[i for i in range(len(x)) if i not in real]]).all()
    for shape in ((0, 2, 2), (2, 0, 0)):
        assert compiled(ours(name), np.zeros(shape, dtype)).shape == shape


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ROOTS)
def test_gradients_at_repeated_eigenvalues_too(name):
    turned = np.array([[2.0, 1.0], [-1.0, 2.5]])
    defective = np.array([[2.0, 1.0], [0.0, 2.0]])
    check_op(ours(name), [[np.stack([np.eye(2) * 2, turned, defective])]])


def test_without_a_library():
    x = matrices(4, "float64")
    for name in ("sqrtm", "logm"):
        expected = ours(name)(x).numpy()
        with ag.config(lapack="none"):
            np.testing.assert_allclose(ag.jit(ours(name))(ag.tensor(x)).numpy(), expected, 1e-9)


@pytest.mark.native_plans
def test_second_derivatives_call_no_python():
    x = matrices(3, "float64")
    for name in ("sqrtm", "logm"):
        f = ag.hessian(lambda x, name=name: ag.sum(ours(name)(x) * SPECIAL[1]))
        np.testing.assert_allclose(compiled(f, x), f(ag.tensor(x)).numpy(), 1e-7, 1e-7)
        batched = ag.vmap(ours(name))
        np.testing.assert_allclose(compiled(batched, x[None].repeat(2, 0))[1],
                                   ours(name)(x).numpy(), 1e-12)


@pytest.mark.share(2)
@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 0), (3, 2, 2)])
@pytest.mark.parametrize("name", ["expm", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm",
                                  "sqrtm", "logm", "signm"])
def test_stacks_of_any_size_have_values_and_gradients(name, shape):
    x = ag.tensor(RANDOM.random(shape) + 3 * np.eye(shape[-1]))
    for f in (ours(name), ag.grad(lambda x: ours(name)(x).sum())):
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), f(x).numpy(), rtol=1e-6, atol=1e-6)
