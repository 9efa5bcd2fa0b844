"""Comparisons, tests of single elements, and logic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agnesi.core import loops
from agnesi.ops.elementwise import Elementwise, binary, unary


def _order(name: str, function: np.ufunc, kinds: str = "biuf") -> Elementwise:
    return Elementwise(name, function, (None, None), result="bool", kinds=kinds)


EQUAL = _order("equal", np.equal, "biufc")
NOT_EQUAL = _order("not_equal", np.not_equal, "biufc")
LESS = _order("less", np.less)
LESS_EQUAL = _order("less_equal", np.less_equal)
GREATER = _order("greater", np.greater)
GREATER_EQUAL = _order("greater_equal", np.greater_equal)

equal = binary(EQUAL)
not_equal = binary(NOT_EQUAL)
less = binary(LESS)
less_equal = binary(LESS_EQUAL)
greater = binary(GREATER)
greater_equal = binary(GREATER_EQUAL)


def _test(name: str, function: np.ufunc, kinds: str = "fc") -> Elementwise:
    return Elementwise(name, function, (None,), result="bool", kinds=kinds)


ISNAN = _test("isnan", np.isnan)
ISINF = _test("isinf", np.isinf)
ISFINITE = _test("isfinite", np.isfinite)
SIGNBIT = _test("signbit", np.signbit, "f")

isnan = unary(ISNAN)
isinf = unary(ISINF)
isfinite = unary(ISFINITE)
signbit = unary(SIGNBIT)


def _on_truth(name: str) -> Callable[..., loops.Expr]:
    """Logic in the loop language knows bools only: other numbers are true where they are not 0."""

    def expand(*values: loops.Expr) -> loops.Expr:
        return loops.call(name, *[
            v if v.dtype == "bool" else loops.call("not_equal", v, loops.const(0, v.dtype))
            for v in values
        ])

    return expand


def _logic(name: str, function: np.ufunc) -> Elementwise:
    return Elementwise(
        name, function, (None,) * function.nin, result="bool", expand=_on_truth(name)
    )


LOGICAL_AND = _logic("logical_and", np.logical_and)
LOGICAL_OR = _logic("logical_or", np.logical_or)
LOGICAL_XOR = _logic("logical_xor", np.logical_xor)
LOGICAL_NOT = _logic("logical_not", np.logical_not)

logical_and = binary(LOGICAL_AND)
logical_or = binary(LOGICAL_OR)
logical_xor = binary(LOGICAL_XOR)
logical_not = unary(LOGICAL_NOT)
