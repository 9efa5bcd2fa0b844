"""Matrices with NaN, infinities or no elements: compiled code says what eager code says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

L: Any = ag.linalg

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "U": lambda a: L.svd(a)[0],
    "S": L.svdvals,
    "Vh": lambda a: L.svd(a)[2],
    "vectors of eigh": lambda a: L.eigh(a)[1],
    "vectors of eig": lambda a: L.eig(a)[1],
    "schur": lambda a: L.schur(a)[1],
    "polar": lambda a: L.polar(a)[0],
    "pinv": L.pinv,
    "lstsq": lambda a: L.lstsq(a, a)[0],
    "cofactors": ag.grad(lambda a: L.det(a).sum()),
    "cholesky": L.cholesky,
    "cholesky_ex": lambda a: L.cholesky_ex(a).info,
    "det": L.det,
    "slogdet": lambda a: L.slogdet(a)[1],
    "eigvals": L.eigvals,
}


def outcome(f: Callable[[Any], Any], x: np.ndarray) -> Any:
    """Which elements are NaN, or the error."""
    try:
        return np.isnan(f(ag.asarray(x)).numpy()).tolist()
    except np.linalg.LinAlgError:
        return "LinAlgError"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [None, 1, 5])
def test_one_element_is_nan(name: str, count: int | None) -> None:
    f = FUNCTIONS[name]
    compiled = ag.jit(f)
    for n in (1, 2, 3):
        for place in {(0, 0), (n - 1, 0), (0, n - 1), (n - 1, n - 1)}:
            x = np.eye(n) * 4
            x[place] = np.nan
            if count is not None:
                x = np.stack([np.eye(n)] * (count - 1) + [x])
            if name not in ("polar", "schur") or count is None:
                assert outcome(compiled, x) == outcome(f, x), (n, place)


@pytest.mark.parametrize("name", ["U", "Vh", "polar", "pinv", "lstsq", "cofactors"])
def test_vectors_of_infinities_end(name: str) -> None:
    x = np.eye(3) + 0.1
    x[2, 0] = np.inf  # NumPy's svd does not end
    f = FUNCTIONS[name]
    assert outcome(f, x) == outcome(ag.jit(f), x) == "LinAlgError"


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_factors_of_matrices_without_rows(count: int) -> None:
    x = ag.zeros((count, 0, 0))
    assert ag.jit(L.cholesky)(x).shape == (count, 0, 0)
    factor, info = ag.jit(lambda x: tuple(L.cholesky_ex(x)))(x)
    assert factor.shape == (count, 0, 0) and info.tolist() == [0] * count


@pytest.mark.parametrize("count", [1, 5])
def test_a_pivot_of_zero_beside_nan(count: int) -> None:
    x = ag.tensor(np.stack([np.diag([0.0, np.nan])] * count))
    for found in (L.det(x), ag.jit(L.det)(x)):
        assert found.tolist() == [0.0] * count
    for sign, size in (L.slogdet(x), ag.jit(lambda x: tuple(L.slogdet(x)))(x)):
        assert sign.tolist() == [0.0] * count and size.tolist() == [-np.inf] * count


def _wild(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.normal(size=(n, n))
    few = rng.random((n, n)) < 0.2
    x[few] = rng.choice([np.inf, -np.inf, np.nan], few.sum(), p=[0.45, 0.45, 0.1])
    return x


@pytest.mark.parametrize("name", ["inv", "solve", "det", "slogdet"])
def test_elimination_keeps_what_is_undefined(name: str) -> None:
    """LAPACK multiplies a row with an infinite pivot by zero; numbers are limits, or NaN."""
    b = ag.asarray(np.array([1.0, -2.0, 0.5]))
    functions = {"solve": lambda a: L.solve(a, b[:a.shape[0]]), "inv": L.inv, **FUNCTIONS}
    f, rng, limits = functions[name], np.random.default_rng(5), 0
    for n in (2, 3):
        compiled = ag.jit(f)
        for _ in range(60):
            x = _wild(rng, n)
            with np.errstate(all="ignore"):
                before, after = f(ag.asarray(x)).numpy(), compiled(ag.asarray(x)).numpy()
            if np.isnan(before).any() and not np.isnan(after).any():
                assert not np.isnan(x).any()
                assert (np.isinf(x).sum(-1) <= 1).all(), x
                limits += 1
                if name in ("inv", "solve"):
                    near = f(ag.asarray(np.nan_to_num(x, posinf=1e14, neginf=-1e14))).numpy()
                    np.testing.assert_allclose(after, near, 1e-9, 1e-9)
    assert limits
