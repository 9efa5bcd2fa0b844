"""The native part of the runtime: one module of LLVM IR, loaded at first use and never unloaded.

Its sources are the ``.ll`` files of ``native/``.  Their code is the same for every compiled
function, so it comes from the disk cache, and no compiled function pays for an entry of its own.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import os
import re
import sys
import threading
from _queue import Empty, SimpleQueue
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from agnesi.core.ir.kernels import ELSEWHERE
from agnesi.core.ir.node import next_serial
from agnesi.core.storage.leaves import LEAF_ELEMENTS
from agnesi.core.support import host
from agnesi.core.support.config import HOOKS, config
from agnesi.core.support.forks import at_fork, once
from agnesi.core.support.worker_threads import started
from agnesi.runtime import machine
from agnesi.runtime.foreign_calls import beside

SUPPORTED = (
    sys.implementation.name == "cpython"
    and sys.byteorder == "little"
    and host.WIDE
    and "free-threading" not in sys.version
)
POOLED_BYTES = 16384
"""Arrays of at least this size live in the buffer pool."""

#: Iterations of a waiting loop that pause the processor.
_PAUSE_SPINS = 200
#: Iterations, after the spinning ones, in which an idle worker yields its core.
_WORKER_YIELDS = 400
#: The same for the caller that waits for workers.
_CALLER_YIELDS = 260
#: Linux's numbers of system calls, by processor.
_CALLS = {
    "x86_64": {"futex": 202, "gettid": 186, "getaffinity": 204, "setaffinity": 203},
    "aarch64": {"futex": 98, "gettid": 178, "getaffinity": 123, "setaffinity": 122},
}
_RELAX = {
    "x86_64": "llvm.x86.sse2.pause()",
    "AMD64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}
#: Where a type object has the offset of its instances' C function, and its flags.
VECTORCALL_AT, FLAGS_AT = 56, 168
#: CPython's ``METH_FASTCALL | METH_KEYWORDS``.
_METH_FASTCALL_KEYWORDS = 0x82
#: The files of native code for eager operations.
_OF_EAGER = ("eager", "inplace", "draws")
#: The status of a function that was interrupted because a signal handler raised an error.
INTERRUPTED = -(1 << 31)
#: About the cycles between two polls, where no counter of cycles may be read.
_POLL_CYCLES = 300_000
_KEPT_SHARE = 4  # a quarter of the memory may wait in the pool
#: Gets an entry for each thread that waits for a lock, whenever locks are given back
#: (``native/state_locks.ll``); and seconds after which such a thread looks again all the same.
_PASSED: SimpleQueue[None] = SimpleQueue()
_PASS = _PASSED.put
_WAIT_SECONDS = 0.05
_compiling = threading.Lock()
_made: machine.Code | None = None


def _in_child() -> None:
    """A child has no thread that would release the lock."""
    global _compiling
    _compiling = threading.Lock()


at_fork(in_child=_in_child)


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler`` of NumPy."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


def usable() -> bool:
    """Return whether the module can be loaded into this Python."""
    return SUPPORTED and _layouts_agree()


@once
def native() -> machine.Code:
    """The loaded module."""
    if not SUPPORTED:
        raise RuntimeError(
            "compiled functions need CPython with the GIL on a 64-bit little-endian machine"
        )
    if not _layouts_agree():
        raise RuntimeError(
            f"this Python ({sys.version.split()[0]}) or NumPy ({np.__version__}) lays out its "
            "objects in a way that this version of agnesi does not know; compiled functions need "
            "another version of either"
        )
    code = _compiled()
    for index, address in enumerate(_api(code)):
        ctypes.c_void_p.from_address(code.address("api") + 8 * index).value = address
    _call(code, "platform_reset")
    _call(code, "own_begin")
    _set_main_thread(code)
    HOOKS.threads = functools.partial(_use_threads, code)
    HOOKS.threads(config.threads)
    ctypes.c_int64.from_address(code.address("pool") + 16).value = host.memory() // _KEPT_SHARE
    call = functools.partial(functools.partial, _call, code)
    at_fork(call("threads_stop"), call("threads_resume"), functools.partial(_after_fork, code))
    _immortal(code)
    return code


def loaded() -> bool:
    """Return whether the native module is loaded, so that :func:`native` returns at once."""
    return bool(native.kept)  # type: ignore[attr-defined]


def is_on_disk() -> bool:
    """Return whether the module was compiled before, so that it loads in a few milliseconds."""
    return SUPPORTED and (_made is not None or machine.is_on_disk(source()))


def ahead(optimize: int = 1) -> None:
    """Start to compile the native runtime module in a thread of its own, ahead of its first use.

    At level 0 (see ``machine.load``) that takes a third of the time, and calls 3 % more.
    """
    if _made is None:
        run = functools.partial(
            contextvars.copy_context().run, _quietly, functools.partial(_compiled, optimize)
        )
        started(threading.Thread(target=run, name="agnesi-native"))


def _quietly(function: Callable[[], Any]) -> None:
    with contextlib.suppress(Exception):  # the error is raised again where the module is needed
        function()


def _compiled(optimize: int = 1) -> machine.Code:
    global _made
    with _compiling:
        if _made is None:
            _made = machine.load(source(), optimize=optimize)
        return _made


def source(waiting: str = "") -> str:
    """The IR text; ``waiting`` names another file than this platform's own to wait with."""
    kind = host.ARCHITECTURE
    if not waiting:
        known = host.SYSTEM == "linux" and kind in _CALLS
        waiting = "linux" if known else "windows" if host.SYSTEM == "win32" else "posix"
    values = {
        "spins": str(_PAUSE_SPINS),
        "yields": str(_WORKER_YIELDS),
        "joining": str(_CALLER_YIELDS),
        "pooled": str(POOLED_BYTES),
        "swapped": str(ord(">")),
        "leaf_elements": str(LEAF_ELEMENTS),
        "items": str(tuple.__basicsize__),
        "bytes": str(bytes.__basicsize__ - 1),
        "interrupted": str(INTERRUPTED),
        "elsewhere": str(ELSEWHERE),
        **{name: str(number) for name, number in _CALLS.get(kind, {}).items()},
    }
    files = (waiting, "interrupts", "pool", "scratch", "threads", "blas", "state_locks",
             "entry", "sums", *_OF_EAGER)
    text = "\n".join(read_native(name) for name in files)
    values.update({f"w:{name}": str(i) for i, name in enumerate(words())})
    text = re.sub(r"\{([\w:.]+)\}", lambda found: values.get(found[1], found[0]), text)
    return text + relaxing() + _ticks(kind) + _counting()


