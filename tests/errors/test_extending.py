"""Golden texts of errors of what users add: their names, types, the fix, and this file's line."""

import traceback

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

SQUARE = ag.elementwise("d = x - y; d * d", name="square")


@ag.op
def wider(x):
    return x + np.ones(7)


@ag.op(vjp=lambda g, y, x: g.sum())
def summed(x):
    return x * 2


exponential = ag.op(np.exp)


@ag.op(infer=lambda x: x.shape)
def matmul(x):
    return x


@ag.op(vjp=lambda g, y, x: (g, g))
def sin(x):
    return x


class Empty(ag.Op):
    n: int


CASES = [
    (lambda: SQUARE(ag.ones(2), ag.ones(3)), ag.ShapeError,
     "subtract(float32[2], float32[3]): sizes 2 and 3 differ on axis -1 and neither is 1: shapes "
     "(2,) and (3,) do not broadcast"),
    (lambda: SQUARE(ag.ones(2)), TypeError, "square takes 2 operands, not 1"),
    (lambda: ag.elementwise("x[0]"), SyntaxError,
     "elementwise: the expression 'x[0]' cannot be read: Subscript has no place in it"),
    (lambda: ag.reduction("x")(ag.ones((2, 0)), axis=3), IndexError,
     "reduction(float32[2, 0]): axis 3 is out of range for 2 dimensions"),
    (lambda: ag.reduction("x", "hypot(a, b)", name="far")(ag.ones((2, 0)), axis=1), ValueError,
     "far(float32[2, 0]): there are no elements to reduce, and no identity; give one"),
    (lambda: wider(ag.ones(3)), ValueError,
     "wider(float32[3]): operands could not be broadcast together with shapes (3,) (7,) "),
    (lambda: wider(ag.ones(7), y=1), TypeError,
     "wider has no keyword-only parameter 'y'; operands are given by position"),
    (lambda: ag.grad(lambda x: summed(x).sum())(ag.ones(2)), ag.ShapeError,
     "the vjp of summed returned float32[] for operand 0, which is float32[2]; their shapes must "
     "agree"),
    (lambda: ag.grad(lambda x: exponential(x).sum())(ag.ones(2)), ag.GradientError,
     "exp has no reverse-mode derivative rule (vjp): give it vjp= or jvp=, or differentiable=False "
     "where gradients end"),
    (lambda: exponential(ag.ones(3), ag.ones(3)), ValueError,
     "exp(float32[3], float32[3]): output array is read-only: operands are not to be changed; work "
     "on a copy, x.copy()"),
    (lambda: matmul(ag.ones(2)), TypeError,
     "matmul(float32[2]): infer of matmul must return (shape, dtype) for its result, such as "
     "(x.shape, x.dtype), not (2,)"),
    (lambda: ag.grad(lambda x: sin(x).sum())(ag.ones(2)), ValueError,
     "the vjp of sin returned 2 cotangents for 1 operands"),
    (lambda: Empty(1)(ag.ones(2)), NotImplementedError, "Empty needs perform(self, *arrays)"),
    (lambda: ag.jit(lambda x: ag.callback(np.sort, ag.ones(3), x))(ag.ones(2)), TypeError,
     "callback(float32[2]): sort returned float32[2] where float32[3] was declared"),
    (lambda: ag.callback(np.sin, ag.ones(2)), TypeError,
     "callback(<ufunc 'sin'>, float32[2]): sin takes operands, and none are given: the second "
     "argument only says what the result looks like; write callback(sin, x, x) for a result like "
     "x"),
    (lambda: ag.callback(abs, None, T.vector(shape=(2,))), TypeError,
     "callback(<built-in function abs>, None, float64[2]): "
     "an effect has no place in a declared graph, whose operations run when their results are "
     "needed: give it a result and use that, or write a function for ag.jit"),
    (lambda: ag.print("{} {}", 1), IndexError,
     "print('{} {}', 1): Replacement index 1 out of range for positional args tuple"),
]


@pytest.mark.parametrize(("call", "error", "text"), CASES)
def test_messages(call, error, text):
    with pytest.raises(error) as caught:
        call()
    message, line = str(caught.value).split("\n  at ")
    assert message == text
    assert "test_extending.py" in line


def trouble(_):
    raise ValueError("mine") from KeyError("the cause")


def unforeseen(_):
    raise ZeroDivisionError("mine")


@ag.op(like=0)
def shorter(x):
    return x[:1]


@pytest.mark.parametrize("f", [
    lambda x: ag.callback(trouble, x, x), lambda x: ag.callback(trouble, x, x, effect=True),
    ag.op(trouble, like=0),
])  # fmt: skip
@pytest.mark.parametrize("mode", [lambda f: f, ag.jit])
def test_what_a_users_function_raises_keeps_the_way_there(f, mode):
    with pytest.raises(ValueError, match=r"float32\[2\]\): mine\n  at .*test_extending") as caught:
        mode(f)(ag.ones(2))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "trouble"


def test_what_no_operation_raises_comes_through_with_a_note():
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        ag.jit(lambda x: ag.callback(unforeseen, x, x))(ag.ones(2))
    (note,) = caught.value.__notes__
    assert note.startswith("in callback(float32[2])\n  at ")
    assert "test_extending.py" in note


def test_results_of_another_shape_than_declared_are_told_with_the_operation():
    with pytest.raises(ValueError, match=r"shorter\(float32\[3\]\): it returned shape \(1,\)"):
        ag.jit(lambda x: shorter(x))(ag.ones(3))
