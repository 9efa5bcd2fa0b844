"""Instances of our classes that call native code by CPython's vectorcall protocol.

Python calls an instance by ``__call__`` of its class, for which it makes a tuple of the arguments.
Where the class says so, it calls a C function instead, whose address is in the instance: that is
``vectorcall`` of ``native/entry.ll``, which calls the builtin in the instance's slot.
"""

from __future__ import annotations

import ctypes
from types import BuiltinFunctionType
from typing import Any

from agnesi.core.support.forks import once
from agnesi.runtime import support
from agnesi.runtime.entry import slot_offset, slot_record

_HAS_VECTORCALL, _WORD = 1 << 11, 18  # Py_TPFLAGS_HAVE_VECTORCALL, Py_T_ULONGLONG


def install(instance: Any, owner: type, run: Any) -> None:
    """Let calls of ``instance`` go to ``run`` if that is a builtin which takes an array of
    arguments, else to ``__call__`` of its class, which no other instance may have.

    ``owner``, a base of that class, has the slots ``_native`` and ``_run``.
    """
    if not support.loaded():
        return
    word = _word(owner)
    address = ctypes.c_uint64.from_address(id(instance) + word)
    address.value = 0
    instance._run = run
    if type(run) is BuiltinFunctionType and support.is_fast(run):
        kind = id(type(instance))
        ctypes.c_int64.from_address(kind + support.VECTORCALL_AT).value = word
        ctypes.c_ulong.from_address(kind + support.FLAGS_AT).value |= _HAS_VECTORCALL
        address.value = support.native().address("vectorcall")


@once
def _word(owner: type) -> int:
    """Where instances hold the address, in bytes: the slot ``_native``, which is an integer from
    here on, so that it is not counted as a reference."""
    offset = slot_offset(owner, "_native")
    support.variable("run_offset").value = slot_offset(owner, "_run")
    ctypes.c_int.from_address(slot_record(owner, "_native") + 8).value = _WORD
    return offset
