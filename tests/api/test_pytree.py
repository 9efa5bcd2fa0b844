"""PyTorch's functions of nests: None is a value in them, and in ``ag.tree`` it is none."""

from __future__ import annotations

import pytest

import agnesi as ag
from agnesi import overrides
from agnesi.utils._pytree import (
    tree_all,
    tree_any,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_unflatten,
)

NEST = {"a": [1, None], "b": (ag.ones(2), {"c": 2.5})}


def test_nests_are_taken_apart_and_built_again() -> None:
    leaves, spec = tree_flatten(NEST)
    assert leaves[:2] == [1, None] and len(leaves) == 4 and tree_leaves(NEST)[3] == 2.5
    built = tree_unflatten(leaves, spec)
    assert built["a"] == [1, None] and built["b"][1] == {"c": 2.5}
    with pytest.raises(ValueError, match="4 places"):
        tree_unflatten([1], spec)


def test_functions_of_each_value() -> None:
    assert tree_map(lambda a, b: (a, b), [1, None], [2, 3]) == [(1, 2), (None, 3)]
    assert tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]
    assert tree_map_only(int, lambda n: n + 1, NEST)["a"] == [2, None]
    doubled = tree_map_only(ag.Tensor, lambda t: t * 2, NEST)
    assert doubled["b"][0].tolist() == [2.0, 2.0] and doubled["a"] == [1, None]
    assert tree_any(lambda x: x is None, NEST) and not tree_all(lambda x: x is None, NEST)
    with pytest.raises(ValueError, match="differ"):
        tree_map(lambda a, b: a, [1], [1, 2])


class Wrapped:
    @classmethod
    def __torch_function__(cls, function, types, args, kwargs):
        return function.__name__, len(args), kwargs


def test_operands_with_a_torch_function() -> None:
    x, w = ag.ones(2), Wrapped()
    assert not ag.nn.functional.has_torch_function((x, 1.0))
    assert overrides.has_torch_function_variadic(x, w) and overrides.has_torch_function_unary(w)
    assert overrides.is_tensor_like(x) and overrides.is_tensor_like(w)
    found = overrides.handle_torch_function(ag.exp, (x, w), x, w, out=1)
    assert found == ("exp", 2, {"out": 1})
    with pytest.raises(TypeError, match="took the call"):
        overrides.handle_torch_function(ag.exp, (x,), x)
