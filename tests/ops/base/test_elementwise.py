"""Public elementwise functions: promotion, scalars, out, special values, errors, no warnings."""

from __future__ import annotations

import array
import itertools
import math
import threading
import types
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir import costs
from agnesi.core.support.config import HOOKS
from agnesi.core.support.numpy_warnings import _run_silently, silently
from agnesi.ops.base.convert import CONSTANTS
from agnesi.ops.base.elementwise import TABLE, Elementwise, binary
from agnesi.ops.elementwise import formula
from agnesi.ops.special import special


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float32", 2, "float32"), ("float32", 2.5, "float32"), ("int8", 2, "int8"),
        ("int32", 0.5, "float32"), ("bool", 1, "int64"), ("float16", 1.0, "float16"),
        ("complex64", 2.0, "complex64"), ("float32", 1j, "complex64"),
        ("float64", 1j, "complex128"), ("uint8", True, "uint8"),
    ],
)
def test_python_numbers_are_weak(a: str, b: Any, expected: str) -> None:
    x = ag.ones(3, dtype=a)
    assert (x * b).dtype == expected
    assert (b * x).dtype == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("int64", "float32", "float32"), ("int8", "uint8", "int16"), ("bool", "int8", "int8"),
     ("float16", "float32", "float32"), ("float64", "complex64", "complex128")],
)
def test_tensors_are_promoted(a: str, b: str, expected: str) -> None:
    assert ag.add(ag.ones(2, dtype=a), ag.ones(2, dtype=b)).dtype == expected


def test_integers_become_floats_where_only_floats_are_taken() -> None:
    assert ag.sin(ag.tensor([1, 2])).dtype == "float32"
    assert ag.divide(ag.tensor([1, 2]), 2).dtype == "float32"
    assert ag.floor(ag.tensor([1, 2])).dtype == "int64"


def test_constants_keep_the_sign_of_zero_and_are_few() -> None:
    x = ag.ones(1)
    assert math.copysign(1, (x * 0.0).item()) == 1
    assert math.copysign(1, (x * -0.0).item()) == -1
    assert math.copysign(1, (x * 0.0).item()) == 1
    for i in range(3000):
        x * float(i)
    assert len(CONSTANTS) <= 1024


def test_a_constant_can_be_differentiated_beside_twice() -> None:
    x = ag.tensor([2.0], requires_grad=True)
    (3.0 * x).sum().backward()
    (x * 3.0).sum().backward()
    assert x.grad.item() == 6.0


def test_out() -> None:
    out = ag.zeros(2)
    assert ag.add(ag.tensor([1.0, 2.0]), 1, out=out) is out
    np.testing.assert_array_equal(out.numpy(), [2.0, 3.0])
    ag.exp(ag.zeros(2), out=out)
    np.testing.assert_array_equal(out.numpy(), [1.0, 1.0])


