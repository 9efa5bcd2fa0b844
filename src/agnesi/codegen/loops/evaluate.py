"""Expressions of the loop language to values: scalars, or vectors along one axis.

A scope is one loop body.  It knows the index of every axis around it, the axis that its lanes run
along, and what has been computed.  Before a loop is opened, what does not change inside it is
evaluated outside (``Scope.hoist``); inside, everything is found or computed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agnesi.codegen.arithmetic import complex_pairs, scalars
from agnesi.codegen.arithmetic.divide_by_invariant import RANGE, Divisor
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector, width
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.partial_store import store_first
from agnesi.codegen.loops.bordered_loads import BORDERED, bordered, load_bordered
from agnesi.codegen.loops.lane_runs import load_run
from agnesi.codegen.loops.polled_loops import Watch, totals_loop
from agnesi.codegen.loops.short_index import compared, short_index
from agnesi.codegen.loops.strided_loads import (
    load_repeated,
    load_steps,
    pattern,
    rows_at,
)
from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, bound_in, walk
from agnesi.core.ir.loops import ITEM_BYTES, Affine, Axis, Expr, Substitution, call, fresh_axis
from agnesi.core.ir.mapping import LONGEST_STEP, period_of
from agnesi.core.target import LINE_BYTES, Target

#: Bytes from one iteration of a sum to the next from which the processor does not prefetch.
_MIN_STRIDE_BYTES = 2048
#: How many iterations ahead to prefetch.
_PREFETCH_ITERATIONS = 4
#: The role of rows of a nest's own, which are padded for the lanes behind their end.
ROW = "row"
_MEMORY = {"bool": "i8"}
IDENTITY: dict[str, Callable[[str], Any]] = {
    "add": lambda d: -0.0 if "float" in d else 0,
    "multiply": lambda d: 1,
    "maximum": lambda d: _extreme(d, -1),
    "minimum": lambda d: _extreme(d, 1),
    "logical_and": lambda d: True,
    "logical_or": lambda d: False,
}

#: Operations whose results a fused multiply-add would not round.
PRODUCTS = ("multiply", "square")


def _extreme(dtype: str, sign: int) -> Any:
    if "float" in dtype:
        return sign * float("inf")
    if dtype == "bool":
        return sign > 0
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    if dtype.startswith("u"):
        return (1 << bits) - 1 if sign > 0 else 0
    return (1 << (bits - 1)) - 1 if sign > 0 else -(1 << (bits - 1))


def memory_type(dtype: str) -> str:
    """LLVM type of one element in memory."""
    return _MEMORY.get(dtype) or scalars.register(dtype)


def streams(buffer: Buffer, target: Target) -> bool:
    """Return whether stores to a buffer should bypass the caches, where they are aligned."""
    return buffer.role == "output" and guess(buffer.nbytes) >= target.costs.stream_bytes


Addresses = Callable[[Buffer], Value]


class Scope:
    """Values computed in one loop body; ``parent`` is the body around it."""

    def __init__(self, b: Builder, pointer: Addresses, axes: Mapping[Axis, Value],
                 parent: Scope | None = None, *, along: Axis | None = None, lanes: int = 1,
                 mask: Value | None = None, active: int | None = None, unit: int = 1) -> None:
        self.b = b
        self.pointer = pointer
        self.axes = dict(axes)
        self.parent = parent
        #: The scopes around this one, from inside out.
        self.around: tuple[Scope, ...] = () if parent is None else (parent, *parent.around)
        self.along = along
        self.lanes = lanes
        self.mask = mask
        #: How many lanes the mask has set, where that is known.
        self.active = active
        #: What divides the index of the first lane; 0 is divided by everything.
        self.unit = unit
        self.memo: dict[Expr, Value] = {}
        #: Parts of complex numbers in memory.
        self.pairs: dict[Expr, complex_pairs.Pair] = {}
        self._wide: dict[Expr, Value] = {}
        #: Values of an earlier loop over the same axis that were kept in memory.
        self.kept: dict[Expr, Expr] = {}
        self.divisors: dict[tuple[Expr, int], Divisor] = {}
        #: All that is going to be computed here.
        self.wanted: list[Expr] = []
        #: Whether what is stored is read again soon, so that it must not go past the caches.
        self.rereads: bool = parent is not None and parent.rereads
        #: The addresses of what is loaded, by name.
        self.loaded: frozenset[str] = frozenset() if parent is None else parent.loaded
        #: How long loops look for signals.
        self.watch: Watch | None = None if parent is None else parent.watch
        #: How many lanes a mask has set that is only known at run time.
        self.remaining: Value | None = None
        #: Indices that the lanes run through: that of the first lane, and the others' distances.
        self.runs: Mapping[Expr, tuple[Value, tuple[int, ...]]] = (
            {} if parent is None else parent.runs)

    def inside(self, index: Mapping[Axis, Value], **changes: Any) -> Scope:
        """Return a scope for a loop inside of this one."""
        settings = {"along": self.along, "lanes": self.lanes, "mask": self.mask,
                    "active": self.active, "unit": self.unit, **changes}
        return Scope(self.b, self.pointer, {**self.axes, **index}, self, **settings)

    # -- lookup ---------------------------------------------------------------------------
    def _found(self, value: Expr) -> Value | None:
        for scope in (self, *self.around):
            found = scope.memo.get(value)
            if found is not None:
                return found
        return None

    def _kept(self, value: Expr) -> Expr | None:
        return next((s.kept[value] for s in (self, *self.around) if value in s.kept), None)

    def _divisor(self, value: Expr) -> Divisor | None:
        """Return the prepared divisor for the lanes of this scope, if there is one."""
        key = (value, self.lanes)
        return next((s.divisors[key] for s in (self, *self.around) if key in s.divisors), None)

    def has(self, value: Expr) -> bool:
        """Return whether a value is known already, computed or kept."""
        return self._found(value) is not None or self._kept(value) is not None

    def value(self, value: Expr) -> Value:
        """The value of an expression here: one lane if it does not change along the lanes."""
        found = self._found(value)
        if found is None:
            found = self.memo[value] = self._compute(value)
        return found

    def wide(self, value: Expr) -> Value:
        """The value in all lanes."""
        for scope in (self, *self.around):
            found = scope._wide.get(value)
            if found is not None and width(found.type) == self.lanes:
                return found
        result = self.value(value)
        if width(result.type) != self.lanes:
            if value.op == "const":
                return const(scalars.register(value.dtype, self.lanes), value.param)
            result = self._wide[value] = self.b.splat(result, self.lanes)
        return result

    # -- computing ------------------------------------------------------------------------
    def _compute(self, value: Expr) -> Value:
        kept = self._kept(value)
        if kept is not None:
            return self._load(kept)
        if value.op == "const":
            return const(scalars.register(value.dtype), value.param)
        if value.op == "size":
            return self.b.size(value.param)
        if value.op in ("load", BORDERED):
            return self._load(value)
        if value.op == "where" and self.varies(value):
            value = bordered(self, value)
        if value.op in ("real", "imag"):
            return complex_pairs.load(self, value.args[0])[value.op == "imag"]
        if value.op == "index":
            return self._index(value.param)
        if value.op == "reduce":
            return self._reduce(value)
        if value.op == "steps":
            from agnesi.codegen.loops.convergence_loop import in_steps

            return in_steps(self, value)
        if value.op == "cast":
            (x,) = value.args
            short = x.op == "index" and value.dtype == "int32" and self.varies(x.param)
            if short and self.step(x.param):
                return short_index(self, x.param)
            return scalars.cast(self.b, self.value(x), x.dtype, value.dtype)
        if value.op == "bits":
            given = self.value(value.args[0])
            return self.b.cast("bitcast", given, scalars.register(value.dtype, width(given.type)))
        if self.varies(value):
            truth = compared(self, value)
            if truth is not None:
                return truth
            period = period_of(value, self.along, self.unit)
            if period is not None:
                return pattern(self.b, value, period, self.scalar_index(period.start), self.lanes)
        if value.op == "subtract" and value.dtype == "float64":
            value = self._beside_one(value)
        args = [self.value(a) for a in value.args]
        if value.op == "divide" and width(args[0].type) > 1 == width(args[1].type):
            divisor = self._divisor(value.args[1])
            if divisor is not None:
                return divisor.into(self.b, args[0])
        if any(width(a.type) > 1 for a in args):
            args = [self.wide(a) for a in value.args]
        if value.op == "subtract" and all(a.op in PRODUCTS for a in value.args):
            return scalars.difference(self.b, tuple(a.dtype for a in value.args), tuple(args))
        emit = scalars.emit if self.along is not None else scalars.emit_alone
        return emit(self.b, value.op, tuple(a.dtype for a in value.args), tuple(args))

    def _beside_one(self, value: Expr) -> Expr:
        """Return ``1 - tanh(x)**2`` as a function of ``x``, which is accurate, if ``x`` is
        available.

        Not in float32: its tanh needs no exponential, so this would take twice the time.
        """
        one, product = value.args
        root = product.args[0] if product.op in PRODUCTS else product
        if (root.op == "tanh" and root is product.args[-1] and one.op == "const"
                and one.param == 1 and self._kept(root) is None):
            return call("sech_squared", *root.args)
        return value

    def varies(self, value: Expr | Affine) -> bool:
        """Return whether it differs from lane to lane."""
        return self.lanes > 1 and self.along in value.free

    # -- indices --------------------------------------------------------------------------
    def scalar_index(self, at: Affine) -> Value:
        """An index as a scalar, for lane 0."""
        first, distance = self.parted(at)
        return self.b.op("add nsw", first, i64(distance))

    def parted(self, at: Affine) -> tuple[Value, int]:
        """Return an index as a base that neighbouring addresses share, outer axes first, and a
        constant distance.
        """
        first, distance = i64(0), at.const
        depth = {axis: i for i, axis in enumerate(self.axes)}
        for atom, c in sorted(at.terms.items(), key=lambda t: depth.get(t[0], len(depth))):
            term = self.axes[atom] if isinstance(atom, Axis) else self.value(atom)
            if isinstance(c, int):
                term, by = self.b.distances.parted(term)
                distance += c * by
            if c != 1:
                term = self.b.op("mul nsw", term, self.b.size(c))
            first = self.b.op("add nsw", first, term)
        return first, distance

    def _index(self, at: Affine) -> Value:
        if not self.varies(at):
            return self.scalar_index(at)
        if not any(self.varies(a) for a in at.atoms):
            step = at.terms[self.along]
            first = self.b.splat(self.scalar_index(at), self.lanes)
            return self.b.add(first, self.ramp(step))
        type_ = vector("i64", self.lanes)
        total = const(type_, at.const)
        for atom, c in at.terms.items():
            one = Affine(0, {atom: 1})
            term = self._index(one) if isinstance(atom, Axis) else self.wide(atom)
            if width(term.type) == 1:
                term = self.b.splat(term, self.lanes)
            total = self.b.add(total, self.b.mul(term, self._splat(c)))
        return total

    def ramp(self, step: Size) -> Value:
        """Return 0, step, 2 step ... in the lanes."""
        type_ = vector("i64", self.lanes)
        if isinstance(step, int):
            return lanes(type_, [step * k for k in range(self.lanes)])
        return self.b.mul(lanes(type_, range(self.lanes)), self._splat(step))

    def _splat(self, n: Size) -> Value:
        """A size in all lanes."""
        if isinstance(n, int):
            return const(vector("i64", self.lanes), n)
        return self.b.splat(self.b.size(n), self.lanes)

    # -- memory ---------------------------------------------------------------------------
    def address(self, dtype: str, buffer: Buffer, at: Affine) -> Value:
        """Return the address of an element, that of lane 0."""
        type_, memory = memory_type(dtype), self.pointer(buffer)
        first, distance = self.parted(at)
        if distance < 0 or any(isinstance(c, int) and c < 0 for c in at.terms.values()):
            return self.b.gep(type_, memory, self.b.op("add nsw", first, i64(distance)))
        return self.b.gep(type_, self.b.gep(type_, memory, first), i64(distance))

    def step(self, at: Affine) -> int | None:
        """Elements from one lane to the next; None where it is not constant."""
        if any(self.varies(a) for a in at.atoms):
            return None
        return at.terms.get(self.along, 0)

    def _load(self, value: Expr) -> Value:
        type_, dtype = memory_type(value.dtype), value.dtype
        align = ITEM_BYTES[dtype]
        buffer, at = value.param[:2]
        if value.op == BORDERED:
            raw = load_bordered(self, value.param, type_, align)
        elif not self.varies(value):
            raw = self.b.load(type_, self.address(dtype, buffer, at), align)
        elif self.step(at) == 1:
            wide = vector(type_, self.lanes)
            address = self.address(dtype, buffer, at)
            if self.mask is None:
                raw = self.b.load(wide, address, align)
            else:
                raw = self.b.masked_load(wide, address, self.mask, align, const(wide, 0))
        else:
            raw = (load_run(self, type_, buffer, at, align)
                   or self._shuffled(type_, dtype, buffer, at)
                   or self._gather(type_, dtype, buffer, at))
        return self.b.icmp("ne", raw, const(raw.type, 0)) if dtype == "bool" else raw

    def _shuffled(self, type_: str, dtype: str, buffer: Buffer, at: Affine) -> Value | None:
        """Load elements at constant steps, or one element for several lanes, by shuffles instead of
        a gather.
        """
        active = self.lanes if self.mask is None else self.active
        if active is None:
            return None
        step = self.step(at)
        if step is not None:
            if not isinstance(step, int) or not 1 <= abs(step) <= LONGEST_STEP:
                return None
            address = self.address(dtype, buffer, at)
            row = rows_at(self.b, type_, address, ITEM_BYTES[dtype])
            return load_steps(self.b, type_, row, self.lanes, step, active, ITEM_BYTES[dtype])
        moving = [a for a in at.atoms if self.varies(a)]
        if len(moving) != 1 or moving[0].op != "floor_divide" or at.terms[moving[0]] != 1:
            return None
        period = period_of(moving[0], self.along, self.unit)
        if period is None or self.along in at.terms:
            return None
        rest = Affine(at.const, {a: c for a, c in at.terms.items() if a is not moving[0]})
        first = self.b.op("sdiv", self.scalar_index(period.start), i64(period.length))
        address = self.b.gep(type_, self.address(dtype, buffer, rest), first)
        row = rows_at(self.b, type_, address, ITEM_BYTES[dtype])
        return load_repeated(self.b, row, self.lanes, period, active)

    def pointers(self, type_: str, buffer: Buffer, at: Affine) -> Value:
        indices = self._index(at)
        base = self.pointer(buffer)
        return self.b.value(
            f"<{self.lanes} x ptr>",
            f"getelementptr inbounds {type_}, {base}, {indices}",
        )

    def _gather(self, type_: str, dtype: str, buffer: Buffer, at: Affine) -> Value:
        wide = vector(type_, self.lanes)
        mask = self.mask or const(vector("i1", self.lanes), True)
        return self.b.gather(wide, self.pointers(type_, buffer, at), mask, ITEM_BYTES[dtype])

    def store(self, buffer: Buffer, at: Affine, value: Expr) -> None:
        """Write an expression's value."""
        if value.op == "complex":
            complex_pairs.store(self, buffer, at, value)
            return
        dtype = buffer.dtype.name
        type_ = memory_type(dtype)
        varies = self.varies(at)
        result = self.wide(value) if varies else self.value(value)
        if dtype == "bool":
            result = self.b.cast("zext", result, vector(type_, width(result.type)))
        if varies and self.step(at) != 1:
            mask = self.mask or const(vector("i1", self.lanes), True)
            self.b.scatter(result, self.pointers(type_, buffer, at), mask, ITEM_BYTES[dtype])
            return
        address = self.address(dtype, buffer, at)
        if varies and self.mask is not None and buffer.role != ROW:
            count = self.remaining or self.active
            if count is None or self.pointer(buffer).ref not in self.loaded:
                self.b.masked_store(result, address, self.mask, ITEM_BYTES[dtype])
            else:  # loads right behind a masked store wait until it is done
                store_first(self.b, result, address, count, ITEM_BYTES[dtype])
        elif varies and self.streams(buffer, at):
            self.b.stream(result, address)
        else:
            self.b.store(result, address, ITEM_BYTES[dtype])

    def streams(self, buffer: Buffer, at: Affine) -> bool:
        """Return whether a store should go past the caches: a big result, every vector aligned."""
        bytes_ = self.lanes * ITEM_BYTES[buffer.dtype.name]
        return (
            streams(buffer, self.b.module.target) and not self.rereads
            and bytes_ % LINE_BYTES == 0
            and all(isinstance(c, int) and c * ITEM_BYTES[buffer.dtype.name] % LINE_BYTES == 0
                    for a, c in at.terms.items() if a is not self.along)
            and at.const * ITEM_BYTES[buffer.dtype.name] % LINE_BYTES == 0
        )

    # -- reductions -----------------------------------------------------------------------
    def _reduce(self, value: Expr) -> Value:
        """Emit the loop of a reduction, fused with all others over the same axes; lanes are those
        of this scope.
        """
        value = self._own_axes(value)
        bound = value.param[1]
        lanes_ = self.lanes if self.varies(value) else 1
        group = [value, *self._beside(value)]
        starts = [
            const(scalars.register(r.dtype, lanes_), IDENTITY[r.param[0]](r.dtype)) for r in group
        ]
        if any(a.extent == 0 for a in bound):
            return const(starts[0].type, 0) if value.param[0] == "add" else starts[0]

        def iteration(scope: Scope, axes: tuple[Axis, ...], totals: list[Value]) -> list[Value]:
            if not axes:
                return [scope.folded(r, total, lanes_ > 1) for r, total in zip(group, totals,
                                                                               strict=True)]
            axis, *rest = axes
            inner = scope.inside({})
            scope.hoist([r.args[0] for r in group], {axis, *rest}, inner)

            def inner_iteration(index: Value, totals: list[Value]) -> list[Value]:
                inner.axes[axis] = index
                if lanes_ > 1 and not rest:
                    inner._call_ahead([r.args[0] for r in group], axis)
                return iteration(inner, tuple(rest), totals)

            n = axis.extent
            return totals_loop(self.b, self.watch, n, self.b.size(n), 1, totals,
                               lanes_ * product([a.extent for a in rest]), inner_iteration)

        scope = self if lanes_ > 1 else self.inside({}, lanes=1, mask=None)
        results = iteration(scope, bound, starts)
        self.memo.update(zip(group[1:], results[1:], strict=True))
        return results[0]

    def _own_axes(self, value: Expr) -> Expr:
        """Return a reduction with new axes in place of those that an outer loop also runs over."""
        shared = [a for a in value.param[1] if a in self.axes]
        if not shared:
            return value
        taken = {*self.axes, *bound_in([value])}
        new = {}
        for axis in shared:
            new[axis] = fresh_axis(axis.extent, taken, axis.slot).index
            taken |= new[axis].free
        return Substitution(new)(value)

    def _call_ahead(self, bodies: list[Expr], axis: Axis) -> None:
        """Emit prefetches for later iterations over ``axis`` of loads with a large stride."""
        for value in walk(bodies):
            if value.op != "load" or not self.varies(value):
                continue
            buffer, at = value.param
            size, step = ITEM_BYTES[value.dtype], at.terms.get(axis, 0)
            if (
                not isinstance(step, int)
                or abs(step) * size < _MIN_STRIDE_BYTES
                or self.step(at) != 1
            ):
                continue
            if guess(buffer.nbytes) < self.b.module.target.costs.ahead_bytes:
                continue
            dtype = complex_pairs.PARTS.get(value.dtype, value.dtype)
            parts = 1 if dtype == value.dtype else 2
            first = self.address(dtype, buffer, at * parts)
            for line in range(0, self.lanes * size, 64):
                distance = i64((step * _PREFETCH_ITERATIONS + line // size) * parts)
                prefetch(self.b, self.b.gep(memory_type(dtype), first, distance), near=True)

    def folded(self, reduction: Expr, total: Value, wide: bool) -> Value:
        """Return a running reduction combined with the element of this scope."""
        (body,) = reduction.args
        part = self.wide(body) if wide else self.value(body)
        return scalars.emit(self.b, reduction.param[0], (body.dtype, body.dtype), (total, part))

    def _beside(self, value: Expr) -> list[Expr]:
        """Return other pending reductions over the same axes that depend on no reduction, to be
        computed in the same loop.
        """
        bound = value.param[1]
        return [
            v for v in self.wanted
            if v is not value and v.op == "reduce" and v.param[1] == bound and not self.has(v)
            and self.varies(v) == self.varies(value) and v.free <= self.axes.keys()
            and not any(inner.reduces for inner in v.args)
        ]

    # -- hoisting -------------------------------------------------------------------------
    def hoist(self, values: Iterable[Expr], axes: Iterable[Axis], inner: Scope) -> None:
        """Evaluate in this scope what does not change in a loop over ``axes`` with the body
        ``inner``.
        """
        loop = frozenset(axes)
        seen: set[tuple[int, frozenset[Axis]]] = set()
        divisions: list[Expr] = []
        stack = [(v, loop) for v in values]
        while stack:
            value, changing = stack.pop()
            if value.op == "const" or (id(value), changing) in seen:
                continue
            seen.add((id(value), changing))
            if value.dtype.startswith("complex"):  # its parts are values
                stack.extend((a, changing) for a in value.args)
                continue
            if self._found(value) is not None:
                self._widen(value, inner)
            elif self._kept(value) is not None:
                continue
            elif not value.free & changing:
                self.value(value)
                self._widen(value, inner)
            else:
                inside = value.op in ("reduce", "steps")
                more = changing | set(value.param[1]) if inside else changing
                stack.extend((a, more) for a in value.args)
                if value.op == "divide" and any(
                    guess(a.extent) >= 2 * inner.lanes > 2 for a in loop
                ):
                    divisions.append(value.args[1])
        for divisor in divisions:
            self._ready(divisor, inner.lanes)

    def _ready(self, divisor: Expr, lanes_: int) -> None:
        """Prepare division by a value that does not change in the next loop."""
        if divisor.dtype not in RANGE or (divisor, lanes_) in self.divisors:
            return
        found = self.value(divisor) if divisor.op == "const" else self._found(divisor)
        if found is not None and width(found.type) == 1:
            self.divisors[divisor, lanes_] = Divisor(self.b, found, divisor.dtype, lanes_)

    def _widen(self, value: Expr, inner: Scope) -> None:
        found = self._found(value)
        if inner.lanes > 1 and found is not None and width(found.type) == 1:
            inner._wide[value] = self.b.splat(found, inner.lanes)
