"""Operands with Python operators, so that a formula reads like the formula.

``Lane`` arithmetic never carries fast-math flags: the error-free transformations below must not be
contracted behind their back.  Fusion is always requested, with :func:`mad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.llvm.builder import (
    Builder,
    Value,
    const,
    is_float,
    scalar,
    suffix,
    vector,
    width,
)
from agnesi.core.target import Target

_MANTISSA = {"float": 23, "double": 52}
_BIAS = {"float": 127, "double": 1023}
_LEAST = {"float": 2.0**-126, "double": 2.0**-1022}
_BITS = {"half": 16, "float": 32, "double": 64}


class Lane:
    """A value (scalar or vector) together with the builder that makes more of them."""

    __slots__ = ("b", "v")

    def __init__(self, b: Builder, v: Value) -> None:
        self.b = b
        self.v = v

    # -- what it is -----------------------------------------------------------------------
    @property
    def type(self) -> str:
        return self.v.type

    @property
    def element(self) -> str:
        return scalar(self.v.type)

    @property
    def lanes(self) -> int:
        return width(self.v.type)

    @property
    def double(self) -> bool:
        return self.element == "double"

    @property
    def target(self) -> Target:
        return self.b.module.target

    @property
    def fused(self) -> bool:
        """Whether the target has a fused multiply-add."""
        return self.target.has_any(("fma", "neon"))

    @property
    def avx512(self) -> bool:
        return self.fused and self.target.has("avx512f", "avx512dq")

    @property
    def mantissa(self) -> int:
        return _MANTISSA[self.element]

    @property
    def bias(self) -> int:
        return _BIAS[self.element]

    @property
    def least(self) -> float:
        """Least positive normal number."""
        return _LEAST[self.element]

    def like(self, value: Lane | float | int) -> Lane:
        """A number as a constant of this type; a lane unchanged."""
        if isinstance(value, Lane):
            return value
        return Lane(self.b, const(self.type, value))

    def cast(self, name: str, element: str) -> Lane:
        """A conversion instruction to another element type."""
        return Lane(self.b, self.b.cast(name, self.v, vector(element, self.lanes)))

    # -- operators ------------------------------------------------------------------------
    def _op(self, real: str, whole: str, a: Lane, c: Lane) -> Lane:
        return Lane(self.b, self.b.op(real if is_float(self.type) else whole, a.v, c.v))

    def __add__(self, other: Lane | float) -> Lane:
        return self._op("fadd", "add", self, self.like(other))

    def __sub__(self, other: Lane | float) -> Lane:
        return self._op("fsub", "sub", self, self.like(other))

    def __mul__(self, other: Lane | float) -> Lane:
        return self._op("fmul", "mul", self, self.like(other))

    def __truediv__(self, other: Lane | float) -> Lane:
        return self._op("fdiv", "sdiv", self, self.like(other))

    def __rsub__(self, other: float) -> Lane:
        return self.like(other) - self

    def __rtruediv__(self, other: float) -> Lane:
        return self.like(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Lane:
        if is_float(self.type):
            return Lane(self.b, self.b.fneg(self.v))
        return self.like(0) - self

    def __and__(self, other: Lane | int) -> Lane:
        return self._op("and", "and", self, self.like(other))

    def __or__(self, other: Lane | int) -> Lane:
        return self._op("or", "or", self, self.like(other))

    def __xor__(self, other: Lane | int) -> Lane:
        return self._op("xor", "xor", self, self.like(other))

    def __invert__(self) -> Lane:
        return self ^ (True if self.element == "i1" else -1)

    def __lshift__(self, other: Lane | int) -> Lane:
        return self._op("shl", "shl", self, self.like(other))

    def __rshift__(self, other: Lane | int) -> Lane:
        return self._op("ashr", "ashr", self, self.like(other))

    def lshr(self, other: Lane | int) -> Lane:
        return self._op("lshr", "lshr", self, self.like(other))

    # -- comparisons: ordered, so false for NaN -------------------------------------------
    def _compare(self, real: str, whole: str, other: Lane | float) -> Lane:
        right = self.like(other)
        if is_float(self.type):
            return Lane(self.b, self.b.fcmp(real, self.v, right.v))
        return Lane(self.b, self.b.icmp(whole, self.v, right.v))

    def __lt__(self, other: Lane | float) -> Lane:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Lane | float) -> Lane:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Lane | float) -> Lane:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Lane | float) -> Lane:
        return self._compare("oge", "sge", other)

    def eq(self, other: Lane | float) -> Lane:
        return self._compare("oeq", "eq", other)

    def ne(self, other: Lane | float) -> Lane:
        """Unequal; true for NaN."""
        return self._compare("une", "ne", other)

    def isnan(self) -> Lane:
        return self._compare("uno", "ne", self)

    # -- bits -----------------------------------------------------------------------------
    def bits(self) -> Lane:
        """The same bits as an integer."""
        return self.cast("bitcast", f"i{_BITS[self.element]}")

    def real(self) -> Lane:
        """The same bits as a float."""
        return self.cast("bitcast", "float" if self.element == "i32" else "double")

    def abs(self) -> Lane:
        return Lane(self.b, self.b.intrinsic("fabs", self.v))

    def copysign(self, other: Lane) -> Lane:
        return Lane(self.b, self.b.intrinsic("copysign", self.v, other.v))

    def flip(self, sign: Lane) -> Lane:
        """Exclusive-or with bits that hold a sign."""
        return (self.bits() ^ sign).real()

    def sign_bits(self) -> Lane:
        """The sign bit alone, as an integer."""
        bits = self.bits()
        return bits & -(1 << (_BITS[self.element] - 1))

    def sqrt(self) -> Lane:
        return Lane(self.b, self.b.intrinsic("sqrt", self.v))

    def least_of(self, other: Lane | float) -> Lane:
        """Minimum; a NaN in ``self`` stays."""
        right = self.like(other)
        return select(right < self, right, self)

    def most_of(self, other: Lane | float) -> Lane:
        """Maximum; a NaN in ``self`` stays."""
        right = self.like(other)
        return select(right > self, right, self)


def select(condition: Lane, a: Lane | float, c: Lane | float) -> Lane:
    """Lane-wise choice; at least one of ``a`` and ``c`` is a lane."""
    model = a if isinstance(a, Lane) else c
    assert isinstance(model, Lane)
    left, right = model.like(a), model.like(c)
    return Lane(model.b, model.b.select(condition.v, left.v, right.v))


def mad(a: Lane, c: Lane | float, d: Lane | float) -> Lane:
    """``a * c + d``, fused where the target can."""
    left, right = a.like(c), a.like(d)
    if a.fused:
        return Lane(a.b, a.b.fma(a.v, left.v, right.v))
    return a * left + right


def poly(x: Lane, coefficients: Sequence[float]) -> Lane:
    """A polynomial by Horner's rule, the constant coefficient first."""
    result = x.like(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = mad(x, result, c)
    return result


def poly_by_pairs(x: Lane, square: Lane, coefficients: Sequence[float]) -> Lane:
    """A polynomial by even and odd powers: half of Horner's latency, given the square."""
    pairs = [
        mad(x, coefficients[k + 1], coefficients[k]) if k + 1 < len(coefficients)
        else x.like(coefficients[k])
        for k in range(0, len(coefficients), 2)
    ]
    result = pairs[-1]
    for pair in reversed(pairs[:-1]):
        result = mad(square, result, pair)
    return result


def two_sum(a: Lane, c: Lane) -> tuple[Lane, Lane]:
    """The rounded sum and its exact error, for any magnitudes."""
    total = a + c
    other = total - a
    return total, (a - (total - other)) + (c - other)


def quick_sum(a: Lane, c: Lane | float) -> tuple[Lane, Lane]:
    """The rounded sum and its exact error where ``|a| >= |c|``."""
    small = a.like(c)
    total = a + small
    return total, small - (total - a)


def _halves(a: Lane) -> tuple[Lane, Lane]:
    """Dekker's split into two numbers of half the digits."""
    big = a * (4097.0 if not a.double else 134217729.0)
    high = big - (big - a)
    return high, a - high


def two_product(a: Lane, c: Lane) -> tuple[Lane, Lane]:
    """The rounded product and its exact error."""
    product = a * c
    if a.fused:
        return product, mad(a, c, -product)
    ah, al = _halves(a)
    ch, cl = _halves(c)
    return product, ((ah * ch - product) + ah * cl + al * ch) + al * cl


def residual(a: Lane, c: Lane, d: Lane) -> Lane:
    """``d - a * c`` where that difference is small, without the rounding of the product."""
    if a.fused:
        return mad(-a, c, d)
    high, low = two_product(a, c)
    return (d - high) - low


def any_lane(condition: Lane) -> Value:
    """Return whether the condition holds in at least one lane, as an ``i1``."""
    if condition.lanes == 1:
        return condition.v
    bits = condition.b.cast("bitcast", condition.v, f"i{condition.lanes}")
    return condition.b.icmp("ne", bits, const(bits.type, 0))


def rarely(name: str, condition: Lane, common: Lane, general: Callable[..., Lane],
           *args: Lane) -> Lane:
    """``common``, or ``general(*args)`` in the lanes of ``condition``; if none, a branch skips it.

    ``general`` becomes a function of its own, called by this name and shared by the whole module:
    what hardly ever runs must not be compiled again wherever it might.
    """
    b = common.b
    before = b.block
    with b.when(any_lane(condition), rare=True):
        found = outlined(name, general, *args, rare=True)
        mixed = select(condition, found, common)
        end = b.block
    return Lane(b, b.phi(common.type, [(common.v, before), (mixed.v, end)]))


def outlined(name: str, function: Callable[..., Lane], *args: Lane, rare: bool = False) -> Lane:
    """Call the module's function of this name, which is written at its first call."""
    b, type_ = args[0].b, args[0].type
    label = f"{name}.{suffix(type_)}"
    if label not in b.module:
        parameters = [(a.type, f"x{i}") for i, a in enumerate(args)]
        inner = Builder(b.module, label, parameters, type_,
                        attributes=f"nounwind noinline{' cold' if rare else ''}")
        inner.finish(function(*(Lane(inner, p) for p in inner.parameters)).v)
    return Lane(b, b.call(type_, label, *(a.v for a in args)))


def through_double(f: Callable[..., Lane], *args: Lane) -> Lane:
    """Evaluate a float32 function in float64."""
    return f(*(a.cast("fpext", "double") for a in args)).cast("fptrunc", "float")
