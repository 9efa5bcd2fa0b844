"""Vector mathematics against mpmath: errors in units of the last place, over whole domains."""

import re
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen.vmath import low_latency
from tests.codegen.arithmetic.scalar_kernels import (
    WIDTH,
    Case,
    Compiled,
    compile_cases,
    feature_sets,
)

FEATURES = feature_sets()
COUNT = 700
LIMIT = {"float32": 1.0, "float64": 2.0}
# Longer sums lose a little more: float64 near the zero of lgamma's and digamma's polynomials.
# And where exp(x)/2 is beyond 2^23 and the one that expm1 takes from it counts half a unit.
WIDER = {("lgamma", "float64"): 3.0, ("digamma", "float64"): 2.5, ("expm1", "float32"): 1.02}

Reference = Callable[..., mpmath.mpf]


def _sigmoid(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


def _erfinv(x: mpmath.mpf) -> mpmath.mpf:
    if abs(x) >= 1:
        return mpmath.inf * x if abs(x) == 1 else mpmath.nan
    return mpmath.erfinv(x)


def _within(low: float, high: float, f: Reference) -> Reference:
    """NaN outside of the domain, where mpmath would go complex."""
    return lambda x: f(x) if low <= x <= high else mpmath.nan


def _at_zero(value: float, f: Reference) -> Reference:
    return lambda x: mpmath.mpf(value) if x == 0 else f(x)


REFERENCE: dict[str, Reference] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": _within(0, np.inf, _at_zero(-np.inf, mpmath.log)),
    "log2": _within(0, np.inf, _at_zero(-np.inf, lambda x: mpmath.log(x, 2))),
    "log10": _within(0, np.inf, _at_zero(-np.inf, mpmath.log10)),
    "log1p": _within(-1, np.inf, lambda x: -mpmath.inf if x == -1 else mpmath.log1p(x)),
    "sqrt": _within(0, np.inf, mpmath.sqrt),
    "rsqrt": _within(0, np.inf, _at_zero(np.inf, lambda x: 1 / mpmath.sqrt(x))),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": _within(-1, 1, mpmath.asin),
    "acos": _within(-1, 1, mpmath.acos),
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": _within(1, np.inf, mpmath.acosh),
    "atanh": _within(-1, 1, mpmath.atanh),
    "sigmoid": _sigmoid,
    "softplus": lambda x: x if x > 1500 else mpmath.log1p(mpmath.exp(x)),
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfinv": _erfinv,
    "lgamma": _within(0, np.inf, _at_zero(np.inf, lambda x: mpmath.re(mpmath.loggamma(x)))),
    "digamma": _within(0, np.inf, _at_zero(-np.inf, mpmath.digamma)),
}
# What mpmath leaves open at infinity.
AT_INFINITY = {
    "exp": (np.inf, 0.0),
    "exp2": (np.inf, 0.0),
    "expm1": (np.inf, -1.0),
    "log": (np.inf, np.nan),
    "log2": (np.inf, np.nan),
    "log10": (np.inf, np.nan),
    "log1p": (np.inf, np.nan),
    "sqrt": (np.inf, np.nan),
    "rsqrt": (0.0, np.nan),
    "cbrt": (np.inf, -np.inf),
    "atan": (np.pi / 2, -np.pi / 2),
    "sinh": (np.inf, -np.inf),
    "cosh": (np.inf, np.inf),
    "tanh": (1.0, -1.0),
    "asinh": (np.inf, -np.inf),
    "acosh": (np.inf, np.nan),
    "sigmoid": (1.0, 0.0),
    "softplus": (np.inf, 0.0),
    "erf": (1.0, -1.0),
    "erfc": (0.0, 2.0),
    "lgamma": (np.inf, np.inf),
    "digamma": (np.inf, np.nan),
}
POSITIVE_ONLY = frozenset(("lgamma", "digamma"))
#: ``erfinv`` is, too, but for -0.0, whose value is SciPy's.
ODD = frozenset(
    [
        "expm1",
        "log1p",
        "cbrt",
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "erf",
    ]
)


