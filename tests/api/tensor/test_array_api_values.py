"""Special values of the array API standard: infinities, NaN and zeros, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

#: Operand, then result.  "pi/2" and its kin are numbers; zeros have signs.
UNARY = """
abs: nan nan, -0 0, 0 0, inf inf, -inf inf, -2 2
acos: nan nan, 2 nan, -2 nan, 1 0, inf nan
acosh: nan nan, 0.5 nan, -inf nan, 1 0, inf inf
asin: nan nan, 2 nan, -2 nan, 0 0, -0 -0
asinh: nan nan, 0 0, -0 -0, inf inf, -inf -inf
atan: nan nan, 0 0, -0 -0, inf pi/2, -inf -pi/2
atanh: nan nan, 2 nan, -2 nan, 1 inf, -1 -inf, 0 0, -0 -0
ceil: nan nan, 3 3, 0 0, -0 -0, inf inf, -inf -inf, -0.5 -0, 1.5 2
cos: nan nan, 0 1, -0 1, inf nan, -inf nan
cosh: nan nan, 0 1, -0 1, inf inf, -inf inf
exp: nan nan, 0 1, -0 1, inf inf, -inf 0
expm1: nan nan, 0 0, -0 -0, inf inf, -inf -1
floor: nan nan, 3 3, 0 0, -0 -0, inf inf, -inf -inf, -0.5 -1, 1.5 1
log: nan nan, -1 nan, -inf nan, 0 -inf, -0 -inf, 1 0, inf inf
log1p: nan nan, -2 nan, -1 -inf, 0 0, -0 -0, inf inf
log2: nan nan, -1 nan, 0 -inf, -0 -inf, 1 0, inf inf, 8 3
log10: nan nan, -1 nan, 0 -inf, -0 -inf, 1 0, inf inf
negative: nan nan, 0 -0, -0 0, inf -inf
positive: nan nan, -0 -0, inf inf
reciprocal: nan nan, inf 0, -inf -0, 0 inf, -0 -inf
round: nan nan, 0 0, -0 -0, inf inf, -inf -inf, 0.5 0, 1.5 2, 2.5 2, -0.5 -0, -1.5 -2
sign: nan nan, -3 -1, 0 0, -0 0, 3 1, inf 1, -inf -1
sin: nan nan, 0 0, -0 -0, inf nan, -inf nan
sinh: nan nan, 0 0, -0 -0, inf inf, -inf -inf
sqrt: nan nan, -1 nan, 0 0, -0 -0, inf inf
square: nan nan, inf inf, -inf inf, -0 0
tan: nan nan, 0 0, -0 -0, inf nan, -inf nan
tanh: nan nan, 0 0, -0 -0, inf 1, -inf -1
trunc: nan nan, 3 3, 0 0, -0 -0, inf inf, -inf -inf, -0.5 -0, 1.5 1
"""
#: Operand, then 1 for true.
TESTS = """
isfinite: nan 0, inf 0, -inf 0, 1 1, -0 1
isinf: nan 0, inf 1, -inf 1, 1 0
isnan: nan 1, inf 0, 0 0
signbit: 0 0, -0 1, inf 0, -inf 1, 2 0, -2 1
logical_not: nan 0, 0 1, -0 1, 2 0
"""
#: Two operands, then the result.
BINARY = """
add: nan 1 nan, inf -inf nan, -inf inf nan, inf inf inf, inf 1 inf, 1 -inf -inf, -0 -0 -0,
  -0 0 0, 0 -0 0, -0 1 1, 1 -1 0
atan2: nan 1 nan, 1 0 pi/2, 1 -0 pi/2, 0 1 0, 0 0 0, 0 -0 pi, 0 -1 pi, -0 1 -0, -0 0 -0, -0 -0 -pi,
  -0 -1 -pi, -1 0 -pi/2, 1 inf 0, 1 -inf pi, -1 inf -0, -1 -inf -pi, inf 1 pi/2, -inf 1 -pi/2,
  inf inf pi/4, inf -inf 3pi/4, -inf inf -pi/4, -inf -inf -3pi/4
copysign: 1 -0 -1, -1 0 1, nan -1 nan, inf -1 -inf, 0 -1 -0
divide: nan 1 nan, inf inf nan, inf -inf nan, 0 0 nan, 0 -0 nan, 0 1 0, -0 1 -0, 0 -1 -0, -0 -1 0,
  1 0 inf, 1 -0 -inf, -1 0 -inf, -1 -0 inf, inf 2 inf, inf -2 -inf, -inf 2 -inf, -inf -2 inf,
  2 inf 0, 2 -inf -0, -2 inf -0, -2 -inf 0
