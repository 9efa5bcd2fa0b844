"""Compiled code for single eager operations, used by those that gain by it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np

from agnesi.compiler.devices import register
from agnesi.compiler.warmup import WORK
from agnesi.core.dispatch import apply
from agnesi.core.ir.foreign import BEGINNERS, RESOLVERS
from agnesi.core.op import Op
from agnesi.core.support.config import HOOKS, config
from agnesi.core.support.signal_errors import ignored
from agnesi.core.support.worker_threads import started
from agnesi.core.tensor import wrap

#: Multiply-adds that NumPy does in about the time that compiling takes.
_COMPILE_MULTIPLY_ADDS = 300_000_000
#: Multiply-adds that NumPy does in a nanosecond.
_MULTIPLY_ADDS = 10
#: Multiply-adds that NumPy does in about the time of a call.
_CALL_MULTIPLY_ADDS = 100_000
_MAX_FUNCTIONS = 512
#: Dtypes of pointwise operations, by their characters.
_COMPILED = frozenset("fd?bhilqBHILQ")
#: Backward passes of which none is compiled.
_FIRST_PASSES = 20
_passes = 0

_spent: dict[Any, int] = {}
_functions: dict[Any, Callable[..., np.ndarray]] = {}
#: Those that were compiled before work was counted again.
_former: dict[Any, Callable[..., np.ndarray]] = {}


def run(op: Op, arrays: Sequence[np.ndarray], work: int) -> np.ndarray | None:
    """The result of an operation by compiled code, or None until it has been called often enough to
    compile it.

    ``work`` says what one call costs NumPy, in multiply-adds.
    """
    key = op, tuple([(a.shape, a.dtype.char) for a in arrays])
    found = _functions.get(key)
    if found is None or not config.compiles:
        if (arrays and arrays[0].dtype.char not in "fdI") or not _pays(key, arrays, work):
            return None
        found = _made(*key)
    return found(*arrays)


def each(op: Op, arrays: Sequence[np.ndarray], work: int, few: int = 0) -> np.ndarray | None:
    """Return the result of an elementwise operation on arrays of equal shape and on numbers; None
    if it is not compiled yet. One code serves all shapes.

    For arrays of few elements, ``few`` is how many nanoseconds compiled code saves per call:
    compilation waits until these add up to its cost, and the compiler is loaded when all eager work
    together pays for that.
    """
    key = op, tuple([(a.dtype.char, not a.ndim) for a in arrays])
    found = _functions.get(key)
    if found is None or not config.compiles:
        if arrays[-1].dtype.char not in _COMPILED or not _pays(key, arrays, work, few):
            return None
        found = _made(*key)
    return _of_rows(found, arrays)


def _of_rows(function: Callable[..., np.ndarray], arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The result of a function of vectors and numbers."""
    shape = max([a.shape for a in arrays], key=len)
    if len(shape) < 2:
        return function(*arrays)
    return function(*[a.ravel() if a.ndim else a for a in arrays]).reshape(shape)


def _pays(key: Any, arrays: Sequence[np.ndarray], work: int, few: int = 0) -> bool:
    """Return whether an operation on such types was wanted often enough; counts this call."""
    if not config.compiles:
        return False
    spent = _spent.get(key, 0)
    waits = bool(few) and not WORK.pays(few)
    if spent < _COMPILE_MULTIPLY_ADDS:
        if len(_spent) > 16 * _MAX_FUNCTIONS:
            _spent.clear()
        work = few * _MULTIPLY_ADDS if few else work
        _spent[key] = spent + work + (0 if few else _CALL_MULTIPLY_ADDS)
        if spent + work < _COMPILE_MULTIPLY_ADDS:
            return False
    if waits:
        return False
    WORK.loaded()
    return compiles()


@functools.cache
def compiles() -> bool:
    """Return whether there is a compiler."""
    from importlib.util import find_spec

    return find_spec("llvmlite") is not None


def native(op: Op, arrays: Sequence[np.ndarray]) -> Callable[..., np.ndarray]:
    """Compiled code of an operation for arrays like these."""
    return _made(op, tuple([(a.shape, a.dtype.char) for a in arrays]))


def _made(op: Op, types: Any) -> Callable[..., np.ndarray]:
    """The compiled code for a key, which is kept."""
    found = _functions.get((op, types))
    if found is None:
        if len(_functions) >= _MAX_FUNCTIONS:
            _functions.clear()
        is_former = (op, types) in _former
        found = _former.pop((op, types)) if is_former else _compiled(op)
        _functions[op, types] = found
    return found


def _compiled(op: Op) -> Callable[..., np.ndarray]:
    from agnesi.compiler.jit import jit

    function = jit(lambda *xs: apply(op, *xs))

    def call(*arrays: np.ndarray) -> np.ndarray:
        result: np.ndarray = function(*map(wrap, arrays)).array
        return result

    return call


