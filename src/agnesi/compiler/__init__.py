"""The compiler: ``ag.jit``, ``ag.function``, and the stages from a graph to native code.

In: a Python function (``jit.py``) or declared variables (``declaration.py``). Out: a callable that
runs native code and falls back to Python where its guards do not hold.

1. ``tracing/``: the function runs once on symbols, and a closed graph remains.
2. ``specialization/``: which calls that graph serves, and which sizes are run-time values.
3. ``compilation/``: the graph is rewritten, scheduled, emitted, compiled and bound
   (``compilation/pipeline.py``, which joins the packages of the back end).
4. ``binding/``: from a Python call to the arguments of the native function.

Beside these: ``library/`` (generated functions by name), ``reports/`` (``explain``, ``plan``),
``eager.py`` (compiled code for single eager operations), ``regions.py`` (for whole layers in eager
programs: the call is traced as the body of a loop is, with its gradients, and what these read of it
is kept between two compiled functions, forward and backward), ``tapes.py`` (for backward passes of
eager records that come again), ``c_function.py`` (addresses for C), ``c_source.py`` (operations in
C source). ``inputs.py`` matches the arguments of a call.
``ag.function`` joins at the closed graph. Without llvmlite the rewritten graph is run by
``core/interpret.py``.

**A call.** Each compiled function is called through a class of its own (``binding/call_stub.py``),
because Python looks ``__call__`` up on the class. The native entry (``runtime/native/entry.ll``)
checks arguments and guards, takes outputs from the pool and runs the body. A body in which one of
Python's decisions has another outcome returns ``ELSEWHERE``, having changed nothing. That call,
and whatever does not fit, is offered to the native code of the other specializations, and then
goes to ``Jit.dispatch`` in Python, which finds or makes one (``specialization/table.py``). Where a
source that the trace read holds another object of equal value, nothing is compiled; native code
only learns the new address.

The package is not called ``jit`` because ``agnesi.jit`` is the function.

What must hold: a compiled function has the results, effects and errors of the Python function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from agnesi.core.support.errors import no_attribute as _no_attribute

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        # Modules of the package are no names of others' and are imported without a look at these.
        if name in _OF_OTHERS:
            raise _no_attribute("module 'agnesi.compiler'", name)
        raise AttributeError(f"module 'agnesi.compiler' has no attribute {name!r}", name=name)


def is_compiling() -> bool:
    """Return False: compiled functions run the code that eager ones run, whatever it queries.

    :returns: False, as ``jit.is_scripting()`` does.
    """
    return False


is_dynamo_compiling = is_compiling

#: Names of PyTorch's module ``compiler``, which say what to use.
_OF_OTHERS = frozenset((
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_exporting", "list_backends", "reset", "set_stance",
    "substitute_in_graph"))
