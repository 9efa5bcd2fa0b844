"""Movement, slices, joins: against NumPy, by their gradients, and by their lowering."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.dims import Dim
from agnesi.ops.base.movement import Permute, Reshape
from agnesi.ops.base.slices import FULL, Slice, SlicePut, Unslice
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix, Triangle
from agnesi.ops.indexing.join import Concat
from agnesi.ops.indexing.ranges import Arange, Eye, Linspace
from agnesi.testing import check_op

X = np.random.default_rng(0).normal(size=(2, 3, 4))
CASES = {
    "reshape": (lambda x: ag.reshape(x, (4, -1)), lambda x: x.reshape(4, -1)),
    "flatten": (lambda x: ag.flatten(x, 1), lambda x: x.reshape(2, 12)),
    "permute": (lambda x: ag.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "transpose": (ag.permute_dims, np.transpose),
    "matrix_transpose": (ag.matrix_transpose, lambda x: x.swapaxes(1, 2)),
    "moveaxis": (
        lambda x: ag.moveaxis(x, (0, 1), (-1, 0)),
        lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
    ),
    "expand_dims": (lambda x: ag.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (lambda x: ag.squeeze(x[:, :1], 1), lambda x: x[:, 0]),
    "dimshuffle": (lambda x: ag.dimshuffle(x[:1], 2, "x", 1), lambda x: x[0].T[:, None]),
    "flip": (lambda x: ag.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2))),
    "roll": (lambda x: ag.roll(x, (1, -6), (0, 2)), lambda x: np.roll(x, (1, -6), (0, 2))),
    "roll flat": (lambda x: ag.roll(x, 5), lambda x: np.roll(x, 5)),
    "tile": (lambda x: ag.tile(x, (2, 1, 2)), lambda x: np.tile(x, (2, 1, 2))),
    "repeat": (lambda x: ag.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    "expand": (
        lambda x: ag.expand(x[:, :1], 5, -1, 3, -1),
        lambda x: np.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    ),
    "concat": (lambda x: ag.concat([x, x * 2], 1), lambda x: np.concatenate([x, x * 2], 1)),
    "stack": (lambda x: ag.stack([x, x * 2], -1), lambda x: np.stack([x, x * 2], -1)),
    "hstack": (lambda x: ag.hstack([x, x]), lambda x: np.hstack([x, x])),
    "vstack": (lambda x: ag.vstack([x, x]), lambda x: np.vstack([x, x])),
    "split": (lambda x: ag.split(x, [1, 3], 2)[1], lambda x: x[:, :, 1:3]),
    "pad": (
        lambda x: ag.pad(x, ((0, 1), (2, 0), (1, 1))),
        lambda x: np.pad(x, ((0, 1), (2, 0), (1, 1))),
    ),
    "pad ones": (
        lambda x: ag.pad(x, 1, constant_values=1),
        lambda x: np.pad(x, 1, constant_values=1),
    ),
    "tril": (lambda x: ag.tril(x, 1), lambda x: np.tril(x, 1)),
    "triu": (lambda x: ag.triu(x, -1), lambda x: np.triu(x, -1)),
    "diagonal": (lambda x: ag.diagonal(x, 1, 0, 2), lambda x: np.diagonal(x, 1, 0, 2)),
}
STATIC = {
    "unstack": (lambda x: ag.unstack(x)[1], lambda x: x[1]),
    "repeat each": (lambda x: ag.repeat(x, [1, 0, 2], 1), lambda x: np.repeat(x, [1, 0, 2], 1)),
    "pad reflect": (lambda x: ag.pad(x, 1, "reflect"), lambda x: np.pad(x, 1, "reflect")),
    "pad edge": (lambda x: ag.pad(x, (0, 2), "edge"), lambda x: np.pad(x, (0, 2), "edge")),
    "unfold": (
        lambda x: ag.unfold(x, 2, 3, 1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 2),
    ),
}


@pytest.mark.parametrize("name", [*CASES, *STATIC])
def test_values_are_those_of_numpy(name):
    ours, theirs = {**CASES, **STATIC}[name]
    for x in (X, X.astype("int16"), np.asfortranarray(X) > 0):
        if x.dtype == bool and "stack" in name:
            continue
        result = ours(ag.tensor(x))
        expected = theirs(x)
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_graphs_unknown_sizes_and_gradients(name):
    check_op(CASES[name][0], [[X]])


OPERATIONS = [
    (Reshape((6, 4)), X),
    (Reshape((2, 1, 12)), X),
    (Reshape((4, 6)), X),
    (Reshape(()), X[:1, :1, :1]),
    (Permute((2, 0, 1)), X),
    (Slice((1, (None, None, -2), (1, None, 2))), X),
    (Slice((FULL, -1, (9, None, 1))), X),
    (SlicePut((0, (2, None, -2), (1, 3, 1))), X, X[1, :2, :2]),
    (Unslice(((1, 2, 1), (None, None, -1), 3), (3, 3, 5)), X[:1, :, 0]),
    (Concat(1), X, X[:, :0], X[:, 1:]),
    (Arange(3, -2, 5, np.dtype("int32")),),
    (Arange(0.5, 0.25, 5, np.dtype("float64")),),
    (Linspace(-1.0, 2.0, 7, True, np.dtype("float64")),),
    (Linspace(-1.0, 2.0, 7, False, np.dtype("float32")),),
    (Eye(3, 4, -1, np.dtype("float32")),),
    (Diagonal(1), X),
    (Diagonal(-1), X),
    (Diagonal(9), X),
    (DiagonalMatrix(-1, 5, 4), X),
    (DiagonalMatrix(2, 4, 7), X),
    (Triangle(0, True), X),
    (Triangle(-1, False), X),
]


@pytest.mark.parametrize("case", OPERATIONS, ids=lambda c: str(c[0]))
def test_lowering_agrees_with_numpy(case, lowered):
    op, *arrays = case
    result, expected = lowered(op, *arrays), op.perform(*arrays)
    assert (expected.shape, expected.dtype) == op.infer(*arrays)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_unknown_sizes_are_carried_through():
    n = Dim("n")
    x = _symbolic((n, 4, 6))
    assert ag.reshape(x, (-1, 24)).shape == (n, 24)
    assert ag.reshape(x, (-1, 8)).shape == (3 * n, 8)
    assert ag.reshape(x, (n, -1)).shape == (n, 24)
    assert ag.reshape(x, (-1, 6)).shape == (4 * n, 6)
    assert x[:, 1].shape == (n, 6)
    assert ag.zeros((n, 2)).shape == (n, 2)
    assert ag.arange(n).shape == (n,)


def _symbolic(shape):
    from agnesi.core.ir.node import Node
    from agnesi.core.tensor import symbol

    return symbol(Node(None, (), shape, np.dtype("float32")))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: ag.reshape(ag.zeros((2, 3)), (4, -1)),
            ValueError,
            ["reshape", "(2, 3)", "(4, -1)"],
        ),
        (lambda: ag.reshape(ag.zeros((2, 3)), (5,)), ValueError, ["6 elements", "(5,)"]),
        (lambda: ag.reshape(ag.zeros((2, 3)), (-1, -1)), ValueError, ["only one size may be -1"]),
        (lambda: ag.squeeze(ag.zeros((2, 1)), 0), ValueError, ["axis 0 has size 2"]),
        (
            lambda: ag.permute_dims(ag.zeros((2, 1)), (0, 0)),
            ValueError,
            ["name each of 2 axes once"],
        ),
        (lambda: ag.dimshuffle(ag.zeros((2, 3)), 0), ValueError, ["axis 1 of size 3 is dropped"]),
        (
            lambda: ag.concat([ag.zeros((2, 3)), ag.zeros((3, 2))]),
            ValueError,
            ["3 and 2 differ on axis 1"],
        ),
        (lambda: ag.stack([ag.zeros(2), ag.zeros(3)]), ValueError, ["(2,)", "(3,)"]),
        (lambda: ag.split(ag.zeros(5), 2), ValueError, ["size 5", "2 equal parts"]),
        (lambda: ag.pad(ag.zeros(3), -1), ValueError, ["pad_width"]),
        (lambda: ag.zeros((-1,)), ValueError, ["must not be negative"]),
        (lambda: ag.tensor([1, 2], requires_grad=True), TypeError, ["int64"]),
        (lambda: ag.arange(0, 3, 0), ValueError, ["step"]),
    ],
)
def test_errors_tell_operation_shapes_and_line(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in [*words, "test_movement.py"]:
        assert word in str(caught.value)


def test_creation_types_follow_configuration_and_arguments():
    assert ag.zeros(2).dtype == "float32"
    assert ag.arange(3).dtype == "int64"
    assert ag.arange(0, 1, 0.25).dtype == "float32"
    assert ag.full((2,), True).dtype == "bool"
    assert ag.zeros_like(ag.ones(2, "int8")).dtype == "int8"
    with ag.config(default_float="float64"):
        assert ag.eye(2).dtype == ag.linspace(0, 1, 3).dtype == ag.tensor([1.0]).dtype == "float64"


def test_tensor_copies_and_asarray_shares():
    a = np.zeros(3)
    assert not np.shares_memory(ag.tensor(a).numpy(), a)
    assert np.shares_memory(ag.asarray(a).numpy(), a)
    assert ag.tensor(a, "float32", requires_grad=True, name="w").requires_grad
    with pytest.raises(ValueError, match="copy=False"):
        ag.asarray([1, 2], copy=False)


def test_filled_tensors_of_a_graph_hold_no_big_constant():
    from agnesi.core.ir.node import toposort

    x = _symbolic((Dim("n"), 3))
    for t in (ag.zeros_like(x), ag.full_like(x, 2), ag.ones(x.shape)):
        assert all(n.value is None or n.value.size == 1 for n in toposort([t.node]))
