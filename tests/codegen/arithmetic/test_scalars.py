"""Every basic operation against NumPy, bit for bit, on every dtype and feature set."""

import re
import warnings

import numpy as np
import pytest
from llvmlite import binding as llvm

import agnesi as ag
from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Module, Value
from agnesi.core.ir.loops import BOOL_RESULTS
from agnesi.core.target import Target
from tests.codegen.arithmetic.scalar_kernels import Case, Compiled, compile_cases, feature_sets
from tests.share import share

DTYPES = ["bool", "float16", "float32", "float64"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMPY = {
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bitwise_invert": "invert",
    "round": "rint",
}
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
]
UNARY = [
    "negative",
    "abs",
    "sign",
    "square",
    "sqrt",
    "reciprocal",
    "floor",
    "ceil",
    "trunc",
    "round",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "bitwise_invert",
]
FEATURES = feature_sets()


def _floats(dtype: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random bit patterns, ordinary numbers and the special ones."""
    width = np.dtype(dtype).itemsize
    patterns = rng.integers(0, 256, (count // 2) * width, np.uint8).view(dtype)
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5]
    special += [limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    ordinary = rng.uniform(-20, 20, count - count // 2 - 4 * len(special))
    parts = [np.asarray(part, dtype) for part in (patterns, special * 4, ordinary)]
    return rng.permutation(np.concatenate(parts))


def _values(dtype: str, seed: int, count: int = 1024) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.startswith("float"):
        return _floats(dtype, rng, count)
    limits = np.iinfo(dtype)
    wide = rng.integers(limits.min, limits.max, count // 2, dtype=dtype, endpoint=True)
    small = rng.integers(max(limits.min, -9), 9, count // 2 - 8).astype(dtype)
    special = np.array([0, limits.min, limits.max, 1] * 2, dtype)
    return rng.permutation(np.concatenate([wide, small, special]))


def _arguments(name: str, dtype: str) -> tuple[np.ndarray, ...]:
    x, y = _values(dtype, 1), _values(dtype, 2)
    if name == "power" and dtype.startswith("int"):
        y = np.where(y < 0, 0, y).astype(dtype)  # NumPy refuses negative exponents.
    return (x, y) if name in BINARY else (x,)


def _expected(name: str, args: tuple[np.ndarray, ...]) -> np.ndarray | None:
    try:
        return getattr(np, NUMPY.get(name, name))(*args)
    except TypeError:
        return None


def _cases() -> list[tuple[Case, tuple[np.ndarray, ...], np.ndarray]]:
    found = []
    for name in BINARY + UNARY:
        for dtype in share(DTYPES, 3, name):
            if name == "power" and dtype.startswith("float"):
                continue
            args = _arguments(name, dtype)
            expected = _expected(name, args)
            # Where NumPy promotes first, so does the caller of ``emit``.
            wanted = "bool" if name in BOOL_RESULTS else dtype
            if expected is not None and expected.dtype.name == wanted:
                found.append((Case(name, (dtype,) * len(args), wanted), args, expected))
    return found


def _same(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    same = got == expected
    if expected.dtype.kind == "f":
        same &= np.signbit(got) == np.signbit(expected)
        same |= np.isnan(got) & np.isnan(expected)
    return same


def _where_numpy_is_free(case: Case, args: tuple[np.ndarray, ...]) -> np.ndarray:
    """Points at which NumPy's answer depends on the machine."""
    if case.name in ("maximum", "minimum", "fmax", "fmin"):
        return (args[0] == 0) & (args[1] == 0)
    if case.name == "reciprocal" and case.dtypes[0] in ("int32", "int64", "uint32", "uint64"):
        return args[0] == 0
    return np.zeros(args[0].shape, bool)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, tuple[np.ndarray, ...], np.ndarray]]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _cases()


@pytest.mark.share(7)
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_operations_agree_with_numpy(features, cases) -> None:
    compiled = compile_cases([case for case, _, _ in cases], features)
    wrong = {}
    for case, args, expected in cases:
        got = compiled.run(case, *args)
        bad = ~_same(got, expected) & ~_where_numpy_is_free(case, args)
        if bad.any():
            k = int(np.argmax(bad))
            wrong[case.symbol] = (*(a[k] for a in args), got[k], expected[k])
    assert not wrong


def test_no_calls_on_the_narrowest_machine(cases) -> None:
    features = list(FEATURES.values())[-1]
    names = [case for case, _, _ in cases if case.dtypes[0] in ("float16", "float64", "int64")]
    casts = [Case("cast", (a,), c) for a in DTYPES for c in DTYPES if "float16" in (a, c)]
    assert not re.search(r"\tcallq?\t", compile_cases(names + casts, features).assembly())


def _castable(source: str, target: str) -> np.ndarray:
    """Values whose conversion is defined: a float must lie inside the integer's range."""
    x = _values(source, 3)
    if source.startswith("float") and "int" in target:
        limits = np.iinfo(target)
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide = x.astype("float64")
        inside = (wide > float(limits.min)) & (wide < float(limits.max) * 0.99)
        x = np.where(inside, x, x.dtype.type(1.75))
    return x


@pytest.mark.share(7)
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_casts_agree_with_numpy(features) -> None:
    pairs = [(a, c) for a in DTYPES for c in DTYPES]
    compiled = compile_cases([Case("cast", (a,), c) for a, c in pairs], features)
    wrong = []
    for source, target in pairs:
        x = _castable(source, target)
        with np.errstate(all="ignore"):
            expected = x.astype(target)
        got = compiled.run(Case("cast", (source,), target), x)
        if not _same(got, expected).all():
            wrong.append((source, target))
    assert not wrong


