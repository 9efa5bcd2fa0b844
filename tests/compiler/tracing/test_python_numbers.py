"""Python numbers as arguments of compiled functions: dtypes are those of the eager call."""

from __future__ import annotations

import enum
import functools
import numbers
from collections.abc import Iterable

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.base.elementwise import TABLE

X = np.array([0.25, 0.5])
CASES = {
    "full": lambda x, c: ag.full((2,), c),
    "full_like": lambda x, c: ag.full_like(x, c),
    "stack": lambda x, c: ag.stack([c, c]),
    "stack beside": lambda x, c: ag.stack([x[0], c]),
    "where": lambda x, c: ag.where(x > 0.3, c, 0.0),
    "where of two": lambda x, c: ag.where(x > 0.3, c, c),
    "where beside": lambda x, c: ag.where(x > 0.3, c, x),
    "plus": lambda x, c: x + c,
    "of a number": lambda x, c: x * (c * 2 + 1),
    "sin": lambda x, c: ag.sin(c),
    "sin beside": lambda x, c: ag.sin(c) * x,
    "maximum": lambda x, c: ag.maximum(x, c),
    "clip": lambda x, c: ag.clip(x, 0.0, c),
    "power": lambda x, c: x ** c,
    "arctan2": lambda x, c: ag.atan2(x, c),
    "astype": lambda x, c: ag.astype(x, np.float64) * c,
    "asarray": lambda x, c: ag.asarray(c),
    "concat": lambda x, c: ag.concat([x, ag.reshape(ag.asarray(c), (1,))]),
    "sum": lambda x, c: ag.sum(c * x),
    "whole numbers": lambda x, c: ag.arange(3) * c,
    "carry of a scan": lambda x, c: ag.scan(
        lambda s, row: (s + row.astype("float32"), s), ag.asarray(c), x)[0],
    "number in a scan": lambda x, c: ag.scan(lambda s, row: (s + row, s), c, x)[1],
    "numbers in a scan": lambda x, c: ag.scan(
        lambda s, row: ((s[0] + row, s[1] * c), s[1]), (c, c), x)[1],
    "number in a loop": lambda x, c: ag.fori_loop(0, 2, lambda i, s: s + x[i], c),
    "whole number in a loop": lambda x, c: ag.fori_loop(
        0, 2, lambda i, s: s + i.astype("int32"), 1),
    "number in a while loop": lambda x, c: ag.while_loop(lambda s: s < 3, lambda s: s + x[1], c),
    "number in branches": lambda x, c: ag.cond(x[0] < 9, lambda y: y * 2, lambda y: y, c),
    "tensor of both": lambda x, c: ag.tensor([x[0], c]),
    "beside a list": lambda x, c: ag.add([1.0, 2.0], c),
    "difference from": lambda x, c: ag.diff(x.astype("int32"), prepend=c),
    "result type": lambda x, c: ag.zeros(2, dtype=ag.result_type(x, c)),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_dtypes(name, dtype):
    x = ag.tensor(X.astype(dtype))
    eager, compiled = CASES[name](x, 0.75), ag.jit(CASES[name])(x, 0.75)
    assert compiled.dtype == eager.dtype and compiled.shape == eager.shape
    np.testing.assert_allclose(compiled, eager, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_numbers_of_numpy():
    x = ag.tensor(X.astype("float32"))
    for function in (lambda c: ag.pad(x, 1, constant_values=c), lambda c: ag.unwrap(x, period=c),
                     lambda c: ag.zeros(1, dtype=ag.result_type(x, c))):
        for c in (np.float64(0.75), np.int64(2)):
            assert ag.jit(function)(c).dtype == function(c).dtype


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [n for n, op in TABLE.items()
                                  if op.arity == 1 and "f" in op.kinds and not n.startswith("_")
                                  and callable(getattr(ag, n, None))])
def test_functions_of_one_number(name):
    function = getattr(ag, name)
    found, expected = ag.jit(function)(0.75), function(0.75)
    if name not in ("negative", "positive", "abs", "square", "reciprocal"):  # Python's own, too
        assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_dtypes_as_arguments():
    f = ag.jit(lambda x, d: x.astype(d))
    assert f(ag.ones(2), np.int8).dtype == np.int8
    assert f(ag.ones(2), "float64").dtype == np.float64
    assert f(ag.ones(2), np.dtype("int32")).dtype == np.int32


@pytest.mark.share(2)
@pytest.mark.parametrize("function", [
    lambda a, x: ag.hypot(x, 1 + a * a), lambda a, x: ag.maximum(x, a * 2),
    lambda a, x: ag.where(x > 0, x, a + 1), lambda a, x: ag.logaddexp(x, -a),
    lambda a, x: ag.clip(x, a * 1, a + 2), lambda a, x: ag.stack([x, a * 1]),
    lambda a, x: ag.arctan2(x, ag.exp(a)), lambda a, x: ag.full(x.shape, a * 2) * x,
])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_numbers_that_all_examples_share(function, dtype):
    """A number that was computed with, and then met an array, keeps what it was given there."""
    x = ag.tensor(np.linspace(-1, 1, 3)).astype(dtype)
    expected = ag.stack([function(0.5, x[i]) for i in range(3)])
    for way in (ag.vmap, lambda *args: ag.jit(ag.vmap(*args)), lambda f, axes: ag.vmap(
            ag.jit(f), axes)):
        found = way(function, (None, 0))(0.5, x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3)


#: What code asks of an argument before it uses it, and what it makes of a number of Python's.
ASKED = {
    "isinstance": lambda x, s: x * 2 if isinstance(s, (int, float)) else x,
    "isinstance of an abstract class": lambda x, s: x * 2 if isinstance(s, numbers.Real) else x,
    "a tensor": lambda x, s: x * 2 if isinstance(s, ag.Tensor) else x,
    "type": lambda x, s: x * 2 if type(s) is float else x,
    "class": lambda x, s: x * 2 if s.__class__ is float else x,
    "hasattr": lambda x, s: x * 2 if hasattr(s, "shape") else x,
    "length": lambda x, s: x * 2 if hasattr(s, "__len__") else x,
    "getattr": lambda x, s: x * 2 if getattr(s, "ndim", None) is None else x,
    "isscalar": lambda x, s: x * 2 if np.isscalar(s) else x,
    "iterable": lambda x, s: x * 2 if isinstance(s, Iterable) else x,
    "match": lambda x, s: _matched(x, s),
    "single dispatch": lambda x, s: _dispatched(s) * x,
    "own method": lambda x, s: x * 2 if s.is_integer() else x,
    "key": lambda x, s: x * {2.0: 5.0, 0.1: 7.0}.get(s, 1.0),
    "member": lambda x, s: x * 2 if s in {2.0, 3.0} else x,
    "text": lambda x, s: (x * len(f"{s:.3f}"), str(s), f"{s!r}"),
    "text and a size": lambda x, s: (ag.arange(0, s, 0.5), len(str(s))),
    "returned": lambda x, s: (x, s, s * 2, [s / 3], {"s": -s}, s > 1, round(s, 1), s // 1, s**2),
    "chosen": lambda x, s: (-s if s > 1 else s, max(s, 1.0), min([s, 3]), sum([s, s]), s and 3),
    "complex": lambda x, s: (complex(s, 1), s * 1j),
    "numpy": lambda x, s: (np.sin(s), np.array([s, s]), x * np.float32(s)),
    "sorted": lambda x, s: sorted([s, 3.0, 1.0]),
    "quotient in a body": lambda x, s: ag.scan(lambda c, v: (c + v / s * (1 / s), c), x[0], x),
    "dropout": lambda x, s: ag.nn.functional.dropout(x, s * 0.0),
}


def _matched(x, s):
    match s:
        case int():
            return x * 7
        case float():
            return x * 2
    return x


@functools.singledispatch
def _dispatched(s):
    return 1.0


_dispatched.register(float, lambda s: 3.0)


def _exactly(value):
    """Types and values."""
    if isinstance(value, (list, tuple)):
        return type(value), [*map(_exactly, value)]
    if isinstance(value, dict):
        return [(k, _exactly(v)) for k, v in value.items()]
    found = np.asarray(value)
    return type(value), found.dtype, found.tolist()


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ASKED)
def test_arguments_are_python_s_numbers(name):
    function, compiled = ASKED[name], ag.jit(ASKED[name])
    x = ag.tensor([1.0, 2.0])
    for s in (2.0, 0.1, 2.0, 3.5):
        assert _exactly(compiled(x, s)) == _exactly(function(x, s))


def test_an_argument_of_which_text_is_made_does_not_fix_others():
    f = ag.jit(lambda x, rate, s: (x * rate, str(s)))
    for rate in (0.1, 0.2, 0.3):
        assert f(ag.ones(1), rate, 1.5)[1] == "1.5"
    assert f.explain().count("because") <= 2


def test_float_arguments_divide_as_arrays_do():
    f = ag.jit(lambda a, b: (a / b, a / b * b, a * (b / a), b ** -2, a / a))
    found = [f(1.0, 2.0), f(2.0, 0.0), f(0.0, 0.0)]
    assert found[0] == (0.5, 1.0, 2.0, 0.25, 1.0)
    np.testing.assert_equal(found[1], (np.inf, np.nan, 0.0, np.inf, 1.0))
    np.testing.assert_equal(found[2], (np.nan, np.nan, np.nan, np.inf, np.nan))
    with pytest.raises(ZeroDivisionError):
        ag.jit(lambda s: s / 0)(1.0)


def test_numbers_are_nothing_to_write_into():
    x = ag.ones(3)
    for function in (lambda c: ag.sum(x, out=c), lambda c: ag.count_nonzero(x, out=c)):
        for call in (function, ag.jit(function)):
            with pytest.raises(TypeError, match="out must be a Tensor, not float"):
                call(0.5)


def test_a_number_in_the_place_of_a_text():
    x = ag.ones(3)
    for check in (lambda c: ag.ensure(x, x > 0, c), ag.jit(lambda c: ag.ensure(x, x > 0, c))):
        with pytest.raises(TypeError, match="message must be a string, not"):
            check(0.5)
    for call in (ag.bernoulli, ag.jit(ag.bernoulli)):
        with pytest.raises(ag.DTypeError, match="p must be real, not complex64"):
            call(0.5 + 0.25j)


class Half(float):
    def __mul__(self, other):
        return "its own"

    __rmul__ = __mul__


def test_numbers_meet_kinds_of_numbers_and_what_tracing_says_is_not_caught():
    def sized(x):
        try:
            return float(x[0]) * x.size + Mode.TWO, 2 / float(x[1]) > x.size, Half(2) * float(x[0])
        except Exception:
            return "something that tracing alone says"

    def looked_at(x):
        try:
            return ag.fori_loop(0, 2, lambda k, y: y * (1 + int(ag.argmax(y))) + k, x)
        except Exception:
            return x - 100

    Mode = enum.IntEnum("Mode", {"TWO": 2})
    for x in (ag.tensor([0.25, 0.5]), ag.tensor([4.0, 3.0])):
        assert ag.jit(sized)(x) == sized(x)
        with pytest.warns(RuntimeWarning, match="an except clause catches"):
            assert np.array_equal(ag.jit(looked_at)(x), looked_at(x))


def test_numbers_of_numpy_come_back_as_they_are():
    step = ag.jit(lambda d, x: {"k": d["k"], "y": x * d["k"], "n": d["n"]})
    for i in range(3):
        k, n = np.float32(i + 0.5), np.int64(i)
        found = step({"k": k, "n": n}, ag.ones(2))
        assert [type(found[e]) for e in "kny"] == [np.float32, np.int64, ag.Tensor]
        assert (found["k"], found["n"]) == (k, n) and found["y"].tolist() == [float(k)] * 2
    assert ag.jit(lambda flag, x: (flag, x))(np.bool_(True), ag.ones(2))[0] is np.True_
    slope = ag.grad(lambda x: step({"k": k, "n": n}, x)["y"].sum())(ag.ones(2))
    assert slope.tolist() == [2.5, 2.5]


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.uint8(1),
                                    np.bool_(True), 2.0, 2, True], ids=repr)
def test_numbers_of_numpy_tell_their_class(number):
    kinds = (np.floating, np.integer, np.generic, float, int, ag.Tensor, np.ndarray)

    def told(x, k):
        return x * 1, [isinstance(k, kind) for kind in kinds], type(k) is type(number)

    x, told_by_jit = ag.ones(2), ag.jit(told)
    for _ in range(2):
        assert told_by_jit(x, number)[1:] == told(x, number)[1:]
