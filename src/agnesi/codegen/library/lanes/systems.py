"""Small systems, a matrix in every lane: elimination with partial pivoting, triangles, factors.

Matrices are in tiles, row by row.  The steps of elimination are written out, so that the pivots'
rows stay in registers; the rows that they change run in a loop.  Which rows are
exchanged differs from lane to lane, so rows of the tile are selected by a mask for each lane.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.library.lanes.shared import COUNT, Step, write_shared
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, vector
from agnesi.codegen.llvm.register_tiles import TYPES, Tiles
from agnesi.core.target import Target

Index = Value | int


class _Systems(Tiles):
    """Emits functions ``(operands..., results..., count)`` over matrices of ``n`` rows."""

    def __init__(self, b: Builder, dtype: str, lanes: int, n: int) -> None:
        super().__init__(b, dtype, lanes)
        self.n = n
        self.index_type = vector("i64" if self.align == 8 else "i32", lanes)

    def element_index(self, i: Index, j: Index, columns: int) -> Index:
        """The element of a matrix with so many columns."""
        if isinstance(i, int) and isinstance(j, int):
            return i * columns + j
        b = self.b
        row = i64(i * columns) if isinstance(i, int) else b.mul(i, i64(columns))
        return b.add(row, i64(j) if isinstance(j, int) else j)

    def one(self, value: float = 1.0) -> Value:
        """Return a constant in all lanes."""
        return const(self.vector, value)

    def numbers(self, i: Value) -> Value:
        """A row's number in every lane."""
        kind = "i64" if self.align == 8 else "i32"
        return self.b.splat(i if kind == "i64" else self.b.cast("trunc", i, kind), self.lanes)

    def report(self, found: Value, result: Value, first: Value, count: Value) -> None:
        """Store the bool of every lane as a byte; lanes beyond ``count`` are written to the last
        one's.
        """
        b = self.b
        wide = b.cast("zext", found, vector("i8", self.lanes))
        for i, row in enumerate(self.rows_of_bytes(result, first, count)):
            b.store(b.extract(wide, i), row)

    def rows_of_bytes(self, base: Value, first: Value, count: Value) -> list[Value]:
        """Return the address of each lane's byte; lanes beyond ``count`` have the last one's."""
        b = self.b
        last = b.sub(count, i64(1))
        return [b.gep("i8", base, b.intrinsic("smin", b.add(first, i64(i)), last))
                for i in range(self.lanes)]

    # -- elimination ----------------------------------------------------------------------
    def pivot(self, a: Value, k: int, at: Callable[[Index, Index], Index]) -> Value:
        """Return, for each lane's matrix, the row from ``k`` on with the element of column ``k``
        that has the greatest magnitude.
        """
        b = self.b
        best = b.intrinsic("fabs", self.load(a, at(k, k)))
        begin = [best, const(self.index_type, k)]
        with b.loop(i64(k + 1), i64(self.n), carried=begin) as loop:
            size = b.intrinsic("fabs", self.load(a, at(loop.index, k)))
            more = b.fcmp("ogt", size, loop.carried[0])
            loop.carry(b.select(more, size, loop.carried[0]),
                       b.select(more, self.numbers(loop.index), loop.carried[1]))
        return loop.results[1]

    def eliminate(self, a: Value, x: Value, columns: int, at: Callable[[Index, Index], Index]
                  ) -> tuple[Value, Value]:
        """Make ``a`` upper triangular, with the same done to the ``columns`` of ``x``.

        Gives where all pivots are other than zero, and 1 or -1 for the exchanges.
        """
        b, n = self.b, self.n
        regular = Value("splat (i1 true)", vector("i1", self.lanes))
        parity = self.one()
        for k in range(n):
            lines: list[tuple[Value, Callable[[Index], Index]]] = [
                (a, lambda i, j=j: at(i, j)) for j in range(k, n)  # type: ignore[misc]
            ]
            lines += [(x, lambda i, j=j: self.element_index(i, j, columns))  # type: ignore[misc]
                      for j in range(columns)]
            mine = [self.load(t, index_at(k)) for t, index_at in lines]
            chosen, none = mine, self.one(0.0)
            if k + 1 < n:
                where = self.pivot(a, k, at)
                with b.loop(i64(k + 1), i64(n), carried=mine) as loop:
                    here = b.icmp("eq", where, self.numbers(loop.index))
                    loop.carry(*(b.select(here, self.load(t, index_at(loop.index)), v)
                                 for (t, index_at), v in zip(lines, loop.carried, strict=True)))
                chosen = loop.results
                stays = b.icmp("eq", where, const(self.index_type, k))
                parity = b.select(stays, parity, b.fneg(parity))
                pivot = b.select(b.fcmp("oeq", chosen[0], none), self.one(), chosen[0])
                with b.loop(i64(k + 1), i64(n)) as loop:
                    i = loop.index
                    here = b.icmp("eq", where, self.numbers(i))
                    rest = [b.select(here, v, self.load(t, index_at(i)))
                            for (t, index_at), v in zip(lines, mine, strict=True)]
                    factor = b.fneg(b.fdiv(rest[0], pivot))
                    for (t, index_at), v, p in zip(lines[1:], rest[1:], chosen[1:], strict=True):
                        self.store(b.fma(factor, p, v), t, index_at(i))
            regular = b.op("and", regular, b.fcmp("une", chosen[0], none))
            for (t, index_at), v in zip(lines, chosen, strict=True):
                self.store(v, t, index_at(k))
        return regular, parity

    def substitute(self, a: Value, x: Value, columns: int, at: Callable[[Index, Index], Index],
                   lower: bool, unit: bool) -> None:
        """Solve the triangular systems of ``a`` by substitution; the solutions overwrite ``x``."""
        b, n = self.b, self.n
        order = list(range(n)) if lower else list(reversed(range(n)))
        with b.loop(i64(0), i64(columns), nonempty=True) as loop:
            found: dict[int, Value] = {}
            for i in order:
                total = self.load(x, self.element_index(i, loop.index, columns))
                for j, known in found.items():
                    total = b.fma(b.fneg(self.load(a, at(i, j))), known, total)
                if not unit:
                    total = b.fdiv(total, self.load(a, at(i, i)))
                found[i] = total
                self.store(total, x, self.element_index(i, loop.index, columns))

    def factor(self, a: Value) -> Value:
        """Cholesky's factor in place of ``a``, zeros above it; gives where there is one."""
        b, n = self.b, self.n
        positive = Value("splat (i1 true)", vector("i1", self.lanes))
        for j in range(n):
            known = [self.load(a, j * n + k) for k in range(j)]
            left = self.load(a, j * n + j)
            for v in known:
                left = b.fma(b.fneg(v), v, left)
            # NaN is no reason to stop: LAPACK hands it on
            positive = b.op("and", positive, b.fcmp("ugt", left, self.one(0.0)))
            root = b.intrinsic("sqrt", left)
            self.store(root, a, j * n + j)
            with b.loop(i64(j + 1), i64(n)) as loop:
                total = self.load(a, self.element_index(loop.index, j, n))
                for k, v in enumerate(known):
                    factor = self.load(a, self.element_index(loop.index, k, n))
                    total = b.fma(b.fneg(factor), v, total)
                self.store(b.fdiv(total, root), a, self.element_index(loop.index, j, n))
            for k in range(j + 1, n):
                self.store(self.one(0.0), a, j * n + k)
        return positive