def words() -> list[str]:
    """The names of words in the table of eager operations' native code, in order."""
    text = "".join(map(read_native, _OF_EAGER))
    return list(dict.fromkeys(re.findall(r"\{w:([\w.]+)\}", text)))


def _layouts_agree() -> bool:
    """Return whether Python's and NumPy's objects have the layout that entry.ll assumes."""

    def word(thing: object, offset: int, kind: Any = ctypes.c_int64) -> Any:
        return kind.from_address(id(thing) + offset).value

    array, pair, pairs = np.zeros((3, 5), ">i2")[:, ::2], (None, 2), [(), ("a",)]
    return (
        word(1.5, 16, ctypes.c_double) == 1.5
        and word(1.5, 8) == id(float)
        and word(pair, tuple.__basicsize__ + 8) == id(pair[1])
        and word(pair, 16) == 2
        and word(array, 16) == array.ctypes.data
        and word(array, 24, ctypes.c_int) == 2
        and ctypes.c_int64.from_address(word(array, 32)).value == 3
        and ctypes.c_int64.from_address(word(array, 32) + 16).value == array.strides[0]
        and word(array, 56) == id(array.dtype)
        and word(array, 64, ctypes.c_int) & 0xFFFF == array.flags.num
        and word(array, 88) == 0
        and word(np.zeros(3), 88) != 0
        and word(array.dtype, 26, ctypes.c_char) == b">"
        and word(array.dtype, 28, ctypes.c_int) == array.dtype.num
        and word(array.dtype, 40) == 2
        and word(count(3), 16) == 3
        and word({1: 2, 3: 4}, 16) == 2
        and word([7, 8, 9], 16) == 3
        and word(str, 32) == str.__basicsize__
        and word(str, FLAGS_AT, ctypes.c_ulong) == str.__flags__
        and word(type(len), VECTORCALL_AT) == 48
        and word(len, 24) == id(import_module("builtins"))
        and ctypes.c_size_t.from_address(word(pairs, 24) + 8).value == id(pairs[1])
    )


def read_native(name: str) -> str:
    """The text of a file of native code."""
    with open(os.path.join(os.path.dirname(__file__), "native", f"{name}.ll")) as file:
        return file.read()


def builtin(name: str, function: int, context: ctypes.Structure) -> Any:
    """A builtin function on native code; ``context`` is its self object and lives as long."""
    make = ctypes.pythonapi.PyCFunction_NewEx  # a new reference; takes none over
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return make(ctypes.addressof(_definition(name.encode(), function)), context, "agnesi")


#: Definitions of builtins, by name and address: as many as there are names.
_DEFINITIONS: dict[tuple[bytes, int], _MethodDef] = {}


