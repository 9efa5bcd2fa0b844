"""Division of many numbers by one divisor that is known at run time only (magic numbers)."""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Value, const

#: Divisors from the first of these on up to its reciprocal are taken as they are; what others are
#: multiplied by is the second.
RANGE = {"float32": (2.0**-100, 2.0**64), "float64": (2.0**-900, 2.0**500)}


class Divisor:
    """Division by one number for all lanes, without a division in the loop.

    The quotient is the product with the reciprocal and one correction by its remainder (Markstein
    1990): correctly rounded, but for dividends next to the subnormal numbers, where the remainder
    underflows and the last bit may be off.  Divisors near the ends of the exponent range are
    scaled first; where the correction is not a number (zero, infinity), or is zero without the sign
    that the quotient has, the plain product stands.
    """

    def __init__(self, b: Builder, divisor: Value, dtype: str, lanes_: int) -> None:
        small, scale = RANGE[dtype]
        one = const(divisor.type, 1.0)
        size = b.intrinsic("fabs", divisor)
        factor = b.select(
            b.fcmp("olt", size, const(divisor.type, small)), const(divisor.type, scale),
            b.select(b.fcmp("ogt", size, const(divisor.type, 1 / small)),
                     const(divisor.type, 1 / scale), one),
        )
        scaled = b.op("fmul", divisor, factor)
        self.factor = b.splat(factor, lanes_)
        self.minus = b.splat(b.fneg(scaled), lanes_)
        self.reciprocal = b.splat(b.fdiv(one, scaled), lanes_)

    def into(self, b: Builder, x: Value) -> Value:
        """``x`` divided by it."""
        x = b.op("fmul", x, self.factor)
        quotient = b.op("fmul", x, self.reciprocal)
        rest = b.fma(quotient, self.minus, x)
        better = b.fma(rest, self.reciprocal, quotient)
        return b.select(b.fcmp("ueq", better, const(better.type, 0.0)), quotient, better)
