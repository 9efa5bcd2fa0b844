"""softsign and tanhshrink, whose derivatives lose nothing: 1/(1+|x|)^2 and tanh(x)^2."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import square
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.elementwise.formula import horner, row
from agnesi.ops.elementwise.hyperbolic import tanh

#: The convergent of Lambert's continued fraction for tanh that ends with 17: numerator and
#: denominator of ``(x - tanh(x)) / x^3`` in ``x^2``; all terms are positive.
_NUMERATOR = (11486475.0, 810810.0, 12870.0, 44.0)
_DENOMINATOR = (34459425.0, 16216200.0, 945945.0, 13860.0, 45.0)

SOFTSIGN = Elementwise(
    "softsign", lambda x: x / (1 + np.abs(x)), (lambda g, x: g / square(1 + magnitude(x)),),
    kinds="f", expand=lambda x: x / (1 + abs(x)), home=__name__,
)


def _tanhshrink(m: Any, x: Any) -> Any:
    size = m.abs(x)
    near = m.minimum(size, 1.0)
    z = near * near
    inside = near * z * (horner(z, _NUMERATOR) / horner(z, _DENOMINATOR))
    outside = size - 1.0 + 2.0 / (m.exp(2.0 * size) + 1.0)
    return m.copysign(m.where(size < 1.0, inside, outside), x)


TANHSHRINK = row("tanhshrink", _tanhshrink, (lambda g, x: g * square(tanh(x)),), __name__,
                 double=False)
