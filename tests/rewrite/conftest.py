"""What tests of rewriting share: variables, formulas, and values before and after."""

from __future__ import annotations

import numpy as np
import pytest

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, constant, constant_value
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node, leaves
from agnesi.core.tensor import symbol
from agnesi.rewrite import rewrite


def variable(name, shape=(3,), dtype="float64", requires_grad=False):
    return symbol(
        Node(None, (), shape, np.dtype(dtype), name=name, requires_grad=requires_grad)
    )


def formula(node):
    """A node as text: what it computes from named variables and numbers."""
    value = constant_value(node)
    if value is not None:
        return f"{value.flat[0]:g}" if value.size == 1 else "constant"
    if node.op is None:
        return node.name
    return f"{node.op.name}({', '.join(map(formula, node.inputs))})"


def closed(*outputs):
    nodes = [graph_node(t) for t in outputs]
    return FunctionGraph([n for n in leaves(nodes) if n.value is None and n.handle is None], nodes)


@pytest.fixture
def var():
    return variable


@pytest.fixture
def const():
    return lambda value: symbol(constant(np.asarray(value)))


@pytest.fixture
def graph_of():
    return closed


@pytest.fixture
def rewritten():
    """Formulas of outputs after rewriting; a single one for a single output."""

    def run(*outputs, **options):
        texts = [formula(n) for n in rewrite(closed(*outputs), **options).outputs]
        return texts[0] if len(texts) == 1 else texts

    return run


@pytest.fixture
def values():
    """Values of outputs, as written and rewritten, for values of variables by name."""

    def run(outputs, given, **options):
        graph = closed(*outputs)
        better = rewrite(graph, **options)
        with np.errstate(all="ignore"):
            before = interpret(graph, [given[n.name] for n in graph.inputs])
            after = interpret(better, [given[n.name] for n in better.inputs])
        return before, after

    return run
