"""Results of two in modules that write agnesi as ``torch``: ``values, indices = torch.max(x, 1)``.

NumPy's function of that call gives values alone.  What the caller does with the result tells which
is meant: PyTorch's is unpacked into two, or one of the two is taken at once.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Any

from agnesi.core.support.errors import PACKAGE

#: Instructions that do nothing, as far as the order of others goes.
_NOTHING = frozenset(("CACHE", "EXTENDED_ARG", "NOP", "PRECALL"))
_FIELDS = ("values", "indices")
#: So many places of calls are remembered.
_MOST_PLACES = 4096


def takes_pair(frame: Any) -> bool:
    """Return whether a frame calls for two results, in a module in which ``torch`` is agnesi."""
    return says_torch(frame) and _unpacks(frame.f_code, frame.f_lasti)


def says_torch(frame: Any) -> bool:
    """Return whether a frame is of a module in which ``torch`` is agnesi."""
    return getattr(frame.f_globals.get("torch"), "__name__", "") == PACKAGE


@functools.lru_cache(maxsize=_MOST_PLACES)
def _unpacks(code: CodeType, place: int) -> bool:
    """Return whether the result of the call at a place of code is unpacked into two, or an element
    of two is taken."""
    rest = [i for i in dis.get_instructions(code) if i.offset > place and i.opname not in _NOTHING]
    first, second = (*rest, None, None)[:2]
    if first is None:
        return False
    if first.opname == "UNPACK_SEQUENCE":
        return first.arg == len(_FIELDS)
    if first.opname == "LOAD_ATTR":
        return first.argval in _FIELDS
    taken = second is not None and (second.opname == "BINARY_SUBSCR" or second.argrepr == "[]")
    return taken and type(first.argval) is int and -2 <= first.argval < 2
