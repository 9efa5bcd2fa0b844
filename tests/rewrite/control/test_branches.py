"""Branches and while loops lose what nobody needs."""

import numpy as np

import agnesi as ag
from agnesi import symbolic as T
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import While


def compiled(inputs, outputs, *arrays):
    """A function's optimised graph; its values are those of the graph as written."""
    f = ag.function(inputs, outputs)
    g = ag.function(inputs, outputs, optimizer="None", exclude=["branches"])
    for a, b in zip(f(*arrays), g(*arrays), strict=True):
        np.testing.assert_allclose(a, b, 1e-12)
    return f.graph


def held(graph, kind):
    return [n for n in graph.nodes if isinstance(n.op, kind)]


def names(body):
    return [n.op.name for n in body.graph.nodes if n.op is not None]


X = T.dvector("x", shape=(3,))
ONES = np.array([1.0, 2.0, -0.5])


def test_a_branch_on_a_constant_is_what_it_chooses():
    chosen = [T.cond(T.Constant(np.array(flag)), T.exp, T.sin, X) for flag in (True, False)]
    graph = compiled([X], chosen, ONES)
    assert held(graph, Cond) == []
    assert sorted(n.op.name for n in graph.nodes if n.op is not None) == ["exp", "sin"]


def test_results_that_nobody_uses_are_not_computed():
    y, _ = T.cond(X.sum() > 0, lambda x: (x * 2, T.exp(x)), lambda x: (x * 3, T.sin(x)), X)
    (node,) = held(compiled([X], [y], ONES), Cond)
    assert node.op.outputs == 1
    assert "exp" not in names(node.op.then) and "sin" not in names(node.op.otherwise)


def test_operands_are_passed_once_and_where_they_are_read():
    a, b = T.dvector("a", shape=(3,)), T.dvector("b", shape=(3,))
    y = T.cond(X.sum() > 0, lambda p, q, r, k: p * q * k, lambda p, q, r, k: q - k, a, a, b, 2.5)
    (node,) = held(compiled([X, a, b], [y], ONES, ONES * 2, ONES), Cond)
    assert len(node.inputs) == 2  # the decision, and a


def test_carries_that_nobody_needs_are_left_out():
    def body(s):
        return {"i": s["i"] + 1, "x": s["x"] * 1.5, "unused": T.exp(s["unused"] * 0.1),
                "same": s["same"], "by": s["by"]}

    start = {"i": 0, "x": X, "unused": X, "same": X * 2, "by": X}
    last = T.while_loop(lambda s: (s["i"] < 4) | (s["x"].sum() < 0), body, start)
    graph = compiled([X], [last["x"], last["same"]], ONES)
    (node,) = held(graph, While)
    assert node.op.carries == 2 and len(node.inputs) == 2
    assert "exp" not in names(node.op.body)


def test_a_loop_without_steps_is_left_to_the_run():
    y = T.while_loop(lambda s: s[1].sum() < 0, lambda s: (s[0], s[1]), (X, X * 2))
    np.testing.assert_array_equal(ag.function([X], y[1])(ONES), ONES * 2)