def systems_module(kind: str, dtype: str, n: int, columns: int, options: str, units: int,
                   target: Target) -> str:
    """The text of the function ``main`` for matrices of ``n`` rows, and of ``shared``, if any.

    ========== ================================================================= ==============
    kind       arguments, then how many matrices                                 options
    ========== ================================================================= ==============
    solve      matrices, right-hand sides, solutions, where there are such       t(ransposed)
    inv        matrices, inverses, where there are such
    diagonal   matrices, diagonals of upper factors, 1 or -1 for the exchanges
    triangle   matrices, right-hand sides, solutions                             l(ower), t, u(nit)
    cholesky   matrices, factors, where there are such
    ========== ================================================================= ==============
    """
    lanes = target.lanes(TYPES[dtype][1])
    names = {"solve": "abxf", "inv": "axf", "diagonal": "axf", "triangle": "abx",
             "cholesky": "axf"}[kind]
    module = Module(target)
    b = Builder(module, "main", [*(("ptr", name) for name in names), ("i64", "count")],
                internal=False)
    given = dict(zip(names, b.parameters, strict=False))
    count = b.parameters[-1]
    s = _Systems(b, dtype, lanes, n)
    a, x = s.tile(n * n), s.tile(n * columns)
    with b.loop(i64(0), count, lanes) as loop:
        first = loop.index
        s.read(s.rows(given["a"], n * n, first, count), n * n, a)
        if "b" in given:
            s.read(s.rows(given["b"], n * columns, first, count), n * columns, x)
        _one(s, kind, columns, options, (a, x), given, (first, count))
    b.finish()
    if units:
        side = n * columns * s.align
        sizes: dict[str, Step] = {"a": n * n * s.align, "b": side, "x": side, "f": 1}
        if kind in ("cholesky", "diagonal"):
            sizes |= {"x": sizes["a"]} if kind == "cholesky" else {"x": n * s.align, "f": s.align}
        types = [*("ptr" for _ in names), "i64"]
        write_shared(module, types, [*(sizes[name] for name in names), COUNT], units, 0)
    return str(module)


