"""Joins of thousands of tensors: one operation, whatever the axis."""

import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import graph_node
from agnesi.core.storage.lists import MANY_OPERANDS

COUNT = MANY_OPERANDS


@pytest.mark.parametrize("shape", [(2,), (2, 3), (0,), (1, 2, 2), ()])
def test_stacks_of_many(shape):
    xs = [np.arange(np.prod(shape)).reshape(shape) + i for i in range(COUNT)]
    tensors = [ag.tensor(x) for x in xs]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        np.testing.assert_array_equal(ag.stack(tensors, axis).numpy(), np.stack(xs, axis))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("join", ["stack", "hstack", "vstack", "column_stack", "asarray"])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 1), (0,)])
def test_joins_of_many_are_those_of_few(join, shape, dtype):
    """Also of rows, of arrays, of dtypes that differ, and recorded; never memory of an operand."""
    values = (np.arange(COUNT * int(np.prod(shape))) % 3).reshape(COUNT, *shape)
    xs = [ag.tensor(v).astype(dtype) for v in values]
    function, half = getattr(ag, join), COUNT // 2
    axis = {"hstack": min(1, max(0, len(shape) - 1)), "column_stack": 1}.get(join, 0)
    parts = [function(xs[i:i + half]) for i in (0, half)]  # too few for the short way
    found = function(xs)
    assert found.dtype == parts[0].dtype == dtype
    assert found.shape == ag.concat(parts, axis).shape and found.array.flags.c_contiguous
    assert (found == ag.concat(parts, axis)).all()
    assert not any(np.shares_memory(found.array, x.array) for x in (xs[0], xs[-1]))
    mixed = function([*xs[:-1], xs[-1].astype("complex128")])
    assert mixed.dtype == "complex128" and (mixed == found).all()


@pytest.mark.parametrize("length", [1, 2, 4])
def test_rows_of_many_tensors(length):
    xs = [ag.tensor([float(i), 2.0]) for i in range(COUNT)]
    rows = [xs[i:i + length] for i in range(0, COUNT, length)]
    expected = np.stack([x.array for x in xs]).reshape(-1, length, 2)
    np.testing.assert_array_equal(ag.asarray(rows).array, expected)
    xs[0].requires_grad_()
    ag.asarray(rows).sum().backward()
    assert xs[0].grad.tolist() == [1.0, 1.0]


def test_arrays_are_joined_as_their_tensors():
    arrays = [np.array([i, 2], "int16") for i in range(5)]
    for dtypes in (["int16"] * 5, ["int16", "float32", "bool", "int16", "int8"], [">i2"] * 5,
                   ["<U1", *["int16"] * 4]):
        xs = [a.astype(d) for a, d in zip(arrays, dtypes, strict=True)]
        if dtypes[0] == "<U1":
            with pytest.raises(TypeError):
                ag.concat(xs)
            continue
        found = ag.concat(xs)
        assert found.dtype == ag.concat([ag.tensor(x) for x in xs]).dtype
        np.testing.assert_array_equal(found.array, np.concatenate(xs))


def test_gradients_of_a_stack_of_many():
    xs = [ag.ones(2, requires_grad=True) for _ in range(COUNT)]
    weights = ag.tensor(np.random.default_rng(0).normal(size=(2, COUNT)))
    (ag.stack(xs, 1) * weights).sum().backward()
    np.testing.assert_allclose(np.stack([x.grad.numpy() for x in xs], 1), weights.numpy(), 1e-6)


def test_a_stack_of_many_makes_no_view_of_each():
    x = ag.ones(2, requires_grad=True)
    node = graph_node(ag.stack([x] * COUNT))
    assert len(node.inputs[0].inputs) == COUNT and node.inputs[0].inputs[0] is graph_node(x)


@pytest.mark.parametrize("join", [
    ag.stack, ag.concat, ag.asarray, ag.hstack, ag.vstack, ag.column_stack,
    lambda xs: ag.stack(xs, -1),
    lambda xs: ag.asarray([xs[i:i + 64] for i in range(0, COUNT, 64)])])
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
