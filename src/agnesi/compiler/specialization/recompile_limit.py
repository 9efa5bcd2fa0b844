"""How often a function was traced for something new that it read, or for another text among its
arguments; before long, it runs eagerly.

A window (``deque(maxlen=100)``) or a cache grows in the first calls, and has one length from then
on: where what kept changing has kept its form for a while, the function is traced again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.specialization.signatures import is_thing
from agnesi.compiler.tracing.sources import PLAIN, Source
from agnesi.core.support.errors import shown, warn
from agnesi.core.support.tree import Tree
from agnesi.core.tensor import Tensor

#: Calls in a row that find one form, calls that look for it, and traces that are begun for it.
_CALLS, _MAX_CALLS, _MAX_TRIES = 16, 1000, 3
#: Traces for something new before a function runs eagerly.
_MAX_RECOMPILES = 12
#: Texts and objects among arguments for which there is code at once; others have to come so often.
_MAX_TEXTS, _MAX_OBJECTS, _COMES_AGAIN = 8, 64, 3
#: What is remembered of them.
_MAX_SEEN = 1000
#: Types of arguments that are none of these.
_AT_RUN_TIME = frozenset((Tensor, np.ndarray, float, int, bool))


class RecompileCounts:
    """Counts, for each signature, how often a function was traced again because something that it
    read had changed.
    """

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        self._settled: dict[Any, Settled] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def count(self, key: Any, weight: int) -> bool:
        """Count one; return whether the function runs eagerly from now on."""
        before = self._counts.get(key, 0)
        self._counts[key] = before + weight
        return before < _MAX_RECOMPILES <= before + weight

    def are_many(self, key: Any) -> bool:
        """Return whether they are so many that it runs eagerly."""
        return self._counts.get(key, 0) >= _MAX_RECOMPILES

    def begin_again(self, key: Any, sources: Iterable[Source]) -> bool:
        """Return whether it is worth another trace, for what the last one depends on has settled;
        to be checked in each call that runs eagerly."""
        found = self._settled.setdefault(key, Settled()).is_so(sources)
        if found:
            self._counts[key] = 0
        return found

    def forget(self, key: Any) -> None:
        """Forget a signature."""
        self._counts.pop(key, None)
        self._settled.pop(key, None)


class StaticCounts:
    """Counts how often static arguments, such as texts, had each value.

    The first values are compiled for, later ones once they recur; other calls run eagerly.
    """

    def __init__(self) -> None:
        #: By all else, for each combination of them how often it came; 0 where it is compiled.
        self._seen: dict[Any, dict[Any, int]] = {}
        self._warned = False

    def refuse(self, versions: Any, leaves: Sequence[Any], tree: Tree) -> bool:
        """Return whether a call of a function with these ``versions`` runs eagerly for one of them,
        and warn once; to be checked in each call that native code does not take."""
        if {*map(type, leaves)} <= _AT_RUN_TIME:
            return False
        i = self._new_entry(versions.key_of(leaves, tree))
        if i is not None and not self._warned:
            self._warned = True
            path = tree.paths()[i].partition("]")[2]  # behind [0] of positions, [1] of names
            warn(f"{versions.owner.name} runs eagerly where arguments{path} is something "
                 f"new, as it keeps being ({shown(leaves[i])[:60]} now): code is made for each of "
                 "them. Leave it out, or give what follows from it as a number or a tensor",
                 RuntimeWarning)
        return i is not None

    def _new_entry(self, key: Any) -> int | None:
        """The index of one that is not compiled, in the list of kinds."""
        indices = [i for i, kind in enumerate(key[1]) if is_thing(kind)]
        if not indices:
            return None
        own = tuple([key[1][i] for i in indices])
        rest = key[0], tuple(["" if i in indices else kind[0] for i, kind in enumerate(key[1])])
        if len(self._seen) > _MAX_SEEN:
            self._seen.clear()
        seen = self._seen.setdefault(rest, {})
        most = _MAX_OBJECTS if any(kind[0] == "object" for kind in own) else _MAX_TEXTS
        if seen.get(own) == 0:
            return None
        count = seen.get(own, 0) + 1
        if count >= _COMES_AGAIN or list(seen.values()).count(0) < most:
            seen[own] = 0
            return None
        if len(seen) > _MAX_SEEN:
            self._seen[rest] = seen = {k: n for k, n in list(seen.items()) if n == 0}
        seen[own] = count
        last = next((k for k in reversed(list(seen)) if seen.get(k) == 0), own)
        return next((i for i, a, b in zip(indices, own, last, strict=True) if a != b), indices[0])


class Settled:
    """For one signature: the types of what a specialization depends on, and in how many calls in a
    row they were the same.
    """

    def __init__(self) -> None:
        self._form: Any = None
        self._alike = self._calls = self._tries = 0

    def is_so(self, sources: Iterable[Source]) -> bool:
        """Return whether the dependencies were stable for long enough to trace the function again;
        to be called once per call.
        """
        if self._tries >= _MAX_TRIES or self._calls >= _MAX_CALLS:
            return False
        form = [_form(p) for p in sources]
        self._calls, self._alike = self._calls + 1, self._alike + 1 if form == self._form else 0
        self._form = form
        if self._alike < _CALLS:
            return False
        self._tries, self._alike = self._tries + 1, 0
        return True


def _form(source: Source) -> Any:
    """Return what a source holds, without what compiled code can take at run time: values of floats
    and tensors, contents of containers.
    """
    container = getattr(source, "container", None)
    if container is not None:
        return len(container) if hasattr(container, "__len__") else id(container)
    value = source.now()
    if isinstance(value, Tensor):
        return None if value.array is None else (value.array.shape, value.array.dtype)
    if type(value) in PLAIN:
        return type(value), value
    return type(value) if isinstance(value, (float, list, dict, tuple)) else id(value)
