"""Algebra: inverse functions cancel, powers become products, quotients get one division.

These rules follow Theano's canonical form.  Those that hold only where the quantities that cancel
are finite and not zero need a proof, but where ``algebra`` is "real".  Exclude the tag
"cancel" to keep every operation as written.
"""

from __future__ import annotations

import numpy as np

from agnesi.core.dispatch import graph_node
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import POWER, reciprocal, sqrt, square
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, exp2, log, log2
from agnesi.rewrite.intervals import at_least, keeps_sign_of_zero
from agnesi.rewrite.pattern import is_count, scalar, variables
from agnesi.rewrite.rules import Book

BOOK = Book()
rule, rewriter = BOOK.rule, BOOK.rewriter
a, b, c, x = variables("a b c x")
#: The largest integer exponent that is expanded.
_LARGEST_POWER = 16
#: The largest exponent between integers that is.
_LARGEST_HALF = 3.5


def is_real(**nodes: Node) -> bool:
    """Return whether numbers are real: a complex one over zero is NaN, and stays so."""
    return all(x.dtype.kind != "c" for x in nodes.values())


def not_negative(x: Node) -> bool:
    """Return whether ``x`` is never less than zero."""
    return at_least(x, 0.0)


# -- inverse functions ------------------------------------------------------------------------
rule(exp(log(x)), x + 0, name="exp_of_log", stage="canonicalize", tags=("cancel",),
     proof=not_negative)
rule(log(exp(x)), x + 0, name="log_of_exp", stage="canonicalize", tags=("cancel",),
     when=lambda x: x.dtype.kind == "f")
rule(log2(exp2(x)), x + 0, name="log2_of_exp2", stage="canonicalize", tags=("cancel",),
     when=lambda x: x.dtype.kind == "f")
rule(square(sqrt(x)), x + 0, name="square_of_sqrt", stage="canonicalize", tags=("cancel",),
     proof=not_negative)
rule(reciprocal(reciprocal(x)), x, name="reciprocal_twice", stage="canonicalize",
     tags=("cancel",), proof=is_real)

# -- quotients --------------------------------------------------------------------------------
def _saves(a: Node, b: Node) -> bool:
    """Return whether there are no fewer reciprocals than quotients."""
    fewer = guess(product(b.shape)) < guess(product(a.shape))
    return not (fewer or (a.shape and is_count(b)))


rule(a * reciprocal(b), a / b, name="times_reciprocal", stage="canonicalize", when=_saves,
     proof=is_real)
rule(a / reciprocal(b), a * b, name="over_reciprocal", stage="canonicalize", tags=("cancel",),
     proof=is_real)
rule(reciprocal(a / b), b / a, name="reciprocal_of_quotient", stage="canonicalize",
     tags=("cancel",), proof=is_real)


def _number(c: Node, **_: Node) -> bool:
    return scalar(c) is not None


def _large(c: Node, **_: Node) -> bool:
    """Return whether ``c`` is a number of at least 1: a product with it does not turn a nonzero
    value into zero.
    """
    value = scalar(c)
    return value.dtype.kind in "biu" or (value.dtype.kind in "fV" and bool(1 <= value < np.inf))


# -- common numbers ---------------------------------------------------------------------------
rule(a * c + b * c, (a + b) * c, name="common_number", stage="canonicalize", when=_number,
     proof=_large)
rule(a * c - b * c, (a - b) * c, name="common_number_of_difference", stage="canonicalize",
     when=_number, proof=_large)


@rewriter("canonicalize", ops=["multiply"], operands=["add"])
def double_number(node: Node) -> Tensor | None:
    """A value added to itself, times a number, is the value times twice the number."""
    for total, factor in (node.inputs, node.inputs[::-1]):
        number_ = scalar(factor)
        if (
            number_ is not None and total.op_name == "add"
            and total.inputs[0] is total.inputs[1] and total.inputs[0].shape == node.shape
            and node.dtype.kind in "fc" and abs(number_) < np.finfo(node.dtype).max / 2
        ):
            return symbol(total.inputs[0]) * number(2 * number_, node.dtype)
    return None


# -- powers -----------------------------------------------------------------------------------
rule(x * x, square(x), name="square", stage="canonicalize")


@rewriter("canonicalize", ops=[POWER], tags=("power",), exact=lambda node: _power(node, False))
def power_by_number(node: Node) -> Tensor | None:
    """Small constant powers are products; halves are square roots."""
    return _power(node, True)


def _power(node: Node, real: bool) -> Tensor | None:
    base, exponent = symbol(node.inputs[0]), scalar(node.inputs[1])
    if exponent is None or base.dtype.kind == "b" or exponent.imag:
        return None
    exponent = exponent.real
    if abs(exponent) == 0.5 and base.dtype.kind in ("fV" if not real else "fcV"):
        one = exponent > 0 and node.inputs[1].shape == ()  # for which NumPy takes roots, too
        root = sqrt(base if real or one else _no_minus(base))
        return root if exponent > 0 else reciprocal(root)
    whole = int(abs(exponent)) if abs(exponent) <= _LARGEST_HALF else 0
    if whole and abs(exponent) == whole + 0.5 and base.dtype in (dtypes.float32, dtypes.float64):
        base = base if real else _no_minus(base)
        base = base if exponent > 0 else reciprocal(base)  # whose powers overflow where theirs do
        return _product(base, whole) * sqrt(base)
    if exponent != exponent // 1 or abs(exponent) > _LARGEST_POWER:
        return None
    if exponent < -1 and base.dtype.kind == "c" and not real:
        below = number(1, base.dtype) / _product(base, -int(exponent), True)
        return where(base == 0, complex(np.nan, np.nan), below)
    if exponent < 0:
        return None if base.dtype.kind in "iu" else reciprocal(_product(base, -int(exponent)))
    return _product(base, int(exponent))


def _no_minus(base: Tensor) -> Tensor:
    """The base of a power 1/2: that of -0 is 0 and that of -inf infinite, unlike square roots."""
    node = graph_node(base)
    base = base if keeps_sign_of_zero(node) else base + 0
    return base if at_least(node, -1.0) else where(base == -np.inf, np.inf, base)


def _product(base: Tensor, n: int, below: bool = False) -> Tensor:
    """``base ** n`` by repeated squaring; complex ones, ``below`` 1, have NumPy's signs of zero."""
    if n == 0:
        return number(1, base.dtype)
    exact = base.dtype.kind == "c" and n > 2 and not below
    result, power = number(1, base.dtype) if below or (exact and n > 3) else None, base
    while n:
        if n & 1:
            result = power if result is None else result * power
        n >>= 1
        if n:
            power = square(power)
    return where(base == 0, 0, result) if exact else result  # type: ignore[return-value]
