"""SLP vectorization of stores: those of one iteration that fill a run of memory become vectors.

Lanes that are every few elements apart would be scattered, an element at a time; where other stores
fill the gaps between them, the vectors are shuffled into the order of memory before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agnesi.codegen.llvm.builder import Builder, Value, i64, lanes, vector, width
from agnesi.codegen.loops.evaluate import Scope, memory_type
from agnesi.codegen.loops.strided_loads import REGISTER_BYTES
from agnesi.core.ir.kernels import Store, buffers_of, walk
from agnesi.core.ir.loops import ITEM_BYTES
from agnesi.core.ir.mapping import MAX_JOINED_STORES


def store_all(scope: Scope, stores: Sequence[Store]) -> list[Value]:
    """Write the stores of one iteration, which has no carried values."""
    scope.wanted = list(walk([v for s in stores for v in (s.value, *s.offset.atoms)]))
    for group in _groups(scope, stores):
        if len(group) > 1:
            _store_together(scope, group)
        else:
            (s,) = group
            scope.store(s.buffer, s.offset, s.value)
    return []


def _groups(scope: Scope, stores: Sequence[Store]) -> Iterator[Sequence[Store]]:
    """Yield the stores in order, grouped where they write contiguous elements."""
    i = 0
    while i < len(stores):
        step = scope.step(stores[i].offset) if scope.varies(stores[i].offset) else None
        count = step if isinstance(step, int) and 1 < step <= MAX_JOINED_STORES else 1
        group = stores[i : i + count]
        if count > 1 and not _is_filled(group, count):
            group = group[:1]
        yield group
        i += len(group)


def _is_filled(group: Sequence[Store], count: int) -> bool:
    """Return whether stores write contiguous elements and none reads what another one writes."""
    first = group[0]
    starts = sorted([s.offset.const for s in group])
    return (
        starts == list(range(starts[0], starts[0] + count))
        and all(s.buffer is first.buffer and s.offset.terms == first.offset.terms for s in group)
        and all(s.value.op != "complex" for s in group)
        and first.buffer not in buffers_of([s.value for s in group])
    )


def _store_together(scope: Scope, group: Sequence[Store]) -> None:
    """Evaluate the values of stores side by side, and write them register by register."""
    b, buffer = scope.b, group[0].buffer
    dtype, size = buffer.dtype.name, ITEM_BYTES[buffer.dtype.name]
    type_ = memory_type(dtype)
    group = sorted(group, key=lambda s: s.offset.const)
    values = [scope.wide(s.value) for s in group]
    if dtype == "bool":
        values = [b.cast("zext", v, vector(type_, scope.lanes)) for v in values]
    start, past = scope.address(dtype, buffer, group[0].offset), scope.streams(buffer,
                                                                              group[0].offset)
    chunk = min(scope.lanes, REGISTER_BYTES // size)
    position = 0
    for first in range(0, scope.lanes, chunk):
        own = range(first, min(first + chunk, scope.lanes))
        for piece in interleaved(b, [_lanes(b, v, own) for v in values]):
            address = b.gep(type_, start, i64(position))
            _write(scope, piece, address, position, len(group), past, size)
            position += len(own)


def _write(scope: Scope, piece: Value, address: Value, position: int, count: int, past: bool,
           size: int) -> None:
    """Store a register of interleaved values at this position; each lane of the loop has ``count``
    of them.
    """
    b, own = scope.b, [(position + k) // count for k in range(width(piece.type))]
    if scope.mask is None or (scope.active is not None and own[-1] < scope.active):
        (b.stream(piece, address) if past else b.store(piece, address, size))
    elif scope.active is None:
        b.masked_store(piece, address, b.shuffle(scope.mask, None, own), size)
    elif own[0] < scope.active:
        mask = lanes(vector("i1", len(own)), [k < scope.active for k in own])
        b.masked_store(piece, address, mask, size)


def _lanes(b: Builder, value: Value, own: range) -> Value:
    return value if len(own) == width(value.type) else b.shuffle(value, None, own)


def interleaved(b: Builder, values: Sequence[Value]) -> list[Value]:
    """Vectors that hold the first lane of every value, then the second of every value, and on."""
    count = len(values)
    if count == 1:
        return list(values)
    if count % 2:
        return [_picked(b, values, part) for part in range(count)]
    even, odd = interleaved(b, values[::2]), interleaved(b, values[1::2])
    return [_picked(b, pair, part) for pair in zip(even, odd, strict=True) for part in (0, 1)]


def _picked(b: Builder, values: Sequence[Value], part: int) -> Value:
    """Return vector number ``part`` of the values interleaved: lane 0 of each value, then lane 1.
    """
    own = width(values[0].type)
    positions = [divmod(part * own + k, len(values)) for k in range(own)]
    result = values[0]
    for j, value in enumerate(values[1:], 1):
        picks = [own + lane if which == j else lane if j == 1 else k
                 for k, (lane, which) in enumerate(positions)]
        result = b.shuffle(result, value, picks)
    return result
