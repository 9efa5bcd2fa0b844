"""Stores that lie side by side, and short inner loops without a loop: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.runtime import machine

SIZES = (1, 3, 16, 33, 90, 2500)
DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int16", "int64", "bool", "complex64")


def _numbers(dtype, *shape, start=0):
    return ((np.arange(np.prod(shape)).reshape(shape) + start) % 120).astype(dtype)


def _stacked(*xs):
    return ag.stack(xs, -1)


@pytest.mark.share(20)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 9])
def test_stacks_along_a_new_last_axis(dtype, count):
    for n in SIZES:
        xs = [_numbers(dtype, n, start=7 * k) for k in range(count)]
        f = ag.jit(_stacked)
        found = f(*map(ag.tensor, xs))
        np.testing.assert_array_equal(found.numpy(), np.stack(xs, -1))
        if n >= 16 and count <= 8 and dtype != "complex64":
            assert "scatter" not in f.ir()


def test_stacks_of_bfloat16():
    xs = [ag.tensor(_numbers("float32", 100, start=k)).astype(ag.bfloat16) for k in range(3)]
    found = ag.jit(_stacked)(*xs).astype(ag.float32).numpy()
    np.testing.assert_array_equal(found, np.stack([x.astype(ag.float32).numpy() for x in xs], -1))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_stacks_of_a_length_known_at_run_time(count):
    f = ag.jit(_stacked)
    for n in (40, 50, 60, 64, 1, 5, 15, 16, 17, 33, 100, 1000):
        xs = [_numbers("float32", n, start=7 * k) for k in range(count)]
        np.testing.assert_array_equal(f(*map(ag.tensor, xs)).numpy(), np.stack(xs, -1))


def test_large_stacks_go_past_the_caches():
    xs = [_numbers("float32", 2_500_001, start=k) for k in range(2)]
    f = ag.jit(_stacked)
    np.testing.assert_array_equal(f(*map(ag.tensor, xs)).numpy(), np.stack(xs, -1))
    assert "nontemporal" in f.ir()


def test_neighbours_that_change_places_in_memory():
    def swapped(x):
        even, odd = x[::2] * 1, x[1::2] * 1
        x[::2] = odd
        x[1::2] = even + odd
        return x

    for n in (2, 16, 66, 200):
        x = _numbers("float32", n)
        expected = np.stack([x[1::2], x[::2] + x[1::2]], -1).ravel()
        given = ag.tensor(x)
        np.testing.assert_array_equal(ag.jit(swapped)(given).numpy(), expected)


@pytest.mark.share(10)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("colours", [1, 3, 8, 9])
def test_colours_behind_one_another_and_back(dtype, colours):
    for n in SIZES:
        x = _numbers(dtype, 2, colours, n)
        turned = ag.jit(lambda x: ag.permute_dims(x, (0, 2, 1)) + x.dtype.type(0))
        np.testing.assert_array_equal(turned(ag.tensor(x)).numpy(), x.transpose(0, 2, 1))
        y = np.ascontiguousarray(x.transpose(0, 2, 1))
        np.testing.assert_array_equal(turned(ag.tensor(y)).numpy(), x)


@pytest.mark.parametrize("colours", [2, 3, 4, 5])
def test_a_number_for_each_colour(colours):
    shift = np.linspace(1, 2, colours, dtype="float32")
    f = ag.jit(lambda x, shift: (x.astype(ag.float32) - shift) * shift)
    for n in SIZES:
        x = _numbers("uint8", n, colours)
        expected = (x.astype("float32") - shift) * shift
        np.testing.assert_array_equal(f(ag.tensor(x), ag.tensor(shift)).numpy(), expected)


def test_costly_functions_of_a_number_for_each_colour():
    x, shift = np.linspace(0, 1, 6000, dtype="float32").reshape(-1, 3), np.float32([1, 2, 3])
    found = ag.jit(lambda x, shift: ag.exp(x * shift))(ag.tensor(x), ag.tensor(shift)).numpy()
    np.testing.assert_allclose(found, np.exp(x * shift), rtol=1e-6)


@pytest.mark.share(4)
@pytest.mark.parametrize("times", [2, 3, 8])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool", "complex64"])
def test_elements_repeated_along_two_axes(dtype, times):
    for n in SIZES[:-1]:
        x = _numbers(dtype, 3, n)
        found = ag.jit(lambda x: ag.repeat(ag.repeat(x, times, 0), times, 1))(ag.tensor(x))
        np.testing.assert_array_equal(found.numpy(), x.repeat(times, 0).repeat(times, 1))


@pytest.mark.share(4)
@pytest.mark.parametrize("k", [-40, -3, 0, 1, 70])
def test_triangles_and_diagonals(k):
    for shape in ((1, 1), (5, 7), (64, 64), (70, 131)):
        x = _numbers("float32", *shape) + 1
        for ours, theirs in ((ag.triu, np.triu), (ag.tril, np.tril)):
            found = ag.jit(lambda x, f=ours: f(x, k))(ag.tensor(x)).numpy()
            np.testing.assert_array_equal(found, theirs(x, k))
        row = x[0]
        np.testing.assert_array_equal(ag.jit(lambda r: ag.diag(r, k))(ag.tensor(row)).numpy(),
                                      np.diag(row, k))


def test_indices_are_compared_in_short_lanes():
    f = ag.jit(lambda x: ag.triu(x))
    f(ag.ones((64, 64)))
    lanes = machine.native().vector_bits // 8
    assert f"icmp sge <{lanes} x i32>" in f.ir()
