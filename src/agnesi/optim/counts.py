"""How many steps each parameter has had: one without a gradient stays where it is.

The parameters of a group share counters as long as all get gradients.  Those that lack one in some
step, as frozen layers do, go on with counters of their own, together with others that have had as
many steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap

#: Counters by name, which are attributes with an underscore before.
NAMES = ("steps", "product", "eta")
#: Ends the names of the tensors that have a counter for each parameter.
EACH = ".each"
#: Stands there for the group's counter.
_SHARED = -1


def begin_counts(part: Any) -> None:
    """Let all parameters of a group share its counters."""
    n = len(part.own_parameters)
    part.own_counts = {
        name: wrap(np.full(n, _SHARED, t.dtype)) for name in NAMES
        if n > 1 and isinstance(t := vars(part).get(f"_{name}"), Tensor) and t.shape == ()}
    #: Places of parameters that have had as many steps: first those that share the counters.
    part.cohorts = (tuple(range(n)),)


def is_even(part: Any, places: Collection[int]) -> bool:
    """Return whether the group's counters are those of parameters at some places, and of all."""
    return not part.own_counts or (len(part.cohorts) == 1 and len(places) == len(part.cohorts[0]))


def counted(part: Any, places: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Go through places of parameters that are to be updated, each time those with the same
    counters, which are the optimizer's meanwhile."""
    shared, *others = part.cohorts
    kept = []
    now, left = _divided(shared, places)
    if now and left:
        for name, each in part.own_counts.items():
            each[list(left)] = getattr(part, f"_{name}")
        kept.append(left)
        shared = now
    if now:
        yield now
    for cohort in others:
        now, left = _divided(cohort, places)
        kept += [members for members in (now, left) if members]
        if now:
            with _own(part, now):
                yield now
    found = (shared, *kept)
    if found != part.cohorts:
        part.cohorts = found


def _divided(members: tuple[int, ...],
             places: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (tuple([i for i in members if i in places]),
            tuple([i for i in members if i not in places]))


@contextmanager
def _own(part: Any, members: tuple[int, ...]) -> Iterator[None]:
    """Let an optimizer count with the counters of some parameters."""
    shared = {name: getattr(part, f"_{name}") for name in part.own_counts}
    try:
        for name, each in part.own_counts.items():
            setattr(part, f"_{name}", each[members[0], ...].copy())
        yield
        for name, each in part.own_counts.items():
            each[list(members)] = getattr(part, f"_{name}")
    finally:
        for name, t in shared.items():
            setattr(part, f"_{name}", t)


def counter(part: Any, name: str, i: int) -> Any:
    """The counter of a parameter, by the counter's name and the parameter's place."""
    shared = getattr(part, f"_{name}")
    return shared if i in part.cohorts[0] or name not in part.own_counts else (
        part.own_counts[name][i, ...])


def each_of(values: list[Any], shared: np.ndarray, n: int) -> np.ndarray:
    """The counters of all parameters, where some differ from that of the group."""
    same = all(np.array_equal(v, shared) for v in values)
    return np.full(n, _SHARED, shared.dtype) if same else np.array(values, shared.dtype)


def regroup(part: Any) -> None:
    """Find which parameters have had as many steps, by their counters."""
    if is_tracing() or not part.own_counts:
        return
    found: dict[Any, list[int]] = {}
    for i, key in enumerate(zip(*(t.array.tolist() for t in part.own_counts.values()),
                                strict=True)):
        found.setdefault(key, []).append(i)
    shared = found.pop((_SHARED,) * len(part.own_counts), [])
    part.cohorts = (tuple(shared), *map(tuple, found.values()))


def fill(part: Any, state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """What earlier versions did not save: that counters are shared, and the next step's rate."""
    later = {f"{name}{EACH}": np.full(t.shape, _SHARED, t.dtype)
             for name, t in part.own_counts.items()}
    if "_eta" in vars(part):
        later["eta"] = np.array(np.nan)
    return {f"{prefix}{name}": state.get(f"{prefix}{name}", v) for name, v in later.items()}