def test_casts_of_what_integers_cannot_hold_agree_with_numpy() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 1e19, -1e19, 300.7, -70000.2,
                  2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**31), -(2.0**31) - 1])
    floats = ("float16", "float32", "float64")
    integers = [f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)]
    cases = [Case("cast", (f,), i, lanes) for f in floats for i in integers for lanes in (1, 4)]
    compiled = compile_cases(cases, FEATURES["host"])
    for case in cases:
        with np.errstate(all="ignore"):
            given = np.tile(x, 4).astype(case.dtypes[0])
            expected = given.astype(case.result)
        np.testing.assert_array_equal(compiled.run(case, given), expected, err_msg=str(case))


@pytest.mark.parametrize("target", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_negative_numbers_wrap_as_unsigned_integers(source: str, target: str) -> None:
    x = np.array([-2.0, 3.0, -5.5, -0.0], source)
    case = Case("cast", (source,), target, 4)
    got = compile_cases([case], FEATURES["host"]).run(case, x)
    assert got.tolist() == [2**int(target[4:]) - 2, 3, 2**int(target[4:]) - 5, 0]


@pytest.fixture(scope="module")
def integers() -> tuple[list[Case], Compiled]:
    cases = [
        Case("mulhi", ("uint32", "uint32"), "uint32"),
        Case("floor_divide", ("int32", "int32"), "int32", 1),
        Case("power", ("int64", "int64"), "int64", 4),
        Case("where", ("bool", "int16", "int16"), "int16"),
        Case("fma", ("float32",) * 3, "float32"),
    ]
    return cases, compile_cases(cases, FEATURES["host"])


def test_high_half_of_product(integers) -> None:
    x, y = _values("uint32", 1), _values("uint32", 2)
    got = integers[1].run(integers[0][0], x, y)
    np.testing.assert_array_equal(got, (x.astype(np.uint64) * y) >> np.uint64(32))


def test_integer_division_does_not_trap(integers) -> None:
    x = np.array([7, -7, -(2**31), 5, -(2**31)], np.int32)
    y = np.array([2, 2, -1, 0, 0], np.int32)
    assert integers[1].run(integers[0][1], x, y).tolist() == [3, -4, -(2**31), 0, 0]


def test_negative_integer_exponents_truncate(integers) -> None:
    x = np.array([1, -1, -1, 2, 0, -3], np.int64)
    y = np.array([-5, -5, -4, -1, -2, -1], np.int64)
    assert integers[1].run(integers[0][2], x, y).tolist() == [1, -1, 1, 0, 0, 0]


def test_where_picks_lanes(integers) -> None:
    choice, x, y = _values("bool", 1), _values("int16", 2), _values("int16", 3)
    got = integers[1].run(integers[0][3], choice, x, y)
    np.testing.assert_array_equal(got, np.where(choice, x, y))


def test_fma_rounds_once(integers) -> None:
    if not {"fma", "neon"} & set(llvm.get_host_cpu_features()):
        pytest.fail("this machine has no fused multiply-add to test")
    x = np.array([1 + 2**-12], np.float32)
    got = integers[1].run(integers[0][4], x, x, -np.ones(1, np.float32))
    assert got[0] == np.float32(2**-11 + 2**-24)


def _emit(name: str, dtype: str, type_: str) -> Value:
    b = Builder(Module(Target(512)), "f", [(type_, "x")])
    return scalars.emit(b, name, (dtype,), (b.parameters[0],))


def test_unknown_operation_is_named() -> None:
    with pytest.raises(ValueError, match=r"^nothing: no scalar operation of this name"):
        _emit("nothing", "float32", "float")


@pytest.mark.parametrize(
    ("name", "dtype", "type_", "message"),
    [
        ("bitwise_invert", "float32", "float", r"bitwise_invert\(float32\): integers only; cast"),
        ("exp", "int32", "i32", r"exp\(int32\): floating-point only; cast the arguments first"),
    ],
)
def test_wrong_kind_of_dtype_is_named(name: str, dtype: str, type_: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        _emit(name, dtype, type_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("by", [4.0, -4.0, 3.0, 1e-3, np.inf])
def test_zeros_keep_their_signs_where_many_are_divided_by_one(dtype, by):
    """By the reciprocal and a correction, which is +0 where the quotient is -0."""
    x = np.array([-0.0, 0.0, 1.0, -1.0] * 8, dtype)
    expected = x / np.asarray(by, dtype)
    for optimizer in ("fast_compile", "fast_run"):
        for divide in (lambda x, y: x / y, lambda x, y: x / by):
            found = ag.jit(divide, optimizer=optimizer)(
                ag.tensor(x), ag.tensor(np.asarray(by, dtype))).numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_differences_of_equal_products_are_zero(dtype):
    x, y = (ag.tensor(np.linspace(0.3, n, 37).astype(dtype)) for n in (1.7, 2.9))
    programs = [
        lambda x, y: (v := ag.outer(x, y))[:, :1] - v[:1],
        lambda x, y: x * y[::-1] - (y * x[::-1])[::-1],
        lambda x, y: (x * x)[:, None] - ag.square(x)[None, :],
    ]
    for run in (ag.jit, lambda f: ag.jit(f, optimizer="fast_compile")):
        for f in programs:
            np.testing.assert_array_equal(run(f)(x, y).numpy(), f(x, y).numpy())
