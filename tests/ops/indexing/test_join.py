"""Joins of thousands of tensors: one operation, whatever the axis."""

import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import graph_node
from agnesi.ops.indexing.join import _MANY_OPERANDS

COUNT = _MANY_OPERANDS


@pytest.mark.parametrize("shape", [(2,), (2, 3), (0,), (1, 2, 2), ()])
def test_stacks_of_many(shape):
    xs = [np.arange(np.prod(shape)).reshape(shape) + i for i in range(COUNT)]
    tensors = [ag.tensor(x) for x in xs]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        np.testing.assert_array_equal(ag.stack(tensors, axis).numpy(), np.stack(xs, axis))


def test_gradients_of_a_stack_of_many():
    xs = [ag.ones(2, requires_grad=True) for _ in range(COUNT)]
    weights = ag.tensor(np.random.default_rng(0).normal(size=(2, COUNT)))
    (ag.stack(xs, 1) * weights).sum().backward()
    np.testing.assert_allclose(np.stack([x.grad.numpy() for x in xs], 1), weights.numpy(), 1e-6)


def test_a_stack_of_many_makes_no_view_of_each():
    x = ag.ones(2, requires_grad=True)
    node = graph_node(ag.stack([x] * COUNT))
    assert len(node.inputs[0].inputs) == COUNT and node.inputs[0].inputs[0] is graph_node(x)


@pytest.mark.parametrize("join", [ag.stack, ag.concat, ag.asarray])
def test_many_tensors_take_few_calls_each(join):
    """Shapes, dtypes and kinds of thousands are compared without a function call for each."""
    xs = [ag.ones(3) for _ in range(COUNT)]
    assert join(xs).size == 3 * COUNT
    count, before = 0, sys.getprofile()

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        join(xs)
    finally:
        sys.setprofile(before)
    assert count < 2.5 * len(xs)
