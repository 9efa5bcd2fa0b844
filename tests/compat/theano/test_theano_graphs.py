"""Graphs as Theano's programs walk over them: owners, tags, names, orders."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.scan_module.scan_op import Scan
from agnesi.compat.theano.tensor.shared_randomstreams import (
    RandomStateSharedVariable,
    RandomStreams,
)


def test_results_of_one_operation_have_one_owner():
    x = T.matrix("x")
    (a, b), _ = theano.scan(lambda row, c: [c + row, c.sum()], sequences=x,
                            outputs_info=[T.zeros((3,)), None])
    assert isinstance(a.owner.op, Scan) and not isinstance(x.sum().owner.op, Scan)
    for y in (a, b):
        assert y.owner.outputs[y.index] is y
    assert a.index != b.index and x.index is None and x.sum().index == 0
    inside = a.owner.op
    assert len(inside.inputs) == len(a.owner.inputs)
    assert {y.ndim for y in inside.outputs} >= {0, 1}
    assert [n.op for n in theano.gof.graph.io_toposort([x], [a, b])].count(a.owner.op) == 1
    f = theano.function([x], [a, b])
    assert sum(isinstance(n.op, Scan) for n in f.maker.fgraph.toposort()) == 1


def test_an_output_has_one_owner():
    class Same(theano.Op):
        __props__ = ()

    x = T.vector("x")
    with pytest.raises(ValueError, match=r"has an owner already, exp\(x\)"):
        theano.Apply(Same(), [x], [T.exp(x)])


def test_tags_and_names_stay_with_what_nobody_holds():
    x = T.vector("x")
    h = T.tanh(x)
    h.tag.role, h.name = "hidden", "h"
    y = h + 1
    y.name = "y"
    del h
    gc.collect()
    h = y.owner.inputs[0]
    assert (h.name, h.tag.role) == ("h", "hidden")
    copy = theano.clone(y, {x: T.vector("z") * 2})
    assert copy is not y and copy.name == "y"
    assert (copy.owner.inputs[0].name, copy.owner.inputs[0].tag.role) == ("h", "hidden")
    y.anything = 3
    assert y.anything == 3


def test_theanos_order_of_operations():
    x, w, b = T.matrix("x"), T.matrix("w"), T.vector("b")
    y = T.tanh(T.dot(x, w) + T.exp(b))
    order = [n.op for n in theano.gof.graph.io_toposort([x, w, b], [y])]
    assert [order.index(T.exp), order.index(T.tanh)] == [0, len(order) - 1]


def test_states_of_random_variables_are_told_apart():
    draw = RandomStreams(1).normal((2,))
    kinds = {type(x) for x in theano.gof.graph.inputs([draw]) if hasattr(x, "get_value")}
    assert kinds == {RandomStateSharedVariable}
    assert not isinstance(theano.shared(1.0), RandomStateSharedVariable)
    doubled = theano.shared(3.0, "w") * 2
    gc.collect()
    (w,) = (x for x in theano.gof.graph.inputs([doubled]) if x.name == "w")
    assert w.get_value() == 3
    w.set_value(4.0)
    assert theano.function([], doubled)() == 8


def test_no_sizes_are_a_vector_of_integers():
    x = T.tensor3("x")
    assert T.as_tensor_variable(x.shape[3:]).dtype == "int64"
    y = x.reshape(T.join(0, T.prod(x.shape[:3])[None], x.shape[3:]), ndim=1)
    assert theano.function([x], y)(np.ones((2, 3, 4))).shape == (24,)
    assert theano._asarray([1], dtype="float32").dtype == np.float32


def test_expressions_are_rebuilt_over_other_variables():
    from agnesi.compat.theano.compile.rebuild import rebuild_collect_shared
    from agnesi.compat.theano.graph.replace import clone_replace, graph_replace

    x, z, s = T.dvector("x"), T.dvector("z"), theano.shared(np.ones(2))
    y = T.exp(x * s)
    made = [clone_replace(y, {x: z + 1}), graph_replace([y], {x: z + 1})[0]]
    for found in theano.function([z], made)(np.zeros(2)):
        np.testing.assert_allclose(found, np.exp([1, 1]))
    with pytest.raises(ValueError, match="no output depends on z"):
        graph_replace(y, {z: x})
    assert graph_replace(y, {z: x}, strict=False) is not None
    s.default_update = s + 1
    (given,), (copy,), (of, updates, pairs, shared) = rebuild_collect_shared(
        [y], [x], updates={}, copy_inputs_over=False)
    assert given is not x and of[y] is copy and shared == [s] and [a for a, _ in pairs] == [s]
    np.testing.assert_allclose(theano.function([given], copy, updates=updates)([1.0, 2.0]),
                               np.exp([1, 2]))
    assert s.get_value().tolist() == [2, 2]


def test_what_was_applied_is_not_changed():
    x, z = T.vector("x"), T.vector("z")
    y = T.exp(x) + 1
    node = y.owner.inputs[0].owner
    with pytest.raises(AttributeError, match="the owner of a variable is what computes it"):
        z.owner = node
    with pytest.raises(TypeError, match="keeps the inputs and outputs"):
        node.inputs[0] = y  # a cycle
    with pytest.raises(TypeError, match="keeps the inputs and outputs"):
        node.inputs = [y]
    with pytest.raises(TypeError, match="keeps the inputs and outputs"):
        node.outputs.append(z)
    assert [*node.inputs, z] == [x, z] and node.inputs == [x]


def test_arrays_in_expressions_are_constants():
    """With the values of when they were written, and no shared variables to whom walks a graph."""
    x, n, a = T.vector("x"), theano.shared(0, "n"), np.ones(3)
    whole = [x * a, a + x, T.dot(x, a), T.concatenate([x, a]), T.switch(x > 0, a, 0.0),
             T.maximum(x, a), T.set_subtensor(x[:], a), x * T.constant(a), x * np.float32(1),
             n * np.ones(3, "int8"), x * (T.constant(a) * 1), x[np.arange(3)]]
    for y in whole:
        leaves = theano.gof.graph.inputs([y])
        assert all(v is x or v is n or isinstance(v, theano.Constant) for v in leaves)
        assert sum(isinstance(v, theano.Constant) for v in leaves) >= 1
    a[:] = 5
    f = theano.function([x], [y.sum() for y in whole])
    wanted = [6, 9, 6, 9, 3, 6, 3, 6, 6, 0, 6, 6]
    np.testing.assert_allclose(f([1.0, 2, 3]), wanted)
    assert f.get_shared() == [n]
