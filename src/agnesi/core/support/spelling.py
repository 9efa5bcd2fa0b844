"""Names as the user wrote them: a function that goes by several is named as in the line."""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType, ModuleType
from typing import Any

#: Instructions by which a name is read, alone or behind a dot.
_READS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME")


def spelt(name: str, where: Any, package: str) -> str:
    """Return the alias of a function that the call at ``where`` uses, or the function's own name.

    ``where`` begins with a code object and an instruction, as errors store it.
    """
    if where is None or not isinstance(where[0], CodeType):
        return name
    written = _called(where[0], where[1])
    other = written not in ("", name) and not written.startswith("__")
    return written if other and _means(written, name, package) else name


@functools.lru_cache(maxsize=64)  # a line in a loop may raise, and be caught, thousands of times
def _called(code: CodeType, instruction: int) -> str:
    """The name in front of the parentheses of a call, or nothing where there is no call."""
    found, last = "", (0, 0)
    steps = list(dis.get_instructions(code))
    call = next((s for s in reversed(steps) if s.offset <= instruction), None)  # or its caches
    span = call.positions if call is not None and call.opname.startswith("CALL") else None
    if span is None or None in span:
        return ""
    for step in steps:
        span_of = step.positions
        if step.opname not in _READS or span_of is None or None in span_of:
            continue
        end: Any = (span_of.end_lineno, span_of.end_col_offset)
        begins = (span_of.lineno, span_of.col_offset) == (span.lineno, span.col_offset)
        if begins and last < end < (span.end_lineno, span.end_col_offset):
            found, last = str(step.argval), end
    return found


def _means(written: str, name: str, package: str) -> bool:
    """Return whether a public name is another one of the function of that name."""
    home: Any = sys.modules.get(package)
    spaces = [space for space in vars(home).values() if isinstance(space, (ModuleType, type))
             and str(getattr(space, "__name__", "")).startswith((package, "Tensor"))]
    return any(getattr(vars(space).get(written), "__name__", "").rstrip("_") == name
               for space in (home, *spaces))
