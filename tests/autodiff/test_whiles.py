"""Derivatives of derivatives of ``while_loop``, and how large they are."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph


def powers(x, w):
    """A loop of some values, of which each step reads a constant."""
    def body(carry):
        n, a, b = carry
        return n + 1, ag.tanh(b * w), a + b * b.sum() * 0.1

    return ag.while_loop(lambda c: c[0] < 3, body, (0, x, x * w))[1:]


def written_out(x, w):
    a, b = x, x * w
    for _ in range(3):
        a, b = ag.tanh(b * w), a + b * b.sum() * 0.1
    return a, b


def cost(f):
    return lambda x, w: (f(x, w)[0] * f(x, w)[1]).sum()


def squared(f):
    """The sum of the squares of a function's gradients."""
    return lambda x, w: sum([(g * g).sum() for g in ag.grad(f, (0, 1))(x, w)])


def third(f):
    return lambda x, w: ag.grad(lambda v: ag.grad(lambda u: squared(f)(u, w))(v)[0])(x)


@pytest.mark.parametrize("derivative", [
    lambda f: lambda x, w: ag.jvp(ag.grad(f, (0, 1)), (x, w), (w, x))[1],
    lambda f: ag.grad(lambda x, w: ag.vmap(ag.grad(f), (0, None))(ag.stack([x, w]), w).sum(), 1),
    third,
], ids=("along", "of examples", "third"))
def test_derivatives_of_derivatives(derivative):
    x = ag.tensor([0.3, -0.5, 0.7], dtype="float64")
    w = ag.tensor([0.9, 0.4, -0.8], dtype="float64")
    expected = ag.tree.leaves(derivative(cost(written_out))(x, w))
    for found in (derivative(cost(powers)), ag.jit(derivative(cost(powers)))):
        for a, b in zip(ag.tree.leaves(found(x, w)), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12)


def test_derivatives_of_higher_order_are_no_towers_of_loops():
    """Each order pulled back through the loops of the one before had seven times as many."""
    f, counts = lambda x: ag.while_loop(lambda y: y < 9, lambda y: ag.sin(y) + y * x, x), []
    for _ in range(4):
        f = ag.grad(f)
        x = ag.symbolic.scalar("float64")
        counts.append(loops(FunctionGraph.of([graph_node(x)], [graph_node(f(x))])))
    assert counts[3] <= 2 * counts[1]


def loops(graph):
    """How many loops a graph has, with those in bodies."""
    inside = [getattr(n.op, name).graph for n in graph.nodes if n.op for name in n.op.bodies]
    return len(inside) + sum(map(loops, inside))
