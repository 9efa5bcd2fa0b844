"""Collectives between processes as native code: ``native/collectives.ll`` and its reductions.

A collective (``distributed/operations.py``) is an operation that takes and returns what keeps the
order of effects (``ordered`` in ``api/custom/effects.py``), and a ``Foreign`` kernel of one native
entry, whose arguments are integers and which looks its group up in a table. Groups
(``distributed/processes/group.py``) give it memory (``api/processes/memory.py``) and a
checker in Python, which native code calls while it waits: it looks whether a process still holds
its lock, whether the group was given up, and at the clock. ``native/mpi.ll`` begins the same by an
MPI library's C functions. Why a C function failed is found by the error's name (``REASONS`` in
``core/ir/foreign.py``). ``native/overlap.ll`` lets a thread do them while the program goes on. """

from __future__ import annotations

import ctypes

from agnesi.core.support import host
from agnesi.core.support.forks import once
from agnesi.runtime import machine, support

#: The words of a group, which native code reads and writes, in order.
FIELDS = (
    "base", "rank", "size", "slot", "slots", "steps", "calls", "checker", "spins", "mail", "mails",
    "fresh", "busy", "mpi", "serving", "stop", "broken", "spent", "blocked", "begun",
    "begun_sleepers", "finished", "finished_sleepers", "jobs", "waiter",
)
#: Bytes of what is to be done beside the computation (``native/overlap.ll``).
JOBS = 64 * 64 * 8
#: What the checker is given instead of a process where a thread of this process is waited for,
#: which may want Python's lock; and where it was waited for too long.
GIVE_WAY, GIVE_UP = -(1 << 40), -(1 << 40) - 1
#: Bytes from which on results go past the caches.
_STREAM_BYTES = 8 << 20
#: Bytes of a part that are given, reduced and taken in turn; how far ahead memory is requested.
_CHUNK_BYTES, _AHEAD_BYTES = 1 << 10, 1 << 11
#: The offset of the first control block in the shared memory, and bytes of each.
CONTROLS, CONTROL = 4096, 8192
#: Within a control block: the word that a process waits for, what it is to become, whose it is;
#: where it says what it does; what it is about to do with others, at two addresses, and to receive.
WAITED, DOING = 80, 104
SIGNATURES, RECEIVING = (512, 2048), 4096
#: The offset of the text in the description of a pending operation.
TEXT = 130 * 8
#: Bytes in addition to those of a message, and of the messages between two processes.
MESSAGE_BYTES, MAILBOX_BYTES = 2048, 128
MOST_GROUPS, MOST_RANKS = 256, 256
#: Bytes of the text with operation and line.
TEXT_BYTES = 256
#: Iterations of a waiting loop that give the core away, before it sleeps until a word changes.
_YIELD_SPINS = 4
#: The same where it can only sleep for a time.
_POLLING_YIELD_SPINS = 2000
#: Iterations that sleep for a time between two queries.
_SLEEP_SPINS = 256
#: Sleeps of a twentieth of a second before a thread is stopped that writes for no reader.
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


@once
def native() -> machine.Code:
    """Return the native module of collectives, loaded at the first call."""
    return machine.load(source())


def source() -> str:
    """The IR text."""
    text = "".join(map(support.read_native, ("collectives", "mpi", "overlap")))
    numbers = {name: str(i) for i, name in enumerate(FIELDS)}
    numbers.update({
        "yields": str(_YIELD_SPINS), "polling": str(_POLLING_YIELD_SPINS),
        "naps": str(_SLEEP_SPINS),
        "text": str(TEXT_BYTES), "stream": str(_STREAM_BYTES),
        "chunk": str(_CHUNK_BYTES), "ahead": str(_AHEAD_BYTES),
        "give.way": str(GIVE_WAY), "give.up": str(GIVE_UP),
        "patience": str(_MAX_SLEEPS), "monotonic": "6" if host.SYSTEM == "darwin" else "1"})
    for name, number in numbers.items():
        text = text.replace("{" + name + "}", number)
    parts = []
    for table in ("combines", "streams"):
        entries = ", ".join(f"ptr @{table}{i}" for i in range(len(REDUCTIONS)))
        parts.append(f"@{table} = internal constant [{len(REDUCTIONS)} x ptr] [{entries}]\n")
        for i, (op, dtype) in enumerate(map(str.split, REDUCTIONS)):
            parts.append(_reduction(f"{table}{i}", op, dtype, table == "streams"))
    parts += [_declared(op, dtype) for op, dtype in map(str.split, REDUCTIONS)]
    parts += [_copy(False), _copy(True), support.dozing()]
    return "\n".join((text, *parts)) + support.relaxing()


