"""Which loops a nest has, and in which order."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Buffer, Store
from agnesi.core.ir.lanes import lane_axis
from agnesi.core.ir.loops import Affine, Axis, Expr, load, reduce_


def test_a_reduction_is_not_inside_the_loop_over_its_axis() -> None:
    """More loads are contiguous along the channels, but the mean over rows must come first."""
    rng = np.random.default_rng(0)
    x, scale, shift = (rng.standard_normal(s) for s in ((2, 6, 5, 12), (12, 1, 1), (12, 1, 1)))

    def centred(x: ag.Tensor, scale: ag.Tensor, shift: ag.Tensor) -> ag.Tensor:
        y = ag.permute_dims(x, (0, 3, 1, 2))
        return (y - y.mean((2, 3), keepdims=True)) * scale + shift

    arrays = [ag.tensor(a) for a in (x, scale, shift)]
    y = x.transpose(0, 3, 1, 2)
    exact = (y - y.mean((2, 3), keepdims=True)) * scale + shift
    np.testing.assert_allclose(ag.jit(centred)(*arrays).array, exact, rtol=1e-12, atol=1e-12)


def test_lanes_run_along_what_is_read_most() -> None:
    """Numbers of channels are neighbours along the channels, the many pixels along the lines."""
    rng = np.random.default_rng(0)
    x, *numbers = (rng.standard_normal(s) for s in ((3, 20, 9, 11), (20,), (20,), (20,), (20,)))

    def normal(x: ag.Tensor, *numbers: ag.Tensor) -> ag.Tensor:
        mean, scale, weight, bias = (n[:, None, None] for n in numbers)
        return (x - mean) * scale * weight + bias

    def sums(x: ag.Tensor, *numbers: ag.Tensor) -> ag.Tensor:
        return normal(x, *numbers).sum((0, 2, 3))

    mean, scale, weight, bias = (n[:, None, None] for n in numbers)
    exact = (x - mean) * scale * weight + bias
    for f, wanted in ((normal, exact), (sums, exact.sum((0, 2, 3)))):
        compiled = ag.jit(f)
        found = compiled(*map(ag.tensor, (x, *numbers)))
        np.testing.assert_allclose(found.array, wanted, rtol=1e-9, atol=1e-9)
        text = compiled.ir()
        assert "gather" not in text and "scatter" not in text


def test_sums_along_both_axes_of_a_matrix_have_lanes_of_their_own_results() -> None:
    """Forces between bodies read pairs by lines and by columns: neither sum decides alone."""
    rng = np.random.default_rng(0)
    pairs, places = rng.standard_normal((64, 64)), rng.standard_normal((64, 3))

    def forces(pairs: ag.Tensor, places: ag.Tensor) -> ag.Tensor:
        apart = pairs[:, :, None] * (places[:, None, :] - places[None, :, :])
        return apart.sum(1) - apart.sum(0)

    found = ag.jit(forces)
    apart = pairs[:, :, None] * (places[:, None, :] - places[None, :, :])
    exact = apart.sum(1) - apart.sum(0)
    np.testing.assert_allclose(found(*map(ag.tensor, (pairs, places))).array, exact, atol=1e-12)
    assert "vector.reduce" not in found.ir()


@pytest.mark.parametrize("key", [
    np.s_[:, ::2], np.s_[:, ::-1], np.s_[:, 3::5], np.s_[::3, :], np.s_[::-2, ::2]])
def test_reductions_of_what_lies_apart(key: tuple[slice, slice]) -> None:
    x = np.random.default_rng(0).standard_normal((40, 60))
    for axis in (0, 1):
        f = ag.jit(lambda t, axis=axis: (t[key].max(axis), t.T[key].max(axis)))
        for found, part in zip(f(ag.tensor(x)), (x[key], x.T[key]), strict=True):
            np.testing.assert_array_equal(found.array, part.max(axis))


def test_lanes_of_sums_share_lines_of_the_cache() -> None:
    """Every second element of a row is closer to the next one than two rows are."""
    source, target = (Buffer(shape, np.dtype("float64"), "input") for shape in ((40, 60), (40,)))
    row = Axis(0, 40)
    for stride, lanes in ((1, None), (2, None), (-1, None), (60, row)):
        def body(column: Affine, stride: int = stride) -> Expr:
            return load(source, "float64", row.index * 60 + column * stride)

        value = reduce_("add", [30], body, [row], [1])
        store = Store(target, target.offset_of([row.index]), value)
        assert lane_axis((row,), [store]) is lanes, stride


@pytest.mark.parametrize("terms", [2, 3, 5, 8])
def test_lanes_run_across_short_sums_before_costly_values(terms: int) -> None:
    """Distances in space, say: lanes along three coordinates would leave the exponential scalar."""
    x = np.random.default_rng(0).standard_normal((67, terms))
    kernel = ag.jit(lambda x: ag.exp(-((x[:, None] - x[None]) ** 2).sum(-1)))
    exact = np.exp(-((x[:, None] - x[None]) ** 2).sum(-1))
    np.testing.assert_allclose(kernel(ag.tensor(x)).array, exact, rtol=1e-13)
    assert "vector.reduce" not in kernel.ir()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("terms", [2, 3, 4, 6])
def test_sums_of_short_rows_are_written_out(terms: int, dtype: str) -> None:
    """Unit vectors and softmax of few classes: a vector holds one component of many rows."""
    x = np.random.default_rng(0).standard_normal((403, terms)).astype(dtype)
    forms = (lambda x: x / ag.sqrt((x * x).sum(-1, keepdims=True)), lambda x: ag.softmax(x, -1),
             lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True))
    for form in forms:
        found = ag.jit(form)
        wanted = form(ag.tensor(x, dtype="float64")).array
        np.testing.assert_allclose(found(ag.tensor(x)).array, wanted,
                                   rtol=1e-12 if dtype == "float64" else 2e-4, atol=1e-6)
        assert "vector.reduce" not in found.ir()
