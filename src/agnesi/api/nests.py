"""Functions of nests that JAX's users know from ``jax.tree``, made of those of ``tree``."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from agnesi.core.support import tree
from agnesi.core.support.errors import at

Leaf = Callable[[Any], bool] | None
Class = TypeVar("Class", bound=type)
Path = tuple[tree.Key, ...]
_NOTHING = object()


def structure(nest: object, is_leaf: Leaf = None) -> tree.Tree:
    """The structure of a nest, without its leaves.

    :param nest: Lists, tuples, dicts, dataclasses of anything.
    :param is_leaf: Of a container, whether it is a leaf, too.
    :returns: Equal for nests of equal shape.
    :see: tree.flatten, tree.unflatten

    >>> ag.tree.structure({"w": 1, "b": (2, 3)})
    dict(*, tuple(*, *))
    """
    return tree.flatten(nest, is_leaf)[1]


def unflatten(treedef: tree.Tree, leaves: Iterable[Any]) -> Any:
    """Build a nest of a given structure from its leaves.

    :param treedef: A shape, as :func:`agnesi.tree.flatten` gives it.
    :param leaves: As many as it has, in order.
    :returns: Such a nest.
    :raises TypeError: If ``treedef`` is no shape.
    :raises ValueError: If there are more or fewer leaves.
    :see: tree.flatten, tree.structure

    >>> leaves, shape = ag.tree.flatten({"w": 1, "b": (2, 3)})
    >>> ag.tree.unflatten(shape, [10 * leaf for leaf in leaves])
    {'w': 10, 'b': (20, 30)}
    """
    if not isinstance(treedef, tree.Tree):
        raise TypeError(at("unflatten(): treedef must be a shape, as ag.tree.structure(nest) gives "
                           f"it, not {type(treedef).__name__}"))
    given = list(leaves)
    if len(given) != treedef.leaves:
        raise ValueError(at(f"unflatten(): the nest has {treedef.leaves} leaves, but {len(given)} "
                            "are given"))
    return treedef.build(given)


def all(nest: object, is_leaf: Leaf = None) -> bool:
    """Whether every leaf of a nest is true.

    :like: structure
    :returns: True for a nest without leaves, too.
    :see: tree.reduce, tree.leaves

    >>> ag.tree.all([True, {"b": False}])
    False
    """
    return builtins.all(tree.leaves(nest, is_leaf))


def reduce(function: Callable[[Any, Any], Any], nest: object, initializer: object = _NOTHING,
           is_leaf: Leaf = None) -> Any:
    """Fold the leaves of a nest, from the first to the last.

    :like: structure
    :param function: Of what is folded so far and a leaf.
    :param initializer: What to begin with, in place of the first leaf.
    :type initializer: object, optional
    :returns: What the last call gave.
    :raises TypeError: If there are no leaves and no ``initializer``.
    :see: tree.leaves, tree.map

    >>> ag.tree.reduce(lambda a, b: a + b, {"w": 1, "b": (2, 3)})
    6
    """
    found = tree.leaves(nest, is_leaf)
    if initializer is not _NOTHING:
        return functools.reduce(function, found, initializer)
    if not found:
        raise TypeError(at("reduce(): a nest without leaves needs an initializer"))
    return functools.reduce(function, found)


def transpose(outer_treedef: tree.Tree, inner_treedef: tree.Tree | None,
              pytree_to_transpose: object) -> Any:
    """Turn a nest of nests inside out.

    :param outer_treedef: The shape of what is outside now.
    :param inner_treedef: The shape of what is inside now; None finds it.
    :param pytree_to_transpose: The nest.
    :returns: A nest of the inner shape, around nests of the outer one.
    :raises ValueError: If the nest has another shape.
    :see: tree.structure, tree.map

    >>> outer = ag.tree.structure([0, 0])
    >>> ag.tree.transpose(outer, None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    rows: list[list[Any]] = []
    for part in _parts(outer_treedef, pytree_to_transpose):
        leaves, found = tree.flatten(part)
        inner_treedef = found if inner_treedef is None else inner_treedef
        if found != inner_treedef:
            raise ValueError(at(f"transpose(): the nest holds {found} where it should hold "
                                f"{inner_treedef}"))
        rows.append(leaves)
    if inner_treedef is None:
        raise ValueError(at("transpose(): a nest without leaves needs inner_treedef"))
    columns = list(zip(*rows, strict=True)) or [()] * inner_treedef.leaves
    return inner_treedef.build([outer_treedef.build(column) for column in columns])


def _parts(shape: tree.Tree, nest: Any) -> list[Any]:
    """What a nest holds where a shape has its leaves."""
    found, todo = [], [(shape, nest)]
    while todo:
        outer, inner = todo.pop()
        if outer.kind is None:
            found.append(inner)
            continue
        below, extra = outer.take(inner) if type(inner) is outer.kind else ((), None)
        below = list(below)
        if type(inner) is not outer.kind or len(below) != len(outer.children) or (
                extra != outer.extra):
            raise ValueError(at("transpose(): the outside of the nest is "
                                f"{structure(inner)}, which does not begin as {outer}"))
        todo += list(zip(outer.children, below, strict=True))[::-1]
    return found


def flatten_with_path(nest: object, is_leaf: Leaf = None) -> tuple[
        list[tuple[Path, Any]], tree.Tree]:
    """The leaves of a nest, each with the path to it, and the nest's structure.

    :param nest: Lists, tuples, dicts, dataclasses of anything.
    :param is_leaf: Of a container, whether it is a leaf, too.
    :returns leaves: Pairs of a path and a leaf; a path is a tuple of keys, which have a ``key`` (of
        a dict), an ``idx`` (of a list or tuple) or a ``name`` (of a field).
    :rtype: list
    :returns shape: As of :func:`agnesi.tree.flatten`.
    :rtype: Tree
    :see: tree.flatten, tree.map_with_path, tree.keystr

    >>> pairs, shape = ag.tree.flatten_with_path({"w": 1, "b": (2, 3)})
    >>> [(ag.tree.keystr(path), leaf) for path, leaf in pairs]
    [("['w']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    leaves, shape = tree.flatten(nest, is_leaf)
    return list(zip(shape.keys(), leaves, strict=True)), shape


def keystr(keys: Iterable[tree.Key], *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    :param keys: The path, from :func:`agnesi.tree.flatten_with_path` and its kin.
    :type keys: tuple of keys
    :param simple: Whether to leave out brackets, dots and quotes.
    :param separator: What stands between the steps.
    :returns: The text.
    :see: tree.flatten_with_path, tree.map_with_path

    >>> path, leaf = ag.tree.flatten_with_path({"layers": [{"w": 1}]})[0][0]
    >>> ag.tree.keystr(path)
    "['layers'][0]['w']"
    >>> ag.tree.keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    return separator.join([str(_plain(key) if simple else key) for key in keys])


def _plain(key: tree.Key) -> Any:
    """A key of a dict, a number or a field's name."""
    if isinstance(key, tree.DictKey):
        return key.key
    return key.idx if isinstance(key, tree.SequenceKey) else key.name


def leaves_with_path(nest: object, is_leaf: Leaf = None) -> list[tuple[Path, Any]]:
    """The leaves of a nest, each with the path to it.

    :like: structure
    :returns: Pairs of a path, which is a tuple of keys, and a leaf.
    :see: tree.flatten_with_path, tree.leaves

    >>> for path, leaf in ag.tree.leaves_with_path({"w": 1, "b": (2, 3)}):
    ...     print(ag.tree.keystr(path), leaf)
    ['w'] 1
    ['b'][0] 2
    ['b'][1] 3
    """
    return flatten_with_path(nest, is_leaf)[0]


def map_with_path(function: Callable[..., Any], nest: object, *others: Any,
                  is_leaf: Leaf = None) -> Any:
    """The nest with ``function`` applied to the path and the value of each leaf.

    :like: structure
    :param function: Of a path, which is a tuple of keys, and a leaf of each nest.
    :param *others: Nests of the same shape.
    :returns: A nest of that shape.
    :raises ValueError: If the nests differ.
    :see: tree.map, tree.flatten_with_path, tree.keystr

    >>> weights = {"dense": {"w": 2.0, "b": 3.0}}
    >>> ag.tree.map_with_path(lambda path, x: 0.1 * x if path[-1].key == "w" else x, weights)
    {'dense': {'w': 0.2, 'b': 3.0}}
    """
    paths = iter(structure(nest, is_leaf).keys())
    return tree.map_leaves(lambda *row: function(next(paths), *row), nest, *others,
                           is_leaf=is_leaf)


def register_dataclass(nodetype: Class, data_fields: Sequence[str] | None = None,
                       meta_fields: Sequence[str] | None = None) -> Class:
    """Say which fields of a dataclass hold leaves; of others, all do.

    :param nodetype: The class.
    :type nodetype: type
    :param data_fields: Names of the fields that do; by default all other ones than ``meta_fields``,
        or all that ``field(metadata={"static": True})`` does not except.
    :param meta_fields: Names of those that do not: their values are hashable, belong to the shape,
        and are static for :func:`agnesi.jit`. Fields with ``init=False`` are in neither, and are
        made by the class again.
    :returns: The class itself, so that this is a decorator, too.
    :rtype: type
    :raises ValueError: If a field is in none of the lists, or in both, or there is none.
    :see: tree.register, tree.flatten

    >>> import agnesi as ag
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str
    >>> Layer = ag.tree.register_dataclass(Layer, ["weight"], ["name"])
    >>> ag.tree.map(lambda w: 2 * w, Layer(1.5, "a"))
    Layer(weight=3.0, name='a')
    """
    static = {f.name: bool(f.metadata.get("static")) for f in fields(nodetype) if f.init}
    if data_fields is None and meta_fields is None:
        meta_fields = [name for name, apart in static.items() if apart]
    data = tuple([n for n in static if n not in (meta_fields or ())] if data_fields is None
                 else data_fields)
    meta = tuple([n for n in static if n not in data] if meta_fields is None else meta_fields)
    if sorted((*data, *meta)) != sorted(static):
        raise ValueError(at(f"register_dataclass(): data_fields and meta_fields must have each of "
                            f"{list(static)} once, not {[*data, *meta]}"))
    derived = len(fields(nodetype)) > len(static)

    def build(extra: Any, children: Iterable[Any]) -> Any:
        if derived:
            return nodetype(**dict(zip((*data, *meta), (*children, *extra), strict=True)))
        made: Any = object.__new__(nodetype)
        for name, value in zip((*data, *meta), (*children, *extra), strict=True):
            object.__setattr__(made, name, value)
        return made

    tree.register(nodetype, lambda x: ([getattr(x, name) for name in data],
                                       tuple([getattr(x, name) for name in meta])), build)
    return nodetype
