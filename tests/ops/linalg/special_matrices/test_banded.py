"""Systems with bands: against SciPy, eager and compiled, with derivatives; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import agnesi as ag
from agnesi.testing import check_op

L: Any = ag.linalg
RANDOM = np.random.default_rng(0)
SIZES = [(1, 1, 6), (2, 1, 7), (0, 2, 5), (3, 0, 4), (2, 3, 3), (0, 0, 4), (1, 1, 1)]


def system(low: int, up: int, n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    bands, b = RANDOM.normal(size=(low + up + 1, n)), RANDOM.normal(size=(n, 2))
    if dtype.startswith("c"):
        bands = bands + 1j * RANDOM.normal(size=bands.shape)
    bands[up] += 4
    return bands.astype(dtype), b.astype(dtype)


@pytest.mark.share(12)
@pytest.mark.parametrize(("low", "up", "n"), SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_solutions_and_derivatives(low: int, up: int, n: int, dtype: str) -> None:
    def solve(ab: Any, b: Any) -> Any:
        return L.solve_banded((low, up), ab, b)

    ab, b = system(low, up, n, dtype)
    expected = scipy.linalg.solve_banded((low, up), ab, b)
    compiled = ag.jit(solve)
    for found in (solve(ab, b), compiled(ag.tensor(ab), ag.tensor(b))):
        np.testing.assert_allclose(found.numpy(), expected, 1e-5 if dtype == "float32" else 1e-12)
    assert "python" not in str(compiled.plan()) or "generated" in L.backend()
    check_op(solve, [[ab, b], [ab, b[:, 0]], [np.stack([ab, ab * 2]), b]])
    with ag.config(lapack="none"):
        np.testing.assert_allclose(solve(ab, b).numpy(), expected, 1e-5)


@pytest.mark.share(4)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_hermitian_matrices(lower: bool, dtype: str) -> None:
    ab = system(1, 1, 6, dtype)[0] / 4  # the diagonal is more than all beside it: definite
    ab[0 if lower else 2] = np.abs(ab[0 if lower else 2]) + 8
    b = RANDOM.normal(size=6).astype(dtype)
    expected = scipy.linalg.solveh_banded(ab, b, lower=lower)
    np.testing.assert_allclose(L.solveh_banded(ab, b, lower).numpy(), expected, 1e-11)
    order = slice(None) if lower else slice(None, None, -1)

    def solve(d: Any, b: Any) -> Any:
        return L.solveh_banded(ag.stack([d + 8, d * 0.5, d * 0.25][order]), b, lower)

    check_op(solve, [[np.abs(ab[1]), b]])


def test_what_lies_outside_is_not_read() -> None:
    ab, b = system(1, 1, 5, "float64")
    expected = L.solve_banded((1, 1), ab, b).numpy()
    ab[0, 0] = ab[2, -1] = np.nan
    x = ag.tensor(ab, requires_grad=True)
    found = L.solve_banded((1, 1), x, b)
    np.testing.assert_array_equal(found.numpy(), expected)
    slope = ag.grad(found.sum(), x).numpy()
    assert np.isfinite(slope).all() and slope[0, 0] == slope[2, -1] == 0


def test_errors_and_nothing() -> None:
    def solve(ab: Any, b: Any) -> Any:
        return L.solve_banded((1, 1), ab, b)

    for f in (solve, ag.jit(solve)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(ag.zeros((3, 4)), ag.ones(4))
        assert f(ag.zeros((3, 0)), ag.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="ab must have 3 rows, one for each diagonal, not 2"):
        solve(ag.zeros((2, 4)), ag.ones(4))
    with pytest.raises(ValueError, match="bands of 4 columns do not fit a right-hand side of 5"):
        solve(ag.zeros((3, 4)), ag.ones(5))
    with pytest.raises(ValueError, match="must not be negative: -1 and 1"):
        L.solve_banded((-1, 1), ag.ones((1, 4)), ag.ones(4))
