"""What is brought to one place becomes one: beside loops in Python, eagerly, compiled, derived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

KINDS = ("sum", "prod", "mean", "amax", "amin")
X = np.array([[1.5, -2.0, 0.0], [4.0, 0.5, -1.0]])
INDEX = np.array([[0, 2, 0, 2], [1, 1, 1, 1]])
SRC = np.array([[3.0, -4.0, 2.5, 0.0], [-3.0, 6.0, 0.25, 2.0]])


def by_hand(kind: str, include_self: bool, x: np.ndarray, src: np.ndarray) -> np.ndarray:
    found = x.copy()
    for row, column in np.ndindex(x.shape):
        brought = list(src[row][INDEX[row] == column])
        if brought:
            brought += [x[row, column]] * include_self
            how: Any = {"amax": np.max, "amin": np.min}.get(kind) or getattr(np, kind)
            total = how(brought) if kind != "mean" or x.dtype.kind == "f" else (
                sum(brought) // len(brought))
            found[row, column] = total
    return found


@pytest.mark.share(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("include_self", [True, False])
def test_elements_that_meet_become_one(kind: str, include_self: bool) -> None:
    def run(x: Any, src: Any) -> Any:
        return ag.scatter_reduce(x, 1, INDEX, src, kind, include_self=include_self)

    for dtype in ("float64", "int32"):
        x, src = X.astype(dtype), SRC.astype(dtype)
        want = by_hand(kind, include_self, x, src)
        for form in (run, ag.jit(run)):
            np.testing.assert_allclose(form(ag.tensor(x), ag.tensor(src)).numpy(), want, rtol=1e-12)
    ag.testing.check_grads(run, [X, SRC], order=1)
    ag.testing.check_grads(ag.jit(run), [X, SRC], order=1, modes=("rev",))


def test_bfloat16_is_as_float32() -> None:
    """Means have fractions, and extremes without the element itself exist."""
    x, src = ag.tensor(X), ag.tensor(SRC)
    for kind in KINDS:
        for own in (True, False):
            found, want = (ag.scatter_reduce(x.astype(d), 1, INDEX, src.astype(d), kind,
                                             include_self=own) for d in ("bfloat16", "float32"))
            np.testing.assert_allclose(found.astype("float32"), want, rtol=1e-2)


def test_equal_extremes_share_the_gradient_and_nan_stays() -> None:
    x = ag.tensor([2.0, 5.0], requires_grad=True)
    src = ag.tensor([2.0, 2.0, 1.0], requires_grad=True)
    ag.scatter_reduce(x, 0, [0, 0, 0], src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1], rtol=1e-6)  # type: ignore[union-attr]
    np.testing.assert_allclose(src.grad.numpy(), [1 / 3, 1 / 3, 0],  # type: ignore[union-attr]
                               rtol=1e-6)
    for kind in ("amax", "amin"):
        f = lambda v, kind=kind: ag.scatter_reduce(ag.zeros(2), 0, [1, 1, 0], v, kind)  # noqa: E731
        for form in (f, ag.jit(f)):
            assert np.isnan(form(ag.tensor([np.nan, 1.0, 2.0])).numpy()).tolist() == [False, True]


def test_slices_at_one_index_become_one() -> None:
    x = ag.ones((2, 3))
    found = ag.index_reduce(x, 1, [0, 2, 0], ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "prod")
    assert found.tolist() == [[3, 1, 2], [24, 1, 5]]
    x.index_reduce_(0, ag.tensor([1]), ag.zeros((1, 3)), "mean", include_self=False)
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]
    with pytest.raises(ag.ShapeError, match="source must be"):
        ag.index_reduce(x, 0, [1, 0], ag.zeros((1, 3)), "amax")
    with pytest.raises(ValueError, match="must be one of"):
        ag.scatter_reduce(x, 0, [[0]], ag.zeros((1, 1)), "max")
    with pytest.raises(IndexError, match="out of bounds"):
        ag.scatter_reduce(x, 0, [[2]], ag.zeros((1, 1)), "amax")


def test_the_class_makes_tensors() -> None:
    assert ag.Tensor([1, 2]).dtype == "float32" and ag.Tensor(2, 3).shape == (2, 3)
    assert isinstance(ag.Tensor(), ag.Tensor) and ag.Tensor(ag.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["sum", "prod", "mean"])
def test_complex_numbers(kind, include_self):
    """Values beside a loop; the derivative beside differences (products' lacked a conjugate)."""
    rng, places = np.random.default_rng(0), [2, 0, 2]
    x, v, dx, dv = (rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(4))

    def reduced(x, v):
        return ag.scatter_reduce(x, 0, places, v, kind, include_self=include_self)

    groups = [[x[k]] * (include_self or k == 1) + [v[i] for i in range(3) if places[i] == k]
              for k in range(3)]
    how = {"sum": np.sum, "prod": np.prod, "mean": np.mean}[kind]
    wanted = [how(group) for group in groups]
    np.testing.assert_allclose(reduced(x, v).numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(ag.jit(reduced)(x, v).numpy(), wanted, rtol=1e-12)
    moved = ag.jvp(reduced, tuple(map(ag.tensor, (x, v))), tuple(map(ag.tensor, (dx, dv))))[1]
    h = 1e-6
    slope = (reduced(x + h * dx, v + h * dv) - reduced(x - h * dx, v - h * dv)).numpy() / (2 * h)
    np.testing.assert_allclose(moved.numpy(), slope, rtol=1e-6, atol=1e-8)
