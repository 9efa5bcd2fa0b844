"""The native entry of a compiled body: checks of its arguments, and the results that it returns.

The function is a builtin whose native code (``native/entry.ll``) walks a table; this module writes
the table.  The body is ``i32 @body(ptr bufs, ptr rt)``.  ``bufs`` holds, in this order, one address
per array or number argument, per state, per constant, per output, and the scratch memory.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.foreign import address
from agnesi.core.support.dtypes import MAX_INT64
from agnesi.core.support.record import record
from agnesi.runtime import pool, support
from agnesi.runtime.guards import ArrayHeads, Watched, c_array, checks
from agnesi.runtime.machine import Code
from agnesi.runtime.state_locks import lock_list, memory_owner

Kind = Literal["array", "scalar", "float", "int", "bool", "identity", "ignore"]
_KINDS = {"array": 0, "float": 1, "int": 2, "bool": 3, "identity": 4, "ignore": 5, "scalar": 9}
#: Of arrays that may be numbers: scalars of NumPy's, and beside them a float, or an int.
_SCALARS, _NUMBERS = 6, {"float64": 7, "int64": 8}
_RESULTS = {"none": 0, "single": 1, "tuple": 2}
_RT_SLOTS = 8
_RT = {0: "parallel_for", 2: "thread_count", 3: "pool_alloc", 4: "pool_free"}
_CONTIGUOUS_ALIGNED, _WRITEABLE = 0x101, 0x400
_TIMES_SHIFT = 16  # from this bit on, how many times a run-time size is wanted, less one
_OBJECT_SLOTS = (6, 16)  # Py_T_OBJECT, Py_T_OBJECT_EX


@record
class Arg:
    """One positional argument.

    ``array``: an exact ndarray, or a wrapper that holds one, of this dtype and shape, C-contiguous
    and aligned.  ``scalar``: one of NumPy's of this dtype.  ``float``: a float, as a double.
    ``int``: as an i64.  ``bool``: as an i64 of 0 or 1.  ``identity``: this very ``object``.
    ``ignore``: anything.
    The last two have no buffer.  An array that is ``written`` must be writeable.  Where ``numbers``
    are taken, too, an array without axes may be a scalar of NumPy's of its dtype, or a Python
    number that is the same in memory.
    """

    kind: Kind
    dtype: str = ""
    shape: tuple[int, ...] = ()
    object: Any = None
    written: bool = False
    numbers: bool = False


@record
class Out:
    """One output: a new array, inside a new wrapper if ``wrap``, some of whose slots may get other
    objects than those that ``Wrapper.fresh`` names."""

    dtype: str
    shape: tuple[int, ...]
    wrap: bool = False
    slots: Mapping[str, Any] = MappingProxyType({})


@record
class EntrySpec:
    """Everything about the call that is known before any state is bound.

    :ivar arguments, outputs: What comes in and what goes out.
    :ivar result: {"none", "single", "tuple"}: what the function returns.
    :ivar arena_bytes: Scratch memory of one call, 64-byte aligned.
    :ivar release_gil: Whether other Python threads may run while the body works.
    :ivar scratch: Keeps scratch memory from call to call, which otherwise is given back to the
        pool.
    :ivar sizes: Sizes that are run-time values: in the shapes of arguments as they are or times a
        number, in those of outputs anywhere.  They follow the scratch memory in the table of
        buffers, and the module's ``measure`` makes the outputs' sizes and ``arena_bytes`` of them.
    """

    arguments: tuple[Arg, ...] = ()
    outputs: tuple[Out, ...] = ()
    result: Literal["none", "single", "tuple"] = "tuple"
    arena_bytes: int = 0
    release_gil: bool = True
    scratch: Any = None
    sizes: tuple[Extent, ...] = ()


@record
class Wrapper:
    """A class with slots whose instances hold an ndarray.

    :ivar type: The class; instances of subclasses are accepted as arguments too.
    :ivar data: The slot of the ndarray.
    :ivar required: Slots of an argument that must hold exactly these objects.
    :ivar fresh: Slots of a new instance and the objects that they get.
    :ivar counter: The slot of the counter of changes, a list with the number of the last one, or
        None.
    """

    type: type
    data: str
    required: Mapping[str, Any] = MappingProxyType({})
    fresh: Mapping[str, Any] = MappingProxyType({})
    counter: str = ""


@record
class State:
    """An array that the body reads or writes; ``owner.slot`` must still hold it at every call.

    If it is ``written``, a call increments the version of an owner that is a Tensor.
    """

    array: np.ndarray
    owner: Any = None
    slot: str = ""
    written: bool = False


@record
class Guard:
    """``owner.slot`` must hold this very object, or the slow path is taken."""

    owner: Any
    slot: str
    value: Any


class _Argument(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int64),
        ("types", ctypes.c_uint64),
        ("nd", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
        ("object", ctypes.c_void_p),
        ("buffer", ctypes.c_int64),
        ("flags", ctypes.c_int32),
    )


class _Field(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_int64), ("value", ctypes.c_void_p))


class _Written(ctypes.Structure):
    _fields_ = (("object", ctypes.c_void_p), ("argument", ctypes.c_int64))


class _Pair(ctypes.Structure):
    _fields_ = tuple((f, ctypes.c_int64) for f in ("a", "a_bytes", "b", "b_bytes"))


class _Apart(ctypes.Structure):
    _fields_ = (("buffer", ctypes.c_int64), ("bytes", ctypes.c_int64),
                ("count", ctypes.c_int64), ("spans", ctypes.c_void_p))


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_uint64), ("end", ctypes.c_uint64))


#: A span beyond all addresses, as an end mark.
_END = _Span((1 << 64) - 1, (1 << 64) - 1)


class _Output(ctypes.Structure):
    _fields_ = (
        ("descr", ctypes.c_void_p),
        ("nd", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("fields", ctypes.c_void_p),
        ("first_size", ctypes.c_int64),
        ("pooled", ctypes.c_int64),
    )


class Context(ctypes.Structure):
    """``%Context`` of entry.ll; its Python attributes keep alive what it points to."""

    _fields_ = (
        ("rt", ctypes.c_void_p * _RT_SLOTS),
        ("body", ctypes.c_void_p),
        ("argument_count", ctypes.c_int64),
        ("arguments", ctypes.c_void_p),
        ("checks", ctypes.c_void_p),
        ("output_count", ctypes.c_int64),
        ("outputs", ctypes.c_void_p),
        ("buffer_count", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("first_output", ctypes.c_int64),
        ("arena_bytes", ctypes.c_int64),
        ("release_gil", ctypes.c_int64),
        ("python_runs", ctypes.c_int64),
        ("result", ctypes.c_int64),
        ("wrapper", ctypes.c_void_p),
        ("data_offset", ctypes.c_int64),
        ("required_count", ctypes.c_int64),
        ("required", ctypes.c_void_p),
        ("fresh_count", ctypes.c_int64),
        ("slow", ctypes.c_void_p),
        ("failed", ctypes.c_void_p),
        ("pair_count", ctypes.c_int64),
        ("pairs", ctypes.c_void_p),
        ("size_count", ctypes.c_int64),
        ("bounds", ctypes.c_void_p),
        ("measure", ctypes.c_void_p),
        ("measured_count", ctypes.c_int64),
        ("scratch", ctypes.c_void_p),
        ("written_count", ctypes.c_int64),
        ("written", ctypes.c_void_p),
        ("counter_offset", ctypes.c_int64),
        ("change", ctypes.c_int64),
        ("watched", ctypes.c_void_p),
        ("lock_count", ctypes.c_int64),
        ("locks", ctypes.c_void_p),
        ("apart_count", ctypes.c_int64),
        ("aparts", ctypes.c_void_p),
    )


class Scratch(ctypes.Structure):
    """Scratch memory that a function keeps from call to call, for one call at a time."""

    _fields_ = (("address", ctypes.c_int64),)
    address: int

    def __del__(self) -> None:
        # Another object's finalizer may bring the function back to life: it takes new memory then.
        address, self.address = self.address, 0
        if address:
            pool.give_back(address)


def bind(
    code: Code,
    spec: EntrySpec,
    *,
    slow: Callable[..., Any],
    failed: Callable[[int], Any],
    states: Sequence[State] = (),
    heads: ArrayHeads | None = None,
    constants: Sequence[np.ndarray] = (),
    guards: Sequence[Guard] = (),
    watched: Watched | None = None,
    apart: Sequence[tuple[int, int, int, int]] = (),
    wrapper: Wrapper | None = None,
    callback: Any = None,
    foreign: Sequence[str] = (),
    counters: Any = None,
    body: str = "body",
    name: str = "compiled",
) -> Any:
    """A builtin function that checks its arguments, runs ``body`` and makes the result.

    :param slow: Called with the same arguments when they, a state, a guard or a pair do not match.
    :param heads: The layouts of the states' arrays when code was made for them; without it, as
        they do now.
    :param watched: What else is compared before each call.
    :param failed: Called with the body's code when that is not 0, or with -1 - i where there is no
        memory for output i, or, behind the last, for scratch; its result or exception is the
        call's.
    :param apart: Pairs of buffers, each by its number and bytes, that must not overlap; -1-i stands
        for the bytes of argument i.
    :param callback: A :class:`agnesi.runtime.callbacks.Callbacks`, for bodies that call back into
        Python.
    :param foreign: C functions that the body calls, by name.
    :param counters: Two 64-bit integers for each row of a profiled program, as ctypes' array.

    >>> import numpy as np
    >>> from agnesi.runtime import entry, machine
    >>> code = machine.load("define i32 @body(ptr %bufs, ptr %rt) { ret i32 0 }")
    >>> spec = entry.EntrySpec(arguments=(entry.Arg("float"),), result="none")
    >>> f = entry.bind(code, spec, slow=lambda *a: "slow", failed=print)
    >>> f(1.0), f("text")
    (None, 'slow')
    """
    table = Context()
    keep: list[Any] = [code, slow, failed, callback, spec.scratch]
    _fill_rt(table, callback, foreign, keep)
    if counters is not None:
        table.rt[6], table.rt[7] = ctypes.addressof(counters), clock_address()
        keep.append(counters)
    table.body = code.address(body)
    _fill_arguments(table, spec, keep)
    given = table.first_output
    _fill_outputs(table, spec, wrapper, keep)
    if heads is None:
        heads = ArrayHeads([s.array for s in states])
    if spec.sizes:
        table.measure = code.address("measure")
        bounds = [b for n in spec.sizes for b in (n.least or 0, n.most or MAX_INT64)]
        table.bounds = c_array(ctypes.c_int64, bounds, keep)
    _fill_buffers(table, spec, heads, constants, keep)
    _fill_guards(table, states, heads, guards, keep)
    if watched is not None:
        table.watched = ctypes.addressof(watched)
        keep.append(watched)
    _fill_apart(table, apart, given, heads, keep)
    if wrapper is not None:
        _fill_wrapper(table, wrapper, keep)
        _fill_written(table, spec, states, wrapper, keep)
    table.release_gil = spec.release_gil
    if spec.scratch is not None:
        table.scratch = ctypes.addressof(spec.scratch)
    table.python_runs = spec.release_gil or callback is not None
    table.slow, table.failed = id(slow), id(failed)
    table.keep = tuple(keep)
    return support.builtin(name, support.native().address("entry"), table)


def clock_address() -> int:
    """The address of the function that reads the clock of profiled programs: an i64."""
    return int(support.native().address("profile_clock"))


def context(foreign: Sequence[str] = ()) -> Context:
    """Return the table that a body needs besides its buffers."""
    table = Context()
    table.keep = []
    _fill_rt(table, None, foreign, table.keep)
    return table


@functools.lru_cache(maxsize=64)
def slot_offset(owner: type, slot: str) -> int:
    """Where instances hold a slot of their class, in bytes from the start of the object."""
    definition = slot_record(owner, slot)
    kind = ctypes.c_int.from_address(definition + 8).value
    if kind not in _OBJECT_SLOTS:
        raise TypeError(f"{owner.__name__}.{slot} does not hold an object")
    return ctypes.c_int64.from_address(definition + 16).value


def slot_record(owner: type, slot: str) -> int:
    """The address of what CPython knows of a slot: its name, its kind, where it is."""
    for base in owner.__mro__:
        if slot in base.__dict__:
            member = base.__dict__[slot]
            break
    else:
        raise AttributeError(f"{owner.__name__} has no slot {slot!r}")
    if type(member).__name__ != "member_descriptor":
        raise TypeError(f"{owner.__name__}.{slot} is a {type(member).__name__}, not a slot")
    return ctypes.c_void_p.from_address(id(member) + 40).value or 0


def _fill_rt(table: Context, callback: Any, foreign: Sequence[str], keep: list[Any]) -> None:
    code = support.native()
    if foreign:
        table.rt[5] = c_array(ctypes.c_void_p, [address(symbol) for symbol in foreign], keep)
    for slot, name in _RT.items():
        table.rt[slot] = code.address(name)
    if callback is not None:
        table.rt[1] = callback.address


def _fill_arguments(table: Context, spec: EntrySpec, keep: list[Any]) -> None:
    records, buffer = [], 0
    for a in spec.arguments:
        types = _type_numbers(a.dtype) if a.kind == "array" else 0
        wanted = [_wanted(n, spec.sizes) for n in a.shape]
        dims = c_array(ctypes.c_int64, wanted, keep)
        flags = _CONTIGUOUS_ALIGNED | (_WRITEABLE if a.written else 0)
        kind, known = _KINDS[a.kind], np.dtype(a.dtype).type if a.kind == "scalar" else a.object
        dtype = np.dtype(a.dtype) if a.numbers and a.shape == () and not a.written else None
        if dtype is not None and dtype.isbuiltin == 1:
            kind, known = _NUMBERS.get(a.dtype, _SCALARS), dtype.type
        records.append(_Argument(kind, types, len(a.shape), dims, id(known), buffer, flags))
        keep.append(known)
        buffer += a.kind not in ("identity", "ignore")
    table.argument_count = len(records)
    table.arguments = c_array(_Argument, records, keep)
    table.first_output = buffer


def _wanted(size: Any, sizes: Sequence[Extent]) -> int:
    """Encode a size of an argument for native code: the number itself, or a multiple of a run-time
    size.

    Other expressions of run-time sizes are encoded as unchecked.
    """
    if not isinstance(size, Extent):
        return int(size)
    (monomial, times), *more = size.terms
    if more or len(monomial) != 1 or monomial[0] not in sizes:
        return -MAX_INT64 - 1
    (name,) = monomial
    return -1 - (sizes.index(name) | (times - 1) << _TIMES_SHIFT)


def _type_numbers(dtype: str) -> int:
    """A bit per NumPy type number that means ``dtype`` (``long`` and ``long long`` may be one).

    A number that is not NumPy's own is in the upper half.
    """
    wanted = np.dtype(dtype)
    if wanted.num >= 32:
        return int(wanted.num) << 32
    found = 0
    for char in "?bBhHiIlLqQefdgFDG":
        if np.dtype(char) == wanted:
            found |= 1 << np.dtype(char).num
    return found


def _fields(wrapper: Wrapper, slots: Mapping[str, Any], keep: list[Any]) -> int:
    records = [_Field(slot_offset(wrapper.type, s), id(v)) for s, v in slots.items()]
    return c_array(_Field, records, keep)


def _fill_outputs(table: Context, spec: EntrySpec, wrapper: Wrapper | None,
                  keep: list[Any]) -> None:
    records, first = [], 0
    for out in spec.outputs:
        dtype = np.dtype(out.dtype)
        shape = () if spec.sizes else out.shape
        size = dtype.itemsize * math.prod(shape)
        dims = c_array(ctypes.c_int64, shape, keep)
        # Where sizes are open, code that expects much writes little as much, too: past the caches.
        large = guess(dtype.itemsize * math.prod(out.shape)) >= support.POOLED_BYTES
        least = 0 if spec.sizes and large else support.POOLED_BYTES
        fields = 0
        if out.wrap and wrapper is not None:
            fields = _fields(wrapper, {**wrapper.fresh, **out.slots}, keep)
        records.append(_Output(id(dtype), len(out.shape), dims, size, fields, first, least))
        keep += (dtype, *out.slots.values())
        first += len(out.shape)
    if spec.result == "single" and len(records) != 1:
        raise ValueError(f"a single result needs one output, not {len(records)}")
    table.output_count = len(records)
    table.outputs = c_array(_Output, records, keep)
    table.result = _RESULTS[spec.result]
    table.arena_bytes = spec.arena_bytes
    table.size_count, table.measured_count = len(spec.sizes), first if spec.sizes else 0


def _fill_buffers(table: Context, spec: EntrySpec, heads: ArrayHeads,
                  constants: Sequence[np.ndarray], keep: list[Any]) -> None:
    keep += (heads, *constants)
    addresses = [0] * table.first_output + heads.addresses + [a.ctypes.data for a in constants]
    table.first_output = len(addresses)
    addresses += [0] * (len(spec.outputs) + 1)
    addresses += [ctypes.c_size_t(-1).value] * len(spec.sizes)
    table.buffer_count = len(addresses)
    table.buffers = c_array(ctypes.c_void_p, addresses, keep)


def _fill_apart(table: Context, apart: Sequence[tuple[int, int, int, int]], count: int,
                heads: ArrayHeads, keep: list[Any]) -> None:
    """Fill in the pairs of memory that must not overlap: arguments beside arguments, and arguments
    beside states, which are numbered from ``count`` on.
    """
    others: list[_Pair] = []
    spans: dict[tuple[int, int], list[_Span]] = {}
    for a, a_bytes, b, b_bytes in apart:
        (low, low_bytes), (high, high_bytes) = sorted(((a, a_bytes), (b, b_bytes)))
        if low < count <= high < count + len(heads.arrays):
            start = heads.addresses[high - count]
            spans.setdefault((low, low_bytes), []).append(_Span(start, start + high_bytes))
        else:
            others.append(_Pair(a, a_bytes, b, b_bytes))
    table.pair_count, table.pairs = len(others), c_array(_Pair, others, keep)
    found = []
    for key, held in spans.items():
        merged = _merged(held)
        found.append(_Apart(*key, len(merged), c_array(_Span, [*merged, _END], keep)))
    table.apart_count, table.aparts = len(found), c_array(_Apart, found, keep)


def _merged(spans: list[_Span]) -> list[_Span]:
    """Spans of memory in order, overlapping ones merged."""
    found: list[_Span] = []
    for s in sorted(spans, key=lambda s: s.start):
        if found and s.start <= found[-1].end:
            found[-1].end = max(found[-1].end, s.end)
        else:
            found.append(_Span(s.start, s.end))
    return found


def _fill_guards(table: Context, states: Sequence[State], heads: ArrayHeads,
                 guards: Sequence[Guard], keep: list[Any]) -> None:
    """Write what is compared before each call, and the locks that it takes."""
    pairs: list[tuple[Any, str, Any]] = [(g.owner, g.slot, g.value) for g in guards]
    pairs += [(s.owner, s.slot, s.array) for s in states if s.slot]
    pointers = [(o, slot_offset(type(o), slot), value)  # type: ignore[arg-type]
                for o, slot, value in pairs]
    found = checks((), keep, pointers, heads)
    keep.append(found)
    table.checks = ctypes.addressof(found)
    uses = [(memory_owner(s.array), s.written) for s in states]
    table.lock_count, table.locks = lock_list(uses, keep)


def _fill_wrapper(table: Context, wrapper: Wrapper, keep: list[Any]) -> None:
    table.wrapper = id(wrapper.type)
    table.data_offset = slot_offset(wrapper.type, wrapper.data)
    table.required_count = len(wrapper.required)
    table.required = _fields(wrapper, wrapper.required, keep)
    table.fresh_count = len(wrapper.fresh)
    keep.append(wrapper)


def _fill_written(table: Context, spec: EntrySpec, states: Sequence[State], wrapper: Wrapper,
                  keep: list[Any]) -> None:
    """Fill in the tensors whose version counters a call increments: states and arguments that it
    writes."""
    if not wrapper.counter:
        return
    records = [_Written(id(s.owner), 0) for s in states
               if s.written and isinstance(s.owner, wrapper.type)]
    records += [_Written(None, i) for i, a in enumerate(spec.arguments) if a.written]
    table.counter_offset = slot_offset(wrapper.type, wrapper.counter)
    table.written_count, table.written = len(records), c_array(_Written, records, keep)
