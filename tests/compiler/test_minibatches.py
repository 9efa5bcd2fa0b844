"""Minibatches by a run-time index: full ones go to native code at once, others are right, too."""

import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

ROWS, B = 23, 5
DATA = np.arange(ROWS * 3.0).reshape(ROWS, 3)
LABELS = np.arange(ROWS)
#: Full ones, the ragged last one, those beyond, and those from the end.
INDICES = [0, 2, 4, 1, 5, 9, -1, -2, -5, 3, 4, 0]


def _runs_natively(f):
    return type(type(f).__dict__["__call__"]) is types.BuiltinFunctionType


def _slices(data, labels, i, b):
    x, y = data[i * b:(i + 1) * b], labels[i * b:(i + 1) * b]
    return [(x * y[:, None]).sum(), data[i:i + b] * 2, x.shape[0] + 0 * y.sum(), y.T[::-1]]


@pytest.mark.parametrize("size", ["a number", "shared", "an input"])
def test_minibatches_of_functions_are_those_of_numpy(size):
    i, b = T.lscalar("i"), {"a number": B, "shared": ag.shared(B), "an input": T.lscalar("b")}[size]
    data, labels, calls = ag.shared(DATA), ag.shared(LABELS), ag.shared(0)
    inputs = [i, b] if size == "an input" else [i]
    f = ag.function(inputs, _slices(data, labels, i, b), updates={calls: calls + 1})
    native = []
    for n in INDICES:
        args = [n, B][: len(inputs)]
        for got, want in zip(f(*args), _slices(DATA, LABELS, n, B), strict=True):
            np.testing.assert_array_equal(got, want)
        native.append(_runs_natively(f))
    assert calls.get_value() == len(INDICES)
    assert native[:2] == [True, True] and native[-1]
    if size == "shared":
        b.set_value(2)
        np.testing.assert_array_equal(f(3)[1], DATA[3:5] * 2)


def test_a_size_that_is_refused_leaves_state_as_it_was():
    n, calls = T.lscalar("n"), ag.shared(0)
    f = ag.function([n], T.zeros((n,)), updates={calls: calls + 1})
    assert f(3).shape == (3,)
    with pytest.raises(ag.ShapeError, match="must not be -1"):
        f(-1)
    assert calls.get_value() == 1 and f(3).shape == (3,)


def test_copies_of_functions_of_minibatches_work_on_their_own_state():
    i, b = T.lscalar("i"), ag.shared(B)
    data, sums = ag.shared(DATA), ag.shared(np.zeros(3))
    f = ag.function([i], data[i * b:(i + 1) * b], updates={sums: sums + i})
    f(0)
    other, wide = ag.shared(DATA[:7] + 1), ag.shared(2)
    for g in (f.copy(swap={data: other}), f.copy(swap={data: other}, updates=False)):
        for n in (0, 1, 2):
            np.testing.assert_array_equal(g(n), DATA[n * B:(n + 1) * B][: max(0, 7 - n * B)] + 1)
    g = f.copy(swap={b: wide})
    np.testing.assert_array_equal(g(1), DATA[2:4])
    np.testing.assert_array_equal(f(1), DATA[B:2 * B])


@pytest.mark.parametrize("kind", [ag.tensor, ag.shared])
def test_jitted_minibatches_are_those_of_numpy(kind):
    data, labels = kind(DATA), kind(LABELS)
    f = ag.jit(lambda i, b: _slices(data, labels, i, b))
    for n in INDICES:
        for got, want in zip(f(ag.tensor(n), ag.tensor(B)), _slices(DATA, LABELS, n, B),
                             strict=True):
            np.testing.assert_array_equal(got.detach() if isinstance(got, ag.Tensor) else got, want)


