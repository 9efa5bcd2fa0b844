"""LLVM's C functions, from llvmlite's shared library, called without llvmlite's Python.

That takes 15 ms to import, and gives Python's lock away in every call: beside a busy thread, each
then waits up to a switch interval to get it back.  Here only calls that take long give it away.
"""

from __future__ import annotations

import ctypes
import os
from types import SimpleNamespace
from typing import Any

from agnesi.core.support import host
from agnesi.core.support.forks import unforked

_FILES = {"win32": "llvmlite.dll", "darwin": "libllvmlite.dylib"}
PREFIX = "LLVMPY_"
_P, _S, _I, _B, _N = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_bool, ctypes.c_size_t
_OUT = ctypes.POINTER(_S)

#: Types of result and arguments of functions that take long.
LONG: dict[str, tuple[Any, ...]] = {
    "ParseAssembly": (_P, _P, _S, _OUT),
    "RunNewModulePassManager": (None, _P, _P, _P),
    "TargetMachineEmitToMemory": (_P, _P, _P, _I, _OUT),
}
#: And of those that are short: they take less than it takes to get the lock back.
SHORT: dict[str, tuple[Any, ...]] = {
    "VerifyModule": (_B, _P, _OUT),
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "SetCommandLine": (None, _S, _S),
    "DisposeString": (None, _S),
    "GetHostCPUFeatures": (_I, _OUT),
    "GetHostCPUName": (None, _OUT),
    "GetDefaultTargetTriple": (None, _OUT),
    "GetTargetFromTriple": (_P, _S, _OUT),
    "CreateTargetMachine": (_P, _P, _S, _S, _S, _I, _S, _S, _I, _I, _S),
    "DisposeTargetMachine": (None, _P),
    "GetTargetMachineTriple": (None, _P, _OUT),
    "CreateTargetMachineData": (_P, _P),
    "CopyStringRepOfTargetData": (None, _P, _OUT),
    "DisposeTargetData": (None, _P),
    "ContextCreate": (_P,),
    "ContextDispose": (None, _P),
    "SetTarget": (None, _P, _S),
    "SetDataLayout": (None, _P, _S),
    "PrintModuleToString": (None, _P, _OUT),
    "DisposeModule": (None, _P),
    "CreatePipelineTuningOptions": (_P,),
    "PTOSetLoopVectorization": (None, _P, _B),
    "PTOSetSLPVectorization": (None, _P, _B),
    "PTOSetLoopUnrolling": (None, _P, _B),
    "PTOSetLoopInterleaving": (None, _P, _B),
    "DisposePipelineTuningOptions": (None, _P),
    "CreatePassBuilder": (_P, _P, _P),
    "DisposePassBuilder": (None, _P),
    "buildPerModuleDefaultPipeline": (_P, _P, _I, _I),
    "CreateNewModulePassManager": (_P,),
    "module_AddAlwaysInlinerPass": (None, _P),
    "module_AddSROAPass": (None, _P),
    "module_AddSimplifyCFGPass": (None, _P),
    "module_AddSCCPPass": (None, _P),
    "DisposeNewModulePassManger": (None, _P),
    "GetBufferSize": (_N, _P),
    "GetBufferStart": (_P, _P),
    "DisposeMemoryBuffer": (None, _P),
}
#: Functions whose last argument newer versions of llvmlite do not have and do not look at.  Without
#: it, older ones (0.45) end the process.
_WITH_MORE = ("buildPerModuleDefaultPipeline",)


class Library:
    """The functions, as attributes of ``c``; ``folder`` is llvmlite's."""

    @unforked()
    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "binding", _FILES.get(host.SYSTEM, "libllvmlite.so"))
        _open(path)
        self.c: Any = SimpleNamespace()
        for library, table in ((ctypes.CDLL(path), LONG), (ctypes.PyDLL(path), SHORT)):
            for name, (result, *arguments) in table.items():
                function = getattr(library, PREFIX + name)
                function.restype, function.argtypes = result, arguments
                setattr(self.c, name, function)

    def with_text(self, function: Any, *arguments: Any) -> tuple[Any, str]:
        """Return a function's result, and the text that it writes to its last argument."""
        text = _S()
        result = function(*arguments, ctypes.byref(text))
        if not text:
            return result, ""
        message = (text.value or b"").decode(errors="replace")
        self.c.DisposeString(text)
        return result, message

    def made(self, function: Any, *arguments: Any) -> Any:
        """Return the result of a function whose last argument is for an error."""
        result, error = self.with_text(function, *arguments)
        if not result:
            raise RuntimeError(error)
        return result

    def content(self, buffer: Any) -> bytes:
        """The bytes of a buffer, which ends here."""
        try:
            return ctypes.string_at(self.c.GetBufferStart(buffer), self.c.GetBufferSize(buffer))
        finally:
            self.c.DisposeMemoryBuffer(buffer)


def differing(declared: Any) -> list[str]:
    """Names of functions that llvmlite declares with arguments of other sizes than ours.

    Functions without a declaration in llvmlite are skipped.
    """
    found = []
    for name, (_, *arguments) in (LONG | SHORT).items():
        known = getattr(declared, PREFIX + name).argtypes
        ours = [*map(ctypes.sizeof, arguments)]
        forms = (ours, ours[:-1]) if name in _WITH_MORE else (ours,)
        if known is not None and [*map(ctypes.sizeof, known)] not in forms:
            found.append(name)
    return found


@unforked()
def _open(path: str) -> None:
    """Open a library (LLVM's takes 12 ms) as ctypes does, but let other threads run Python."""
    if os.name == "posix":
        function = ctypes.CDLL(None).dlopen
        function.restype, function.argtypes = _P, [_S, _I]
        function(os.fsencode(path), os.RTLD_NOW)
