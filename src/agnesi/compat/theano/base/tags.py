"""What users attach to variables, which stays with the graph when the variable is gone."""

from __future__ import annotations

import linecache
import weakref
from typing import Any

from agnesi.core.ir.node import toposort
from agnesi.core.support.errors import location


class Tag:
    """Attributes that users hang on a variable, such as ``test_value``; they stay with its node.

    Parameters
    ----------
    node : Node, optional
    """

    __slots__ = ("__dict__", "_node", "name_of_node")
    test_value: Any
    name_of_node: str | None
    _node: Any

    def __init__(self, node: Any = None) -> None:
        object.__setattr__(self, "_node", node and weakref.ref(node))
        object.__setattr__(self, "name_of_node", None)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        node = self._node and self._node()
        if node is not None:
            _TAGS[node] = self

    def __getattr__(self, name: str) -> Any:
        """``trace``, unless it was set: where the variable was made, as Theano keeps it, a list of
        stacks of (file, line, function, text), here of one entry."""
        node = self._node and self._node()
        if name != "trace" or node is None or node.where is None:
            raise AttributeError(f"no attribute {name!r} hangs on this variable")
        code = node.where[0]
        file, _, line = location(node.where).rpartition(":")
        function = code if isinstance(code, str) else code.co_name
        text = linecache.getline(file, int(line)).strip()
        return [[(file, int(line), function, text)]]

    def rename(self, name: str | None) -> None:
        """Keep the variable's name, which a result has only as long as it is referenced."""
        if self.name_of_node != name:
            self.name_of_node = name

    def __copy__(self) -> Tag:
        new = Tag()
        new.__dict__.update(self.__dict__)
        return new


#: Leaves of expressions of which something was computed that has no trace of them here, such as
#: the derivative of ``3 * x``: in Theano's graphs it has one.
_MENTIONED: weakref.WeakSet[Any] = weakref.WeakSet()


def mention(*xs: Any) -> None:
    """Note that something was computed of tensors."""
    nodes = [x.node for x in xs if getattr(x, "node", None) is not None]
    _MENTIONED.update([n for n in toposort(nodes) if n.op is None and n.value is None])


def is_mentioned(node: Any) -> bool:
    """Whether something was computed of what hangs on a leaf."""
    return node in _MENTIONED


#: The tags of nodes on which something hangs.
_TAGS: weakref.WeakKeyDictionary[Any, Tag] = weakref.WeakKeyDictionary()


def tag_of(node: Any) -> Tag:
    """The tag of a node: what hangs on it, or a new one."""
    found = _TAGS.get(node)
    return Tag(node) if found is None else found
