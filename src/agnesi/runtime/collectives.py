"""Collectives between processes as native code: ``native/collectives.ll`` and its reductions.

A collective (``distributed/operations.py``) is an operation that takes and returns what keeps the
order of effects (``ordered`` in ``api/custom/effects.py``), and a ``Foreign`` kernel of one native
entry, whose arguments are integers and which looks its group up in a table. Groups
(``distributed/group.py``) give it memory (``distributed/memory.py``) and a checker in Python,
which native code calls while it waits: it looks whether a process still holds its lock, whether
the group was given up, and at the clock. ``native/mpi.ll`` begins the same by an MPI library's C
functions. Why a C function failed is found by the error's name (``REASONS`` in
``core/ir/foreign.py``). ``native/overlap.ll`` lets a thread do them while the program goes on.
"""

from __future__ import annotations

import ctypes
import functools

from agnesi.core.support import host
from agnesi.runtime import machine, support

#: The words of a group, which native code reads and writes, in order.
FIELDS = (
    "base", "rank", "size", "slot", "slots", "steps", "calls", "checker", "spins", "mail", "mails",
    "fresh", "busy", "mpi", "serving", "stop", "broken", "spent", "blocked", "begun",
    "begun_sleepers", "finished", "finished_sleepers", "jobs", "waiter",
)
#: Bytes of what is to be done beside the computation (``native/overlap.ll``).
JOBS = 64 * 64 * 8
#: Whom the checker is asked about where a thread of this process is waited for, which may want
#: Python's lock; and where it was waited for too long.
GIVE_WAY, GIVE_UP = -(1 << 40), -(1 << 40) - 1
#: Where control blocks begin, and bytes of one.
CONTROLS, CONTROL = 4096, 8192
#: Within a control block: what a process is about to do, in two places, and to receive; the text.
SIGNATURES, RECEIVING, TEXT = (512, 2048), 4096, 130 * 8
#: Beside a letter's bytes, and beside the letters between two processes.
LETTER, BOX = 2048, 128
MOST_GROUPS, MOST_RANKS = 256, 256
#: Bytes of the text that tells operation and line.
TEXT_BYTES = 256
#: Iterations of a waiting loop that give the core away, before it sleeps until a word changes.
_YIELD_SPINS = 4
#: The same where it can only sleep for a time.
_POLLING_YIELD_SPINS = 2000
#: Iterations that sleep for a time between two queries.
_SLEEP_SPINS = 256
#: Sleeps of a twentieth of a second before a thread is stopped that writes for nobody.
_MAX_SLEEPS = 40

_TYPES = {"int32": "i32", "int64": "i64", "float32": "float", "float64": "double"}
_VECTOR_BYTES, _VECTORS_IN_FLIGHT = 64, 4  # bytes of a vector, vectors in flight


def _names() -> tuple[str, ...]:
    sums = [f"sum {dtype}" for dtype in _TYPES]
    return (*sums, *(f"{op} {dtype}" for op in ("max", "min") for dtype in ("float32", "float64")))


#: Reductions that native code does, by their numbers.
REDUCTIONS = _names()


class Group(ctypes.Structure):
    """The fields of a group of processes that native code reads."""

    _fields_ = tuple((name, ctypes.c_int64) for name in FIELDS)


@functools.cache
def native() -> machine.Code:
    """The loaded module."""
    return machine.load(source())


def source() -> str:
    """The IR text."""
    text = "".join(map(support.read_native, ("collectives", "mpi", "overlap")))
    numbers = {name: str(i) for i, name in enumerate(FIELDS)}
    numbers.update({
        "yields": str(_YIELD_SPINS), "polling": str(_POLLING_YIELD_SPINS),
        "naps": str(_SLEEP_SPINS),
        "text": str(TEXT_BYTES), "give.way": str(GIVE_WAY), "give.up": str(GIVE_UP),
        "patience": str(_MAX_SLEEPS), "monotonic": "6" if host.SYSTEM == "darwin" else "1"})
    for name, number in numbers.items():
        text = text.replace("{" + name + "}", number)
    table = ", ".join(f"ptr @reduce{i}" for i in range(len(REDUCTIONS)))
    parts = [_reduction(i, *name.split()) for i, name in enumerate(REDUCTIONS)]
    combines = f"@combines = internal constant [{len(REDUCTIONS)} x ptr] [{table}]\n"
    return "\n".join((text, combines, *parts, support.dozing())) + support.relaxing()