floor_divide: nan 1 nan, 1 nan nan, inf inf nan, -inf inf nan, 0 0 nan, -0 0 nan, 0 1 0, -0 1 -0,
  0 -1 -0, -0 -1 0, 1 0 inf, 1 -0 -inf, -1 0 -inf, -1 -0 inf, inf 2 inf, inf -2 -inf, -inf 2 -inf,
  -inf -2 inf, 2 inf 0, 2 -inf -0, -2 inf -0, -2 -inf 0, -0 inf -0, 0 -inf -0, 7 2 3, -7 2 -4
hypot: inf nan inf, nan -inf inf, nan 1 nan, inf 1 inf, 3 4 5, 0 -0 0
logaddexp: nan 1 nan, inf 1 inf, 1 inf inf, -inf 1 1, -inf -inf -inf
maximum: nan 1 nan, 1 nan nan, inf 1 inf, -inf 1 1
minimum: nan 1 nan, 1 nan nan, inf 1 1, -inf 1 -inf
multiply: nan 1 nan, inf 0 nan, -0 -inf nan, inf -inf -inf, inf 2 inf, -inf 2 -inf, 0 -1 -0, -0 -1 0
nextafter: nan 1 nan, 1 nan nan, 0 0 0, 0 -0 -0, inf inf inf
pow: nan 0 1, nan -0 1, nan 1 nan, 1 nan nan, 2 inf inf, 2 -inf 0, 1 inf nan, -1 inf nan,
  0.5 inf 0, 0.5 -inf inf, inf 1 inf, inf -1 0, -inf 3 -inf, -inf 2 inf, -inf -3 -0, -inf -2 0,
  0 2 0, 0 -2 inf, -0 3 -0, -0 2 0, -0 -3 -inf, -0 -2 inf, -8 0.5 nan, 3 0 1
remainder: nan 1 nan, inf inf nan, inf 1 nan, 1 0 nan, 0 1 0, 0 -1 -0, -0 1 0, -0 -1 -0, 1 inf 1,
  -1 -inf -1, 1 -inf -inf, -1 inf inf, 7 3 1, -7 3 2, 7 -3 -2
subtract: inf inf nan, inf -inf inf, 0 0 0, -0 0 -0, 0 -0 0
"""
#: Where the standard leaves the choice, ours is C's ``pow``: one to the power of anything is one.
#: Quotients of infinities are rounded down as Python and NumPy do it.
OURS = {
    ("pow", "1", "nan"): "1", ("pow", "1", "inf"): "1", ("pow", "-1", "inf"): "1",
    ("floor_divide", "2", "-inf"): "-1", ("floor_divide", "-2", "inf"): "-1",
    **{("floor_divide", a, b): "nan" for a in ("inf", "-inf") for b in ("2", "-2")},
}
#: Complex operand, then result; "?" is a number or sign that is not defined.
COMPLEX = """
exp: (0,0) (1,0), (inf,0) (inf,0), (-inf,inf) (0,0), (inf,inf) (inf?,nan), (nan,0) (nan,0),
  (nan,1) (nan,nan), (1,inf) (nan,nan)
expm1: (0,0) (0,0), (-0,0) (0,0), (inf,0) (inf,0), (-inf,inf) (-1,0), (inf,inf) (inf?,nan),
  (-inf,nan) (-1,0), (inf,nan) (inf?,nan), (nan,0) (nan,0), (nan,1) (nan,nan), (800,0) (inf,0),
  (1,inf) (nan,nan), (nan,nan) (nan,nan)
log: (-0,0) (-inf,pi), (0,0) (-inf,0), (1,inf) (inf,pi/2), (-inf,1) (inf,pi), (inf,1) (inf,0),
  (inf,nan) (inf,nan), (nan,1) (nan,nan)
sqrt: (0,0) (0,0), (1,inf) (inf,inf), (nan,inf) (inf,inf), (-inf,1) (0,inf), (inf,1) (inf,0),
  (nan,1) (nan,nan)
