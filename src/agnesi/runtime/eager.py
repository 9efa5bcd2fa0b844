"""The native end of eager operations: tensors and records without a line of Python's."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from agnesi.core import dispatch
from agnesi.core.ir.node import Node
from agnesi.core.storage.leaves import node_of
from agnesi.core.storage.views import View, share
from agnesi.core.support.config import MODE, Mode
from agnesi.core.support.errors import MET, THEIRS, ours
from agnesi.core.tensor import Tensor, register
from agnesi.runtime import support
from agnesi.runtime.entry import slot_offset


def finished() -> Callable[..., Tensor]:
    """The builtin that stands for ``core.dispatch.finished`` (``native/eager.ll``)."""
    python = ctypes.pythonapi

    def c(name: str) -> int:
        return ctypes.cast(getattr(python, name), ctypes.c_void_p).value or 0

    def slots(owner: type, names: str) -> list[int]:
        return [slot_offset(owner, name) for name in names.split()]

    held = [
        "", 0, register, dispatch.current, node_of, sys._getframe, 1, "co_filename", THEIRS, MET,
        ours, MODE, dispatch.finished, share, "view", "differentiable", "keep_inputs",
        "kept_by_one", "keep_output", "result_by_one",
    ]
    (text, zero, registers, current, known, frame, one, file, theirs, met, is_ours, mode, slow,
     shares, *attributes) = map(id, held)
    words = [
        id(Tensor), id(Node), *map(c, (
            "PyObject_GetAttr", "PyObject_IsTrue", "PyList_New", "PySet_Contains",
            "PyFrame_GetCode", "PyFrame_GetBack", "PyFrame_GetLasti", "PyContextVar_Get")),
        text, zero, registers, current, known,
        *slots(Tensor, "_requires_grad array node _view _version _grad"),
        *slots(Node, "serial op inputs shape dtype weak requires_grad value version handle name "
                     "outputs where"),
        frame, one, file, theirs, met, is_ours,
        *slots(Tensor, "_name"), mode, *slots(Mode, "recording"), slow, shares, *attributes,
        id(View), *slots(View, "base op seen"), c("PyWeakref_NewRef"), c("PyList_Append"),
    ]

    class Table(ctypes.Structure):
        _fields_ = (("words", ctypes.c_uint64 * len(words)),)

    table = Table((ctypes.c_uint64 * len(words))(*words))
    table.held = held
    return support.builtin("finished", support.native().address("finished"), table)