def factored_module(dtype: str, n: int, options: str, target: Target) -> str:
    """The text of ``main(factors, pivots, b, x, matrices, rows)``: right-hand sides in the lanes.

    Factors and pivots are those of ``ops/linalg/lapack.py``'s ``getrf``; every matrix has as many
    right-hand sides, which are rows of ``b``.  Options: t(ransposed), and w(ide) pivots of 64 bits.
    """
    module = Module(target)
    names = [*(("ptr", name) for name in ("lu", "pivots", "b", "x")), ("i64", "many"), ("i64", "k")]
    b = Builder(module, "main", names, internal=False)
    lu, pivots, given, result, many, k = b.parameters
    s = _Systems(b, dtype, target.lanes(TYPES[dtype][1]), n)
    x = s.tile(n)
    with b.loop(i64(0), many) as matrix:
        block = b.mul(matrix.index, b.mul(k, i64(n)))
        ends = [b.gep(s.type, end, block) for end in (given, result)]
        shared = _Shared(s, b.gep(s.type, lu, b.mul(matrix.index, i64(n * n))), x)
        swaps = _pivots(b, pivots, b.mul(matrix.index, i64(n)), n, "w" in options)
        with b.loop(i64(0), k, s.lanes) as loop:
            s.read(s.rows(ends[0], n, loop.index, k), n, x)
            if "t" in options:
                shared.exchange(swaps)
            for unit in (True, False) if "t" in options else (False, True):
                shared.substitute("t" in options, unit)
            if "t" not in options:
                shared.exchange(list(reversed(swaps)))
            s.write(x, n, s.rows(ends[1], n, loop.index, k))
    b.finish()
    return str(module)


def _pivots(b: Builder, pivots: Value, first: Value, n: int, wide: bool) -> list[tuple[int, Value]]:
    """Return the rows that are exchanged, counted from 0."""
    kind = "i64" if wide else "i32"
    found = []
    for i in range(n):
        other = b.load(kind, b.gep(kind, pivots, b.add(first, i64(i))))
        found.append((i, b.sub(other if wide else b.cast("sext", other, "i64"), i64(1))))
    return found


class _Shared:
    """Factors that all lanes share, and the tile of right-hand sides that they solve."""

    def __init__(self, s: _Systems, factors: Value, x: Value) -> None:
        self.s, self.factors, self.x = s, factors, x

    def exchange(self, swaps: list[tuple[int, Value]]) -> None:
        """Exchange rows of the right-hand sides in the order of the pivots."""
        for i, other in swaps:
            mine, its = self.s.load(self.x, i), self.s.load(self.x, other)
            self.s.store(its, self.x, i)
            self.s.store(mine, self.x, other)

    def substitute(self, transposed: bool, unit: bool) -> None:
        """Solve with one factor of the LU decomposition by substitution: the one with ones on its
        diagonal (``unit``) or the other.
        """
        s, b = self.s, self.s.b
        rows = range(s.n) if transposed == unit else range(s.n - 1, -1, -1)
        found: dict[int, Value] = {}
        for i in rows:
            total = s.load(self.x, i)
            for j, known in found.items():
                factor = self._element(j, i) if transposed else self._element(i, j)
                total = b.fma(b.fneg(factor), known, total)
            found[i] = total if unit else b.fdiv(total, self._element(i, i))
        for i, value in found.items():
            s.store(value, self.x, i)

    def _element(self, i: int, j: int) -> Value:
        b, s = self.s.b, self.s
        one = b.load(s.type, b.gep(s.type, self.factors, i64(i * s.n + j)))
        return b.splat(one, s.lanes)


def _one(s: _Systems, kind: str, columns: int, options: str, tiles: tuple[Value, Value],
         given: dict[str, Value], span: tuple[Value, Value]) -> None:
    """Solve as many systems as there are lanes."""
    (a, x), n = tiles, s.n
    transposed = "t" in options

    def at(i: Index, j: Index) -> Index:
        return s.element_index(j, i, n) if transposed else s.element_index(i, j, n)

    if kind == "cholesky":
        s.report(s.factor(a), given["f"], *span)
        s.write(a, n * n, s.rows(given["x"], n * n, *span))
        return
    if kind == "diagonal":
        _, parity = s.eliminate(a, x, 0, at)
        for i in range(n):
            s.store(s.load(a, at(i, i)), x, i)
        s.write(x, n, s.rows(given["x"], n, *span))
        s.store(parity, x, 0)
        s.write(x, 1, s.rows(given["f"], 1, *span))
        return
    if kind == "triangle":
        s.substitute(a, x, columns, at, ("l" in options) != transposed, "u" in options)
    else:
        if kind == "inv":
            for i in range(n):
                for j in range(n):
                    s.store(s.one(float(i == j)), x, i * n + j)
        regular, _ = s.eliminate(a, x, columns, at)
        s.substitute(a, x, columns, at, False, False)
        s.report(regular, given["f"], *span)
    s.write(x, n * columns, s.rows(given["x"], n * columns, *span))
