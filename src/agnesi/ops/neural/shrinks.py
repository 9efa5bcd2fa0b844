"""softsign and tanhshrink, whose derivatives lose nothing: 1/(1+|x|)^2 and tanh(x)^2."""

from __future__ import annotations

import numpy as np

from agnesi.core.ir import loops
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import square
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.elementwise.hyperbolic import tanh


def _softsign_code(x: loops.Expr) -> loops.Expr:
    one = loops.const(1, x.dtype)
    return loops.call("divide", x, loops.call("add", one, loops.call("abs", x)))


SOFTSIGN = Elementwise(
    "softsign", lambda x: x / (1 + np.abs(x)), (lambda g, x: g / square(1 + magnitude(x)),),
    kinds="f", expand=_softsign_code, home=__name__,
)
TANHSHRINK = Elementwise(
    "tanhshrink", lambda x: x - np.tanh(x), (lambda g, x: g * square(tanh(x)),), kinds="f",
    expand=lambda x: loops.call("subtract", x, loops.call("tanh", x)), home=__name__,
)
