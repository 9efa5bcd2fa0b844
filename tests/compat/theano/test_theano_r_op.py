"""Derivatives that users give operations themselves: ``R_op``, ``lop_overrides``."""

from __future__ import annotations

import numpy as np
import pytest

from agnesi.compat import theano
from agnesi.compat.theano import tensor as T
from agnesi.compat.theano.gradient import Rop


class Square(theano.Op):
    """Squares, and perhaps the sum of two vectors; its rule is told from others by a factor."""

    __props__ = ("several",)

    def __init__(self, several=False):
        self.several = several

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        return theano.Apply(self, [x, y], [x.type(), x.type()][: 1 + self.several])

    def perform(self, node, inputs, outputs):
        x, y = inputs
        outputs[0][0] = x**2 + y
        if self.several:
            outputs[1][0] = x + y

    def R_op(self, inputs, eval_points):  # noqa: N802 - Theano's name
        (x, _), (dx, dy) = inputs, eval_points
        first = 0 if dx is None else 20 * x * dx
        second = 0 if dy is None else dy
        return [first + second, None][: 1 + self.several]


X, V = np.array([1.0, 2.0]), np.array([1.0, -1.0])


def test_the_operations_own_rule_is_used():
    x, y, v = T.dvectors("x", "y", "v")
    out = T.exp(Square()(x * 2, y))
    along = [Rop(out, x, v), Rop(out, y, v), Rop(out, [x, y], [v, v])]
    found = theano.function([x, y, v], along)(X, V, V)
    value = np.exp(4 * X**2 + V)
    slope = 20 * 2 * X * 2 * V
    for got, want in zip(found, [slope, V, slope + V], strict=True):
        np.testing.assert_allclose(got, want * value)


def test_of_several_results_some_may_have_none():
    x, v = T.dvectors("x", "v")
    first, second = Square(True)(x, x)
    found = theano.function([x, v], [Rop(first, x, v), Rop(second, x, v)])(X, V)
    np.testing.assert_allclose(found, [20 * X * V + V, [0, 0]])


def test_a_rule_of_the_wrong_length_is_told():
    class Wrong(Square):
        def R_op(self, inputs, eval_points):  # noqa: N802 - Theano's name
            return [inputs[0], inputs[0]]

    x = T.dvector("x")
    with pytest.raises(ValueError, match=r"Wrong\.R_op returned 2 directions for 1 outputs"):
        Rop(Wrong()(x, x), x, x)


def test_operations_made_of_graphs_take_rules_of_reverse_derivatives():
    x, y, a, b = T.dvectors("x", "y", "a", "b")
    one = theano.OpFromGraph([x, y], [x * y], lop_overrides=lambda xs, ys, gs: [
        gs[0] * ys[0], gs[0] * 7])
    two = theano.OpFromGraph([x, y], [x * y, x + y], grad_overrides=lambda xs, gs: [
        gs[0] * 3, gs[1] * 5])
    first, second = two(a, b)
    slopes = T.grad(one(a, b).sum(), [a, b]) + T.grad((first + 2 * second).sum(), [a, b])
    found = theano.function([a, b], slopes)(X, V)
    np.testing.assert_allclose(found, [X * V, [7, 7], [3, 3], [10, 10]])