def _late(file: str, name: str) -> Callable[..., Any]:
    """Return a function that imports ``agnesi.compiler.library.<file>`` at its first call, and
    calls ``name`` in it.
    """
    return lambda *args: getattr(import_module(f"agnesi.compiler.library.{file}"), name)(*args)


def of_runtime(name: str, wanted: bool = True) -> int:
    """Return the address of a function of the native runtime, which is loaded if it is wanted; 0
    where it is not.
    """
    support = import_module("agnesi.runtime.support")
    return support.native().address(name) if wanted or support.loaded() else 0


def _install_library() -> None:
    """Register our functions for compiled programs, and begin to compile them."""
    address, begin = _late("functions", "address"), _late("functions", "begin")
    for library in ("sort", "first", "extreme", "running", "take", "add at", "blocks", "chosen",
                    "mersenne"):
        RESOLVERS[library] = functools.partial(address, library)
        BEGINNERS[library] = functools.partial(begin, library)
    RESOLVERS["runtime"] = of_runtime
    RESOLVERS["numpy random"] = lambda name: import_module(
        "agnesi.core.ir.calls.mersenne").numpys(name)
    found, begun = _late("generated", "address"), _late("generated", "begin")
    RESOLVERS["generated"] = lambda name: found(name) if compiles() else None
    BEGINNERS["generated"] = lambda name: compiles() and begun(name)


def _execute(op: Op, xs: Any) -> Any:
    """An operation on a device; the executor is loaded when there is one."""
    from agnesi.compiler.devices.executor import execute

    return execute(op, xs)


def _stable(*args: Any) -> dict[Any, Any]:
    """Return the stable forms by which unstable expressions are replaced before differentiation."""
    from agnesi.compiler.compilation.stable_forms import stable

    return stable(*args)


def _regions(function: Callable[..., Any], wanted: bool = False,
             meanwhile: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Calls of a function that are compiled where that pays, or at once."""
    from agnesi.compiler.regions import Regions

    return Regions(function, wanted, meanwhile)


def load() -> None:
    """Let native code find plans and end eager operations; without a compiler Python does."""
    with ignored(Exception):
        native = import_module("agnesi.runtime.eager").builtin
        HOOKS.finished, HOOKS.replayed = native("finished"), native("replayed")
        HOOKS.mapped, HOOKS.written = native("mapped"), native("written")


@functools.cache
def _loads() -> bool:
    """Load the native functions of eager operations; return whether that was started.

    A thread compiles them if they are not in the disk cache. If they are, they are loaded at once:
    that holds Python's lock for some 10 ms, and a thread that competes for the lock with a busy one
    would take more than ten times as long.
    """
    if import_module("agnesi.runtime.support").is_on_disk():
        load()
        return True
    return started(Thread(target=load, name="agnesi-native"))


def _hasten() -> None:
    """Load the native functions of eager operations; called once a program has done enough eager
    work to pay for that.
    """
    if config.compiles and compiles():
        _loads()


def _plan(*call: Any) -> Any:
    """The operations that a public function applies."""
    _hasten()
    return import_module("agnesi.compiler.plans").plan(*call)


def _compiled_plan(*call: Any) -> Any:
    """A plan that was wanted often, as a compiled region if it can be one."""
    return import_module("agnesi.compiler.plans").compiled_plan(*call)


def _recount() -> None:
    """Reset the counts of eager work that decide when operations are compiled.

    Compiled code rounds differently. A program that writes a checkpoint, and one that resumes from
    it in another process, reset the counts there, and so switch to compiled code in the same steps.
    """
    global _passes
    _former.clear()
    _former.update(_functions)
    _functions.clear()
    _spent.clear()
    _passes = 0
    WORK.begin()
    HOOKS.recounts += 1
    HOOKS.taped = _taped
    if "agnesi.compiler.jit" in sys.modules:
        import_module("agnesi.compiler.jit").forget_sizes()


def _taped(order: Any, seeds: Any, wrt: Any) -> Any:
    """Count a backward pass; after the first ones, load native code and install compiled backward
    passes. Returns None: this pass runs eagerly.
    """
    global _passes
    _passes += 1
    if _passes > _FIRST_PASSES:
        _hasten()
        HOOKS.taped = import_module("agnesi.compiler.tapes").taped
    return None


def _sort(*call: Any) -> Any:
    HOOKS.sort = import_module("agnesi.compiler.library.sorting").sort
    return HOOKS.sort(*call)


def install() -> None:
    """Register the compiler's functions with the operations that use them."""
    HOOKS.run, HOOKS.each, HOOKS.native = run, each, native
    HOOKS.compiles, HOOKS.execute = compiles, _execute
    HOOKS.sort = _sort
    HOOKS.stable, HOOKS.plan, HOOKS.hasten = _stable, _plan, _hasten
    HOOKS.compiled_plan = _compiled_plan
    HOOKS.regions, HOOKS.taped, HOOKS.recount = _regions, _taped, _recount
    register()
    _install_library()
