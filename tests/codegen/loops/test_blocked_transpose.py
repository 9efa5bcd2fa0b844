"""Nests that read across the order in which they write, block by block: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

#: Sizes of both axes around squares and blocks: multiples, one more, less than a square.
SHAPES = ((192, 192), (4, 8300), (8300, 5), (9, 4000), (200, 165), (256, 129), (257, 130),
          (1100, 33))


def _numbers(dtype, *shape):
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 113).astype(dtype)


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int16", "int64",
                                   "bool", "complex64"])
def test_matrices_of_all_dtypes(dtype):
    for shape in SHAPES:
        x, y = _numbers(dtype, *shape), _numbers(dtype, *shape[::-1])
        f = ag.jit(lambda x, y: y == x.T)
        np.testing.assert_array_equal(f(ag.tensor(x), ag.tensor(y)).numpy(), y == x.T)
        copied = ag.jit(lambda x: ag.where(x.T == x.T, x.T, x.T))(ag.tensor(x)).numpy()
        np.testing.assert_array_equal(copied, x.T)


def test_no_element_is_gathered():
    f = ag.jit(lambda x: x.T * 2)
    f(ag.ones((200, 200)))
    assert "gather" not in f.ir()


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2)])
def test_orders_of_three_axes(order):
    for shape in ((8, 80, 90), (40, 33, 41), (80, 7, 90)):
        x = _numbers("float32", *shape)
        found = ag.jit(lambda x: ag.permute_dims(x, order) * 2 + 1)(ag.tensor(x)).numpy()
        np.testing.assert_array_equal(found, x.transpose(order) * 2 + 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_several_that_are_read_across(dtype):
    xs = [_numbers(dtype, 250, 170) + k for k in range(4)]
    row, column = _numbers(dtype, 170, 1), _numbers(dtype, 250)

    def function(a, b, c, d, row, column):
        return (a + b * c - d).T * row + column

    found = ag.jit(function)(*map(ag.tensor, (*xs, row, column)))
    np.testing.assert_array_equal(found.numpy(), function(*xs, row, column))


def test_backwards_and_every_few_rows():
    x = _numbers("float32", 450, 390)
    for step in (-1, 2, -3):
        for steps in ((step, 1), (1, step)):
            rows, columns = steps
            found = ag.jit(lambda x, r=rows, c=columns: x[::r, ::c].T + 1)(ag.tensor(x)).numpy()
            np.testing.assert_array_equal(found, x[::rows, ::columns].T + 1)


def test_sizes_known_at_run_time():
    f = ag.jit(lambda x: (x.T + 1, x * 2))
    for n, m in ((270, 190), (271, 191), (272, 192), (280, 200), (64, 3), (2, 300), (640, 64)):
        x = _numbers("float32", n, m)
        turned, plain = f(ag.tensor(x))
        np.testing.assert_array_equal(turned.numpy(), x.T + 1)
        np.testing.assert_array_equal(plain.numpy(), x * 2)


def test_changes_in_place():
    def change(x):
        x += x.T * 2
        return x

    x = _numbers("float32", 230, 230)
    np.testing.assert_array_equal(ag.jit(change)(ag.tensor(x)).numpy(), x + x.T * 2)


def test_shared_among_threads():
    x = _numbers("float32", 1030, 517)
    before = ag.get_num_threads()
    ag.set_num_threads(2)
    try:
        found = ag.jit(lambda x: ag.sqrt(x.T) + 1)(ag.tensor(x)).numpy()
    finally:
        ag.set_num_threads(before)
    np.testing.assert_array_equal(found, np.sqrt(x.T) + 1)


def test_gradients_flow_back_across():
    x = _numbers("float32", 280, 196) / 113

    def slope(x):
        return ag.grad(lambda x: (ag.sin(x.T) * ag.ones((196, 280))).sum())(x)

    found = ag.jit(slope)(ag.tensor(x)).numpy()
    np.testing.assert_allclose(found, np.cos(x), rtol=1e-6)
