"""Arithmetic: the rows behind Python's operators, and their kin."""

from __future__ import annotations

import numpy as np

from agnesi.ops.elementwise import Elementwise, binary, unary

ADD = Elementwise("add", np.add, (lambda g: g, lambda g: g))
SUBTRACT = Elementwise("subtract", np.subtract, (lambda g: g, lambda g: -g), kinds="iufc")
MULTIPLY = Elementwise("multiply", np.multiply, (lambda g, b: g * b, lambda g, a: g * a))
NEGATIVE = Elementwise("negative", np.negative, (lambda g: -g,), kinds="iufc")

add = binary(ADD)
subtract = binary(SUBTRACT)
multiply = binary(MULTIPLY)
negative = unary(NEGATIVE)
