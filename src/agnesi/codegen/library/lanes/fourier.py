"""Fourier transforms of rows of memory, in vectors.

A transform of ``n = n1 * n2`` numbers is ``n2`` transforms of length ``n1`` side by side in the
lanes of vectors, factors, and ``n1`` transforms of length ``n2`` (Bailey, 1990).  Where ``n1`` is
1, lanes hold whole rows.  Within lanes a transform takes its steps in Stockham's order, from one
tile to another.  The inverse is the same with real and imaginary parts exchanged.

Roots of unity come from a table whose address is put into the variable ``table``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.codegen.interrupts import poll
from agnesi.codegen.library.lanes.butterflies import (
    Complex,
    butterfly,
    minus,
    plus,
    scaled,
    times,
    times_minus_i,
)
from agnesi.codegen.library.lanes.shared import COUNT, WORKSPACE, Step, write_shared
from agnesi.codegen.library.lanes.tables import Table, pairs, radices
from agnesi.codegen.llvm.builder import Builder, Loop, Module, Value, const, i64
from agnesi.codegen.llvm.register_tiles import TYPES, Tiles, transposed
from agnesi.core.ir.roots import roots
from agnesi.core.target import Target

#: Numbers of a transform from which it looks for signals itself: about a millisecond.
_LOOK_NUMBERS = 1 << 17
Load = Callable[[Value], Complex]
Store = Callable[[Value, Complex], None]


class _Fourier(Tiles):
    def __init__(self, b: Builder, dtype: str, lanes: int, table: Table, inverse: bool) -> None:
        super().__init__(b, dtype, lanes)
        self.table, self.inverse = table, inverse
        self.begin = b.load("ptr", Value("@table", "ptr"))

    def number(self, base: Value, at: Value) -> Value:
        """Return the address of a real number."""
        return self.b.gep(self.type, base, at)

    def direct(self, x: Complex) -> Complex:
        """Return ``x``, with real and imaginary part exchanged for an inverse transform: the
        forward transform of exchanged parts is the inverse one, exchanged.
        """
        return (x[1], x[0]) if self.inverse else x

    def everywhere(self, number: Value) -> Value:
        """Return a vector of the transform's dtype with a double in every lane."""
        one = number if self.type == "double" else self.b.cast("fptrunc", number, self.type)
        return self.b.splat(one, self.lanes)

    # -- access ---------------------------------------------------------------------------
    def from_tile(self, tile: Value) -> Load:
        """Return a function that loads complex number ``at`` of a tile, for all lanes."""
        def load(at: Value) -> Complex:
            offset = self.b.mul(at, i64(2))
            return self.load(tile, offset), self.load(tile, self.b.add(offset, i64(1)))
        return load

    def to_tile(self, tile: Value) -> Store:
        """Return a function that stores a complex number for all lanes at an index of a tile."""
        def store(at: Value, x: Complex) -> None:
            offset = self.b.mul(at, i64(2))
            self.store(x[0], tile, offset)
            self.store(x[1], tile, self.b.add(offset, i64(1)))
        return store

    def take(self, at: Value) -> Complex:
        """Load as many complex numbers as there are lanes."""
        b, n = self.b, self.lanes
        low = b.load(self.vector, at, self.align)
        high = b.load(self.vector, self.number(at, i64(n)), self.align)
        even, odd = range(0, 2 * n, 2), range(1, 2 * n, 2)
        return b.shuffle(low, high, list(even)), b.shuffle(low, high, list(odd))

    def put(self, x: Complex, at: Value) -> None:
        """Store a vector of complex numbers, real and imaginary parts interleaved."""
        b, n = self.b, self.lanes
        for half in range(2):
            order = [i // 2 + half * (n // 2) + n * (i % 2) for i in range(n)]
            b.store(b.shuffle(*x, order), self.number(at, i64(half * n)), self.align)

    # -- steps ----------------------------------------------------------------------------
    def transform(self, n: int, load: Load, store: Store, tiles: tuple[Value, Value]) -> None:
        """Transform ``n`` complex numbers in every lane: ``load`` and ``store`` are given their
        indices, ``tiles`` are two tiles for the steps between.
        """
        steps = radices(n)
        if not steps:
            store(i64(0), load(i64(0)))
        length, stride = n, 1
        for i, r in enumerate(steps):
            read = load if i == 0 else self.from_tile(tiles[(i - 1) % 2])
            write = store if i == len(steps) - 1 else self.to_tile(tiles[i % 2])
            self._step(length, stride, r, read, write)
            length, stride = length // r, stride * r

    def _step(self, length: int, stride: int, r: int, load: Load, store: Store) -> None:
        b, inner = self.b, length // r
        exponents = np.arange(inner)[:, None] * np.arange(1, r)
        first = self.table.add(pairs(roots(length, exponents))) if inner > 1 else 0

        def butterflies(p: Value) -> None:
            factors = [self._factor(p, r, first, k) for k in range(1, r)] if inner > 1 else []
            before, behind = b.mul(p, i64(stride)), b.mul(p, i64(stride * r))
            with b.loop(i64(0), i64(stride), nonempty=True) as q:
                xs = [load(b.add(b.add(q.index, before), i64(stride * inner * i)))
                      for i in range(r)]
                ys = butterfly(b, xs)
                for k, y in enumerate(ys):
                    y = times(b, y, factors[k - 1]) if k and factors else y
                    store(b.add(b.add(q.index, behind), i64(stride * k)), y)

        with b.loop(i64(0), i64(inner), nonempty=True) as p:
            butterflies(p.index)

    def _factor(self, p: Value, r: int, first: int, k: int) -> Complex:
        b = self.b
        at = b.add(b.mul(p, i64(2 * (r - 1))), i64(first + 2 * (k - 1)))
        parts = (b.load(self.type, self.number(self.begin, b.add(at, i64(i)))) for i in range(2))
        real, imaginary = (b.splat(v, self.lanes) for v in parts)
        return real, imaginary

    # -- whole transforms -----------------------------------------------------------------
    def of_rows(self, n: int, given: Value, result: Value, tiles: tuple[Value, Value], rows: Value,
                factor: Value) -> None:
        """Transform rows of ``n`` complex numbers and multiply by ``factor``: a lane has a row."""
        b = self.b
        workspace = self.number(tiles[1], i64(2 * n * self.lanes))
        with b.loop(i64(0), rows, self.lanes) as loop:
            self.read(self.rows(given, 2 * n, loop.index, rows), 2 * n, workspace)
            load, store = self.from_tile(workspace), self.to_tile(workspace)
            self.transform(
                n, lambda at: self.direct(load(at)),
                lambda at, x: store(at, self.direct(scaled(b, x, factor))), tiles,
            )
            self.write(workspace, 2 * n, self.rows(result, 2 * n, loop.index, rows))

    def of_lines(self, n: int, given: Value, result: Value, tiles: tuple[Value, Value],
                 sizes: Sequence[Value], factor: Value) -> None:
        """Transform columns of matrices and multiply by ``factor``: a lane has a column. ``sizes``
        are the number of matrices, the distance of rows, and the number of columns.
        """
        b = self.b
        matrices, step, columns = sizes
        with b.loop(i64(0), matrices) as matrix:
            begin = b.mul(b.mul(matrix.index, i64(n)), step)
            with b.loop(i64(0), columns, self.lanes) as group:
                last = b.sub(columns, i64(self.lanes))
                first = b.add(begin, b.intrinsic("smin", group.index, last))

                def address(at: Value, base: Value, first: Value = first) -> Value:
                    where = b.add(b.mul(at, step), first)
                    return self.number(base, b.mul(where, i64(2)))

                self.transform(
                    n, lambda at: self.direct(self.take(address(at, given))),
                    lambda at, x: self.put(self.direct(scaled(b, x, factor)), address(at, result)),
                    tiles,
                )

    def of_columns(self, n1: int, n2: int, given: Value, middle: Value,
                   tiles: tuple[Value, Value]) -> None:
        """Emit the first half of a transform of length ``n1 * n2``: ``n2`` transforms of length
        ``n1``, times twiddle factors; stored as all real parts, then all imaginary ones.
        """
        b = self.b
        twiddles = roots(n1 * n2, np.arange(n1)[:, None] * np.arange(n2)).ravel()
        real, imaginary = self.table.add(twiddles.real), self.table.add(twiddles.imag)
        other = self.number(middle, i64(n1 * n2))
        with b.loop(i64(0), i64(n2), self.lanes, nonempty=True) as group:
            first = b.intrinsic("smin", group.index, i64(n2 - self.lanes))

            def load(at: Value) -> Complex:
                index = b.add(b.mul(at, i64(n2)), first)
                return self.direct(self.take(self.number(given, b.mul(index, i64(2)))))

            def store(at: Value, x: Complex) -> None:
                index = b.add(b.mul(at, i64(n2)), first)
                factor = [b.load(self.vector, self.number(self.begin, b.add(index, i64(start))),
                                 self.align) for start in (real, imaginary)]
                x = times(b, x, (factor[0], factor[1]))
                b.store(x[0], self.number(middle, index), self.align)
                b.store(x[1], self.number(other, index), self.align)

            self.transform(n1, load, store, tiles)
            self._look(group, n1 * n2)

    def of_middle(self, n1: int, n2: int, middle: Value, result: Value,
                  tiles: tuple[Value, Value], factor: Value) -> None:
        """Emit the second half: ``n1`` transforms of length ``n2`` of what the first half stored.
        """
        b, n = self.b, self.lanes
        workspace = self.number(tiles[1], i64(2 * max(n1, n2) * n))
        with b.loop(i64(0), i64(n1), n, nonempty=True) as group:
            first = b.intrinsic("smin", group.index, i64(n1 - n))
            for part in range(2):
                base = self.number(middle, b.add(b.mul(first, i64(n2)), i64(part * n1 * n2)))
                with self._blocks(n2) as c:
                    lines = [b.load(self.vector, self.number(base, b.add(c, i64(i * n2))),
                                    self.align) for i in range(n)]
                    for i, value in enumerate(transposed(b, lines)):
                        offset = b.add(b.mul(b.add(c, i64(i)), i64(2)), i64(part))
                        self.store(value, workspace, offset)

            def store(at: Value, x: Complex) -> None:
                offset = b.mul(b.add(b.mul(at, i64(n1)), first), i64(2))
                self.put(self.direct(scaled(b, x, factor)), self.number(result, offset))

            self.transform(n2, self.from_tile(workspace), store, tiles)
            self._look(group, n1 * n2)

    def _look(self, loop: Loop, n: int) -> None:
        """Emit a poll for signals, by which a long transform is left."""
        if n >= _LOOK_NUMBERS:
            loop.until = self.b.icmp("ne", poll(self.b), const("i32", 0))

    # -- real numbers ---------------------------------------------------------------------
    offsets = 0, 0

    def _mirrored(self, h: int, row: Value, k: Value) -> tuple[Complex, Complex, Complex]:
        """Return the sums and the differences of frequencies ``k`` and the conjugates of ``h - k``,
        and the twiddle factors of ``k``.
        """
        b, n = self.b, self.lanes
        x = self.take(self.number(row, b.mul(k, i64(2))))
        back = b.sub(i64(h - n + 1), k)
        y = self.take(self.number(row, b.mul(back, i64(2))))
        order = list(range(n - 1, -1, -1))
        y = b.shuffle(y[0], None, order), b.fneg(b.shuffle(y[1], None, order))
        twiddles = (b.load(self.vector, self.number(self.begin, b.add(k, i64(first))), self.align)
                 for first in self.offsets)
        real, imaginary = twiddles
        return plus(b, x, y), minus(b, x, y), (real, imaginary)

    def _inner(self, h: int) -> Any:
        """Return a loop over vectors of the frequencies between 0 and ``h``."""
        return self.b.loop(i64(1), i64(h), self.lanes, nonempty=True)

    def unfolded(self, h: int, row: Value, result: Value, factor: Value, inner: Value) -> None:
        """Emit the last step of a real transform: from the spectrum of ``h`` complex numbers, which
        are pairs of real ones, to the half spectrum of the ``2 * h`` real numbers.
        """
        b = self.b
        half = self.everywhere(b.fmul(b.fmul(factor, inner), const("double", 0.5)))
        with self._inner(h) as block:
            k = b.intrinsic("smin", block.index, i64(h - self.lanes))
            even, odd, root = self._mirrored(h, row, k)
            x = scaled(b, plus(b, even, times_minus_i(b, times(b, odd, root))), half)
            self.put(x, self.number(result, b.mul(k, i64(2))))
        real, imaginary = (b.load(self.type, self.number(row, i64(i))) for i in range(2))
        number = factor if self.type == "double" else b.cast("fptrunc", factor, self.type)
        zero = const(self.type, 0)
        ends = b.fadd(real, imaginary), b.fsub(real, imaginary)
        for value, offset in zip(ends, (0, 2 * h), strict=True):
            b.store(b.fmul(value, number), self.number(result, i64(offset)))
            b.store(zero, self.number(result, i64(offset + 1)))

    def folded(self, h: int, row: Value, result: Value, inner: Value) -> None:
        """Emit the first step of an inverse real transform, the inverse of :meth:`unfolded`: from a
        half spectrum to ``h`` complex numbers.
        """
        b = self.b
        factor = self.everywhere(inner)
        with self._inner(h) as block:
            k = b.intrinsic("smin", block.index, i64(h - self.lanes))
            even, odd, root = self._mirrored(h, row, k)
            back = times_minus_i(b, times(b, odd, (root[0], b.fneg(root[1]))))
            self.put(scaled(b, minus(b, even, back), factor), self.number(result, b.mul(k, i64(2))))
        first, last = (b.load(self.type, self.number(row, i64(i))) for i in (0, 2 * h))
        b.store(b.fadd(first, last), self.number(result, i64(0)))
        b.store(b.fsub(first, last), self.number(result, i64(1)))


def _lanes(dtype: str, n1: int, n2: int, target: Target) -> int:
    lanes = target.lanes(TYPES[dtype][1])
    while n1 > 1 and lanes > min(n1, n2):
        lanes //= 2
    return lanes


class _Plan:
    """A Fourier transform of ``n1 * n2`` complex numbers, as a function of a module."""

    def __init__(self, dtype: str, n1: int, n2: int, target: Target) -> None:
        self.dtype, self.n1, self.n2 = dtype, n1, n2
        self.full = target.lanes(TYPES[dtype][1])
        self.lanes = _lanes(dtype, n1, n2, target)
        self.module, self.table = Module(target), Table(dtype)
        longest = 6 * max(n1, n2) * self.lanes
        middle = 2 * n1 * n2 if n1 > 1 else 0
        #: Numbers of workspace that it works in, a multiple of what a vector holds.
        self.workspace = -(-(longest + middle) // self.full) * self.full

    def write(self, inverse: bool, name: str) -> None:
        """The function ``(given, result, workspace, rows, factor)`` for rows of complex numbers."""
        n1, n2 = self.n1, self.n2
        kinds = ("ptr", "ptr", "ptr", "i64", "double")
        b = Builder(self.module, name, list(zip(kinds, ("x", "y", "workspace", "rows", "factor"),
                                                strict=True)), internal=name != "main")
        given, result, workspace, rows, number = b.parameters
        f = _Fourier(b, self.dtype, self.lanes, self.table, inverse)
        factor = f.everywhere(number)
        tiles = workspace, f.number(workspace, i64(2 * max(n1, n2) * self.lanes))
        if n1 == 1:
            f.of_rows(n2, given, result, tiles, rows, factor)
        else:
            middle = f.number(workspace, i64(6 * max(n1, n2) * self.lanes))
            with b.loop(i64(0), rows) as row:
                begin = b.mul(row.index, i64(2 * n1 * n2))
                f.of_columns(n1, n2, f.number(given, begin), middle, tiles)
                f.of_middle(n1, n2, middle, f.number(result, begin), tiles, factor)
        b.finish()

    def write_real(self, inverse: bool) -> None:
        """``main(x, y, workspace, rows, factor, inner)`` for twice as many real numbers.

        A row of them is a row of complex numbers, whose spectrum and that of the real numbers
        follow from each other.  ``inner`` multiplies the frequencies that stand for two.
        """
        h = self.n1 * self.n2
        self.write(inverse, "complex")
        kinds = ("ptr", "ptr", "ptr", "i64", "double", "double")
        names = ("x", "y", "workspace", "rows", "factor", "inner")
        b = Builder(self.module, "main", list(zip(kinds, names, strict=True)), internal=False)
        given, result, workspace, rows, factor, inner = b.parameters
        wide = 1 << min(self.full.bit_length(), (h - 1).bit_length()) - 1
        f = _Fourier(b, self.dtype, wide, self.table, False)
        twiddles = roots(2 * h, np.arange(h))
        f.offsets = self.table.add(twiddles.real), self.table.add(twiddles.imag)
        spectrum = f.number(workspace, i64(self.workspace))
        together = self.lanes if self.n1 == 1 else 1
        with b.loop(i64(0), rows, together) as loop:
            many = b.intrinsic("smin", i64(together), b.sub(rows, loop.index))
            reals = b.mul(loop.index, i64(2 * h))
            halves = b.mul(loop.index, i64(2 * h + 2))
            one = const("double", 1)
            if inverse:
                source = f.number(given, halves)
                with b.loop(i64(0), many) as row:
                    f.folded(h, f.number(source, b.mul(row.index, i64(2 * h + 2))),
                             f.number(spectrum, b.mul(row.index, i64(2 * h))), inner)
                b.call("void", "complex", spectrum, f.number(result, reals), workspace, many,
                       factor)
            else:
                b.call("void", "complex", f.number(given, reals), spectrum, workspace, many, one)
                target = f.number(result, halves)
                with b.loop(i64(0), many) as row:
                    f.unfolded(h, f.number(spectrum, b.mul(row.index, i64(2 * h))),
                               f.number(target, b.mul(row.index, i64(2 * h + 2))), factor, inner)
        b.finish()


    def write_columns(self, inverse: bool) -> None:
        """``main(x, y, workspace, matrices, step, columns, factor)``: columns of ``n2`` complex
        numbers.

        ``step`` is how far those of a column are apart.
        """
        kinds = ("ptr", "ptr", "ptr", "i64", "i64", "i64", "double")
        names = ("x", "y", "workspace", "matrices", "step", "columns", "factor")
        b = Builder(self.module, "main", list(zip(kinds, names, strict=True)), internal=False)
        given, result, workspace, *sizes, number = b.parameters
        f = _Fourier(b, self.dtype, min(self.full, self.n1), self.table, inverse)
        tiles = workspace, f.number(workspace, i64(2 * self.n2 * f.lanes))
        f.of_lines(self.n2, given, result, tiles, sizes, f.everywhere(number))
        b.finish()


    def share(self, kind: str, inverse: bool, units: int, workspace: int) -> None:
        """The function that threads share, for what was written."""
        size, n = TYPES[self.dtype][1], self.n1 * self.n2
        row = 2 * n * size
        steps: list[Step] = [row, row, WORKSPACE, COUNT, 0]
        types = ["ptr", "ptr", "ptr", "i64", "double"]
        if kind == "rfft":
            spectrum = row + 2 * size
            steps[:2] = (spectrum, row) if inverse else (row, spectrum)
            steps, types = [*steps, 0], [*types, "double"]
        elif kind == "columns":
            steps = [2 * size, 2 * size, WORKSPACE, 0, 0, COUNT, 0]
            types = ["ptr", "ptr", "ptr", "i64", "i64", "i64", "double"]
        write_shared(self.module, types, steps, units, workspace, row)


def fourier_module(kind: str, dtype: str, n1: int, n2: int, inverse: bool, units: int,
                   workspace: int, target: Target) -> tuple[str, np.ndarray]:
    """The text of ``main(x, y, workspace, rows, factor)``, and of ``shared``, if any, and its
    table.

    ``kind`` is "fft", for rows of ``n1 * n2`` complex numbers; "rfft", for twice as many real
    numbers and half of their spectrum; or "columns" of ``n2`` complex numbers, where there are at
    least ``n1``.  The latter take more numbers: see ``_Plan``.
    """
    plan = _Plan(dtype, n1, n2, target)
    if kind == "fft":
        plan.write(inverse, "main")
    elif kind == "columns":
        plan.write_columns(inverse)
    else:
        plan.write_real(inverse)
    if units:
        plan.share(kind, inverse, units, workspace)
    return "@table = global ptr null\n" + str(plan.module), plan.table.array()
