"""Whole numbers and texts among arguments that keep changing: code takes any instead of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.compiler.tracing.leaves import is_small
from agnesi.core.support.tree import Tree

#: So often one may be another until it is no constant.
MAX_CONSTANT_CHANGES = 2


class VaryingArguments:
    """The values of arguments that are compiled in as constants, by position."""

    def __init__(self, versions: Any) -> None:
        self._versions = versions
        self._values: dict[tuple[Tree, int], set[Any]] = {}

    def promote(self, leaves: Sequence[Any], tree: Tree) -> bool:
        """Make integers and strings that had several values run-time values; return whether any is
        new.
        """
        found, steering = False, self._versions.steering
        for i, v in enumerate(leaves):
            position, known = (tree, i), self._versions.dynamic.setdefault(tree, set())
            number = type(v) is int and is_small(v)
            if not (number or type(v) is str) or position in steering or i in known:
                continue
            values = self._values.setdefault(position, set())
            values.add(v)
            if len(values) <= MAX_CONSTANT_CHANGES:
                continue
            known.add(i)
            found = True
        return found

    def demote_texts(self, leaves: Sequence[Any], tree: Tree) -> bool:
        """Make strings constants again, because a trace without their contents failed; return
        whether there are any.
        """
        known = self._versions.dynamic.get(tree, set())
        found = {i for i in known if type(leaves[i]) is str}
        self._versions.steering.update((tree, i) for i in found)
        known -= found
        return bool(found)
