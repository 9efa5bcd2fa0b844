"""Buffer placement: state changed in place, results, and temporaries that share one arena.

The passes that kernels with memory go through, and what they query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import (
    Buffer,
    Kernel,
    Nest,
    Store,
    may_fail,
)
from agnesi.core.ir.loops import Affine, Axis, load, ravel
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import OversizeError
from agnesi.schedule.dependence import Dependence, Traffic
from agnesi.schedule.memory import dynamic_sizes
from agnesi.schedule.memory.overwriting import Overwriting, overwrites_safely, same_layout
from agnesi.schedule.program import Group, Layout, Program

_ROLES = ("argument", "state", "constant", "output")


def update_in_place(program: Program) -> Program:
    """Store results in the memory of the states that they replace, where dependences allow it.

    The same is done for values that a loop carries.
    """
    request, dependence = program.request, program.dependence
    failing = {k for k, kernel in enumerate(program.kernels) if may_fail(kernel)}
    pairs = [*((*u, failing) for u in request.updates), *((*c, set()) for c in request.carried)]
    for state, i, before in pairs:
        result = program.outputs[i]
        if result.role == "output" and _goes_in_place(
            program.kernels, dependence, state, result, before
        ):
            result.role = "state"
            program.shared[result] = state
            program.count()
    return program


def copy_states(program: Program) -> Program:
    """Put kernels into the order of their dependences, then copy results into states that could not
    be updated in place."""
    updates = [(state, program.outputs[i]) for state, i in program.request.updates]
    copied = [(s, result) for s, result in updates if program.shared.get(result) is not s]
    program.kernels = [program.kernels[k] for k in program.dependence.order]
    program.kernels += [_copy(state, result) for state, result in copied]
    for result in (*(r for _, r in copied), *(program.outputs[i] for i in program.request.unread)):
        if result.role == "output":
            result.role = "temporary"
    program.count(len(copied))
    return program


def store_narrow(program: Program) -> Program:
    """Keep idle values in fewer bits."""
    if program.request.saved:
        from agnesi.schedule.memory.compressed_residuals import narrowed

        before = len(program.kernels)
        program.kernels = narrowed(program.kernels, as_dtype(program.request.saved))
        program.count(len(program.kernels) - before)
    return program


def rematerialize(program: Program) -> Program:
    """Compute values again where memory is limited.

    :raises MemoryError: If that is not enough for the limit; its argument is the number of bytes
        that would be.
    """
    if program.request.limit is not None:
        before = len(program.kernels)
        program.kernels = _limited(program, program.request.limit)
        program.count(len(program.kernels) - before)
    return program


def find_lifetimes(program: Program) -> Program:
    """Find the first and last kernel that touches each buffer."""
    program.lifetimes = _lifetimes(program.kernels, program.dependence.traffic, program.groups)
    program.count(len(program.lifetimes))
    return program


def donate(program: Program) -> Program:
    """Write results over donated arguments."""
    before = len(program.shared)
    taken = set(program.shared.values())
    left = [b for b in program.request.donated if b not in taken]
    for result in program.outputs:
        _reuse_donated(program.kernels, result, left, program.shared, program.lifetimes)
    program.count(len(program.shared) - before)
    return program


def write_in_place(program: Program) -> Program:
    """Make a value that is only copied into a result, in the same order, in the result's memory."""
    before = len(program.shared)
    _make_in_place(program.kernels, program.shared, program.lifetimes, program.dependence.traffic)
    program.count(len(program.shared) - before)
    return program


def reuse_memory(program: Program) -> Program:
    """Give temporaries the memory of buffers that their makers read last."""
    before = len(program.shared)
    program.owners = _owners(program.kernels, program.lifetimes, program.shared,
                             program.dependence.traffic)
    program.count(len(program.shared) - before)
    return program


