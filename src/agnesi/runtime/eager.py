"""Native code of eager operations: plans that are one operation, tensors and records without a line
of Python's."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core import dispatch
from agnesi.core.calls import plans, random_buffers
from agnesi.core.ir.node import Node
from agnesi.core.storage.leaves import node_of
from agnesi.core.storage.views import View, share
from agnesi.core.support.config import HOOKS, MODE, TRACES, Config, Count, Mode, config
from agnesi.core.support.errors import LIBRARY_FILES, USER_FILES, ours
from agnesi.core.support.numpy_warnings import silent_context
from agnesi.core.tensor import Tensor, register
from agnesi.runtime import support
from agnesi.runtime.entry import slot_offset

#: Objects that the code names.
_OBJECTS: dict[str, Any] = {
    "nothing": "", "zero": 0, "one": 1, "dtypes": type(np.dtype),
    **{thing.__name__: thing for thing in (
        Tensor, Node, View, plans.Plan, plans.RegionPlan, str, list, slice, bytes, Exception,
        register, dispatch.current, node_of, sys._getframe, ours, share, dispatch.finished,
        dispatch.laid, plans.by_plan, plans.replayed)},
    "USER_FILES": USER_FILES, "LIBRARY_FILES": LIBRARY_FILES, "MODE": MODE, "TRACES": TRACES,
    "HOOKS": HOOKS, "config": config,
    "mapped": HOOKS.mapped, "written": HOOKS.written, "CONSTANTS": HOOKS.constants,
    "silent": silent_context(), "out": ("out",), "Ellipsis": Ellipsis,
    "DRAWN": random_buffers.DRAWN,
    "NotImplemented": NotImplemented,
}
#: Functions of NumPy's, by their indices in its table.
_NUMPYS = {"PyArray_CopyInto": 50, "PyArray_FromAny": 69, "PyArray_NewCopy": 85,
           "PyArray_SetBaseObject": 282}
#: Classes of which it names slots.
_CLASSES = {kind.__name__: kind for kind in (
    Tensor, Node, View, Mode, Count, Config, plans.Plan, plans.Plans, plans.RegionPlan,
    random_buffers.Stock)}


def _word(name: str, held: list[str]) -> int:
    """Return a word of the table: an object's address, a C function's, that of an attribute's name
    behind a dot, or a slot's offset behind the name of its class and a dot."""
    owner, dot, attribute = name.partition(".")
    if owner and dot:
        return slot_offset(_CLASSES[owner], attribute)
    if dot:
        held.append(sys.intern(attribute))
        return id(held[-1])
    if name in _OBJECTS:
        return id(_OBJECTS[name])
    if name in _NUMPYS:
        return support.numpy_api()[_NUMPYS[name]] or 0
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def builtin(name: str) -> Callable[..., Any]:
    """The builtin that stands for ``finished`` of ``core.dispatch``, ``replayed`` of
    ``core.calls.plans``, ``mapped`` of ``ops.base.elementwise`` (``native/eager.ll``) or
    ``written`` of ``api.tensor.inplace`` (``native/inplace.ll``)."""
    held: list[str] = []
    words = [_word(word, held) for word in support.words()]

    class Table(ctypes.Structure):
        _fields_ = (("words", ctypes.c_uint64 * len(words)),)

    table = Table((ctypes.c_uint64 * len(words))(*words))
    table.held = held
    return support.builtin(name, support.native().address(name), table)
