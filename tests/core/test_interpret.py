"""The interpreter of graphs."""

import weakref

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.graph import FunctionGraph
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node
from agnesi.core.support.errors import MissingInputError
from agnesi.core.tensor import symbol


def variable(name, shape=(3,)):
    return symbol(Node(None, (), shape, np.dtype("float64"), name=name))


def graph_of(inputs, outputs):
    return FunctionGraph([t.node for t in inputs], [t.node for t in outputs])


def test_values_and_several_outputs():
    x, y = variable("x"), variable("y")
    graph = graph_of([x, y], [x + y, x * y])
    a, b = interpret(graph, [np.arange(3.0), np.full(3, 2.0)])
    np.testing.assert_array_equal(a, [2, 3, 4])
    np.testing.assert_array_equal(b, [0, 2, 4])


def test_operations_with_several_results():
    x = variable("x", (2, 3))
    values, places = ag.topk(x, 2)
    top, at = interpret(graph_of([x], [values, places]), [np.asarray([[3.0, 1, 2], [4, 6, 5]])])
    np.testing.assert_array_equal(top, [[3, 2], [6, 5]])
    np.testing.assert_array_equal(at, [[0, 2], [1, 2]])


def test_live_tensors_are_read_at_the_call():
    x, w = variable("x"), ag.tensor([1.0, 2.0, 3.0], dtype="float64")
    graph = graph_of([x], [x * w])
    interpret(graph, [np.ones(3)])
    w += 1
    np.testing.assert_array_equal(interpret(graph, [np.ones(3)])[0], [2, 3, 4])


def test_results_share_no_memory():
    x = variable("x")
    given = np.arange(3.0)
    results = interpret(graph_of([x], [x, x[::-1], x, x[::-1]]), [given])
    for r in results:
        r += 100
    np.testing.assert_array_equal(given, [0, 1, 2])
    np.testing.assert_array_equal(results[1], [102, 101, 100])


def test_values_are_dropped_after_their_last_use():
    x = y = variable("x")
    for _ in range(5):
        y = ag.sin(y)
    made = []
    alive = []

    def watch(node, value):
        if node.op is None:
            return
        made.append(weakref.ref(value))
        alive.append(sum(r() is not None for r in made))

    interpret(graph_of([x], [y]), [np.ones(3)], watch)
    assert len(alive) == 5 and max(alive) == 2


def test_number_of_values_is_checked():
    x = variable("x")
    with pytest.raises(MissingInputError, match="1 inputs are needed, not 2"):
        interpret(graph_of([x], [x + 1]), [np.ones(3), np.ones(3)])


def test_errors_tell_operation_and_line():
    x, y = variable("x"), variable("y")
    graph = graph_of([x, y], [x * y])
    with pytest.raises(ValueError, match=r"(?s)multiply\(.*\n  at .*test_interpret.py:"):
        interpret(graph, [np.ones(3), np.ones(4)])
