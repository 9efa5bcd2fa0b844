"""Calls with containers and keywords: Python generated for one structure of arguments and results.

It flattens the arguments, checks that they have that structure, calls the native function with the
leaves, and packs the results; other arguments take the general path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from agnesi.core.ir.dims import TUPLES
from agnesi.core.support.config import MODE
from agnesi.core.support.tree import Tree, exact


class Carriers(dict[int, Any]):
    """Arrays without elements by their size, which they carry to native code; None for no size."""

    def __missing__(self, size: int) -> Any:
        if size < 0:
            return None
        if len(self) >= _MAX_ADAPTERS:
            self.clear()
        found = self[size] = np.empty((size, 0), bool)
        return found


#: So many of them are kept.
_MAX_ADAPTERS = 1 << 12
CARRIERS = Carriers()

#: Returned by a native function for arguments that it was not compiled for; also stands for a
#: missing argument.
MISSED = object()
#: A static leaf that may be any text.
ANY_TEXT = object()
#: Dicts of so many keys are compared key by key, without a tuple of them.
_MAX_UNPACKED_KEYS = 8
_NONE: Mapping[int, Any] = MappingProxyType({})
#: Static leaves that are known by their value, not only as the same object.
_BY_VALUE = (int, str)


def missed(*args: Any, **keywords: Any) -> Any:
    """The fallback of a native function whose caller has its own: returns ``MISSED``."""
    return MISSED


class _Text:
    """A function's text, and the objects that it names."""

    def __init__(self, otherwise: str, written: Sequence[Any] = ()) -> None:
        self.written = written
        #: Names of containers that can be changed, and of all leaves.
        self.containers: list[str] = []
        self.given: list[str] = []
        self.lines: list[str] = []
        self.indent = ""
        self.objects: dict[str, Any] = {"MISSED": MISSED}
        self.otherwise = otherwise
        self._numbers = count()

    def name(self, known: Any = MISSED) -> str:
        """A new name, of an object if one is given."""
        name = f"v{next(self._numbers)}"
        if known is not MISSED:
            self.objects[name] = known
        return name

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append(self.indent + line)

    def require(self, condition: str) -> None:
        """Write a line that leaves for the fallback unless ``condition`` holds."""
        self.write(f"if not ({condition}): {self.otherwise}")

    def leaves(self, tree: Tree, value: str) -> list[str]:
        """Names of the leaves of ``value``, which must be a nest of this shape."""
        if tree.kind is None:
            return [value]
        if tree.kind is type(None):
            self.require(f"{value} is None")
            return []
        self.require(f"type({value}) is {self.name(tree.kind)}")
        self.containers += [value] * (tree.kind not in TUPLES)
        for other in self.written:
            if type(other) is tree.kind:
                self.require(f"{value} is not {self.name(other)}")
        if tree.kind in (list, *TUPLES) or _is_plain_named_tuple(tree):
            self.require(f"len({value}) == {len(tree.children)}")
        elif tree.kind is dict:
            value = self._values(tree.extra, value)
        elif tree.is_object:
            value = self._values(tree.extra, f"{value}.__dict__")
        elif tree.has_fields:
            self._fields_only(tree, value)
            value = ", ".join(f"{value}.{field}" for field in tree.extra) + ","
        else:
            parts, extra = self.name(), self.name()
            self.write(f"{parts}, {extra} = {self.name(tree.take)}({value})")
            self.require(f"{self.name(exact)}({extra}) == {self.name(exact(tree.extra))}")
            value = parts
        children = [self.name() for _ in tree.children]
        if children:
            self.write(f"[{', '.join(children)}] = {value}")
        return [leaf for c, name in zip(tree.children, children, strict=True)
                for leaf in self.leaves(c, name)]

    def _fields_only(self, tree: Tree, value: str) -> None:
        """Write the check that an object of a dataclass has the fields of its type, and no other
        attributes."""
        kind: Any = tree.kind
        if kind.__dictoffset__ == 0:
            self.require(" and ".join([f"hasattr({value}, {n!r})" for n in tree.extra]) or "True")
            return
        held = self.name()
        self.write(f"{held} = {value}.__dict__")
        missable = [n for n in tree.extra if hasattr(kind, n)]  # of others a read raises
        self.require(" and ".join([f"len({held}) == {len(tree.extra)}",
                                   *(f"{n!r} in {held}" for n in missable)]))

    def _values(self, keys: tuple[Any, ...], value: str) -> str:
        """The values of a dict, which must have these keys in this order."""
        plain = all(type(key) is str for key in keys)
        if not plain or not 0 < len(keys) <= _MAX_UNPACKED_KEYS:
            taken = f"(*{value},)" if plain else f"{self.name(exact)}((*{value},))"
            self.require(f"{taken} == {self.name(keys if plain else exact(keys))}")
            return f"{value}.values()"
        wanted, found = [self.name(key) for key in keys], [self.name() for _ in keys]
        self.require(f"len({value}) == {len(keys)}")
        self.write(f"[{', '.join(found)}] = {value}")
        self.require(" and ".join(f"({f} is {w} or {f} == {w})"
                                  for f, w in zip(found, wanted, strict=True)))
        return "".join(f"{value}[{w}], " for w in wanted)

    def known(self, leaf: str, value: Any) -> None:
        """A leaf is this static value."""
        if value is ANY_TEXT:
            self.require(f"type({leaf}) is str")
        if type(value) in _BY_VALUE:
            name = self.name(value)
            self.write(f"if {leaf} is not {name}:")
            self.write(f"    if type({leaf}) is not type({name}) or {leaf} != {name}: "
                       f"{self.otherwise}")
            self.write(f"    {leaf} = {name}")

    def built(self, tree: Tree, leaves: Iterator[str]) -> str:
        """An expression for a nest of this shape."""
        if tree.kind is None:
            return next(leaves)
        if tree.kind is type(None):
            return "None"
        if tree.kind not in (tuple, list, dict):
            inner = ", ".join(next(leaves) for _ in range(tree.leaves))
            return f"{self.name(tree.build)}([{inner}])"
        parts = [self.built(c, leaves) for c in tree.children]
        if tree.kind is dict:
            pairs = zip(map(self.name, tree.extra), parts, strict=True)
            return f"{{{', '.join(f'{key}: {part}' for key, part in pairs)}}}"
        inner = "".join(f"{p}, " for p in parts)
        return f"({inner})" if tree.kind is tuple else f"[{inner}]"


