"""Reductions and scans beside NumPy's; dtypes, NaN, empty axes, errors."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.base import totals

X = np.random.default_rng(0).normal(size=(3, 4, 5))
AXES: list[Any] = [None, 0, -1, (0, 2), (), [1]]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min"])
def test_like_numpy(name: str, axis: Any, keepdims: bool) -> None:
    # a list of axes is PyTorch's alone, which divides by n - 1
    given = {"correction": 0} if isinstance(axis, list) and name in ("var", "std") else {}
    found = getattr(ag, name)(X, axis=axis, keepdims=keepdims, **given).numpy()
    axis = tuple(axis) if isinstance(axis, list) else axis
    expected = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(found, expected, 1e-13)
    assert found.shape == np.shape(expected)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("bool", "int64"), ("int8", "int64"), ("uint8", "uint64"), ("float16", "float16"),
     ("float32", "float32"), ("complex64", "complex64")],
)
def test_dtype_of_sums(dtype: str, expected: str) -> None:
    x = ag.ones(3, dtype=dtype)
    for function in (ag.sum, ag.prod, ag.cumsum, ag.cumprod):
        assert function(x).dtype == expected
        assert function(x, dtype="float64").dtype == "float64"


def test_float16_accumulates_in_float32() -> None:
    x = ag.full(4096, 1.0, dtype="float16")
    assert ag.sum(x).item() == 4096
    assert ag.mean(ag.full(4096, 60.0, dtype="float16")).item() == 60
    assert ag.cumsum(x)[-1].item() == 4096


def test_nan_wins() -> None:
    x = ag.tensor([1.0, np.nan, 3.0])
    assert np.isnan(ag.max(x).item()) and np.isnan(ag.min(x).item())
    assert ag.argmax(x).item() == 1


def test_empty() -> None:
    x = ag.zeros((0, 3))
    assert ag.sum(x).item() == 0 and ag.prod(x).item() == 1
    assert np.isnan(ag.mean(x).item())
    assert ag.max(x, axis=1).shape == (0,)
    assert ag.all(x).item() and not ag.any(x).item()
    assert ag.logsumexp(ag.zeros((2, 3)), axis=()).shape == (2, 3)
    with pytest.raises(ag.ShapeError, match="no elements, so there is no max; give it"):
        ag.max(x, axis=0)
    with pytest.raises(ag.ShapeError, match=r"argmin.*axis 0 of shape"):
        ag.argmin(x, axis=0)


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"sum.*axis 2 is out of range for 2 dimensions"):
        ag.sum(ag.ones((2, 3)), axis=2)
    with pytest.raises(ValueError, match="names an axis twice"):
        ag.sum(ag.ones((2, 3)), axis=(0, 0))
    with pytest.raises(ag.DTypeError, match="complex numbers have no order"):
        ag.max(ag.tensor([1j]))


def test_correction() -> None:
    for correction in (1, 0.5, 60):
        with np.errstate(all="ignore"):
            expected = np.square(X - X.mean()).sum() / max(X.size - correction, 0)
        np.testing.assert_allclose(ag.var(X, correction=correction).numpy(), expected)


def test_bool_extremes() -> None:
    x = ag.tensor([[True, False], [True, True]])
    assert ag.max(x, axis=1).tolist() == [True, True]
    assert ag.min(x, axis=1).tolist() == [False, True]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, np.inf, -np.inf])
def test_norm_like_numpy(order: float) -> None:
    expected = np.linalg.norm(X, order, axis=(1,)[0])
    np.testing.assert_allclose(ag.norm(X, order, axis=1).numpy(), expected)
    z = X[0, 0] + 1j * X[0, 1]
    np.testing.assert_allclose(ag.norm(z, order).numpy(), np.linalg.norm(z, order))


@pytest.mark.parametrize("order", [1, 2, 3, np.inf])
def test_norms_of_16_bits_are_infinite_only_if_they_are_too_large(order: float) -> None:
    x = ag.tensor(np.array([[300, 400], [1e-4, 0]]), "float16", requires_grad=True)

    def norms(x: ag.Tensor) -> ag.Tensor:
        return ag.norm(x, order, axis=1)

    for f in (norms, ag.jit(norms)):
        found = f(x)
        assert found.dtype == "float16"
        expected = np.linalg.norm(x.numpy().astype("float64"), order, axis=1)
        np.testing.assert_allclose(found.numpy(), expected, 1e-3)
    ag.norm(x, order).backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_argmax_of_all_keeps_dimensions() -> None:
    assert ag.argmax(X, keepdims=True).shape == (1, 1, 1)
    assert ag.argmax(X).item() == X.argmax()
    np.testing.assert_array_equal(ag.argmin(X, axis=1).numpy(), X.argmin(1))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_scans_like_numpy(axis: int | None) -> None:
    np.testing.assert_allclose(ag.cumsum(X, axis).numpy(), np.cumsum(X, axis))
    np.testing.assert_allclose(ag.cumprod(X, axis).numpy(), np.cumprod(X, axis))


def test_long_scans_have_gradients() -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, (20, 12))
    ag.testing.check_grads(lambda x: ag.cumprod(x, axis=0), [x], order=1, rtol=1e-4)
    x = ag.ones(2000, dtype="float64", requires_grad=True)
    ag.cumprod(x)[-1].backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(2000))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [200, 523, 1003])
def test_sums_over_far_lines(columns: int, dtype: str) -> None:
    """Columns of a large matrix: each turn of the sums is another page."""
    values = np.random.default_rng(columns).standard_normal((1400, columns)).astype(dtype)
    bias = ag.tensor(np.ones(columns, dtype))

    def step(x: ag.Tensor) -> ag.Tensor:
        bias.sub_(x.sum(0))
        return x.max(0)

    peak = ag.jit(step)(ag.tensor(values))
    np.testing.assert_allclose(bias.numpy(), 1 - values.sum(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(peak.numpy(), values.max(0))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_means_in_another_dtype_as_numpy_asks_for_them(name):
    x = np.arange(6.0).reshape(2, 3)
    for dtype in (None, "float32", "float64"):
        found = getattr(np, name)(ag.tensor(x), axis=1, dtype=dtype)
        expected = getattr(np, name)(x, axis=1, dtype=dtype)
        assert isinstance(found, ag.Tensor) and found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, 1e-6)
    with pytest.raises(ag.DTypeError, match=r"\(float64\[2, 3\]\): .*not int64"):
        getattr(ag, name)(ag.tensor(x), dtype="int64")


@pytest.mark.parametrize("name", "sum mean prod max min amax amin any all argmax argmin".split())
def test_reductions_of_few_numbers_are_those_of_many(name: str,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(array: np.ndarray, keywords: dict[str, Any]) -> Any:
        x = ag.tensor(array, requires_grad=array.dtype.kind == "f")
        try:
            y = getattr(ag, name)(x, **keywords)
        except (TypeError, ValueError, IndexError) as error:
            return type(error), str(error)
        if y.requires_grad:
            y.sum().backward()
        parts = [y, *([x.grad] if y.requires_grad else [])]
        return y.requires_grad, [(p.shape, p.dtype, p.numpy().tobytes()) for p in parts]

    ways: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": 2},
                                  {"keepdims": True}, {"axis": True}, {"axis": None}]
    numbers = np.array([[-0.0, 3, 2], [-0.0, np.nan, -np.inf]])
    whole = np.where(np.isfinite(numbers), numbers, 7)
    arrays = [part.astype(c) for c in "dfei?" for part in (whole, numbers[:, :1])]
    arrays += [numbers, numbers[:, :0], numbers[0, 0], np.ones((2, 3, 4), "f").transpose(2, 0, 1)]
    few = [outcome(x, way) for x in arrays for way in ways]
    monkeypatch.setattr(totals, "_MIN_MANY_ELEMENTS", 0)
    assert few == [outcome(x, way) for x in arrays for way in ways]


_WHOLE = {
    "near the end of uint64": np.array([[2**64 - 1, 0, 7], [0, 2**64 - 3, 2**63]], "uint64"),
    "far from zero": 2**40 + np.array([[0, 1, 3], [10, 0, 2]]),
    "that cancel": np.array([[2**40 + 1, -2**40, 5], [-2**50, 2**50 + 3, 1]])}


@pytest.mark.parametrize("values", list(_WHOLE))
def test_statistics_of_integers_keep_their_last_digits(values: str) -> None:
    a = _WHOLE[values]
    functions = {"mean": {"axis": 0}, "std": {}, "var": {"axis": 1}, "nanstd": {}, "cov": {},
                 "corrcoef": {}, "gradient": {"axis": 1}, "linalg.norm": {}, "average": {}}
    for name, options in functions.items():
        def run(x, name=name, options=options):
            return reduce(getattr, name.split("."), ag)(x, **options)

        want = reduce(getattr, name.split("."), np)(
            a if name != "gradient" else a.astype(float), **options)
        for found in (run(ag.tensor(a)), ag.jit(run)(ag.tensor(a))):
            assert found.dtype == np.float32, name
            np.testing.assert_allclose(found.numpy(), want, 1e-6, err_msg=name)
    want = np.trapezoid(a[0].astype(float), 2**40 + np.arange(3)) if hasattr(np, "trapezoid") \
        else np.trapz(a[0].astype(float), 2**40 + np.arange(3))
    found = ag.trapezoid(ag.tensor(a[0]), ag.tensor(2**40 + np.arange(3)))
    np.testing.assert_allclose(found.numpy(), want, 1e-6)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_sums_over_two_axes_whose_steps_are_far(dtype: str) -> None:
    """Beside one that runs along the lanes, the other's loads are called ahead."""
    a = np.random.default_rng(0).normal(size=(3, 240, 481))
    a = (a + 1j * a[::-1]).astype(dtype)
    found = ag.jit(lambda x: (x.sum(1), (x * x).sum(2)))(ag.tensor(a))
    for one, two in zip(found, (a.sum(1), (a * a).sum(2)), strict=True):
        np.testing.assert_allclose(one.numpy(), two, 1e-4, 1e-2)


def test_lanes_of_bools_go_through_loops_as_bytes() -> None:
    """LLVM takes a vector of i1 that goes from block to block apart, lane by lane."""
    t = ag.tensor(np.arange(900).reshape(9, 100) % 7 > 5)
    function = ag.jit(lambda b: (b.any(0), b.all(0), (~b).all(0)))
    for found, exact in zip(function(t), (t.any(0), t.all(0), (~t).all(0)), strict=True):
        np.testing.assert_array_equal(found.numpy(), exact.numpy())
    assert not [line for line in function.ir().splitlines() if "phi" in line and "x i1>" in line]
