"""Nests by the names of PyTorch's ``utils._pytree``, to which None is a value like others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agnesi.core.keywords import strict
from agnesi.core.support import tree

__all__ = ["TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map",
           "tree_map_only", "tree_unflatten"]

TreeSpec = tree.Tree
Test = Callable[[Any], bool]


def _ends(is_leaf: Test | None) -> Test:
    return lambda x: x is None or (is_leaf is not None and is_leaf(x))


@strict
def tree_flatten(tree: Any, is_leaf: Test | None = None) -> tuple[list[Any], TreeSpec]:
    """The values in a nest of containers, and its structure.

    :param tree: Lists, tuples, dicts, dataclasses and registered classes around values.
    :param is_leaf: Of a container, whether it is a value, too.
    :returns: The values in order, and what :func:`tree_unflatten` takes.
    :see: tree.flatten

    >>> from agnesi.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": [2, None]})[0]
    [1, 2, None]
    """
    return _flatten(tree, _ends(is_leaf))


_flatten = tree.flatten


@strict
def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The nest of a structure with these values.

    :param leaves: As many as the structure has places.
    :param treespec: As :func:`tree_flatten` gives it.
    :returns: A nest of that structure.
    :raises ValueError: If there are more or fewer.
    :see: tree.unflatten

    >>> from agnesi.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": [2, None]})
    >>> tree_unflatten([3, 4, 5], spec)
    {'a': 3, 'b': [4, 5]}
    """
    values = list(leaves)
    if len(values) != treespec.leaves:
        raise ValueError(f"tree_unflatten: {len(values)} values, but the nest has "
                         f"{treespec.leaves} places")
    return treespec.build(values)


@strict
def tree_leaves(tree: Any, is_leaf: Test | None = None) -> list[Any]:
    """The values in a nest of containers.

    :param tree: Lists, tuples, dicts, dataclasses and registered classes around values.
    :param is_leaf: Of a container, whether it is a value, too.
    :returns: In order.
    :see: tree.leaves
    """
    return _flatten(tree, _ends(is_leaf))[0]


@strict
def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Test | None = None) -> Any:
    """The nest of what a function makes of each value.

    :param func: Of a value of each nest.
    :param tree: Lists, tuples, dicts, dataclasses and registered classes around values.
    :param *rests: Nests of the same structure.
    :param is_leaf: Of a container, whether it is a value, too.
    :returns: A nest of that structure.
    :raises ValueError: If the nests differ.
    :see: tree.map

    >>> from agnesi.utils._pytree import tree_map
    >>> tree_map(lambda x: x is None, [1, (None,)])
    [False, (True,)]
    """
    return _map(func, tree, *rests, is_leaf=_ends(is_leaf))


_map = tree.map_leaves


@strict
def tree_map_only(kind: type | tuple[type, ...], func: Callable[[Any], Any], tree: Any,
                  is_leaf: Test | None = None) -> Any:
    """The nest of what a function makes of each value of a type; other values stay.

    :param kind: The type, or types.
    :param func: Of such a value.
    :param tree: Lists, tuples, dicts, dataclasses and registered classes around values.
    :param is_leaf: Of a container, whether it is a value, too.
    :returns: A nest of that structure.
    :see: tree.map

    >>> from agnesi.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda n: n + 1, [1, "a"])
    [2, 'a']
    """
    return _map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=_ends(is_leaf))


@strict
def tree_any(pred: Test, tree: Any, is_leaf: Test | None = None) -> bool:
    """Return whether a test holds for one value of a nest at least.

    :param pred: Of a value.
    :param tree: Lists, tuples, dicts, dataclasses and registered classes around values.
    :param is_leaf: Of a container, whether it is a value, too.
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


@strict
def tree_all(pred: Test, tree: Any, is_leaf: Test | None = None) -> bool:
    """Return whether a test holds for all values of a nest.

    :like: tree_any
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))
