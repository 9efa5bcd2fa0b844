"""Closed graphs: cloning, replacement, concrete sizes, what is missing."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.cloning import clone
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph
from agnesi.core.interpret import interpret
from agnesi.core.op import Op
from agnesi.core.support.errors import DTypeError, MissingInputError, ShapeError


def test_the_users_graph_is_not_touched(var, graph_of):
    x = var("x")
    y = ag.exp(x)
    graph = graph_of(y)
    assert graph.outputs[0] is not y.node and graph.inputs[0] is not x.node
    assert y.node.inputs == (x.node,)


def test_names_and_lines_are_kept(var, graph_of):
    x = var("x")
    y = ag.exp(x)
    (new,) = graph_of(y).outputs
    assert new.inputs[0].name == "x" and new.where == y.node.where


def test_live_tensors_are_leaves_once(var):
    x, w = var("x"), ag.tensor([1.0, 2.0, 3.0], dtype="float64")
    y = (x * w + x) * w
    graph = FunctionGraph([x.node], [y.node])
    assert sum(n.handle() is w for n in graph.live) == 1


def test_missing_input_is_named(var):
    x, y = var("x"), var("theta")
    with pytest.raises(MissingInputError, match=r"theta \(float64\[3\]\), which is not among"):
        FunctionGraph([x.node], [(x + y).node])


def test_inputs_may_be_intermediate(var):
    x = var("x")
    h = ag.exp(x)
    graph = FunctionGraph([h.node], [(h * 2).node])
    (result,) = interpret(graph, [np.asarray([1.0, 2.0, 3.0])])
    np.testing.assert_array_equal(result, [2, 4, 6])


class Raises(Op):
    """An operation that cannot be run."""

    name = "raises"

    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        raise ValueError("ran")


def test_what_no_output_needs_does_not_run(var):
    from agnesi.core.dispatch import apply

    x = var("x")
    bad = apply(Raises(), x)
    graph = FunctionGraph([x.node], [(x + 1).node])
    interpret(graph, [np.zeros(3)])
    with pytest.raises(ValueError, match=r"raises\(float64\[3\]\): ran\n  at .*test_graph.py"):
        interpret(FunctionGraph([x.node], [bad.node]), [np.zeros(3)])


def test_clone_joins_graphs(var):
    x, z = var("x"), var("z")
    y = ag.exp(x) * 2
    joined = clone(y, {x: ag.sin(z)})
    (value,) = interpret(FunctionGraph([z.node], [joined.node]), [np.asarray([0.0, 1, 2])])
    np.testing.assert_allclose(value, np.exp(np.sin([0.0, 1, 2])) * 2)


def test_clone_makes_an_intermediate_free(var):
    x, h = var("x"), var("h")
    middle = ag.exp(x)
    free = clone([middle * 2], {middle: h})
    (value,) = interpret(FunctionGraph([h.node], [free[0].node]), [np.ones(3)])
    np.testing.assert_array_equal(value, [2, 2, 2])


def test_clone_refuses_other_types(var):
    x = var("x")
    with pytest.raises(DTypeError, match=r"float64\[3\] by float32\[3\]: dtypes differ"):
        clone(ag.exp(x), {x: var("z", dtype="float32")})
    with pytest.raises(ShapeError, match=r"float64\[3\] by float64\[4\]: shapes differ"):
        clone(ag.exp(x), {x: var("z", (4,))})


def test_clone_takes_known_sizes_for_unknown():
    x, z = T.variable("x", "float64", (None, 3)), T.variable("z", "float64", (5, 3))
    y = clone((x + x.mean(0)).reshape((-1,)), {x: z})
    assert y.shape == (15,)


def test_concrete_sizes():
    x = T.variable("x", "float64", ("n", "m"))
    y = ag.broadcast_to(x.sum(0), x.shape) / x.shape[0]
    graph = FunctionGraph([x.node], [y.node]).specialise()
    known = FunctionGraph([x.node], [y.node])
    known = known.specialise({known.inputs[0]: (4, 3)})
    assert known.outputs[0].shape == (4, 3)
    assert graph.outputs[0].shape == x.shape
    (value,) = interpret(known, [np.ones((4, 3))])
    np.testing.assert_array_equal(value, np.ones((4, 3)))


def test_sizes_that_do_not_agree():
    x = T.variable("x", "float64", ("n",))
    n = x.shape[0]
    y = T.variable("y", "float64", (n,))
    graph = FunctionGraph([x.node, y.node], [(x + y).node])
    with pytest.raises(ShapeError, match=r"y has shape \(3,\).* n = 2 from elsewhere"):
        graph.specialise(dict(zip(graph.inputs, [(2,), (3,)], strict=True)))


def test_errors_of_concrete_sizes_tell_the_line():
    x, y = T.variable("x", "float64", (None,)), T.variable("y", "float64", (None,))
    graph = FunctionGraph([x.node, y.node], [(x * y).node])
    with pytest.raises(ShapeError, match=r"multiply\(float64\[2\], float64\[3\]\).*"):
        graph.specialise(dict(zip(graph.inputs, [(2,), (3,)], strict=True)))
    with pytest.raises(ShapeError, match=r"at .*test_graph.py:\d+"):
        graph.specialise(dict(zip(graph.inputs, [(2,), (3,)], strict=True)))


def test_operations_are_expanded(var, graph_of):
    x = var("x", (2, 3))
    graph = graph_of(ag.log_softmax(x), ag.softmax(x))
    simple = expanded(graph)
    names = {n.op.name for n in simple.nodes if n.op is not None}
    assert "softmax" not in names and "log_softmax" not in names
    given = [np.arange(6.0).reshape(2, 3)]
    for a, b in zip(interpret(graph, given), interpret(simple, given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_recorded_constant_that_is_gone_is_said_with_the_way_round():
    c, v = ag.ones(2000, requires_grad=True), ag.symbolic.vector("v", "float32")
    y = c * c + ag.ones(2000)
    with pytest.raises(MissingInputError, match=r"constant \(float32\[2000\]\) that is gone"):
        ag.function([v], y * v)
    assert ag.function([v], y.detach() * v)(np.ones(2000, np.float32))[0] == 2