def _copy(streaming: bool) -> str:
    """``void (to, from, bytes)``: past the caches to a line of them, or of what is read once."""
    name = "stream" if streaming else "draw"
    how = "align 64, !nontemporal !{i32 1}" if streaming else "align 4"
    ask = "" if streaming else _prefetch("%ahead", "i8", "%i")
    return f"""
define internal void @{name}(ptr %to, ptr %from, i64 %n) nounwind {{
entry:
  %whole = and i64 %n, -64
  %ahead = getelementptr i8, ptr %from, i64 {_AHEAD_BYTES}
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %body]
  %more = icmp ult i64 %i, %whole
  br i1 %more, label %body, label %rest
body:
{ask}  %a = getelementptr i8, ptr %from, i64 %i
  %b = getelementptr i8, ptr %to, i64 %i
  %x = load <16 x i32>, ptr %a, align 4
  store <16 x i32> %x, ptr %b, {how}
  %i1 = add i64 %i, 64
  br label %head
rest:
  %left = and i64 %n, 63
  %a1 = getelementptr i8, ptr %from, i64 %whole
  %b1 = getelementptr i8, ptr %to, i64 %whole
  call void @llvm.memcpy.p0.p0.i64(ptr %b1, ptr %a1, i64 %left, i1 false)
  ret void
}}
"""


def _prefetch(base: str, type_: str, i: str, lines: int = 1) -> str:
    """Return IR that prefetches ``lines`` cache lines without keeping them in the caches, as their
    data are read only once.
    """
    text = ""
    for j in range(lines):
        text += (f"  %ask{j} = getelementptr {type_}, ptr {base}, i64 {i}\n"
                 f"  %ask{j}.at = getelementptr i8, ptr %ask{j}, i64 {64 * j}\n"
                 f"  call void @llvm.prefetch.p0(ptr %ask{j}.at, i32 0, i32 0, i32 1)\n")
    return text


def _reduction(name: str, op: str, dtype: str, streaming: bool) -> str:
    """Return the IR of ``void (to, table of sources, number of sources, elements)``, which reduces
    the sources element by element.

    Vectors come first, then the remaining elements. Sources are combined in their order, so that
    all processes get the same bits. A streaming version also writes to a second target, aligned to
    a cache line, and prefetches.
    """
    one = _TYPES[dtype]
    width = _VECTOR_BYTES // int(dtype[-2:]) * 8
    second = "ptr %second, ptr %ahead, " if streaming else ""
    return (
        f"define internal void @{name}(ptr %to, {second}ptr %table, i64 %many, i64 %n) nounwind"
        f" {{\nentry:\n  %whole = and i64 %n, {-width * _VECTORS_IN_FLIGHT}\n  br label %v\n"
        + _loop("v", f"<{width} x {one}>", one, _VECTORS_IN_FLIGHT, op, ("0", "entry"), "%whole",
                "s", streaming)
        + _loop("s", one, one, 1, op, ("%v.i", "v"), "%n", "end", streaming)
        + "end:\n  ret void\n}\n"
    )


def _loop(name: str, type_: str, one: str, lines: int, op: str, first: tuple[str, str], end: str,
          after: str, streaming: bool) -> str:
    """Return the IR of a loop over elements around a loop over sources; ``lines`` vectors are
    reduced at a time.
    """
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
            + (_prefetch("%ahead", one, f"%{name}.i", lines) if streaming and lines > 1 else "")
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
    text += f"  %{name}.q1 = add i64 %{name}.q, 1\n  br label %{name}.head\n{name}.put:\n"
    past = ", align 64, !nontemporal !{i32 1}" if streaming and type_ != one else None
    for target, how in (("to", past), ("second", None))[: 1 + streaming]:
        text += f"  %{name}.{target} = getelementptr {one}, ptr %{target}, i64 %{name}.i\n"
        for j in range(lines):
            text += (f"  %{name}.{target}{j} = getelementptr {type_}, ptr %{name}.{target}, "
                     f"i64 {j}\n  store {type_} %{name}.s{j}, ptr %{name}.{target}{j}"
                     f"{how or f', align {_align(one)}'}\n")
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


def _declared(op: str, dtype: str) -> str:
    """Declarations of what reduces numbers and vectors."""
    one = _TYPES[dtype]
    vector = f"<{_VECTOR_BYTES // int(dtype[-2:]) * 8} x {one}>"
    return "" if op == "sum" else "".join(
        f"declare {type_} @{_extreme(op, type_)}({type_}, {type_})\n" for type_ in (one, vector))
