"""Steps of schedules inside compiled functions: Python computes the rates in each call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from agnesi.api.custom.effects import callback
from agnesi.autodiff.recording import no_grad
from agnesi.core.support.tracing import is_tracing, outermost
from agnesi.ops.base.convert import as_tensor
from agnesi.optim.hyper import aside, cells_of

Step = Callable[..., None]
#: The schedules that traces have stepped so far, by identity.
_STEPPED: WeakKeyDictionary[Any, set[int]] = WeakKeyDictionary()


def anywhere(step: Step) -> Step:
    """A schedule's ``step`` that may also be called while a function is traced."""

    @functools.wraps(step)
    def either(self: Any, *args: Any, **keywords: Any) -> None:
        if is_tracing():
            _called_in_each_call(step, self, args, keywords)
        else:
            step(self, *args, **keywords)

    return either


def _called_in_each_call(step: Step, schedule: Any, args: tuple[Any, ...],
                         keywords: dict[str, Any]) -> None:
    """Let the compiled function call the step, and write what it sets into the optimizer."""
    cells = [cell for part in schedule.optimizer.parts for cell in cells_of(part)]
    names = [n for n, v in keywords.items() if v is not None]
    places = [i for i, v in enumerate(args) if v is not None]
    given = [as_tensor(v) for v in (*(args[i] for i in places), *(keywords[n] for n in names))]

    def advance(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        values = [a.item() for a in arrays[len(cells):]]
        some, named = list(args), dict(keywords)
        for i, value in zip(places, values, strict=False):
            some[i] = value
        named.update(zip(names, values[len(places):], strict=True))
        with aside(cells, arrays[: len(cells)]) as found:
            step(schedule, *some, **named)
        return tuple(np.array(found[id(cell)], cell.dtype) for cell in cells)

    numbers = callback(advance, cells, *cells, *given, effect=True)
    with no_grad():
        for cell, number in zip(cells, numbers, strict=True):
            cell.copy_(number)
    _note(_STEPPED.setdefault(outermost(), set()), schedule)


def _note(found: set[int], schedule: Any) -> None:
    """Note a schedule, and those that it steps."""
    found.add(id(schedule))
    for part in getattr(schedule, "schedulers", ()):
        _note(found, part)


def has_stepped(schedule: Any) -> bool:
    """Return whether the trace that is running has stepped a schedule, whose rates are results
    then."""
    return is_tracing() and id(schedule) in _STEPPED.get(outermost(), ())