def _reduction(number: int, op: str, dtype: str) -> str:
    """``void (to, table of sources, how many, elements)``: several vectors at once, then the rest.

    Sources are taken in their order, so that all processes find the same.
    """
    one = _TYPES[dtype]
    width = _VECTOR_BYTES // int(dtype[-2:]) * 8
    return (
        f"define internal void @reduce{number}(ptr %to, ptr %table, i64 %many, i64 %n) nounwind"
        f" {{\nentry:\n  %whole = and i64 %n, {-width * _VECTORS_IN_FLIGHT}\n  br label %v\n"
        + _loop(
            "v", f"<{width} x {one}>", one, _VECTORS_IN_FLIGHT, op, ("0", "entry"), "%whole", "s"
        )
        + _loop("s", one, one, 1, op, ("%v.i", "v"), "%n", "end")
        + "end:\n  ret void\n}\n"
        + _declared(op, f"<{width} x {one}>")
        + _declared(op, one)
    )


def _loop(name: str, type_: str, one: str, lines: int, op: str, first: tuple[str, str], end: str,
          after: str) -> str:
    """A loop over elements, within which one over sources, with so many values in flight."""
    def values(prefix: str, pointer: str) -> str:
        text = (f"  %{prefix}.p = load ptr, ptr {pointer}\n"
                f"  %{prefix}.a = getelementptr {one}, ptr %{prefix}.p, i64 %{name}.i\n")
        for j in range(lines):
            text += (f"  %{prefix}.a{j} = getelementptr {type_}, ptr %{prefix}.a, i64 {j}\n"
                     f"  %{prefix}.x{j} = load {type_}, ptr %{prefix}.a{j}, align {_align(one)}\n")
        return text

    step = lines * (int(type_[1:].split()[0]) if type_[0] == "<" else 1)
    text = (f"{name}:\n  %{name}.i = phi i64 [{first[0]}, %{first[1]}], [%{name}.i1, %{name}.put]\n"
            f"  %{name}.more = icmp ult i64 %{name}.i, {end}\n"
            f"  br i1 %{name}.more, label %{name}.first, label %{after}\n{name}.first:\n"
            + values(f"{name}f", "%table") + f"  br label %{name}.head\n{name}.head:\n"
            f"  %{name}.q = phi i64 [1, %{name}.first], [%{name}.q1, %{name}.body]\n")
    for j in range(lines):
        text += (f"  %{name}.s{j} = phi {type_} [%{name}f.x{j}, %{name}.first], "
                 f"[%{name}.t{j}, %{name}.body]\n")
    text += (f"  %{name}.left = icmp ult i64 %{name}.q, %many\n"
             f"  br i1 %{name}.left, label %{name}.body, label %{name}.put\n{name}.body:\n"
             f"  %{name}.at = getelementptr ptr, ptr %table, i64 %{name}.q\n"
             + values(f"{name}b", f"%{name}.at"))
    for j in range(lines):
        text += _combined(f"%{name}.t{j}", op, type_, f"%{name}.s{j}", f"%{name}b.x{j}")
    text += (f"  %{name}.q1 = add i64 %{name}.q, 1\n  br label %{name}.head\n{name}.put:\n"
             f"  %{name}.o = getelementptr {one}, ptr %to, i64 %{name}.i\n")
    for j in range(lines):
        text += (f"  %{name}.o{j} = getelementptr {type_}, ptr %{name}.o, i64 {j}\n"
                 f"  store {type_} %{name}.s{j}, ptr %{name}.o{j}, align {_align(one)}\n")
    return text + f"  %{name}.i1 = add i64 %{name}.i, {step}\n  br label %{name}\n"


def _align(one: str) -> int:
    return 8 if one in ("i64", "double") else 4


def _combined(to: str, op: str, type_: str, a: str, b: str) -> str:
    if op == "sum":
        return f"  {to} = {'add' if 'i' in type_ else 'fadd'} {type_} {a}, {b}\n"
    return f"  {to} = call {type_} @{_extreme(op, type_)}({type_} {a}, {type_} {b})\n"


def _extreme(op: str, type_: str) -> str:
    lanes = f"v{type_[1:].split()[0]}" if type_[0] == "<" else ""
    return f"llvm.{op}imum.{lanes}{'f32' if 'float' in type_ else 'f64'}"


def _declared(op: str, type_: str) -> str:
    if op == "sum":
        return ""
    return f"declare {type_} @{_extreme(op, type_)}({type_}, {type_})\n"
