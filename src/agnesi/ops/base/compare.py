"""Comparisons, tests of single elements, and logic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agnesi.core.ir import loops
from agnesi.ops.base.elementwise import Elementwise, binary, unary


def _order(name: str, function: np.ufunc, kinds: str = "biuf") -> Elementwise:
    return Elementwise(name, function, (None, None), result="bool", kinds=kinds)


EQUAL = _order("equal", np.equal, "biufc")
NOT_EQUAL = _order("not_equal", np.not_equal, "biufc")
LESS = _order("less", np.less)
LESS_EQUAL = _order("less_equal", np.less_equal)
GREATER = _order("greater", np.greater)
GREATER_EQUAL = _order("greater_equal", np.greater_equal)

equal = binary(EQUAL, "Where two tensors are equal.", "[1, 2], [1, 3]", "[ True, False]")
not_equal = binary(NOT_EQUAL, "Where two tensors differ.", "[1, 2], [1, 3]", "[False, True]")
less = binary(LESS, "Where the first is less than the second.", "[1, 2], 2", "[ True, False]")
less_equal = binary(
    LESS_EQUAL, "Where the first is at most the second.", "[1, 2], 1", "[ True, False]"
)
greater = binary(
    GREATER, "Where the first is greater than the second.", "[1, 2], 1", "[False, True]"
)
greater_equal = binary(
    GREATER_EQUAL, "Where the first is at least the second.", "[1, 2], 2", "[False, True]"
)


def _test(name: str, function: np.ufunc, kinds: str = "fc") -> Elementwise:
    return Elementwise(name, function, (None,), result="bool", kinds=kinds)


ISNAN = _test("isnan", np.isnan)
ISINF = _test("isinf", np.isinf)
ISFINITE = _test("isfinite", np.isfinite)
SIGNBIT = _test("signbit", np.signbit, "f")

isnan = unary(ISNAN, "Where an element is not a number.", "[1.0, float('nan')]", "[False, True]")
isinf = unary(
    ISINF, "Where an element is an infinity of either sign.",
    "[1.0, float('-inf')]", "[False, True]",
)
isfinite = unary(
    ISFINITE, "Where an element is neither infinite nor NaN.",
    "[1.0, float('inf')]", "[ True, False]",
)
signbit = unary(
    SIGNBIT, "Where the sign is negative, also that of -0.0.", "[1.0, -0.0]", "[False, True]"
)


def _on_truth(name: str) -> Callable[..., loops.Expr]:
    """Logic in the loop language knows bools only: other numbers are true where they are not 0."""

    def expand(*values: loops.Expr) -> loops.Expr:
        return loops.call(name, *[v if v.dtype == "bool" else v.ne(0) for v in values])

    return expand


def _logic(name: str, function: np.ufunc) -> Elementwise:
    return Elementwise(
        name, function, (None,) * function.nin, result="bool", expand=_on_truth(name),
        numpy="branching"
    )


LOGICAL_AND = _logic("logical_and", np.logical_and)
LOGICAL_OR = _logic("logical_or", np.logical_or)
LOGICAL_XOR = _logic("logical_xor", np.logical_xor)
LOGICAL_NOT = _logic("logical_not", np.logical_not)

logical_and = binary(
    LOGICAL_AND, "Where both are true; numbers are true unless 0.",
    "[True, False], [1, 1]", "[ True, False]",
)
logical_or = binary(
    LOGICAL_OR, "Where one is true or both; numbers are true unless 0.",
    "[True, False], [0, 0]", "[ True, False]",
)
logical_xor = binary(
    LOGICAL_XOR, "Where exactly one is true; numbers are true unless 0.",
    "[True, False], [1, 1]", "[False, True]",
)
logical_not = unary(LOGICAL_NOT, "Where an element is false or 0.", "[0, 2]", "[ True, False]")
