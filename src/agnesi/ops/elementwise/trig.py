"""Trigonometric functions, their inverses, and hypot."""

from __future__ import annotations

import numpy as np

from agnesi.ops.base.arith import safe_divide, sqrt
from agnesi.ops.base.elementwise import Binary, Elementwise, Function, binary, unary

SIN = Elementwise("sin", np.sin, (lambda g, x: g * cos(x),), kinds="fc", numpy="unvectorized")
COS = Elementwise("cos", np.cos, (lambda g, x: -g * sin(x),), kinds="fc", numpy="unvectorized")
TAN = Elementwise("tan", np.tan, (lambda g, y: g * (y * y + 1),), kinds="fc")
ASIN = Elementwise("asin", np.arcsin, (lambda g, x: safe_divide(g, sqrt(1 - x * x)),), kinds="fc")
ACOS = Elementwise("acos", np.arccos, (lambda g, x: -safe_divide(g, sqrt(1 - x * x)),), kinds="fc")
ATAN = Elementwise("atan", np.arctan, (lambda g, x: g / (x * x + 1),), kinds="fc")
ATAN2 = Elementwise(
    "atan2", np.arctan2,
    (
        lambda g, a, b: safe_divide(safe_divide(g * b, hypot(a, b)), hypot(a, b)),
        lambda g, a, b: -safe_divide(safe_divide(g * a, hypot(a, b)), hypot(a, b)),
    ),
    kinds="f",
)
HYPOT = Elementwise(
    "hypot", np.hypot,
    (lambda g, a, y: safe_divide(g * a, y), lambda g, b, y: safe_divide(g * b, y)), kinds="f",
    numpy="unvectorized"
)

sin: Function = unary(SIN, "Sine of angles in radians.", "[0.0]", "[0.]")
cos: Function = unary(COS, "Cosine of angles in radians.", "[0.0]", "[1.]")
tan = unary(TAN, "Tangent of angles in radians.", "[0.0]", "[0.]")
asin = unary(ASIN, "Inverse sine; NaN outside of [-1, 1].", "[0.0]", "[0.]")
acos = unary(ACOS, "Inverse cosine; NaN outside of [-1, 1].", "[1.0]", "[0.]")
atan = unary(ATAN, "Inverse tangent, in [-pi/2, pi/2].", "[0.0]", "[0.]")
atan2 = binary(
    ATAN2, "Angle of the point (``x2``, ``x1``) from the first axis, in [-pi, pi].",
    "[0.0, 0.0], [1.0, 2.0]", "[0., 0.]",
)
hypot: Binary = binary(
    HYPOT, "``sqrt(x1**2 + x2**2)``, without overflow.", "[3.0, 5.0], [4.0, 12.0]", "[ 5., 13.]"
)
