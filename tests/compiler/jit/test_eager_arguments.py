"""NumPy's arrays are tensors in a jitted function, however a call of it runs."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.tree import flatten


def printed(x, *more):
    """Runs eagerly at each call."""
    with contextlib.redirect_stdout(io.StringIO()):
        print("seen", x.shape)
    return x.mean(), x / 2, x + 1


def read_again(x, *more):
    """Where elements stand apart, what is read depends on the layout."""
    return x.view(f"int{8 * x.dtype.itemsize}"), x.mean(), x / 2


def written(x, y, *more):
    x[0] = 7
    return x.mean(), y.sum(), x is y


@pytest.mark.parametrize("f", [printed, read_again, written])
@pytest.mark.parametrize("dtype", ["uint8", "float64", "float16"])
def test_results_have_one_dtype_however_a_call_runs(f, dtype):
    warnings.simplefilter("ignore")
    whole = np.arange(24).astype(dtype).reshape(4, 6)
    expected = [(type(y), getattr(y, "dtype", None), str(y)) for y in flatten(
        f(ag.tensor(whole[:, ::2]), ag.tensor(whole[:, 1::2])))[0]]
    for layout in (np.array, lambda a: a, np.asfortranarray):
        jitted = ag.jit(f)
        for _ in range(3):
            memory = whole.copy()
            x, y = layout(memory[:, ::2]), layout(memory[:, 1::2])
            found = flatten(jitted(x, y))[0]
            assert [(type(y), getattr(y, "dtype", None), str(y)) for y in found] == expected
            assert f is not written or x[0, 0] == 7


def test_one_array_twice_is_one_tensor():
    jitted = ag.jit(written)
    x = np.ones(3)
    for _ in range(3):
        _, total, same = jitted(x, x)
        assert bool(same) and float(total) == 9.0 and x[0] == 7


def test_arrays_within_tuples_are_tensors_too():
    warnings.simplefilter("ignore")

    def halves(pair, *, more):
        with contextlib.redirect_stdout(io.StringIO()):
            print("seen")
        return pair[0] / 2, more[1][0] / 2

    a, b = np.arange(3, dtype="uint8"), np.arange(4, dtype="int16")
    jitted = ag.jit(halves)
    for _ in range(3):
        assert [y.dtype for y in jitted((a, 1), more=(0, (b,)))] == [ag.float32, ag.float32]


def test_arrays_within_lists_and_dictionaries_are_tensors_during_the_call():
    warnings.simplefilter("ignore")
    seen = []

    def halves(d, many):
        with contextlib.redirect_stdout(io.StringIO()):
            print("seen")
        many.append(many[0] / 2)
        d["a"][0] = 8
        old, d["b"] = d["b"], d["a"] / 2
        seen.append((d["a"], old, many[1]["in"]))
        return d["b"], many[1]["in"] / 2, d["a"] is many[0]

    def arguments():
        a = np.arange(3, dtype="uint8")
        return {"a": a, "b": 3}, [a, {"in": np.arange(4, dtype="int16")}]

    jitted = ag.jit(halves)
    for _ in range(3):
        d, many = arguments()
        a, inner = d["a"], many[1]["in"]
        half, other, same = jitted(d, many)
        assert half.dtype == other.dtype == ag.float32 and same
        assert d["a"] is many[0] is a and many[1]["in"] is inner and a[0] == 8
        assert d["b"] is half and many[2].tolist() == [0.0, 0.5, 1.0]


def test_arrays_are_back_in_their_containers_behind_an_error():
    def fails(many):
        with contextlib.redirect_stdout(io.StringIO()):
            print("seen")
        raise KeyError(type(many[0]).__name__)

    many, jitted = [np.ones(2), (np.ones(3),)], ag.jit(fails)
    first, pair = many
    for _ in range(3):
        with pytest.raises(KeyError, match="Tensor"):
            jitted(many)
        assert many[0] is first and type(many[1]) is tuple and many[1][0] is pair[0]
