"""Writing over operands: which results of a kernel may take the memory of what it reads."""

from __future__ import annotations

from agnesi.core.ir.kernels import (
    Buffer,
    Convolution,
    Kernel,
    Nest,
    Product,
    Store,
    reads_of,
    reductions,
    walk,
)
from agnesi.core.ir.loops import Affine, Axis, Expr
from agnesi.core.support.cached_attributes import cached_property
from agnesi.schedule.memory.inplace_rows import reads_rows_first


def overwrites_safely(kernel: Kernel, source: Buffer, target: Buffer) -> bool:
    """Return whether a kernel may write ``target`` over the memory of ``source`` that it reads.

    See :class:`Overwriting`, which answers this for many pairs.
    """
    return Overwriting(kernel).safely(source, target)


def same_layout(a: Buffer, b: Buffer) -> bool:
    """Return whether two buffers have the same layout."""
    if a.contiguous and b.contiguous:
        return a.size == b.size and a.dtype == b.dtype
    return a.shape == b.shape and a.dtype == b.dtype and a.strides == b.strides


class Overwriting:
    """Which of its results a kernel may write over which of its operands.

    It may if every element of the operand is read only where the same element of the result is
    written, in the same step of the loops, and first read before that; or if rows are read as a
    whole before any of their elements is written (``schedule/memory/inplace_rows.py``).

    What the kernel's stores read is looked up once: kernels of hundreds of stores are looked up
    each pair of what they read and write.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._positions = {} if kernel.like is None else kernel.like.positions

    def safely(self, source: Buffer, target: Buffer) -> bool:
        """Return whether ``target`` may be written over the memory of ``source``."""
        if not same_layout(source, target):
            return False
        if source not in self._positions:
            return self._may(source, target)
        key = overwrites_safely, self._positions[source], self._positions[target]
        return bool(self._kernel.answer(key, lambda: self._may(source, target)))

    def _may(self, source: Buffer, target: Buffer) -> bool:
        kernel = self._kernel
        stores = self._stored.get(target, ())
        if len(stores) != 1 or not isinstance(kernel, Nest | Product | Convolution):
            return False
        if isinstance(kernel, Product | Convolution):
            if source in (kernel.a.buffer, kernel.b.buffer):
                return False
        elif self._sums and reads_rows_first(kernel, source, self._stores[stores[0]]):
            return True
        return self._reads_where_it_writes(source, stores[0])

    def _reads_where_it_writes(self, source: Buffer, target: int) -> bool:
        """Return whether each element is read only in the loop iteration that writes the same
        element of the target, before the write.

        False if other stores may need the loops alone: threads share these, and each would read and
        write the target.
        """
        offset = self._stores[target].offset
        free = offset.free
        if source in self._apart or not all([axes <= free for axes in self._along]):
            return False
        first, offsets = self._reads.get(source, (target, {offset}))
        return first <= target and offsets == {offset} and not any(
            [source in reads_of(s.value) for axes, stores in self._along.items() if axes != free
             for s in stores])

    @cached_property
    def _stores(self) -> list[Store]:
        return list(self._kernel.stores())

    @cached_property
    def _stored(self) -> dict[Buffer, list[int]]:
        """The indices of the stores to each buffer."""
        found: dict[Buffer, list[int]] = {}
        for i, store in enumerate(self._stores):
            found.setdefault(store.buffer, []).append(i)
        return found

    @cached_property
    def _reads(self) -> dict[Buffer, tuple[int, set[Affine]]]:
        """Return for each buffer the index of the first store that reads it, and the addresses of
        all reads.
        """
        found: dict[Buffer, tuple[int, set[Affine]]] = {}
        done: set[Expr] = set()
        for i, store in enumerate(self._stores):
            for v in walk([store.value], done):
                if v.op == "load":
                    found.setdefault(v.param[0], (i, set()))[1].add(v.param[1])
        return found

    @cached_property
    def _along(self) -> dict[frozenset[Axis], list[Store]]:
        """The stores along each set of axes."""
        found: dict[frozenset[Axis], list[Store]] = {}
        for store in self._stores:
            found.setdefault(store.offset.free, []).append(store)
        return found

    @cached_property
    def _sums(self) -> bool:
        return any(s.value.reduces for s in self._stores)

    @cached_property
    def _apart(self) -> set[Buffer]:
        """Return the buffers that are read inside reductions, or for the offsets of stores."""
        sums = reductions([s.value for s in self._stores])
        atoms = [atom for s in self._stores for atom in s.offset.atoms]
        return {buffer for v in (*sums, *atoms) for buffer in reads_of(v)}
