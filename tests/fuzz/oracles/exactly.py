"""Programs in numbers of hundreds of digits: what decides where floats overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from tests.fuzz.oracles import reference
from tests.fuzz.program import defined
from tests.fuzz.run import Case
from tests.fuzz.values import is_float

DIGITS = 400
#: Numbers of which the exponential has too many digits.
LARGEST = 2.0**400


class Real:
    """A number that NumPy's functions take in arrays of objects."""

    __slots__ = ("v",)

    def __init__(self, value: Any) -> None:
        self.v = value.v if isinstance(value, Real) else mpmath.mpf(value)

    def __float__(self) -> float:
        return float(self.v)

    def __bool__(self) -> bool:
        return bool(self.v)

    def __neg__(self) -> Real:
        return Real(-self.v)

    def __pos__(self) -> Real:
        return self

    def __abs__(self) -> Real:
        return Real(abs(self.v))

    def __hash__(self) -> int:
        return hash(self.v)


def _operator(name: str, reflected: bool) -> Callable[[Real, Any], Any]:
    def apply(self: Real, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        a, b = self.v, Real(other).v
        if reflected:
            a, b = b, a
        return _computed(_OPERATORS[name], a, b)

    return apply


def _computed(function: Any, *values: Any) -> Real:
    """A result; NaN where there is none in real numbers."""
    try:
        found = function(*values)
    except (ZeroDivisionError, ValueError, ArithmeticError):
        found = mpmath.nan
    return Real(mpmath.nan if isinstance(found, mpmath.mpc) else found)


def _power(a: Any, b: Any) -> Any:
    if a == 0 and b == 0:
        return mpmath.mpf(1)
    _small(mpmath.log(abs(a)) * b if a else 0)
    return a**b


def _small(x: Any) -> Any:
    if abs(x) > LARGEST:
        raise OverflowError
    return x


_OPERATORS: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b, "pow": _power, "mod": lambda a, b: a - b * mpmath.floor(a / b),
    "floordiv": lambda a, b: mpmath.floor(a / b),
}
_COMPARED: dict[str, Any] = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}
_FUNCTIONS: dict[str, Any] = {
    "exp": lambda x: mpmath.exp(_small(x)), "log": mpmath.log, "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh, "sin": lambda x: mpmath.sin(_small(x)),
    "cos": lambda x: mpmath.cos(_small(x)), "tan": lambda x: mpmath.tan(_small(x)),
    "sinh": lambda x: mpmath.sinh(_small(x)), "cosh": lambda x: mpmath.cosh(_small(x)),
    "log1p": lambda x: mpmath.log(1 + x), "expm1": lambda x: mpmath.exp(_small(x)) - 1,
    "arctan": mpmath.atan, "arcsinh": mpmath.asinh, "arctanh": mpmath.atanh,
    "exp2": lambda x: mpmath.exp(_small(x) * mpmath.log(2)), "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "floor": mpmath.floor, "ceil": mpmath.ceil, "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x, "sign": mpmath.sign, "rint": mpmath.nint,
    "trunc": lambda x: mpmath.floor(x) if x > 0 else mpmath.ceil(x), "conjugate": lambda x: x,
}
for _name in _OPERATORS:
    setattr(Real, f"__{_name}__", _operator(_name, False))
    setattr(Real, f"__r{_name}__", _operator(_name, True))
for _name, _how in _COMPARED.items():
    setattr(Real, f"__{_name}__", lambda self, other, how=_how: how(self.v, Real(other).v))
for _name, _how in _FUNCTIONS.items():
    setattr(Real, _name, lambda self, how=_how: _computed(how, self.v))


class Big(np.ndarray):
    """An array of exact numbers: casts to floats leave them alone."""

    def astype(self, dtype: Any, *rest: Any, **options: Any) -> Any:  # type: ignore[override]
        if is_float(dtype):
            return self
        return np.array(np.asarray(self).tolist(), "float64").reshape(self.shape).astype(dtype)


class _Functions:
    """NumPy, with other definitions where objects need them."""

    @staticmethod
    def asarray(x: Any, *_: Any, **__: Any) -> Any:
        return x if isinstance(x, np.ndarray) else np.array(x)

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def softplus(x: Any) -> Any:
        return np.log(1 + np.exp(x))

    @staticmethod
    def logaddexp(x: Any, y: Any) -> Any:
        return np.log(np.exp(x) + np.exp(y))

    @staticmethod
    def logsumexp(x: Any, axis: Any, keepdims: bool = False) -> Any:
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))

    @staticmethod
    def softmax(x: Any, axis: int) -> Any:
        return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return np.log(self.softmax(x, axis))

    @staticmethod
    def hypot(x: Any, y: Any) -> Any:
        return np.sqrt(x * x + y * y)

    @staticmethod
    def relu(x: Any) -> Any:
        return np.maximum(x, 0)

    @staticmethod
    def tanh(x: Any) -> Any:
        return np.tanh(x)

    def __getattr__(self, name: str) -> Any:
        return getattr(reference, name)


def agrees(case: Case, place: int, found: np.ndarray, eager: np.ndarray,
           where: np.ndarray) -> bool | None:
    """Whether results are the exact ones, or nearer to them than the eager ones, where they are
    asked for; None where nobody can tell.
    """
    program = case.program
    returned = len(program.body.returns)
    direct = case.way.expected in ("f(*args)", "f(*strong(args))")
    if not direct or place >= returned:
        return None
    try:
        with mpmath.workdps(DIGITS), np.errstate(all="ignore"):
            exact = np.asarray(_run(case)[place])
            wanted = np.array([_rounded(v, found.dtype) for v in np.ravel(exact)])
    except (TypeError, ValueError, AttributeError, OverflowError, IndexError, RecursionError,
            ZeroDivisionError):
        return None
    with np.errstate(all="ignore"):
        f = found.astype("float64").ravel()
        near = np.isclose(f, wanted, rtol=1e-2 if found.dtype.itemsize < 4 else 1e-4, atol=1e-30)
        e = eager.astype("float64").ravel()
        near = np.where(np.isfinite(e), np.abs(f - wanted) <= np.abs(e - wanted), near)
    return bool(near[where.ravel()].all())


def _rounded(value: Any, dtype: Any) -> float:
    return float(Real(value).v)


def _run(case: Case) -> Any:
    """The program's results in exact numbers."""
    def exact(x: Any) -> Any:
        if isinstance(x, np.ndarray) and is_float(x.dtype):
            if not np.isfinite(x.astype("float64")).all():
                raise ValueError("not finite")
            return np.array([Real(float(v)) for v in x.ravel()] + [None], object)[:-1].reshape(
                x.shape).view(Big)
        return x

    given = [exact(x) for x in case.program.arguments(np)]
    lines = "\n".join(case.program.body.lines())
    return defined(lines, "f", {"ag": _Functions()})(*given)
