"""What users hang on variables, which stays with the graph where nobody holds the variable."""

from __future__ import annotations

import weakref
from typing import Any


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

    def rename(self, name: str | None) -> None:
        """Keep the variable's name, which a result has only as long as somebody holds it."""
        if self.name_of_node != name:
            self.name_of_node = name

    def __copy__(self) -> Tag:
        new = Tag()
        new.__dict__.update(self.__dict__)
        return new


#: The tags of nodes on which something hangs.
_TAGS: weakref.WeakKeyDictionary[Any, Tag] = weakref.WeakKeyDictionary()


def tag_of(node: Any) -> Tag:
    """The tag of a node: what hangs on it, or a new one."""
    found = _TAGS.get(node)
    return Tag(node) if found is None else found
