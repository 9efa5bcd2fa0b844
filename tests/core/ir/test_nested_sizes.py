"""Sizes that are computed from each other many times over."""

import functools
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir import dims
from agnesi.core.ir.dims import Dim, broadcast_parts, leaves, resolve
from agnesi.core.substitution import size_with


def nested(depth):
    size = first = Dim("n")
    for _ in range(depth):
        size = size * 2 + size // 3
    return first, size


def test_they_have_a_text_a_hash_and_a_pickle():
    _, size = nested(200)
    assert len(str(size)) < 10_000 and "..." in str(size)
    assert hash(size) == hash(size) and size in {size}
    first, small = nested(3)
    assert hash(small) == hash(nested(3)[1]) and small == nested(3)[1]
    assert "..." not in str(small)
    assert str(pickle.loads(pickle.dumps(small))) == str(small)
    assert repr(first * (first + 1) // 2) == "n * (n + 1) // 2"


def test_they_are_replaced_resolved_and_compared_part_by_part():
    first, size = nested(200)
    number, step = 3, 3
    for _ in range(200):
        step = step * 2 + step // 3
    assert resolve(size, {first: number}) == step
    assert size_with(size, {first: number}) == step
    assert size == nested(200)[1] and leaves(size) == [first]
    assert leaves(size_with(size, {first: Dim("m")})) == [Dim("m")]


def test_steps_of_rolls_whose_size_is_open_compile():
    x = y = ag.symbolic.tensor("float64", (None,))
    for _ in range(12):
        y = y + 0.1 * (ag.roll(y, 1, 0) + ag.roll(y, -1, 0) - 2 * y)
    run = ag.function([x], y)
    t = np.arange(5.0)
    expected = t
    for _ in range(12):
        expected = expected + 0.1 * (np.roll(expected, 1) + np.roll(expected, -1) - 2 * expected)
    np.testing.assert_allclose(run(t), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "symmetric"])
def test_sizes_that_a_later_operation_tells_are_known_everywhere(mode):
    """A border of constants is made of the size of what is put inside, before that is there."""
    x, given = ag.symbolic.dmatrix(), np.arange(6.0).reshape(2, 3)
    y = ag.pad(ag.pad(x, [(1, 1), (1, 0)], mode=mode), [(0, 1), (2, 2)], constant_values=1)
    expected = np.pad(np.pad(given, [(1, 1), (1, 0)], mode), [(0, 1), (2, 2)], constant_values=1)
    np.testing.assert_array_equal(ag.function([x], y)(given), expected)


def test_common_sizes_of_thousands_are_taken_apart_without_recursion():
    parts = [Dim() for _ in range(3000)]
    size = parts[0]
    for part in parts[1:]:
        size = Dim(op="broadcast", args=(size, part))
    assert broadcast_parts(size) == parts


def test_common_sizes_of_many_are_made_once_each(monkeypatch):
    """Each new one is put behind those that were there, by the numbers of sizes without names."""
    made = []
    interned = dims._interned
    monkeypatch.setattr(dims, "_interned", lambda *args: made.append(args) or interned(*args))
    sizes = [Dim() for _ in range(300)]
    whole = functools.reduce(lambda a, b: dims.combine("broadcast", a, b), sizes)
    assert len(made) == 299 and broadcast_parts(whole) == sizes
    assert functools.reduce(lambda a, b: dims.combine("broadcast", a, b), sizes[::-1]) is whole
    assert dims.combine("broadcast", whole, sizes[7]) is whole