def _grid(name: str, dtype: str) -> np.ndarray:
    """Random bit patterns, every magnitude, the neighbourhood of one, and special values."""
    rng = np.random.default_rng(sum(map(ord, name)))
    limits = np.finfo(dtype)
    size = np.dtype(dtype).itemsize
    patterns = rng.integers(0, 256, COUNT // 4 * size, np.uint8).view(dtype)
    magnitudes = np.exp2(rng.uniform(-12, 10, COUNT // 2)) * rng.choice([-1.0, 1.0], COUNT // 2)
    special = [0.0, 1, -1, 2, 0.5, np.nan, limits.max, -limits.max, limits.tiny]
    special += [limits.smallest_subnormal, -limits.tiny, 1 + limits.eps, 1 - limits.epsneg]
    parts = [patterns, magnitudes, 1 + rng.uniform(-0.6, 0.6, COUNT // 4), special]
    grid = np.concatenate([np.asarray(p, dtype) for p in parts])
    return np.abs(grid) if name in POSITIVE_ONLY else grid


def _exact(name: str, grid: np.ndarray) -> list[mpmath.mpf]:
    """The function with enough digits to reduce any argument."""
    out = []
    for value in map(float, grid):
        if not np.isfinite(value):
            out.append(mpmath.nan)
            continue
        big = name in ("sin", "cos", "tan") and abs(value) > 1e5
        with mpmath.workprec(1300 if big else 160):
            clipped = _clip(name, value)
            out.append(+REFERENCE[name](mpmath.mpf(clipped)))
    return out


def _clip(name: str, value: float) -> float:
    """Arguments so far out that mpmath would build giants, moved to where the answer is settled."""
    if name in ("exp", "exp2", "expm1", "sinh", "cosh", "sigmoid", "softplus", "tanh"):
        return min(max(value, -3000.0), 3000.0) if name != "softplus" or value < 0 else value
    if name in ("erf", "erfc"):
        return min(max(value, -50.0), 50.0)
    return value


def _ulps(got: np.ndarray, exact: list[mpmath.mpf]) -> np.ndarray:
    """Error of each value in the spacing of the correctly rounded result."""
    limits = np.finfo(got.dtype)
    out = np.empty(got.size)
    for k, (value, truth) in enumerate(zip(got, exact, strict=True)):
        with np.errstate(over="ignore"):
            rounded = got.dtype.type(float(truth))
        if not np.isfinite(rounded) or not np.isfinite(value):
            same = rounded == value or (np.isnan(rounded) and np.isnan(value))
            out[k] = 0.0 if same else np.inf
            continue
        exponent = np.frexp(max(abs(float(rounded)), float(limits.tiny)))[1] - 1
        out[k] = abs(mpmath.mpf(float(value)) - truth) / mpmath.ldexp(
            1, int(exponent - limits.nmant)
        )
    return out


def _case(name: str, dtype: str, arguments: int = 1, alone: bool = False) -> Case:
    return Case(name, (dtype,) * arguments, dtype, 1 if alone else WIDTH[dtype], alone)


DTYPES = ("float32", "float64")
BINARY = ("power", "atan2", "hypot", "logaddexp")
ALL_CASES = [_case(name, dtype) for name in REFERENCE for dtype in DTYPES]
ALL_CASES += [_case(name, dtype, 2) for name in BINARY for dtype in DTYPES]


@pytest.fixture(scope="module")
def compiled() -> dict[str, Compiled]:
    return {key: compile_cases(ALL_CASES, features) for key, features in FEATURES.items()}


@pytest.fixture(scope="module")
def exact() -> Callable[[str, str], tuple[np.ndarray, list[mpmath.mpf]]]:
    known: dict[tuple[str, str], tuple[np.ndarray, list[mpmath.mpf]]] = {}

    def find(name: str, dtype: str) -> tuple[np.ndarray, list[mpmath.mpf]]:
        if (name, dtype) not in known:
            grid = _grid(name, dtype)
            known[name, dtype] = grid, _exact(name, grid)
        return known[name, dtype]

    return find


@pytest.mark.share(64)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REFERENCE)
def test_error_in_ulps(name: str, dtype: str, compiled, exact) -> None:
    grid, truth = exact(name, dtype)
    for key in FEATURES:
        got = compiled[key].run(_case(name, dtype), grid)
        error = _ulps(got, truth)
        worst = int(np.argmax(error))
        limit = WIDER.get((name, dtype), LIMIT[dtype]) + (0.5 if key == "plain" else 0.0)
        assert error[worst] <= limit, (key, error[worst], grid[worst], got[worst])


@pytest.mark.parametrize("name", ["exp", "exp2", "sigmoid"])
@pytest.mark.parametrize(("dtype", "power"), [("float32", -149), ("float64", -1074)])
def test_around_the_least_number(name: str, dtype: str, power: int, compiled, exact) -> None:
    """What rounds to zero is not computed, the least numbers are."""
    grid = (power + np.linspace(-4, 4, 65)) * (1.0 if name == "exp2" else np.log(2))
    grid = grid.astype(dtype)
    for key in FEATURES:
        got = compiled[key].run(_case(name, dtype), grid)
        assert _ulps(got, _exact(name, grid)).max() <= 1.01, key


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REFERENCE)
def test_infinity_and_signed_zero(name: str, dtype: str, compiled) -> None:
    x = np.array([np.inf, -np.inf, -0.0], dtype)
    expected = np.array(AT_INFINITY.get(name, (np.nan, np.nan)), dtype)
    for key in FEATURES:
        got = compiled[key].run(_case(name, dtype), x)
        np.testing.assert_array_max_ulp(got[:2], expected, 1)
        if name in ODD:
            assert got[2] == 0 and np.signbit(got[2]), (key, got[2])


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", low_latency.FUNCTIONS)
def test_functions_of_one_number(name: str, dtype: str, compiled, exact) -> None:
    case = _case(name, dtype, alone=True)
    grid, truth = exact(name, dtype)
    near = np.append(np.linspace(-7, 7, 1500), [1, np.pi / 2, -np.pi / 2, np.pi, 3e7, 6e7, 1e30])
    near = near.astype(dtype)
    grid, truth = np.append(grid, near), [*truth, *_exact(name, near)]
    for key, features in FEATURES.items():
        one = compile_cases([case], features)
        got = one.run(case, grid)
        error = _ulps(got, truth)
        worst = int(np.argmax(error))
        limit = LIMIT[dtype] + (0.5 if key == "plain" else 0.0)
        assert error[worst] <= limit, (key, error[worst], grid[worst], got[worst])
        ends = np.array([np.inf, -np.inf, -0.0], dtype)
        wide, alone = compiled[key].run(_case(name, dtype), ends), one.run(case, ends)
        np.testing.assert_array_equal(alone, wide)
        assert np.signbit(alone[2]) == np.signbit(wide[2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_multiples_of_half_pi(name: str, dtype: str, compiled) -> None:
    rng = np.random.default_rng(0)
    turns = np.round(np.exp2(rng.uniform(0, 24, 300)))
    hardest = 6381956970095103.0 * 2.0**797 if dtype == "float64" else 16367173.0 * 2.0**72
    grid = np.append(turns * (np.pi / 2), hardest).astype(dtype)
    truth = _exact(name, grid)
    for key in FEATURES:
        error = _ulps(compiled[key].run(_case(name, dtype), grid), truth)
        limit = LIMIT[dtype] + (0.5 if key == "plain" else 0.0)
        assert error.max() <= limit, (key, error.max(), grid[error.argmax()])


def _pairs(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = np.exp(rng.uniform(-4, 4, 3 * COUNT // 4))
    y = rng.uniform(-30, 30, x.size)
    near_one = 1 + rng.uniform(-0.01, 0.01, COUNT // 4)
    steep = rng.uniform(-3000, 3000, near_one.size)
    return np.append(x, near_one).astype(dtype), np.append(y, steep).astype(dtype)


BINARY_REFERENCE: dict[str, Reference] = {
    "power": mpmath.power,
    "atan2": mpmath.atan2,
    "hypot": mpmath.hypot,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY_REFERENCE)
def test_error_of_binary_functions(name: str, dtype: str, compiled) -> None:
    x, y = _pairs(name, dtype)
    with mpmath.workprec(160):
        pairs = zip(map(float, x), map(float, y), strict=True)
        truth = [BINARY_REFERENCE[name](mpmath.mpf(a), mpmath.mpf(c)) for a, c in pairs]
    for key in FEATURES:
        got = compiled[key].run(_case(name, dtype, 2), x, y)
        error = _ulps(got, truth)
        worst = int(np.argmax(error))
        limit = LIMIT[dtype] + (0.5 if key == "plain" else 0.0)
        assert error[worst] <= limit, (key, error[worst], x[worst], y[worst], got[worst])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["power", "atan2", "hypot"])
def test_special_pairs_agree_with_numpy(name: str, dtype: str, compiled) -> None:
    tiny, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    special = [0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan, tiny, most]
    x, y = (part.ravel() for part in np.meshgrid(*[np.array(special, dtype)] * 2))
    with np.errstate(all="ignore"):
        # In wider arithmetic, for NumPy's own hypot is not exact at the ends of the range.
        expected = getattr(np, {"atan2": "arctan2"}.get(name, name))(
            x.astype(np.longdouble), y.astype(np.longdouble)
        ).astype(dtype)
    for key in FEATURES:
        got = compiled[key].run(_case(name, dtype, 2), x, y)
        np.testing.assert_array_max_ulp(got, expected, 1)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_logaddexp(dtype: str, compiled) -> None:
    x, y = _pairs("logaddexp", dtype)
    with mpmath.workprec(160):
        pairs = zip(map(float, x), map(float, y), strict=True)
        truth = [float(mpmath.log(mpmath.exp(a) + mpmath.exp(c))) for a, c in pairs]
    special = np.array([np.inf, -np.inf, np.nan, -np.inf], dtype)
    other = np.array([-np.inf, -np.inf, 1, 3], dtype)
    for key in FEATURES:
        run = compiled[key].run
        got = run(_case("logaddexp", dtype, 2), x, y)
        eps = float(np.finfo(dtype).eps)
        # Near a result of zero the error is that of the larger argument.
        np.testing.assert_array_less(
            np.abs(got - truth), 2 * eps * np.maximum(np.abs(x), 1) + eps * np.abs(y)
        )
        np.testing.assert_array_equal(
            run(_case("logaddexp", dtype, 2), special, other), [np.inf, -np.inf, np.nan, 3]
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_digamma_of_negative_numbers(dtype: str, compiled) -> None:
    x = np.array([-0.5, -1.5, -2.5, -3.25, -7.3, -1e-5, -1, -2], dtype)
    truth = [mpmath.nan if v == round(v) else mpmath.digamma(v) for v in map(float, x)]
    limits = np.finfo(dtype)
    for key in FEATURES:
        run = compiled[key].run
        assert _ulps(run(_case("digamma", dtype), x), truth).max() <= 8, key
        assert run(_case("digamma", dtype), -limits.smallest_subnormal[None]) == np.inf


@pytest.mark.share(7)
@pytest.mark.parametrize("key", FEATURES)
def test_only_rare_paths_are_calls(key: str, compiled) -> None:
    text = compiled[key].assembly()
    functions = set(re.findall(r"\.type\s+\"?((?:sin|cos|tan|power)\.[^\s\",]+)", text))
    assert len(functions) == 2 * 4, "one for each dtype, shared by all that may need it"
    called = set(re.findall(r"\tcallq?\t\"?([^\s\"*]+)", text))
    assert called <= functions


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "erf", "log1p", "expm1", "sigmoid"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_lane_does_not_depend_on_the_width(name: str, dtype: str) -> None:
    grid = _grid(name, dtype)
    cases = [Case(name, (dtype,), dtype, width) for width in (1, 4, 32)]
    built = compile_cases([*cases, _case(name, dtype)], FEATURES["host"])
    wide = built.run(_case(name, dtype), grid)
    for case in cases:
        np.testing.assert_array_equal(built.run(case, grid), wide)


def test_half_precision_computes_in_float32() -> None:
    x = np.arange(0, 1 << 16, 7, np.uint16).view(np.float16)
    case = Case("exp", ("float16",), "float16")
    with np.errstate(all="ignore"):
        expected = np.exp(x.astype(np.float64)).astype(np.float16)
    for features in FEATURES.values():
        got = compile_cases([case], features).run(case, x)
        np.testing.assert_array_max_ulp(got, expected, 1)
        assert np.mean(got[~np.isnan(x)] != expected[~np.isnan(x)]) < 1e-3


def test_single_inverses_of_erf_take_one_logarithm_and_no_division():
    """A step of Halley's method in double precision is not needed for so few digits."""
    x = np.linspace(-1, 1, 1001)
    inverse, logarithm = ag.jit(ag.erfinv), ag.jit(ag.log)
    inverse(ag.tensor(x.astype(np.float32)))
    logarithm(ag.tensor(x))  # which divides where there are no tables in registers
    assert inverse.ir().count("fdiv") <= logarithm.ir().count("fdiv")
