"""Faults in a user's operation, each of which the kit finds: wrong rules, wrong declarations."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.compat import theano
from agnesi.compat.theano import tensor as T
from agnesi.compat.theano.gradient import verify_grad

A, B = np.random.default_rng(0).uniform(0.5, 1.5, (2, 2, 3))


def _pushed(ts, x, y, first=1.0, second=1.0):
    a = 0 if ts[0] is None else first * ts[0] * y
    return a + (0 if ts[1] is None else second * x * ts[1])


RIGHT = {"infer": lambda x, y: (x.shape, x.dtype), "vjp": lambda g, o, x, y: (g * y, g * x),
         "jvp": lambda ts, o, x, y: _pushed(ts, x, y)}
FAULTS = {
    "reverse": {"vjp": lambda g, o, x, y: (g * y, 2 * g * x)},
    "second order": {"vjp": lambda g, o, x, y: (g * ag.stop_gradient(y), g * x)},
    "forward": {"jvp": lambda ts, o, x, y: _pushed(ts, x, y, 2.0)},
    "forward, second operand": {"jvp": lambda ts, o, x, y: _pushed(ts, x, y, 1.0, -1.0)},
    "forward, lost operand": {"jvp": lambda ts, o, x, y: _pushed((ts[0], None), x, y) + 0 * x},
    "axes swapped": {"infer": lambda x, y: (x.shape[::-1], x.dtype)},
    "shape of the sample": {"infer": lambda x, y: ((2, 3), x.dtype)},
    "shape that fits the sample": {"infer": lambda x, y: ((x.shape[0], x.shape[0] + 1), x.dtype)},
    "dtype": {"infer": lambda x, y: (x.shape, np.dtype("float32"))},
    "batch": {"batch": lambda node, xs, rows, length: xs[0] * xs[1] * 2},
    "lower": {"lower": lambda at, x, y: x(*at) * y(*at) * 2},
}


def test_what_is_right_passes():
    ag.testing.check_op(ag.op(lambda x, y: x * y, **RIGHT), [[A, B]])


@pytest.mark.parametrize("fault", FAULTS)
def test_check_op(fault):
    with pytest.raises(AssertionError):
        ag.testing.check_op(ag.op(lambda x, y: x * y, **{**RIGHT, **FAULTS[fault]}), [[A, B]])


class Planted(theano.Op):
    __props__ = ("fault",)

    def __init__(self, fault=""):
        self.fault = fault

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        return theano.Apply(self, [x, y], [x.type(), x.type()])

    def perform(self, node, inputs, outputs):
        x, y = inputs
        outputs[0][0], outputs[1][0] = x * y, x + y**2

    def L_op(self, inputs, outputs, gradients):  # noqa: N802 - Theano's name
        (x, y), (a, b) = inputs, [
            0 if isinstance(g.type, theano.gradient.DisconnectedType) else g for g in gradients]
        return [a * y + b, a * x + 2 * b * y * (3 if self.fault == "grad" else 1)]

    def R_op(self, inputs, eval_points):  # noqa: N802 - Theano's name
        (x, y), (dx, dy) = inputs, [0 if t is None else t for t in eval_points]
        if self.fault == "R_op, none":
            return [None, dx + 2 * y * dy]
        return [dx * y + x * dy * (3 if self.fault == "R_op, second input" else 1),
                (dx + 2 * y * dy) * (-1 if self.fault == "R_op, second output" else 1)]

    def infer_shape(self, node, shapes):
        if self.fault == "infer_shape, swapped":
            return [shapes[0], shapes[0][::-1]]
        return [(2, 3) if self.fault == "infer_shape, constant" else shapes[0], shapes[1]]


@pytest.mark.parametrize("fault", ["", "grad", "R_op, none", "R_op, second input",
                                   "R_op, second output", "infer_shape, swapped",
                                   "infer_shape, constant"])
def test_verify_grad(fault):
    if not fault:
        verify_grad(Planted(), [A, B], rng=np.random.RandomState(0))
        return
    with pytest.raises((theano.gradient.GradientError, ag.ShapeError, AssertionError, ValueError)):
        verify_grad(Planted(fault), [A, B], rng=np.random.RandomState(0))