def _is_plain_named_tuple(tree: Tree) -> bool:
    """Return whether a nest is a named tuple that gives its elements as every tuple does."""
    kind: Any = tree.kind
    return (tree.is_named_tuple and kind.__iter__ is tuple.__iter__
            and kind.__len__ is tuple.__len__)


def caller(tree: Tree, statics: Sequence[Any], native: Callable[..., Any],
           dispatch: Callable[..., Any], finish: Callable[[_Text, str], str],
           recording: bool, unseen: Sequence[Any] = (), hidden: Sequence[Any] = (),
           locks: Any = None, computed: Sequence[Any] = (), assumed: Any = None,
           written: Sequence[Any] = (), bare: Mapping[int, Any] = _NONE) -> Any:
    """A function of arguments with this shape.

    :param tree: The shape of (positional, keywords).
    :param statics: For each leaf the value that it must have; None for any.
    :type statics: sequence
    :param native: Takes the leaves, and answers ``MISSED`` if they do not fit.
    :param dispatch: Takes all other calls.
    :param finish: ``finish(text, name)`` is an expression for the result, of the name of what was
        found.
    :param recording: Whether it is for calls that are recorded.
    :param unseen: What Python has to look at before.
    :type unseen: sequence of Source
    :param hidden: Whose values follow the leaves.
    :type hidden: sequence of Source
    :param locks: What threads do one after the other, from reading sources to writing them.
    :type locks: StateLocks, optional
    :param computed: What computes further leaves.
    :type computed: sequence of Computed
    :param assumed: What else leaves and containers have to be.
    :type assumed: Assumptions, optional
    :param written: Containers that are none of the arguments, for they are changed.
    :type written: sequence
    :param bare: What gives the native function the values of some leaves, by position.
    :type bare: mapping of int to callable
    """
    def general(given: tuple[Any, ...], more: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return dispatch(*(v for v in given if v is not MISSED), *more, **named)

    positional, keywords = tree.children
    text = _Text("", written)
    given = [text.name() for _ in positional.children]
    general_name = text.name(general)
    all_given = "".join(f"{name}, " for name in given)
    text.otherwise = f"return {general_name}(({all_given}), more, named)"
    text.require(f"not more and {text.name(MODE.get)}().recording is {recording}")
    leaves = [leaf for c, name in zip(positional.children, given, strict=True)
              for leaf in text.leaves(c, name)]
    if keywords.children:
        leaves += text.leaves(keywords, "named")
    else:
        text.require("not named")
    if locks is not None:
        text.write(f"with {text.name(locks)}.again():")
        text.write("    while True:")
        text.otherwise, text.indent = "break", " " * 8
    for source in hidden:
        names = [text.name() for _ in range(source.width)]
        leaves += names
        text.write(f"{', '.join(names)} = {text.name(source.now)}()")
    for leaf, value in zip(leaves, statics, strict=False):
        text.known(leaf, value)
    conditions = [source.condition(text.name) for source in unseen]
    if assumed is not None:
        conditions += assumed.conditions(leaves, text.containers, text.name)
    if any(conditions):
        text.require(" and ".join(c for c in conditions if c))
    for c in computed:
        found = text.name()
        text.write(f"{found} = {text.name(c.compiled)}.bound.direct({', '.join(leaves)})")
        text.require(f"{found} is not MISSED")
        forwarded = [text.name() for _ in c.forwarded]
        if forwarded:
            text.write(f"{found}, {', '.join(forwarded)} = {found}")
        leaves += [f"{text.name(CARRIERS)}[{found}.item()]", *forwarded]
    values = [f"{text.name(bare[i])}({leaf})" if i in bare else leaf
              for i, leaf in enumerate(leaves)]
    text.write(f"found = {text.name(native)}({', '.join(values)})")
    text.require("found is not MISSED")
    text.given = leaves
    text.write(f"return {finish(text, 'found')}")
    if locks is not None:
        text.indent = ""
        text.write(f"return {general_name}(({all_given}), more, named)")
    head = "".join(f"{name}=MISSED, " for name in given) + ("/, " if given else "")
    body = "\n    ".join(text.lines)
    code = f"def call({head}*more, **named):\n    {body}\n"
    exec(compile(code, f"{__file__}: call", "exec"), text.objects)  # no line of the user's
    return staticmethod(text.objects["call"])


def is_flat(tree: Tree, statics: Sequence[Any]) -> bool:
    """Return whether all arguments are positional, none is a container, and no static argument
    matches any text.
    """
    positional, keywords = tree.children
    return not keywords.children and all(c.kind is None for c in positional.children) and all(
        value is not ANY_TEXT for value in statics)
