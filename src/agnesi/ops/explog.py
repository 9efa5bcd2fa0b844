"""Exponentials and logarithms."""

from __future__ import annotations

import numpy as np

from agnesi.ops.elementwise import Elementwise, unary

EXP = Elementwise("exp", np.exp, (lambda g, y: g * y,), kinds="fc")

exp = unary(EXP)