def test_numpy_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = ag.tensor([0.0, -1.0, np.inf])
        for function in (ag.log, ag.sqrt, ag.reciprocal, ag.sigmoid, ag.exp, ag.sin, ag.cbrt):
            function(x * 1e38)
        (x / 0.0, x // 0.0, x % 0.0, x * np.inf, x**-1.5, ag.acosh(x), ag.sum(x * 3e38))
        integers = ag.tensor([1, 2, -3])
        np.testing.assert_array_equal((integers // 0).numpy(), [0, 0, 0])
        np.testing.assert_array_equal((integers % 0).numpy(), [0, 0, 0])
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.divide(1.0, 0.0)


def test_settings_of_numpy_are_silent_in_every_thread() -> None:
    found: list[Any] = []

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append((ag.ones(2) / 0.0).numpy().tolist())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[np.inf, np.inf]] * 3


def test_a_row_may_compute_while_another_does() -> None:
    def inner(x: np.ndarray) -> np.ndarray:
        return (ag.from_numpy(x) / 0.0).numpy()

    np.testing.assert_array_equal(silently(inner, np.ones(2)), [np.inf, np.inf])
    np.testing.assert_array_equal(_run_silently(inner, np.ones(2)), [np.inf, np.inf])


def test_errors_tell_operation_shapes_and_line() -> None:
    with pytest.raises(ag.ShapeError) as raised:
        ag.add(ag.ones((3, 4)), ag.ones((3, 5)))
    assert "add(float32[3, 4], float32[3, 5])" in str(raised.value)
    assert __file__ in str(raised.value)
    with pytest.raises(ag.DTypeError, match=r"floor takes .*float32.*, not complex64"):
        ag.floor(ag.tensor([1j]))
    with pytest.raises(TypeError, match="bitwise_and takes"):
        ag.bitwise_and(ag.ones(2), ag.ones(2))
    with pytest.raises(ag.DTypeError, match="300 does not fit"):
        ag.ones(2, dtype="int8") + 300
    with pytest.raises(ValueError, match="power"):
        ag.power(ag.tensor([1, 2]), ag.tensor([-1, -1]))
    with pytest.raises(ag.DTypeError, match="condition must be bool"):
        ag.where(ag.ones(2), 1.0, 2.0)


def test_power_of_constants() -> None:
    x = ag.tensor([-1.5, 0.0, 2.0])
    for n in (2, 2.0, 3, 0, 1):
        np.testing.assert_array_equal((x**n).numpy(), x.numpy() ** n)
    np.testing.assert_array_equal((ag.tensor([4.0]) ** 0.5).numpy(), [2.0])
    np.testing.assert_array_equal((ag.tensor([4.0]) ** -1).numpy(), [0.25])
    assert (ag.tensor([3], dtype="int16") ** 2).dtype == "int16"
    np.testing.assert_array_equal((2 ** ag.tensor([3.0])).numpy(), [8.0])


def test_complex_parts() -> None:
    z = ag.tensor([3 + 4j, -1j])
    np.testing.assert_allclose(ag.abs(z).numpy(), [5.0, 1.0])
    np.testing.assert_allclose(ag.sign(z).numpy(), [0.6 + 0.8j, -1j])
    assert ag.sign(ag.tensor([0j])).item() == 0
    z = np.array([complex(a, b) for a in (0, 2, np.inf, -np.inf, np.nan) for b in (1, -np.inf)])
    for sign in (ag.sign, ag.jit(ag.sign)):
        np.testing.assert_array_equal(sign(ag.tensor(z)).numpy(), np.sign(z))
        assert abs(sign(ag.tensor([1e-320 + 0j], "complex128")).item() - 1) < 1e-15
    assert ag.grad(lambda z: ag.sign(z).real.sum())(ag.tensor([0j])).item() == 0
    x = ag.tensor([-1.0, 2.0])
    assert ag.real(x) is x and ag.conj(x) is x
    np.testing.assert_array_equal(ag.imag(x).numpy(), [0, 0])
    np.testing.assert_allclose(ag.angle(x).numpy(), [np.pi, 0], rtol=1e-6)


def test_clip_and_round() -> None:
    x = ag.tensor([1, 5, 9])
    np.testing.assert_array_equal(ag.clip(x, 2).numpy(), [2, 5, 9])
    np.testing.assert_array_equal(ag.clip(x, max=6).numpy(), [1, 5, 6])
    np.testing.assert_array_equal(ag.clip(x).numpy(), x.numpy())
    np.testing.assert_allclose(ag.round(ag.tensor([1.25, 2.346]), 2).numpy(), [1.25, 2.35])


def test_integers_are_rounded_exactly() -> None:
    for dtype, decimals in itertools.product(("int8", "uint16", "int32", "int64", "uint64"),
                                             (2, 1, -1, -2, -3, -40)):
        ends, unit = np.iinfo(dtype), 10 ** max(-decimals, 0)
        numbers = [n for n in (ends.min, 15, 25, 50, 150, 1250, ends.max // 2, ends.max)
                   if ends.min <= n <= ends.max]
        nearest = [n // unit + ((n % unit) * 2 + n // unit % 2 > unit) for n in numbers]
        expected = [((n * unit) if unit <= ends.max else 0) % 2**ends.bits for n in nearest]
        x = ag.tensor(np.array(numbers, dtype))
        for run in (ag.round, ag.jit(ag.round)):
            found = [n % 2**ends.bits for n in run(x, decimals).tolist()]
            assert found == expected, (dtype, decimals)


def test_numbers_without_digits_behind_the_point_stay() -> None:
    x = ag.tensor([65504.0, 0.126, -np.inf, np.nan], dtype="float16")
    for run in (ag.round, ag.jit(ag.round)):
        for decimals, second in ((2, 0.13), (40, 0.126), (400, 0.126), (-40, 0.0)):
            found, first = run(x, decimals).tolist(), 65504.0 if decimals > 0 else 0.0
            assert found[:3] == [first, pytest.approx(second, rel=2e-3), -np.inf]
            assert np.isnan(found[3])


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "digamma", "_lgamma"])
def test_special_functions_without_scipy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mpmath = pytest.importorskip("mpmath")
    exact = {"_lgamma": "loggamma"}.get(name, name)
    points = np.linspace(-0.97, 0.97, 23) if name == "erfinv" else np.linspace(0.05, 12, 23)
    if name == "digamma":
        points = np.concatenate([points, -points - 0.01])
    for module in (formula, special):
        monkeypatch.setattr(module, "in_scipy", lambda name: None)
    found = getattr(ag, name.strip("_"))(ag.from_numpy(points)).numpy()
    expected = [float(getattr(mpmath, exact)(mpmath.mpf(float(x)))) for x in points]
    np.testing.assert_allclose(found, expected, 1e-12, 1e-13)


def test_special_values_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan])
    with_scipy = {n: getattr(ag, n)(ag.from_numpy(x)).numpy() for n in ("lgamma", "digamma")}
    monkeypatch.setattr(formula, "in_scipy", lambda name: None)
    for name, expected in with_scipy.items():
        np.testing.assert_array_equal(getattr(ag, name)(ag.from_numpy(x)).numpy(), expected)
    y = ag.erfinv(ag.from_numpy(np.array([-1.0, 1.0, 1.5, 0.0]))).numpy()
    np.testing.assert_array_equal(y, [-np.inf, np.inf, np.nan, 0.0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bfloat16"])
def test_relu_of_many(dtype: str) -> None:
    few = [-2.0, -0.0, 0.0, 3.0] + [-np.inf, np.inf, np.nan] * (dtype != "int32")
    t = ag.from_numpy(np.tile(few, 20_000)).astype(dtype)
    found = ag.relu(t)
    assert found.dtype == t.dtype
    wide = found.astype("float64").numpy()
    np.testing.assert_array_equal(wide, np.maximum(t.astype("float64").numpy(), 0))


def test_a_row_of_ones_own() -> None:
    row = Elementwise("average", lambda a, b: (a + b) / 2, (lambda g: g * 0.5, lambda g: g * 0.5),
                      kinds="f", lowered=False)
    try:
        average = binary(row)
        ag.testing.check_op(average, [(np.ones((2, 3)), np.zeros(3))])
    finally:
        del TABLE["average"]


@pytest.mark.parametrize("name", ["erf", "softplus"])
def test_large_arrays_of_functions_that_numpy_lacks(name: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    from agnesi.compiler import eager

    function, x = getattr(ag, name), np.linspace(-5, 5, 60_000, dtype="f")
    with ag.config(compile=False):
        expected = function(ag.from_numpy(x)).numpy()
    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 1)
    made = len(eager._functions)
    for shape in ((60_000,), (200, 300), (50, 1000)):
        size = math.prod(shape)
        found = function(ag.from_numpy(x[:size].reshape(shape))).numpy()
        np.testing.assert_allclose(found.ravel(), expected[:size], 3e-7)
    assert len(eager._functions) == made + 1
    turned = function(ag.from_numpy(x.reshape(200, 300).T)).numpy()
    np.testing.assert_allclose(turned, expected.reshape(200, 300).T, 3e-7)


def test_relu_of_many_is_not_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ag.from_numpy(np.linspace(-1, 1, 50_000, dtype="f"))
    real, taken = np.maximum, []

    def maximum(a, b, out):
        taken.append((a.size, b.size))
        return real(a, b, out=out)

    monkeypatch.setattr(np, "maximum", maximum)
    assert float(ag.relu(x).min()) == 0.0
    assert sum(n for n, _ in taken) == 50_000  # by rows of zeros; a scalar for the rest of a row
    assert all(zeros > 1 or n < 1024 for n, zeros in taken)


HOLDERS = {
    "__array__": lambda a: type("Held", (), {"__array__": lambda self, dtype=None, copy=None: a})(),
    "__array_interface__": lambda a: types.SimpleNamespace(
        __array_interface__=a.__array_interface__, kept=a),
    "memoryview": memoryview,
    "array.array": lambda a: array.array(a.dtype.char, a.tobytes()),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
def test_numbers_give_way_to_whatever_has_memory_of_a_dtype(holder, dtype):
    a = np.arange(6).astype(dtype)
    held = HOLDERS[holder](a)
    for found, expected in ((ag.add(held, 2), a + 2), (ag.multiply(3, held), 3 * a),
                            (ag.maximum(held, 1.5), ag.maximum(ag.tensor(a), 1.5).numpy())):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_slow_loops_of_numpy_give_the_same_compiled(name: str) -> None:
    special = np.tile([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -1.5, 3, -3, 1e30], 4000)
    x, function = special.astype("f4"), getattr(ag, name)
    for y in (0.3, -0.3, 0.0, np.inf, np.repeat(x[:4000], 10)):
        operand = y if isinstance(y, float) else ag.tensor(y)
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(x, np.float32(y) if isinstance(y, float) else y)
        for _ in range(40):  # compiled within these calls
            found = function(ag.tensor(x), operand).numpy()
            np.testing.assert_array_equal(found, exact)
            signed = ~np.isnan(exact)
            np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(exact)[signed])


def test_large_cubes_are_those_of_products() -> None:
    x = np.linspace(-3, 3, 40000)
    cubes, t = x * x * x, ag.tensor(x)
    np.testing.assert_array_equal((t**3).numpy(), cubes)
    np.testing.assert_array_equal(ag.jit(lambda t: t**3)(t).numpy(), cubes)
    t.pow_(3)  # its own result
    np.testing.assert_array_equal(t.numpy(), cubes)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64", "float32", "float64"])
def test_large_arrays_give_the_same_compiled(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agnesi.compiler.eager._COMPILE_MULTIPLY_ADDS", 1)
    draw, kind = np.random.default_rng(0), np.dtype(dtype).kind
    odd: Any = [True, False]
    if kind in "iu":
        odd = [0, 1, 2, 3, np.iinfo(dtype).min, np.iinfo(dtype).max]
    elif kind == "f":
        odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -2.5, 0.5, 3e38]
    rows = [op for op in TABLE.values()
            if op.traits & {"branching", "unvectorized"} and kind in op.direct
            and op.name not in ("clip", "hypot", "logaddexp", "logaddexp2", "sin", "cos",
                                *costs._SVML)]  # round
    assert rows
    for op in rows:
        xs = [draw.choice(np.array(odd, dtype), (200, 200)) for _ in range(op.arity)]
        xs = [xs[0] != 0, *xs[1:]] if op.name == "where" else xs
        for operands in (xs, [*xs[:-1], xs[-1][0, 0]]):
            exact = np.asarray(silently(op.function, *operands))
            for _ in range(3):
                found = op.perform(*operands)
                assert found.dtype == exact.dtype, op
                np.testing.assert_array_equal(found, exact, err_msg=op.name)
                if kind == "f":
                    ours, known = (np.signbit(y)[exact == exact] for y in (found, exact))
                    np.testing.assert_array_equal(ours, known, err_msg=op.name)


@pytest.mark.parametrize("name", sorted(costs._SVML))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_numpy_takes_one_by_one_is_compiled(name: str, dtype: str,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy has no vectors of a function, its eager calls become compiled ones."""
    monkeypatch.setattr("agnesi.compiler.eager._COMPILE_MULTIPLY_ADDS", 1)
    monkeypatch.setattr("agnesi.compiler.warmup.WORK.left", 0)
    op = TABLE[name]
    if costs.uses_svml():
        assert "unvectorized" not in op.traits
        return
    made: list[Any] = []
    each = HOOKS.each
    monkeypatch.setattr(HOOKS, "each", lambda *args: made.append(each(*args)) or made[-1])
    draw = np.random.default_rng(0)
    xs = [(draw.random(4000) * 0.9 + (1.05 if name == "acosh" else 0.05)).astype(dtype)
          for _ in range(op.arity)]
    found = op.perform(*xs)
    assert made and made[-1] is found
    np.testing.assert_array_max_ulp(found, op.function(*xs), 4)
