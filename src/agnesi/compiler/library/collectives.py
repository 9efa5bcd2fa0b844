"""Native collectives between processes, as compiled code and eager operations call them."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from agnesi.core.ir.foreign import RESOLVERS
from agnesi.runtime import collectives as native

CONTROLS, CONTROL, SIGNATURES = native.CONTROLS, native.CONTROL, native.SIGNATURES
RECEIVING, TEXT, TEXT_BYTES = native.RECEIVING, native.TEXT, native.TEXT_BYTES
WAITED, DOING = native.WAITED, native.DOING
MESSAGE_BYTES, MAILBOX_BYTES = native.MESSAGE_BYTES, native.MAILBOX_BYTES
JOBS, GIVE_WAY, GIVE_UP = native.JOBS, native.GIVE_WAY, native.GIVE_UP
MOST_GROUPS, MOST_RANKS = native.MOST_GROUPS, native.MOST_RANKS
REDUCTIONS, Group = native.REDUCTIONS, native.Group

#: ``checker(peer)``: why to wait no longer, or 0.
Checker = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)


@functools.cache
def run() -> Callable[..., int]:
    """The native entry, which is called without Python's lock."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 6, ctypes.c_void_p,
                            ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64,
                            ctypes.c_void_p)
    return kind(native.native().address("run"))


@functools.cache
def beside(name: str) -> Callable[..., int]:
    """Return a function of ``runtime/native/overlap.ll``; ctypes releases Python's lock during its
    calls.

    ``serve`` and ``halt`` take a group's number, ``finish`` also the address that it waits for.
    """
    given = [ctypes.c_int64] * (2 if name == "finish" else 1)
    result = ctypes.c_int32 if name == "finish" else None
    return ctypes.CFUNCTYPE(result, *given)(native.native().address(name))


def install(number: int, group: ctypes.Structure | None) -> None:
    """Register the group of a number with native code; None removes it."""
    pointer = native.native().address("groups") + 8 * number
    address = 0 if group is None else ctypes.addressof(group)
    ctypes.c_int64.from_address(pointer).value = address


RESOLVERS["collective"] = lambda name: native.native().address(name)