def test_sizes_of_shared_variables_in_jitted_functions_are_those_of_the_call():
    data, n = ag.shared(DATA), T.lscalar("n")
    f = ag.function([n], [data[:n], data[n // 2:].sum()])
    g = ag.jit(lambda n: data[:n].sum())
    h = ag.jit(lambda n: f(n)[1] * 2)
    for value in (DATA, DATA[:8] + 1, DATA[:8] + 2, DATA[:5], DATA):
        data.set_value(value)
        for k in (7, 30, 4, 7):
            assert g(ag.tensor(k)) == value[:k].sum()
            assert h(ag.tensor(k)) == 2 * value[k // 2:].sum()


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64", "float16", "float32",
                                   "float64", "complex128"])
def test_scalars_of_numpy_and_python_go_to_native_code_at_once(dtype):
    x = T.variable("x", dtype, ())
    f = ag.function([x], x)
    value = np.dtype(dtype).type(1)
    f(np.asarray(value))
    assert _runs_natively(f)
    for given in (value, np.asarray(value), value.item(), 1 if dtype != "bool" else True):
        got = f(given)
        assert got.dtype == dtype and got == 1
    wrong = "no number" if dtype != "complex128" else np.zeros(2)
    with pytest.raises((TypeError, ag.ShapeError)):
        f(wrong)


def test_a_python_number_that_an_input_cannot_hold_is_refused_in_native_code_too():
    x = T.lscalar("x")
    f = ag.function([x], x + 1)
    assert f(1) == 2 and f((1 << 63) - 2) == (1 << 63) - 1
    for bad in (1 << 63, 1.5, np.float64(1)):
        with pytest.raises((TypeError, OverflowError)):
            f(bad)


def test_calls_of_ever_new_sizes_compute_them_and_go_to_native_code():
    n, m, data, calls = T.lscalar("n"), T.dmatrix("m"), ag.shared(DATA), ag.shared(0)
    f = ag.function([n, m], [data[:n], m[n // 2:].sum()], updates={calls: calls + 1})
    sizes = [5, 9, 14, 6, 17, 5, 0, 1, 23, 40, 9, 7]
    for k in sizes:
        rows, rest = f(k, DATA)
        np.testing.assert_array_equal(rows, DATA[:k])
        assert rest == DATA[k // 2:].sum()
    assert isinstance(type(f).__dict__["__call__"], staticmethod)
    assert calls.get_value() == len(sizes) and len(f.specialisations) < len(sizes)
    np.testing.assert_array_equal(f(m=DATA[::2], n=11)[0], DATA[:11])
    np.testing.assert_array_equal(f(np.int64(13), DATA[::2])[0], DATA[:13])
    data.set_value(DATA[:8] + 1)
    np.testing.assert_array_equal(f(13, DATA)[0], DATA[:8] + 1)
    for wrong in (1.5, "four", DATA):
        with pytest.raises((TypeError, ag.ShapeError), match="of function"):
            f(wrong, DATA)
    with pytest.raises(TypeError, match="function takes 2 arguments"):
        f(3)


def test_sizes_of_arguments_of_open_sizes_are_computed_before_the_code_reads():
    x, n = T.dmatrix("x"), T.lscalar("n")
    f = ag.function([x, n], x[n:n + 7].sum(0))
    for rows in (9, 12, 30, 4, 3, 50, 2):
        value = np.arange(rows * 2.0).reshape(rows, 2)
        for k in (0, 3, -5, 3):
            np.testing.assert_array_equal(f(value, k), value[k:k + 7].sum(0))
    assert all("decided" not in str(s.compiled.optimised) for s in f.specialisations
               if s.compiled.graph.extents)


def test_selections_of_every_length_go_to_native_code():
    v = T.dvector("v")
    f = ag.function([v], v[v > 2] * 2)
    rng = np.random.default_rng(0)
    for k in (4, 7, 12, 30, 5, 90):
        x = rng.uniform(0, 4, k)
        np.testing.assert_array_equal(f(x), x[x > 2] * 2)
    assert isinstance(type(f).__dict__["__call__"], staticmethod)
    assert f(np.zeros(4)).shape == (0,)