def assign_memory(program: Program) -> Program:
    """Give every buffer memory: an entry in the table of pointers, or an offset in the arena."""
    kernels, shared, spans = program.kernels, program.shared, program.lifetimes
    owners = program.owners
    if owners is None:
        owners = {b: last for b, (_, last) in spans.items() if b.role == "temporary"}
    table = _table(program, kernels)
    for slot, buffer in enumerate(table):
        buffer.slot = slot
    _check_sizes((*owners, *table))
    offsets, arena_bytes = _offsets(owners, spans)
    for buffer, offset in zip(owners, offsets, strict=True):
        buffer.slot, buffer.offset = len(table), offset
    for buffer, owner in shared.items():
        while owner in shared:
            owner = shared[owner]
        buffer.slot, buffer.offset = owner.slot, owner.offset
    for buffer in (*table, *shared) if program.request.inner else ():
        if buffer.role == "output":
            buffer.role = "result"
    busy = [kernel for kernel in kernels if not _idle(kernel)]
    if len(busy) < len(kernels):
        spans = _lifetimes(busy, program.dependence.traffic)
    program.layout = Layout(busy, table, len(table), arena_bytes, shared, spans,
                            [group.without(_idle) for group in program.groups])
    program.count(guess(arena_bytes))
    return program


#: Bytes from which a buffer is a mistake: no processor addresses so many, and sums of several sizes
#: below this do not wrap in 64 bits.
_MAX_BUFFER_BYTES = 1 << 56


def _check_sizes(buffers: Sequence[Buffer]) -> None:
    """Raise OversizeError for a buffer that no machine has memory for, before bytes are counted in
    64 bits.

    For dynamic sizes the maximum of the range counts; if that is too large, the program is made for
    a smaller range, or for one size.
    """
    for buffer in buffers:
        if buffer.nbytes >= _MAX_BUFFER_BYTES:
            raise OversizeError(buffer.node or buffer, guess(buffer.nbytes))


def _table(program: Program, kernels: Sequence[Kernel]) -> list[Buffer]:
    """The buffers with memory of their own outside of the arena, by role."""
    traffic = program.dependence.traffic
    used = {b for kernel in kernels for b in traffic.of(kernel)[0]}
    table = [b for b in (*program.leaves.values(), *program.outputs)
             if b.role != "temporary" and b not in program.shared
             and (b.role != "constant" or b in used)]
    return sorted(dict.fromkeys(table), key=lambda b: _ROLES.index(b.role))


def _limited(program: Program, limit: int) -> list[Kernel]:
    """Kernels in order that need at most ``limit`` bytes in all."""
    from agnesi.schedule.memory.rematerialize import Remaker, fit

    traffic = program.dependence.traffic
    outside = sum(b.nbytes for b in _table(program, program.kernels))
    remaker = Remaker(program.kernels, program.shared, lambda kernel, old, new: (
        overwrites_safely(kernel, old, new)
    ), program.request.target.costs)

    def arena(kernels: Sequence[Kernel]) -> int:
        spans = _lifetimes(kernels, traffic)
        owners = _owners(kernels, spans, dict(program.shared), traffic)
        return guess(_offsets(owners, spans)[1])

    try:
        return fit(remaker, limit - outside, arena)
    except MemoryError as error:
        raise MemoryError(outside + error.args[0]) from None


def _idle(kernel: Kernel) -> bool:
    """Return whether a kernel copies a buffer onto itself."""
    return isinstance(kernel, Nest) and _copies(kernel) and all(
        _address(s.value.param[0]) == _address(s.buffer) for s in kernel.body
    )


def _copies(nest: Nest) -> bool:
    """Return whether a nest does nothing but copy buffers."""
    return bool(nest.answer(_copies, lambda: all(
        s.value.op == "load" and s.value.param[1] == s.offset for s in nest.body
    )))


def _address(buffer: Buffer) -> tuple[int, int]:
    return buffer.slot, buffer.offset


def _copy(state: Buffer, result: Buffer) -> Kernel:
    axes = tuple(Axis(d, n) for d, n in enumerate(state.shape))
    at = tuple(Affine() if a.extent == 1 else Affine(0, {a: 1}) for a in axes)
    offset = result.offset_of(at) if result.shape == state.shape else ravel(at, state.shape)
    value = load(result, result.dtype.name, offset)
    kernel = Nest([], axes, [Store(state, state.offset_of(at), value)])
    if "c" in (state.dtype.kind, result.dtype.kind):
        from agnesi.schedule.complexes import split

        split([kernel])
    return kernel


