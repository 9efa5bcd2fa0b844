"""Operations and rules of callables that are no functions: partials, objects, builtins, ufuncs."""

import copy
import functools
import operator
import pickle

import numpy as np
import pytest

import agnesi as ag


class Doubled:
    """A callable object without a name, whose attributes have names of ours."""

    def __init__(self) -> None:
        self.function = self._function = self.rules = self.outputs = None

    def __call__(self, x):
        return x * 2.0


class Unsigned(Doubled):
    """Its signature cannot be read, as those of some builtins and of NumPy's older ufuncs."""

    __signature__ = 5


def _doubled(x):
    return x * 2.0


CALLABLES = {
    "partial": functools.partial(operator.mul, 2.0),
    "object": Doubled(),
    "unsigned": Unsigned(),
    "method": Doubled().__call__,
    "function": _doubled,
}
X = np.array([0.5, -1.0])


@pytest.mark.parametrize("name", CALLABLES)
def test_operations_and_rules_of_any_callable(name):
    f = CALLABLES[name]
    own = ag.op(f, vjp=lambda g, y, x: g * 3.0)
    ruled = ag.custom_vjp(f)
    ruled.defvjp(lambda x: (f(x), None), lambda _, g: (g * 3.0,))
    pushed = ag.custom_jvp(f)
    pushed.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 3.0))
    for made in (own, ruled, pushed, copy.deepcopy(own)):
        for mode in (lambda g: g, ag.jit):
            value, slope = mode(ag.value_and_grad(lambda x, g=made: g(x).sum()))(ag.tensor(X))
            assert float(value) == -1.0
            np.testing.assert_array_equal(slope, [3.0, 3.0])
    np.testing.assert_array_equal(ag.checkpoint(f)(ag.tensor(X)), X * 2)


def test_checkpoint_calls_at_once_what_takes_nothing():
    x = ag.tensor(X)
    np.testing.assert_array_equal(ag.checkpoint(lambda: x * 2), X * 2)
    np.testing.assert_array_equal(ag.checkpoint(lambda *xs: xs[0] * 2)(x), X * 2)


def _slope(g, y, x):
    return g * y


def test_a_rule_of_a_rule_is_its_own():
    inner = ag.custom_vjp(_doubled)
    inner.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 5.0,))
    outer = ag.custom_vjp(inner)
    outer.defvjp(lambda x: (inner(x), None), lambda _, g: (g * 7.0,))
    x = ag.tensor(X)
    np.testing.assert_array_equal(ag.grad(lambda x: outer(x).sum())(x), [7.0, 7.0])
    np.testing.assert_array_equal(ag.grad(lambda x: inner(x).sum())(x), [5.0, 5.0])
    assert outer._function is inner


def test_pickles_of_operations_are_operations_also_where_another_has_their_name():
    own = pickle.loads(pickle.dumps(ag.op(np.exp, vjp=_slope)))
    assert isinstance(own, type(ag.op(np.exp, vjp=_slope)))
    slope = ag.grad(lambda x: own(x).sum())(ag.tensor(X))
    np.testing.assert_allclose(slope, np.exp(X))
