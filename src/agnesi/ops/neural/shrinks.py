"""softsign and tanhshrink, whose derivatives lose nothing: 1/(1+|x|)^2 and tanh(x)^2."""

from __future__ import annotations

import numpy as np

from agnesi.core.ir import loops
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import square
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.elementwise.hyperbolic import tanh

SOFTSIGN = Elementwise(
    "softsign", lambda x: x / (1 + np.abs(x)), (lambda g, x: g / square(1 + magnitude(x)),),
    kinds="f", expand=lambda x: x / (1 + abs(x)), home=__name__,
)
TANHSHRINK = Elementwise(
    "tanhshrink", lambda x: x - np.tanh(x), (lambda g, x: g * square(tanh(x)),), kinds="f",
    expand=lambda x: x - loops.call("tanh", x), home=__name__,
)