def _definition(name: bytes, function: int) -> _MethodDef:
    """Return the definition of a builtin, which lives for ever: the builtin reads it when it is
    freed.

    Nothing that the builtin owns may keep it.  Of objects that refer to each other in a circle,
    Python's collector empties one after the other, and the builtin may be freed last.
    """
    found = _DEFINITIONS.get((name, function))
    if found is None:
        new = _MethodDef(name, function, _METH_FASTCALL_KEYWORDS, None)
        found = _DEFINITIONS.setdefault((name, function), new)  # another thread's, perhaps
        if found is new:
            _immortal(new)
    return found


def is_fast(function: Any) -> bool:
    """Return whether a builtin is called as those are that :func:`builtin` makes."""
    definition = _MethodDef.from_address(ctypes.c_size_t.from_address(id(function) + 16).value)
    return bool(definition.flags == _METH_FASTCALL_KEYWORDS)


def variable(name: str, index: int = 0) -> ctypes.c_int64:
    """A 64-bit variable of the native module, to read and to set."""
    return ctypes.c_int64.from_address(native().address(name) + 8 * index)


def refused() -> int:
    """Return how many bytes the last failed allocation of native code requested."""
    return variable("refused").value


def call(name: str) -> None:
    """Run a native function without arguments."""
    _call(native(), name)


@functools.cache
def still_seen() -> Callable[[int], int]:
    """Return the native function that checks a ``Watched``, given its address."""
    return ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(native().address("still_seen"))


def _call(code: machine.Code, name: str) -> None:
    ctypes.CFUNCTYPE(None)(code.address(name))()


def _use_threads(code: machine.Code, most: int) -> None:
    ctypes.c_int64.from_address(code.address("thread_count")).value = host.cores(most)


def _set_main_thread(code: machine.Code) -> None:
    """Pass the thread that handles signals to native code."""
    ident = threading.main_thread().ident or 0
    ctypes.c_int64.from_address(code.address("main_thread")).value = ident


def _after_fork(code: machine.Code) -> None:
    _set_main_thread(code)
    for name in ("platform_reset", "threads_reset", "blas_reset", "pool_reset",
                 "locks_reset"):
        _call(code, name)


