"""Position-independent kernels: constant offsets become parameters, so that more kernels are equal.

The steps of an unrolled loop look at one row of a tensor after another.  Here the offset of the row
moves from the indices into the address that the kernel gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agnesi.core.ir.extents import surely
from agnesi.core.ir.kernels import Buffer, Convolution, Kernel, Matrix, Nest, Product, Store, walk
from agnesi.core.ir.loops import Affine, Expr, index, load, make
from agnesi.core.support.record import replace

_AddressKey = tuple[int, int]


def anchored(kernel: Kernel, moves: Mapping[_AddressKey, int] | None = None) -> Kernel:
    """The kernel with every buffer's least constant offset as part of the buffer's address."""
    moves = moves_of(kernel) if moves is None else moves
    return _Anchor(moves).kernel(kernel) if moves else kernel


def moves_of(kernel: Kernel) -> dict[_AddressKey, int]:
    """By how many bytes each address moves, where it does."""
    if not isinstance(kernel, Nest | Product | Convolution):
        return {}
    least: dict[_AddressKey, int] = {}
    fixed: set[_AddressKey] = set()
    for buffer, offset in _accesses(kernel):
        key = buffer.slot, buffer.offset
        known = least.setdefault(key, offset * buffer.dtype.itemsize)
        least[key] = min(known, offset * buffer.dtype.itemsize)
        inside = offset == 0 or surely(lambda: offset < buffer.size)  # noqa: B023
        if buffer.slot < 0 or not inside:
            fixed.add(key)
    # Stores past the caches need to know how the result is aligned.
    fixed.update((s.buffer.slot, s.buffer.offset) for s in kernel.stores()
                 if s.buffer.role == "output")
    return {key: by for key, by in least.items() if by > 0 and key not in fixed}


def moved(buffer: Buffer, by: int) -> Buffer:
    """A buffer that begins so many bytes later."""
    if not by:
        return buffer
    found = Buffer(buffer.shape, buffer.dtype, buffer.role, node=buffer.node,
                   strides=buffer.strides, name=buffer.name)
    found.slot, found.offset = buffer.slot, buffer.offset + by
    return found


def _accesses(kernel: Nest | Product | Convolution) -> Iterator[tuple[Buffer, int]]:
    """Every buffer with the constant part of an index, in elements."""
    values = []
    for store in kernel.body:
        yield store.buffer, store.offset.const
        values += [store.value, *store.offset.atoms]
    for value in walk(values):
        if value.op == "load":
            buffer, at = value.param
            yield buffer, at.const
    if not isinstance(kernel, Nest):
        for matrix in (kernel.a, kernel.b):
            yield matrix.buffer, matrix.offset


class _Anchor:
    def __init__(self, moves: Mapping[_AddressKey, int]) -> None:
        self.moves = moves
        self.windows: dict[int, Buffer] = {}
        self.values: dict[Expr, Expr] = {}

    def kernel(self, kernel: Any) -> Kernel:
        self._take([v for s in kernel.body for v in (s.value, *s.offset.atoms)])
        body = [
            Store(self._window(s.buffer), self._index(s.offset, s.buffer), self.values[s.value])
            for s in kernel.body
        ]
        if isinstance(kernel, Nest):
            return replace(kernel, body=body)
        return replace(kernel, body=body, a=self._matrix(kernel.a), b=self._matrix(kernel.b))

    def _by(self, buffer: Buffer) -> int:
        """Return by how many elements a buffer's address moves."""
        return self.moves.get((buffer.slot, buffer.offset), 0) // buffer.dtype.itemsize

    def _window(self, buffer: Buffer) -> Buffer:
        if not self._by(buffer):
            return buffer
        found = self.windows.get(id(buffer))
        if found is None:
            by = self.moves[buffer.slot, buffer.offset]
            found = self.windows[id(buffer)] = moved(buffer, by)
        return found

    def _matrix(self, matrix: Matrix) -> Matrix:
        offset = matrix.offset - self._by(matrix.buffer)
        return Matrix(self._window(matrix.buffer), offset, matrix.strides)

    def _index(self, at: Affine, buffer: Buffer | None = None) -> Affine:
        terms = {self.values[a] if isinstance(a, Expr) else a: c for a, c in at.terms.items()}
        return Affine(at.const - (self._by(buffer) if buffer is not None else 0), terms)

    def _take(self, values: Sequence[Expr]) -> None:
        """Rewrite expressions, arguments first."""
        done = self.values
        for value in walk(values):
            if value.op == "load":
                buffer, at = value.param
                done[value] = load(self._window(buffer), value.dtype, self._index(at, buffer))
            elif value.op == "index":
                done[value] = index(self._index(value.param))
            else:
                args = tuple([done[a] for a in value.args])
                same = args == value.args
                done[value] = value if same else make(
                    value.op, args, value.dtype, value.param, value.free
                )
