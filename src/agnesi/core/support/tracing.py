"""Whether a trace is under way, which decides if an operation computes at once or is written down.

Outside of ``core`` code calls these; only what is written out flat for speed reads ``MODE``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from agnesi.core.support.config import MODE, TRACES, switched, traced


def is_tracing() -> bool:
    """Return whether operations of this thread go into a trace."""
    return TRACES.running > 0 and MODE.get().trace is not None


def current_trace() -> Any:
    """The trace that operations of this thread go into, or None."""
    return MODE.get().trace if TRACES.running else None


def current_reads() -> Any:
    """Return the recorder of what the traced function reads besides its arguments, or None."""
    return MODE.get().reads


def is_known(*xs: Any) -> bool:
    """Return whether Python may read the values of tensors: all have one, and no trace must freeze
    it."""
    if TRACES.running and MODE.get().trace is not None:  # is_tracing written out for speed
        return False
    for x in xs:  # noqa: SIM110 - a generator takes longer
        if x.array is None:
            return False
    return True


def query_fact(x: Any, fact: str, of_computed: bool = False) -> Any:
    """Return what is known of a symbol that is an argument of a traced function, where code reads
    for a fact of it: its name, for example; None for others.

    :param of_computed: Whether the fact of what is computed depends on that of arguments.
    """
    trace = outermost()
    facts = getattr(trace, "facts", {}).get(id(x))
    if facts is not None or (of_computed and hasattr(trace, "questions")):
        trace.questions.add(fact)
    elif x.array is not None and (reads := current_reads()) is not None:
        reads.fact(x, fact)
    return facts


def share_facts(x: Any, y: Any) -> None:
    """Let a symbol ``y`` that stands for the argument ``x`` answer as that does."""
    facts = getattr(outermost(), "facts", {})
    if id(x) in facts:
        facts[id(y)] = facts[id(x)]
        if vars(x):
            vars(y).update(vars(x))


def refuse_new_name(x: Any) -> None:
    """Refuse to trace a function that renames an argument."""
    trace = outermost()
    if id(x) in getattr(trace, "facts", ()):
        trace.refuse("it changes the name of an argument")


def note_flag(x: Any) -> None:
    """Note that a traced function is about to freeze or thaw a tensor that it has from outside."""
    reads = current_reads()
    if reads is not None and x.array is not None and reads.is_typed(x):
        reads.fact(x, "requires_grad")
        outermost().note_flag(x)


def note_beginning(x: Any) -> None:
    """Note that gradients begin at a tensor from now on, which a traced function may have made."""
    note = getattr(current_trace(), "note_beginning", None)
    if note is not None:
        note(x)


def refuse_to_compile(why: str, instead: str) -> None:
    """End the trace of a function that ``jit`` can run eagerly; nothing happens in others."""
    trace = outermost()
    if getattr(trace, "decisions", None) is not None:
        trace.refuse(why, instead[0].upper() + instead[1:])


def outermost() -> Any:
    """The trace around all others."""
    trace = current_trace()
    while getattr(trace, "around", None) is not None:
        trace = trace.around
    return trace


def present(size: Any) -> Any:
    """Return a size with the present sizes of shared variables, in a trace of a jitted function."""
    seen = getattr(outermost(), "shared_sizes", None)
    return size if seen is None else seen.size(size)


def caught_errors() -> Any:
    """The record of what the user's ``except`` catches in the trace around all others, or None."""
    return getattr(outermost(), "caught", None)


#: Leaves of finished traces, by the name of the traced function. User code may still refer to them,
#: but they have no values.
_FINISHED: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def finish(leaves: Iterable[Any], name: str) -> None:
    """A trace is over; nodes that begin in it have no values any more."""
    for node in leaves:
        _FINISHED[node] = name


def finished(leaf: Any = None) -> str:
    """Whose trace a leaf was made in that is over now, or nothing; without one, whether any is."""
    if leaf is None:
        return "some" if _FINISHED else ""
    return _FINISHED.get(leaf, "")


def within(trace: Any) -> switched:
    """A block in which operations of this thread go into ``trace``; None is none."""
    return switched(trace=None) if trace is None else traced(trace)


@contextmanager
def around(trace: Any) -> Iterator[None]:
    """A block in which operations are added to ``trace``, if only traces of loop and branch bodies
    are inside of it; the bodies see the results as values from outside."""
    left, inner = [], current_trace()
    while inner is not trace and hasattr(inner, "leave"):
        left.append(inner)
        inner = inner.around
    for t in left:
        t.leave()
    try:
        with within(inner):
            yield
    finally:
        for t in left:
            t.enter()


def is_number_of_trace(x: Any) -> bool:
    """Return whether a tensor stands for a number of Python's, which Python's functions get of it.
    """
    return hasattr(type(x), "python_type")