sinh: (0,0) (0,0), (inf,0) (inf,0), (inf,nan) (inf?,nan), (nan,0) (nan,0)
cosh: (0,0) (1,0), (inf,0) (inf,0), (nan,1) (nan,nan)
tanh: (0,0) (0,0), (inf,1) (1,0), (inf,2) (1,0), (inf,-2) (1,-0), (-inf,2) (-1,0), (inf,inf) (1,0?),
  (nan,0) (nan,0), (nan,1) (nan,nan)
"""


def number(text: str) -> float:
    sign, text = (-1.0, text[1:]) if text[0] == "-" else (1.0, text)
    if "pi" in text:
        before, _, after = text.partition("pi")
        return sign * float(before or 1) * np.pi / float(after[1:] or 1)
    return sign * float(text)


def rows(text: str) -> dict[str, list[list[str]]]:
    joined = text.replace("\n  ", " ").strip().splitlines()
    parts = (line.partition(":") for line in joined)
    return {name: [case.split() for case in cases.split(", ")] for name, _, cases in parts}


def both_ways(function: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    tensors = [ag.asarray(a) for a in arrays]
    return [function(*tensors).numpy(), ag.jit(lambda *xs: function(*xs))(*tensors).numpy()]


def check(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.share(12)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*rows(UNARY), *rows(BINARY)])
def test_special_values(name, dtype):
    cases = (rows(UNARY) | rows(BINARY))[name]
    columns = [np.array([number(c[i]) for c in cases], dtype) for i in range(len(cases[0]) - 1)]
    results = [OURS.get((name, *c[:-1]), c[-1]) for c in cases]
    expected = np.array([number(r) for r in results], dtype)
    for found in both_ways(getattr(ag, name), *columns):
        assert found.dtype == dtype
        check(found, expected, 1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", rows(TESTS))
def test_special_values_of_tests(name, dtype):
    cases = rows(TESTS)[name]
    operand = np.array([number(c[0]) for c in cases], dtype)
    for found in both_ways(getattr(ag, name), operand):
        assert found.tolist() == [c[1] == "1" for c in cases]


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", rows(COMPLEX))
def test_special_values_of_complex_numbers(name, dtype):
    cases = [[part.strip("()").split(",") for part in case] for case in rows(COMPLEX)[name]]
    operand = np.array([complex(*map(number, c[0])) for c in cases], dtype)
    for found in both_ways(getattr(ag, name), operand):
        assert found.dtype == dtype
        for z, (_, expected) in zip(found, cases, strict=True):
            for part, text in zip((z.real, z.imag), expected, strict=True):
                if text.endswith("?"):
                    assert abs(part) == number(text[:-1])
                else:
                    check(np.asarray(part), np.asarray(number(text), part.dtype))


def test_special_values_written_over_the_operand():
    x = ag.tensor([7.0, -7.0, np.inf])
    x //= 2
    x //= ag.tensor([1.0, 1.0, -1.0])
    assert x.tolist()[:2] == [3, -4] and np.isnan(x[2])
    z = ag.asarray([complex(np.inf, 2), complex(-np.inf, np.inf), complex(800, 0), 1 + 1j])
    for name in ("tanh", "expm1"):
        expected = getattr(ag, name)(z).numpy()
        np.testing.assert_array_equal(getattr(z.clone(), f"{name}_")(), expected)


@pytest.mark.parametrize("name", rows(COMPLEX))
def test_conjugates_have_conjugate_results(name):
    values = np.array([0.0, 1.0, -2.0, 800.0, np.inf, -np.inf, np.nan])
    z = (values[:, None] + 1j * np.array([0.0, 0.5, 2.0])).ravel()
    function = getattr(ag, name)
    up, down = function(ag.asarray(z)).numpy(), function(ag.asarray(z.conj())).numpy()
    np.testing.assert_array_equal(down.real, up.real)
    np.testing.assert_array_equal(down.imag, -up.imag)


#: Reduction, keywords, elements, result.
REDUCTIONS: list[tuple[str, dict[str, Any], list[float], float]] = [
    ("sum", {}, [], 0), ("prod", {}, [], 1), ("mean", {}, [], np.nan), ("var", {}, [], np.nan),
    ("std", {}, [], np.nan), ("all", {}, [], True), ("any", {}, [], False),
    ("count_nonzero", {}, [], 0), ("sum", {}, [np.inf, -np.inf], np.nan),
    ("prod", {}, [np.inf, 0.0], np.nan), ("mean", {}, [1.0, np.nan], np.nan),
    ("max", {}, [1.0, np.nan, 2.0], np.nan), ("min", {}, [1.0, np.nan, 2.0], np.nan),
    ("max", {}, [-np.inf, -1.0], -1), ("min", {}, [np.inf, 1.0], 1),
    ("var", {"correction": 1.0}, [3.0], np.nan), ("var", {"correction": 3.0}, [3.0, 4.0], np.inf),
    ("var", {}, [3.0], 0), ("std", {"correction": 1.0}, [1.0, 3.0], np.sqrt(2)),
    ("all", {}, [np.nan, 1.0], True), ("any", {}, [0.0, np.nan], True),
    ("all", {}, [-0.0, 1.0], False), ("count_nonzero", {}, [np.nan, 0.0, -0.0, 1.0], 2),
    ("argmax", {}, [1.0, np.nan, 2.0], 1), ("argmin", {}, [1.0, np.nan, -2.0], 1),
]


@pytest.mark.parametrize(("name", "keywords", "elements", "expected"), REDUCTIONS)
def test_special_reductions(name, keywords, elements, expected):
    x = np.array(elements, np.float32)
    for found in both_ways(lambda t: getattr(ag, name)(t, **keywords), x):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sets_of_special_values():
    x = ag.asarray([[np.nan, 1.0, 0.0], [-0.0, 1.0, np.nan]])
    values, first, inverse, counts = ag.unique_all(x)
    np.testing.assert_array_equal(values, [0.0, 1.0, np.nan, np.nan])
    assert first[:2].tolist() == [2, 1] and counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(values[inverse], x)
    assert ag.unique(x).shape == (3,)  # NumPy's takes every NaN for one
    assert ag.isin(x, x[0]).tolist() == [[False, True, True], [True, True, False]]
    assert ag.unique_counts(ag.zeros((0, 2))).values.shape == (0,)


def test_results_have_the_dtypes_of_the_standard():
    narrow = ag.asarray([1, 2], dtype=ag.uint8)
    assert ag.sum(narrow).dtype == ag.uint64 and ag.prod(narrow, dtype=ag.uint8).dtype == ag.uint8
    assert ag.sum(ag.asarray([200, 100], dtype=ag.uint8), dtype=ag.uint8) == 44
    assert ag.sum(ag.ones(2, ag.int8)).dtype == ag.int64
    assert ag.sum(ag.ones(2, ag.float32)).dtype == ag.float32
    assert ag.argsort(narrow).dtype == ag.searchsorted(narrow, narrow).dtype == ag.int64
    assert ag.abs(ag.ones(2, ag.complex64)).dtype == ag.float32
    for name in ("ceil", "floor", "trunc", "round", "sign"):
        assert getattr(ag, name)(narrow).dtype == ag.uint8
    assert (narrow + 1).dtype == ag.uint8 and (ag.ones(2) * 2).dtype == ag.float32
    assert ag.where(ag.asarray([True, False]), narrow, 3).dtype == ag.uint8


def test_what_numpy_has_beyond_the_standard():
    x = ag.tensor([[0, 3], [4, 0]])
    for found in (ag.where(x != 0), ag.nonzero(x)):
        assert [i.tolist() for i in found] == [[0, 1], [1, 0]]
    assert x.astype(dtype="float32").dtype == ag.float32
    assert ag.diff(ag.asarray([True, False, False])).tolist() == [True, False]
    with pytest.raises(ag.ShapeError, match=r"a number has no axes"):
        ag.nonzero(ag.tensor(3))


def test_keys_of_a_single_bool():
    x = ag.asarray(np.arange(6.0).reshape(2, 3), copy=True)
    for key in (True, False, ag.asarray(True), (ag.asarray(False), 0), (0, True), (..., True),
                (True, [0, 1, 1]), ([0, 1], True, [1, 2]), ([0, 1], slice(None), True)):
        array = tuple(np.asarray(k) if isinstance(k, ag.Tensor) else k for k in key) \
            if isinstance(key, tuple) else np.asarray(key)
        np.testing.assert_array_equal(x[key], x.numpy()[array])
    leaf = ag.tensor([1.0, 2.0], requires_grad=True)
    assert ag.grad((leaf[ag.asarray(True)] * 3).sum(), leaf).tolist() == [3, 3]
    number = ag.tensor(5.0)
    number[ag.asarray(True)] = 7.0
    assert number == 7 and ag.ones(3)[ag.zeros(0, ag.bool)].shape == (0,)
