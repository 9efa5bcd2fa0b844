"""Settings of the process that a traced function leaves changed, which compiled code would not."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.process.process_state import context_of
from agnesi.core.support.config import MODE, STATE, config
from agnesi.core.support.foreign import imported


class Setting(NamedTuple):
    """A process-wide setting: how to query it, its value before the trace, and how to restore it.
    """

    what: str
    ask: Callable[[], Any]
    value: Any
    restore: Callable[[Any], Any]


def settings() -> list[Setting]:
    """Return the settings that functions may change, with their present values."""
    return [Setting(what, ask, ask(), restore) for what, ask, restore in _settings()]


def _settings() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], Any]]]:
    mode = MODE.get()
    yield "whether gradients are recorded", lambda: STATE.recording, lambda value: MODE.set(mode)
    yield ("config.default_float", lambda: config.default_float,
           lambda value: setattr(config, "default_float", value))
    yield "NumPy's treatment of errors", np.geterr, lambda value: np.seterr(**value)
    yield ("NumPy's options of printing", np.get_printoptions,
           lambda value: np.set_printoptions(**value))
    yield "Python's limit of recursion", sys.getrecursionlimit, sys.setrecursionlimit
    yield "the current folder", _folder, os.chdir
    filters, modules = list(warnings.filters), len(sys.modules)
    yield "the filters of warnings", lambda: _filters(filters, modules), _filter
    decimal = imported("decimal")
    if decimal is not None:
        context = decimal.getcontext()
        held = context.copy()
        yield ("the context of decimal", lambda: context_of(decimal),
               lambda value: _set_context(decimal, context, held))


def _set_context(decimal: Any, context: Any, held: Any) -> None:
    """Restore the current decimal context and its fields."""
    for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "flags", "traps"):
        setattr(context, name, getattr(held, name))
    decimal.setcontext(context)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _filters(before: list[Any], modules: int) -> list[Any]:
    """Return the warning filters, without those added by modules imported since ``before``: an
    import happens once, in whatever call comes first.
    """
    now: list[Any] = list(warnings.filters)
    added = len(sys.modules) > modules and [f for f in now if f in before] == before
    return before if added else now


def _filter(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    getattr(warnings, "_filters_mutated", lambda: None)()


def restored(before: Iterable[Setting]) -> str:
    """Restore all settings; return the name of one that had changed, or an empty text."""
    found = ""
    for setting in before:
        if setting.ask() != setting.value:
            setting.restore(setting.value)
            found = setting.what
    return found


def refuse_settings(before: Iterable[Setting]) -> None:
    """Raise OnlyEagerError if a traced function left a setting changed; the eager run must change
    it.
    """
    if found := restored(before):
        raise OnlyEagerError(f"it changes {found}", "Change that outside")
