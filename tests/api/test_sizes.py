"""Shapes are tuples that know how many elements there are, in eager and compiled code."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.op import _resolved

X = ag.tensor(np.arange(12.0).reshape(3, 4))


def test_shapes_are_tuples_with_a_number_of_elements() -> None:
    shape = X.shape
    assert isinstance(shape, tuple) and isinstance(shape, ag.Size) and shape == (3, 4)
    assert hash(shape) == hash((3, 4)) and repr(shape) == "(3, 4)" and f"{shape}" == "(3, 4)"
    assert shape.numel() == 12 and X.size().numel() == 12 and ag.Size().numel() == 1
    assert shape[1:].numel() == 4 and (shape + shape).numel() == 144 and shape[-1] == 4
    assert ag.Size([2, 3]) == (2, 3) and not isinstance((2, 3), ag.Size)
    for same in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape), copy.copy(shape)):
        assert same == shape and same.numel() == 12
    assert json.dumps(shape) == "[3, 4]"
    assert np.zeros(shape).shape == shape and np.arange(20.0).reshape(4, 5)[shape] == 19.0
    assert ag.arange(20.0).reshape(4, 5)[X[1:].shape] == 14.0


def test_sizes_are_sizes_where_numbers_might_be_data() -> None:
    for made in (ag.Tensor(X.shape), X.new(X.size()), ag.FloatTensor(X.shape)):
        assert made.shape == (3, 4)
    for x in (ag.nn.Parameter(X).data, ag.sparse.csr(X)):  # whose shapes are such, too
        assert x.shape.numel() == 12 and ag.Tensor(x.shape).shape == (3, 4)
    for made in (ag.Tensor((3, 4)), X.new((3, 4)), ag.FloatTensor((3, 4))):  # a tuple of data
        assert made.tolist() == [3.0, 4.0]
    assert ag.tensor(X.shape).tolist() == [3, 4]


class Kept(ag.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shape: Any = None

    def forward(self, x: Any) -> Any:
        self.shape = x.shape
        return x.reshape(self.shape) * self.shape.numel()


SHAPE, TABLE = X.shape, {X.shape: 2.0}


@pytest.mark.parametrize("function", [
    lambda x: x.reshape(x.shape.numel()) * x.shape[1:].numel(),
    lambda x: (x.reshape(SHAPE), SHAPE, SHAPE.numel()),
    lambda x: x * TABLE[x.shape],
    lambda x: ag.zeros(x.shape) + ag.ones((*x.shape[:1], 4)) + ag.full(x.shape, 2.0),
    lambda x: (x.shape, [x.shape[1:]]),
    lambda x: ag.arange(100.0).reshape(10, 10)[x.shape],
    Kept(),
], ids=range(7))
def test_compiled_functions_read_and_return_shapes(function: Any) -> None:
    compiled = ag.jit(function)
    for x in (X, X + 1):
        found, shape = ag.tree.flatten(compiled(x))
        wanted, right = ag.tree.flatten(function(x))
        assert shape == right
        assert all(np.array_equal(np.asarray(a), np.asarray(b))
                   for a, b in zip(found, wanted, strict=True))


def test_shapes_are_arguments_of_compiled_functions() -> None:
    @ag.jit
    def reshaped(x: Any, shape: Any) -> Any:
        return x.reshape(shape) * shape.numel(), shape

    for k in range(3):
        found, shape = reshaped(ag.ones((12,)) + k, X.shape)
        assert found.shape == (3, 4) and float(found[0, 0]) == 12 * (k + 1)
        assert shape.numel() == 12
    assert len(reshaped.specialisations) == 1


def test_kept_shapes_compile_once() -> None:
    model = Kept()
    step = ag.jit(lambda x: model(x))
    for _ in range(4):
        step(X)
    assert len(step.specialisations) <= 2 and model.shape.numel() == 12


def test_sizes_in_parameters_of_operations_are_resolved() -> None:
    n = ag.symbolic.variable("x", "float32", (None, 3)).shape
    assert str(n.numel()) in (str(n[0] * 3), str(3 * n[0])) and n[:1].numel() is n[0]
    assert _resolved(n, lambda size: 5) == (5, 3)
