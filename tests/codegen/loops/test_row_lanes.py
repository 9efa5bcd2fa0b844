"""Rows whose length is a run-time value: how many lanes sweeps over them have."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag


def _rows(count, length):
    steps = np.arange(count * length, dtype=np.float32)
    return np.sin(steps * 0.7).reshape(count, length)


def _grown(function):
    """A function that has met row lengths enough to have a version for all."""
    f = ag.jit(function)
    for length in (40, 50, 60, 64):
        f(ag.tensor(_rows(4, length)))
    return f


@pytest.mark.parametrize("reduce", [ag.sum, ag.max])
def test_two_turns_of_a_sweep_are_full(reduce):
    f = _grown(lambda x: reduce(x, axis=1))
    assert len(f.specialisations) == 2
    widest = max(map(int, re.findall(r"<(\d+) x float>", f.ir())), default=1)
    assert 2 * widest <= 64  # the typical length


@pytest.mark.parametrize(("function", "widths"), [
    (lambda x: ag.softmax(x, -1), 2), (lambda x: ag.var(x, axis=-1), 2)])
def test_masks_are_made_once_for_all_rows_and_sweeps(function, widths):
    ir = _grown(function).ir()
    first, rest = ir[ir.index("void @k0("):ir.index("@body(ptr %bufs")].split("br ", 1)
    assert 1 <= first.count("icmp ult <") <= widths
    assert "icmp ult <" not in rest


def test_whole_registers_take_no_masks():
    f = ag.jit(lambda x: ag.maximum(x * 2.0, 0.0))
    for count in (3, 5):
        f(ag.tensor(_rows(count, 64)))
    assert f.specialisations[1].signature == "float32[n0, 64]"
    assert "masked" not in f.ir()
    x = _rows(7, 64)
    np.testing.assert_array_equal(f(ag.tensor(x)), np.maximum(x * 2, 0))


def _attend(q, k, v):
    return ag.softmax(q @ k.T, -1) @ v


def _kept(length):
    steps = np.arange(length * 8, dtype=np.float32)
    return [ag.tensor(np.sin(steps * (0.3 + i)).reshape(length, 8)) for i in range(3)]


@pytest.mark.parametrize("before", [(), (40, 50, 60)])
def test_rows_in_place_are_stored_without_masks(before):
    f = ag.jit(_attend)
    for length in before:
        f(*_kept(length))
    f(*_kept(23))
    (rows,) = [text for text in f.ir().split("define ") if "fdiv" in text]
    assert "masked.load" in rows
    assert "masked.store" not in rows
    for length in range(2, 80) if before else ():
        q, k, v = (t.array for t in _kept(length))
        powers = np.exp(q @ k.T)
        wanted = powers / powers.sum(1, keepdims=True) @ v
        np.testing.assert_allclose(f(*_kept(length)), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_places_of_extremes_are_as_narrow_as_lengths_are_bounded(axis):
    f = ag.jit(lambda x: ag.argmax(x, axis=axis))
    for length in (40, 50, 60):
        f(ag.tensor(_rows(length, 5) if axis == 0 else _rows(5, length)))
    assert "n0" in f.specialisations[-1].signature
    assert "x i64> @llvm.smin" not in f.ir()
    x = _rows(300, 5) if axis == 0 else _rows(5, 300)
    np.testing.assert_array_equal(f(ag.tensor(x)), x.argmax(axis))


_sums = _grown(lambda x: ag.sum(x * x, axis=1))
_means = _grown(lambda x: x - ag.mean(x, axis=1, keepdims=True))
_largest = _grown(lambda x: ag.max(x, axis=1))
_shares = _grown(lambda x: ag.softmax(x, -1))
_places = _grown(lambda x: ag.argmin(x, axis=1))
_columns = _grown(lambda x: ag.sum(x, axis=0) + ag.max(x, axis=0))
_all = _grown(lambda x: ag.sum(x + 1.0))


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(count=st.integers(0, 5), length=st.integers(0, 300))
def test_rows_of_any_length(count, length):
    x = _rows(count, length)
    np.testing.assert_allclose(_sums(ag.tensor(x)), (x * x).sum(1), rtol=1e-4)
    if not length:
        return
    np.testing.assert_allclose(_means(ag.tensor(x)), x - x.mean(1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(_all(ag.tensor(x)), (x + 1).sum(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(_largest(ag.tensor(x)), x.max(1))
    np.testing.assert_array_equal(_places(ag.tensor(x)), x.argmin(1))
    if count:
        np.testing.assert_allclose(_columns(ag.tensor(x)), x.sum(0) + x.max(0), atol=1e-5)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        _shares(ag.tensor(x)), powers / powers.sum(1, keepdims=True), rtol=1e-4)