def _immortal(thing: object) -> None:
    """Keep for ever: workers sleep in this code, arrays free through it, even at exit."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def dozing() -> str:
    """Return LLVM text of two functions of a word in shared memory: ``doze`` sleeps until another
    process changes it, 50 ms at most, ``rouse`` wakes those that sleep.  Where there is no futex,
    ``doze`` sleeps for 0.1 ms.
    """
    known = _CALLS.get(host.ARCHITECTURE, {}) if host.SYSTEM == "linux" else {}
    if not known:
        return (
            "\ndefine internal void @doze(ptr %word, i32 %value) nounwind {\n"
            "  %ignored = call i32 @usleep(i32 100)\n  ret void\n}\n"
            "define internal void @rouse(ptr %word) nounwind {\n  ret void\n}\n"
        )
    call = f"call i64 (i64, ...) @syscall(i64 {known['futex']}, ptr %word"
    return (
        "\ndeclare i64 @syscall(i64, ...)\n"
        "@nap = internal constant [2 x i64] [i64 0, i64 50000000]\n"
        "define internal void @doze(ptr %word, i32 %value) nounwind {\n"
        f"  %r = {call}, i32 0, i32 %value, ptr @nap, ptr null, i32 0)\n  ret void\n}}\n"
        "define internal void @rouse(ptr %word) nounwind {\n"
        f"  %r = {call}, i32 1, i32 2147483647, ptr null, ptr null, i32 0)\n  ret void\n}}\n"
    )


def relaxing() -> str:
    """The function that hints to the core that a loop is waiting."""
    intrinsic = _RELAX.get(host.ARCHITECTURE)
    if intrinsic is None:
        return "\ndefine internal void @relax() nounwind {\n  ret void\n}\n"
    name, parameter = intrinsic.split("(")
    declared = parameter.rstrip(")").split(" ")[0]
    return (
        f"\ndeclare void @{name}({declared})\n"
        f"define internal void @relax() nounwind alwaysinline {{\n  call void @{intrinsic}\n"
        "  ret void\n}\n"
    )


def _ticks(kind: str) -> str:
    """Return the IR of a clock that is quick to read; of a counter of its calls where the processor
    has none.
    """
    if kind in ("x86_64", "AMD64"):
        return ("\ndeclare i64 @llvm.readcyclecounter()\n"
                "define internal i64 @ticks() nounwind alwaysinline {\n"
                "  %now = call i64 @llvm.readcyclecounter()\n  ret i64 %now\n}\n"
                "define i64 @profile_clock() nounwind {\n"
                "  %now = call i64 @ticks()\n  ret i64 %now\n}\n")
    return ("\n@readings = internal global i64 0\n"
            "define internal i64 @ticks() nounwind {\n"
            f"  %before = atomicrmw add ptr @readings, i64 {_POLL_CYCLES} monotonic\n"
            "  ret i64 %before\n}\n"
            "declare i64 @llvm.readsteadycounter()\n"
            "define i64 @profile_clock() nounwind {\n"
            "  %now = call i64 @llvm.readsteadycounter()\n  ret i64 %now\n}\n")


def _counting() -> str:
    """Functions that count references: in place where no object is immortal."""
    if sys.version_info >= (3, 12):
        return "".join(
            f"\ndefine internal void @{name}(ptr %object) nounwind alwaysinline {{\n"
            f"  %f = call ptr @api_get(i64 {i})\n  call void %f(ptr %object)\n  ret void\n}}\n"
            for i, name in enumerate(("incref", "decref")))
    return (
        "\ndefine internal void @incref(ptr %object) nounwind alwaysinline {\n"
        "  %before = load i64, ptr %object\n  %after = add i64 %before, 1\n"
        "  store i64 %after, ptr %object\n  ret void\n}\n"
        "define internal void @decref(ptr %object) nounwind {\nentry:\n"
        "  %none = icmp eq ptr %object, null\n  br i1 %none, label %done, label %count\ncount:\n"
        "  %before = load i64, ptr %object\n  %last = icmp eq i64 %before, 1\n"
        "  br i1 %last, label %free, label %keep\nkeep:\n"
        "  %after = sub i64 %before, 1\n  store i64 %after, ptr %object\n  ret void\nfree:\n"
        "  %f = call ptr @api_get(i64 1)\n  call void %f(ptr %object)\n  ret void\ndone:\n"
        "  ret void\n}\n")


def _note_torn(error: BaseException) -> None:
    """Add a note to an exception: the call that it ended has written some of its in-place changes.
    """
    error.add_note("agnesi: the call that this ended had begun to change tensors in place and "
                   "could not be completed within a second; they hold a part of the changes")


def _await_release(nothing: None) -> None:
    """Wait a little for locks to be released; a signal handler may raise here."""
    with contextlib.suppress(Empty):
        _PASSED.get(timeout=_WAIT_SECONDS)


def _api(code: machine.Code) -> list[int]:
    """The addresses behind ``@api`` of entry.ll, in its order."""
    python = ctypes.pythonapi

    def c(name: str) -> int:
        return ctypes.cast(getattr(python, name), ctypes.c_void_p).value or 0

    return [
        c("Py_IncRef"),
        c("Py_DecRef"),
        id(np.ndarray),
        numpy_api()[94],  # PyArray_NewFromDescr
        c("PyErr_SetString"),
        id(_handler(code)),
        c("PyType_IsSubtype"),
        id(float),
        id(int),
        id(MemoryError),
        c("PyLong_AsLongLong"),
        c("PyErr_Occurred"),
        c("PyErr_Clear"),
        id(True),
        id(False),
        c("PyType_GenericAlloc"),
        id(None),
        c("PyTuple_New"),
        c("PyEval_SaveThread"),
        c("PyEval_RestoreThread"),
        c("PyLong_FromLongLong"),
        c("PyObject_CallOneArg"),
        c("PyObject_Vectorcall"),
        id(tuple),
        c("PyIter_Next"),
        id(next_serial.__self__),  # type: ignore[attr-defined]
        c("PyList_SetItem"),
        c("PyDict_GetItemWithError"),
        c("PyThread_get_thread_ident"),
        c("PyErr_CheckSignals"),
        c("PyErr_Fetch"),
        c("PyErr_NormalizeException"),
        c("PyErr_Restore"),
        id(_note_torn),
        id(_await_release),
        id(_PASS),
        id(beside),
        id(ReferenceError),
    ]


def numpy_api() -> Any:
    """NumPy's table of C functions."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = import_module("numpy._core._multiarray_umath")._ARRAY_API
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def _handler(code: machine.Code) -> Any:
    """The capsule that arrays of the pool carry as their memory handler (NEP 49)."""
    functions = [code.address(f"handler_{n}") for n in ("malloc", "calloc", "realloc", "free")]
    handler = _Handler(b"agnesi_pool", 1, None, *functions)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    label = ctypes.create_string_buffer(b"mem_handler")
    capsule = make(ctypes.addressof(handler), ctypes.cast(label, ctypes.c_char_p), None)
    for thing in (handler, label, capsule):
        _immortal(thing)
    return capsule