def _goes_in_place(kernels: Sequence[Kernel], dependence: Dependence, state: Buffer,
                   result: Buffer, failing: set[int]) -> bool:
    """Decide whether a state is updated in place; if so, the kernels that write it run after its
    readers, and after every kernel that may fail, so that a call that is stopped has changed
    nothing.
    """
    writers = dependence.writers.get(result, [])
    if not writers or not (state.contiguous or state.strides == result.strides):
        return False
    if not failing.isdisjoint(writers):
        return False
    writer, *later = writers
    reads, _ = dependence.traffic.of(kernels[writer])
    if (state in reads or not same_layout(state, result)) and not overwrites_safely(
        kernels[writer], state, result
    ):
        return False
    if any(state in dependence.traffic.of(kernels[k])[0] for k in later):
        return False
    return dependence.put_behind(writer, {*dependence.readers.get(state, ()), *failing})


def _lifetimes(kernels: Sequence[Kernel], traffic: Traffic,
               groups: Sequence[Group] = ()) -> dict[Buffer, tuple[int, int]]:
    """First and last kernel that touches each buffer; with one of a group, all of it does."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    sizes = {id(group.kernels[0]): len(group.kernels) for group in groups}
    begin = end = -1
    for k, kernel in enumerate(kernels):
        if k > end:
            begin, end = k, k + sizes.get(id(kernel), 1) - 1
        for buffers in traffic.of(kernel):
            for buffer in buffers:
                first.setdefault(buffer, begin)
                last[buffer] = end
    return {b: (k, last[b]) for b, k in first.items()}


def _reuse_donated(kernels: Sequence[Kernel], result: Buffer, donated: list[Buffer],
                   shared: dict[Buffer, Buffer], spans: dict[Buffer, tuple[int, int]]) -> None:
    """Store a result in the memory of a ``donated`` argument, and remove that from the list."""
    if result.role != "output" or result not in spans:
        return
    for argument in donated:
        if not same_layout(argument, result):
            continue
        first = spans[result][0]
        last = spans.get(argument, (0, -1))[1]
        safe = last < first or (
            last == first and overwrites_safely(kernels[first], argument, result)
        )
        if safe:
            result.role = argument.role  # where that is, and how it is aligned, is the caller's
            shared[result] = argument
            donated.remove(argument)
            return


def _make_in_place(kernels: Sequence[Kernel], shared: dict[Buffer, Buffer],
                   spans: dict[Buffer, tuple[int, int]], traffic: Traffic) -> None:
    """Make a value that is only copied into a result, in the same order, in the result's memory."""
    last = {b: k for k, kernel in enumerate(kernels) for b in traffic.of(kernel)[1]}
    known = {*shared, *shared.values()}
    for k, kernel in enumerate(kernels):
        if not isinstance(kernel, Nest) or not _copies(kernel) or len(kernel.body) != 1:
            continue
        store, = kernel.body
        made, result = store.value.param[0], store.buffer
        if result.role != "output":
            continue
        if made.role != "temporary" or made in known or result in known:
            continue
        whole = made.size == result.size and made.dtype == result.dtype
        if whole and spans[result][0] == last[result] == k > last.get(made, k):
            made.role = "output"
            shared[made] = result
            known |= {made, result}


def _owners(kernels: Sequence[Kernel], spans: dict[Buffer, tuple[int, int]],
            shared: dict[Buffer, Buffer], traffic: Traffic) -> dict[Buffer, int]:
    """Return the temporaries that own memory, each with the last kernel that needs it.

    Others reuse the memory of an operand that the kernel which makes them reads last; these are
    added to ``shared``.
    """
    starts: dict[int, list[Buffer]] = {}
    for buffer, (first, _) in spans.items():
        if buffer.role == "temporary":
            starts.setdefault(first, []).append(buffer)
    owners: dict[Buffer, int] = {}
    for k, kernel in enumerate(kernels):
        started = starts.get(k, ())
        # Numbers are many, and next to nothing is saved by them.
        read = traffic.of(kernel)[0] if any(b.shape for b in started) else []
        overwriting = Overwriting(kernel)
        for buffer in started:
            for old in read:
                owner = shared.get(old, old)
                if (
                    owner in owners and owners[owner] == k
                    and overwriting.safely(old, buffer)
                ):
                    shared[buffer] = owner
                    owners[owner] = spans[buffer][1]
                    break
            else:
                owners[buffer] = spans[buffer][1]
    return owners


def _offsets(owners: Mapping[Buffer, int],
             spans: Mapping[Buffer, tuple[int, int]]) -> tuple[list[Any], Any]:
    """Offsets of temporaries in the arena, and its size in bytes."""
    return dynamic_sizes.assign_offsets([b.nbytes for b in owners],
                                        [(spans[b][0], last) for b, last in owners.items()])
