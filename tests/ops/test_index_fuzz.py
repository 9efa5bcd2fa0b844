"""Keys of indexing, made up by Hypothesis, beside NumPy: reading, writing, gradients, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag

CHECKED = settings(max_examples=150, deadline=None)
SIZES = st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=0, max_size=4).map(tuple)


@st.composite
def slices(draw: Any, n: int) -> slice:
    bound = st.none() | st.integers(-n - 2, n + 2)
    step = draw(st.none() | st.sampled_from([1, 2, 3, -1, -2]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """A key: integers, slices, None, one ellipsis, arrays of integers that broadcast, masks."""
    common = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 3), (0,), (2, 1)]))
    entries: list[Any] = []
    axis, dotted = 0, False
    while axis < len(shape):
        if draw(st.integers(0, 9)) == 0:
            entries.append(None)
        n = shape[axis]
        kinds = ["slice", "slice", "whole"]
        kinds += ["int", "array", "array"] if n else ["empty"]
        kinds += ["mask"] if len(entries) < 3 else []
        kinds += [] if dotted else ["dots"]
        kind = draw(st.sampled_from([*kinds, "stop"]))
        if kind == "stop":
            break
        if kind == "dots":
            entries.append(...)
            dotted = True
            axis += draw(st.integers(0, len(shape) - axis))
            continue
        if kind == "mask":
            width = draw(st.integers(1, min(2, len(shape) - axis)))
            part = shape[axis: axis + width]
            count = int(np.prod(part))
            bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            entries.append(np.array(bits, bool).reshape(part))
            axis += width
            continue
        entries.append({
            "slice": lambda n=n: draw(slices(n)), "whole": lambda: slice(None),
            "int": lambda n=n: draw(st.integers(-n, n - 1)), "empty": lambda: np.zeros(0, np.int64),
            "array": lambda n=n: np.array(draw(_indices(n, common)), np.int64).reshape(common),
        }[kind]())
        axis += 1
    if len(entries) == 1 and draw(st.booleans()):
        return entries[0]
    return tuple(entries)


def _indices(n: int, common: tuple[int, ...]) -> Any:
    count = int(np.prod(common))
    return st.lists(st.integers(-n, n - 1), min_size=count, max_size=count)


@st.composite
def indexed(draw: Any) -> tuple[np.ndarray, Any]:
    shape = draw(SIZES)
    x = np.arange(1.0, 1 + int(np.prod(shape))).reshape(shape)
    if len(shape) > 1 and draw(st.booleans()):
        x = x.swapaxes(0, -1)  # not in C order
    return x, draw(keys(x.shape))


def _expected(x: np.ndarray, key: Any) -> Any:
    """What NumPy reads, or the class of its error."""
    try:
        return x[key]
    except (IndexError, ValueError) as error:
        return type(error)


@CHECKED
@given(indexed())
def test_reading(case):
    x, key = case
    expected = _expected(x, key)
    if isinstance(expected, type):
        with pytest.raises((IndexError, ValueError)):
            ag.tensor(x)[key]
        return
    found = ag.tensor(x)[key]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)


@CHECKED
@given(indexed(), st.sampled_from(["number", "whole", "row"]), st.sampled_from("=+*"))
def test_writing(case, kind, sign):
    x, key = case
    expected = _expected(x, key)
    if isinstance(expected, type):
        return
    value = {
        "number": np.array(7.0),
        "whole": np.arange(float(np.size(expected))).reshape(np.shape(expected)),
        "row": np.arange(float(expected.shape[-1])) if np.ndim(expected) else np.array(2.0),
    }[kind]
    changed, y = x.copy(), ag.tensor(x)
    if sign == "=":
        changed[key] = value
        y[key] = value
    elif sign == "+":
        changed[key] += value
        y[key] += value
    else:
        changed[key] *= value
        y[key] *= value
    np.testing.assert_array_equal(y.numpy(), changed)
    added = x.copy()
    np.add.at(added, key, np.broadcast_to(value, np.shape(expected)))  # NumPy 2.4 reads too few
    summed = ag.index_put(ag.tensor(x), key, value, accumulate=True)
    np.testing.assert_array_equal(summed.numpy(), added)


@CHECKED
@given(indexed())
def test_gradients(case):
    x, key = case
    expected = _expected(x, key)
    if isinstance(expected, type):
        return
    weights = np.arange(1.0, 1 + np.size(expected)).reshape(np.shape(expected))
    slope = ag.grad(lambda t: ag.sum(t[key] * weights))(ag.tensor(x))
    summed = np.zeros_like(x)
    np.add.at(summed, key, weights)
    np.testing.assert_array_equal(slope.numpy(), summed)

    def written(t: ag.Tensor, v: ag.Tensor) -> ag.Tensor:
        return ag.sum(ag.index_put(t, key, v) * (x + 1))

    slopes = ag.grad(written, (0, 1))(ag.tensor(x), ag.tensor(weights))
    kept, last = np.asarray(x + 1), np.zeros(x.shape, np.int64)
    kept[key] = 0
    np.testing.assert_array_equal(slopes[0].numpy(), kept)
    last[key] = weights  # of elements that go to one place, which is there in the end
    wins = last[key] == weights
    np.testing.assert_array_equal(slopes[1].numpy(), np.where(wins, (x + 1)[key], 0))


@settings(max_examples=25, deadline=None)
@given(indexed())
def test_compiled(case):
    x, key = case
    expected = _expected(x, key)
    if isinstance(expected, type):
        return

    @ag.jit
    def both(t: ag.Tensor) -> Any:
        u = t + 0.0
        u[key] = u[key] * 3
        return t[key], u

    changed = x.copy()
    changed[key] = changed[key] * 3
    for found, wanted in zip(both(ag.tensor(x)), (expected, changed), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)
