"""The scalar loop language that operations are lowered to: what is one element of the result?

An expression is built over loop axes: loads at affine indices, scalar operations by the names of
the elementwise table, casts, and reductions that bind axes of their own.  Expressions are interned,
so equal ones are the same object and sharing is visible to the compiler.  Nothing here knows a
target: the CPU renderer lives in ``codegen``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.extents import Extent, surely
from agnesi.core.ir.interning import INTERNED
from agnesi.core.support.record import record

BOOL_RESULTS = frozenset((
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "logical_not isnan isinf isfinite signbit").split())

#: Bytes of an element in memory.
ITEM_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8, "complex64": 8,
    "complex128": 16,
}
#: Arithmetic on booleans, of which there are no numbers of one bit.
_LOGICAL = {"add": "logical_or", "multiply": "logical_and",
            "maximum": "logical_or", "minimum": "logical_and"}
#: Operators from a complex number to a real one.
_PARTS = frozenset(("real", "imag", "abs", "angle"))


class Axis:
    """A loop variable that runs over [0, extent).  ``slot`` distinguishes the loops of a nest."""

    __slots__ = ("_index", "extent", "slot")

    extent: int
    slot: int
    _index: Affine

    def __new__(cls, slot: int, extent: int) -> Axis:
        key = slot, extent
        found = INTERNED.get(key)
        if found is None:
            found = object.__new__(cls)
            found.slot, found.extent = key
            return INTERNED.setdefault(key, found)
        return found

    @property
    def index(self) -> Affine:
        """The axis itself as an index."""
        try:
            return self._index
        except AttributeError:
            self._index = found = Affine(0, {self: 1})
            return found

    def __repr__(self) -> str:
        return f"i{self.slot}<{self.extent}>"


#: The first slot that lowering names no axis by.
_FIRST_FRESH_SLOT = 1 << 7
#: Multiple by which the slots of renumbered axes are shifted, so that neighbouring axes stay
#: neighbours.
_SLOT_STEP = 16


def fresh_axis(extent: int, taken: Collection[Axis], slot: int = _FIRST_FRESH_SLOT) -> Axis:
    """Return an axis that is not in ``taken``: the one of this slot if free, else of a later slot.

    The choice depends on ``taken`` alone, so that equal kernels stay equal.  When axes of stores
    are replaced, ``taken`` must hold their bound axes too (``kernels.axes_in``).
    """
    while (axis := Axis(slot, extent)) in taken:
        slot += _SLOT_STEP
    return axis


def fresh_axes(extents: Sequence[int], taken: Iterable[Axis]) -> tuple[Axis, ...]:
    """Several axes that are none of ``taken``."""
    around = {*taken}
    return tuple([fresh_axis(n, around, _FIRST_FRESH_SLOT + i) for i, n in enumerate(extents)])


def _operator(name: str, *, swapped: bool = False) -> Callable[[Any, Any], Expr]:
    return (lambda a, b: call(name, b, a)) if swapped else (lambda a, b: call(name, a, b))


class Expr:
    """A scalar value: operation name, arguments, dtype name, parameter, free axes.

    Python's operators make expressions, as :func:`call` does; ``&``, ``|`` and ``~`` are logical.
    Only ``==`` needs identity: the operations are ``eq`` and ``ne``.

    ``buffers`` are those it loads from, and where, set by the first call of ``kernels.reads_of``;
    ``loads`` and ``reduces`` are true if it contains a load, a reduction.
    """

    __slots__ = ("args", "buffers", "dtype", "free", "loads", "op", "param", "reduces")

    op: str
    args: tuple[Expr, ...]
    dtype: str
    param: Any
    free: frozenset[Axis]
    buffers: dict[Any, Any] | None
    loads: bool
    reduces: bool

    __array_ufunc__ = None  # NumPy's numbers leave their operators to these
    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", swapped=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", swapped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", swapped=True)
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __and__, __or__ = _operator("logical_and"), _operator("logical_or")
    eq, ne = _operator("equal"), _operator("not_equal")

    def __neg__(self) -> Expr:
        return call("negative", self)

    def __abs__(self) -> Expr:
        return call("abs", self)

    def __invert__(self) -> Expr:
        return call("logical_not", self)

    def __repr__(self) -> str:
        if self.op == "load":
            return f"{self.param[0]}[{self.param[1]}]"
        if self.op in ("const", "size", "index"):
            return str(self.param)
        if self.op == "reduce":
            return f"{self.param[0]}{list(self.param[1])}({self.args[0]})"
        return f"{self.op}({', '.join(map(repr, self.args))})"


def make(op: str, args: tuple[Expr, ...], dtype: str, param: Any = None,
         free: frozenset[Axis] | None = None) -> Expr:
    """The expression with these parts (one object for equal parts)."""
    key = (op, args, dtype, param)
    found = INTERNED.get(key)
    if found is None:
        found = Expr()
        found.op, found.args, found.dtype, found.param = op, args, dtype, param
        if free is None:
            free = args[0].free.union(*[a.free for a in args[1:]]) if args else frozenset()
        found.free, found.buffers = free, None
        found.loads = op == "load" or True in [a.loads for a in args]
        found.reduces = op == "reduce" or True in [a.reduces for a in args]
        found = INTERNED.setdefault(key, found)
    return found


class Affine:
    """``const + sum(coefficient * atom)``; an atom is an Axis or an integer expression.

    Sizes may be run-time values: as coefficients they stay, as constants they become atoms.
    """

    __slots__ = ("_atoms", "_hash", "const", "terms")

    const: int
    terms: dict[Any, int]
    _atoms: tuple[Expr, ...]
    _hash: int

    def __init__(self, const: Size = 0, terms: Mapping[Any, int] | None = None) -> None:
        self.terms = {a: c for a, c in (terms or {}).items() if c}
        self.const = 0
        if isinstance(const, Extent):
            self._add_size(const)
        else:
            self.const = const  # type: ignore[assignment]

    def _add_size(self, n: Extent) -> None:
        """Add a dynamic size: its constant term to ``const``, its monomials as atoms."""
        for monomial, factor in n.terms:
            if not monomial:
                self.const += factor
                continue
            atom = size(product(monomial))
            total = self.terms.pop(atom, 0) + factor
            if total:
                self.terms[atom] = total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.const == other.const and self.terms == other.terms

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = found = hash((self.const, frozenset(self.terms.items())))
            return found

    def __add__(self, other: Affine | Size) -> Affine:
        if isinstance(other, int):
            return Affine(self.const + other, self.terms)
        if not isinstance(other, Affine):
            return self + Affine(other)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        return Affine(self.const + other.const, terms)

    def __mul__(self, factor: Any) -> Affine:
        return Affine(self.const * factor, {a: c * factor for a, c in self.terms.items()})

    def __repr__(self) -> str:
        parts = [f"{a}" if c == 1 else f"{c}*{a}" for a, c in self.terms.items()]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)

    @property
    def atoms(self) -> tuple[Expr, ...]:
        """The terms that are not loop axes."""
        try:
            return self._atoms
        except AttributeError:
            self._atoms = found = tuple([a for a in self.terms if isinstance(a, Expr)])
            return found

    @property
    def free(self) -> frozenset[Axis]:
        """Axes that the index depends on."""
        atoms = self.atoms
        if not atoms:
            return frozenset(self.terms)
        return frozenset([a for a in self.terms if isinstance(a, Axis)]).union(
            *[atom.free for atom in atoms]
        )

    def bounds(self) -> tuple[int, int] | None:
        """Least and greatest value, where the atoms are axes only."""
        low = high = self.const
        for atom, c in self.terms.items():
            if not isinstance(atom, Axis):
                return None
            span = c * (atom.extent - 1)
            if surely(lambda span=span: span >= 0):  # type: ignore[misc]
                high = high + span
            elif surely(lambda span=span: span <= 0):  # type: ignore[misc]
                low = low + span
            else:
                return None
        return low, high

    def divmod(self, n: int) -> tuple[Affine, Affine]:
        """Quotient and remainder by a positive number, affine where that is exact."""
        if n == 1:
            return self, Affine()
        exact = {a: c // n for a, c in self.terms.items() if divides(n, c)}
        start = self.const // n if isinstance(n, int) else 0
        whole = Affine(start, exact)
        rest = Affine(
            self.const - start * n, {a: c for a, c in self.terms.items() if a not in exact}
        )
        bounds = rest.bounds()
        if bounds is not None and surely(lambda: bounds[0] >= 0 and bounds[1] < n):
            return whole, rest
        value, by = index(rest), const(n, "int64")
        quotient = call("floor_divide", value, by)
        return whole + Affine(0, {quotient: 1}), Affine(0, {call("remainder", value, by): 1})


START = Affine()  # the first index


def divides(n: Any, c: Any) -> bool:
    """Return whether ``n`` goes into ``c``, as far as that is known."""
    rest = c % n
    return isinstance(rest, int) and rest == 0


At = tuple[Affine, ...]


def index(at: Affine) -> Expr:
    """An index as an int64 value."""
    return make("index", at.atoms, "int64", at, at.free)


def atom_of(value: Expr) -> Affine:
    """An integer value as an index."""
    if value.op == "index":
        return value.param
    if value.op == "const":
        return Affine(int(value.param))
    if value.op == "size":
        return Affine(value.param)
    return Affine(0, {cast(value, "int64"): 1})


def size(n: Size) -> Expr:
    """A size as an int64 value."""
    if isinstance(n, int):
        return const(n, "int64")
    return make("size", (), "int64", n)


def const(value: Any, dtype: str) -> Expr:
    """A constant.  Zero keeps its sign; NaN is fine."""
    if isinstance(value, Extent):
        return cast(size(value), dtype)
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        value = complex(value)
        return make("complex", (const(value.real, part), const(value.imag, part)), dtype)
    if dtype.startswith(("float", "bfloat")):
        value = float(value)
        return make("const", (), dtype, value if value == value and value != 0 else _Bits(value))
    return make("const", (), dtype, bool(value) if dtype == "bool" else int(value))


class _Bits(float):
    """A float that is equal to itself bit for bit: distinguishes -0.0 from 0.0 and keeps NaN."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bits) and self.hex() == other.hex()

    def __hash__(self) -> int:
        return hash(self.hex())


def alike(name: str, args: Sequence[Any]) -> tuple[Expr, ...]:
    """Return operands with numbers converted to constants of the dtype of the first expression, or
    float64 if all are numbers. The condition of ``where`` does not count.
    """
    dtypes = [a.dtype for a in args[name == "where":] if type(a) is Expr]
    return tuple([a if type(a) is Expr else const(a, dtypes[0] if dtypes else "float64")
                  for a in args])


def call(name: str, *args: Any) -> Expr:
    """A scalar operation by its name in the elementwise table; operands share one dtype, which
    numbers take."""
    for a in args:
        if type(a) is not Expr:
            args = alike(name, args)
            break
    dtype = (args[1] if name == "where" else args[0]).dtype
    name = _LOGICAL.get(name, name) if dtype == "bool" else name
    if dtype.startswith("complex") and name in _PARTS:
        dtype = "float32" if dtype == "complex64" else "float64"
    return make(name, args, "bool" if name in BOOL_RESULTS else dtype)


def where(condition: Expr, a: Any, b: Any) -> Expr:
    """``a`` where the condition holds, else ``b``."""
    return call("where", condition, a, b)


def cast(value: Expr, dtype: str) -> Expr:
    """Conversion with NumPy's meaning."""
    if value.dtype == dtype:
        return value
    if value.op == "const":
        return const(np.asarray(value.param).astype(dtype)[()], dtype)
    return make("cast", (value,), dtype)


def bits(value: Expr, dtype: str = "") -> Expr:
    """The bits of a float as a signed integer, or those of an integer as a float of ``dtype``."""
    return make("bits", (value,), dtype or value.dtype.removeprefix("b").replace("float", "int"))


def load(buffer: Any, dtype: str, offset: Affine) -> Expr:
    """An element of a buffer, at an offset counted in elements."""
    return make("load", offset.atoms, dtype, (buffer, offset), offset.free)


def reduce_(kind: str, sizes: Sequence[int], body: Callable[..., Expr], avoid: Iterable[Axis],
            slots: Sequence[int]) -> Expr:
    """Reduction of ``body(*axes)`` over fresh axes of the given sizes.

    ``kind`` is a scalar operation: add, multiply, maximum, minimum, logical_and, logical_or.  Axes
    take the preferred ``slots`` unless that axis is in ``avoid``, so that reductions and loops
    around them share axes wherever they run over the same axis.
    """
    axes: list[Axis] = []
    taken = {*avoid}
    for n, slot in zip(sizes, slots, strict=True):
        axes.append(fresh_axis(n, taken, slot))
        taken.add(axes[-1])
    inner = body(*[a.index for a in axes])
    kind = _LOGICAL.get(kind, kind) if inner.dtype == "bool" else kind
    bound = tuple(axes)
    return make("reduce", (inner,), inner.dtype, (kind, bound), inner.free - set(bound))


def in_steps(at: At, most: int, wanted: Expr, starts: Sequence[Expr],
             step: Callable[[Expr, list[Expr]], tuple[Sequence[Expr], Expr]]) -> Expr:
    """A per-element convergence loop: return the first of its values after the last iteration.

    ``step(t, values)`` returns the values after iteration ``t`` and whether the element goes on,
    for at most ``most`` iterations.  Elements where ``wanted`` is false have none.
    """
    around = frozenset().union(*(i.free for i in at), *(v.free for v in (wanted, *starts)))
    axis = fresh_axis(most, around)
    free = around | {axis}
    values = [make("step value", (), s.dtype, (k, free), free) for k, s in enumerate(starts)]
    following, more = step(index(Affine(0, {axis: 1})), values)
    args = (wanted, more, *starts, *following)
    return make("steps", args, starts[0].dtype, ("steps", (axis,)), free - {axis})


class Read:
    """Access to an operand while lowering: ``read(*at)`` is the element there."""

    __slots__ = ("dtype", "function", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: str, function: Callable[[At], Expr]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.function = function

    def __call__(self, *at: Affine) -> Expr:
        return self.function(tuple(at))

    def broadcast(self, at: At) -> Expr:
        """The element that broadcasting puts at ``at``."""
        own = at[len(at) - len(self.shape):]
        if 1 in self.shape:
            own = tuple([START if n == 1 else i for n, i in zip(self.shape, own, strict=True)])
        return self.function(own)


@record
class Part:
    """A region of a result: element ``i`` of the part is at ``start + step * i`` on each axis.

    Steps are positive.  ``function(at)`` is the part's element at ``at``, counted in the part's
    own ``shape``.  Parts of one result are written in order, later ones over earlier ones.
    """

    start: tuple[int, ...]
    step: tuple[int, ...]
    shape: tuple[int, ...]
    function: Callable[[At], Expr]

    @classmethod
    def whole(cls, shape: Sequence[int], function: Callable[[At], Expr]) -> Part:
        """The part that covers a result of this shape."""
        return cls((0,) * len(shape), (1,) * len(shape), tuple(shape), function)


@record
class Sequential:
    """A result written in order: an element may be written several times, or read again later.

    Point ``at`` of ``shape`` writes ``value(own, at)`` to element ``target(at)``; ``own`` reads the
    result as written so far.  Axes are sequential if they are in ``order``, or if ``target`` is
    computed from loaded indices along them; along all other axes points never write the same
    element, and may run in any order.
    """

    shape: tuple[int, ...]
    target: Callable[[At], At]
    value: Callable[[Read, At], Expr]
    order: tuple[int, ...] = ()


def unravel(flat: Affine, shape: Sequence[int]) -> At:
    """Indices of the element at row-major position ``flat``."""
    result: list[Affine] = []
    for n in reversed(shape[1:]):
        flat, rest = flat.divmod(n)
        result.append(rest)
    return (flat, *reversed(result)) if shape else ()


def ravel(at: At, shape: Sequence[int]) -> Affine:
    """Row-major position of an element."""
    flat = Affine()
    for i, n in zip(at, shape, strict=True):
        flat = flat * n + i
    return flat


class Substitution:
    """Rewrites expressions with some axes replaced by affine indices, and values by others."""

    def __init__(self, axes: Mapping[Axis, Affine], values: Mapping[Expr, Expr] | None = None):
        self.axes = axes
        self._done: dict[Expr, Expr] = dict(values or {})

    def index(self, at: Affine) -> Affine:
        """Return an index with axes and values replaced."""
        const: Size = at.const
        terms: dict[Any, int] = {}
        for atom, c in at.terms.items():
            new = self.axes.get(atom, atom.index) if isinstance(atom, Axis) else atom_of(self(atom))
            const = const + new.const * c
            for inner, step in new.terms.items():
                terms[inner] = terms.get(inner, 0) + step * c
        return Affine(const, terms)

    def _axes(self, axis: Axis) -> frozenset[Axis]:
        """The axes instead of one."""
        return self.axes[axis].free if axis in self.axes else frozenset((axis,))

    def __call__(self, value: Expr) -> Expr:
        found = self._done.get(value)
        if found is None:
            if not value.args and not value.free & self.axes.keys():
                return value
            found = self._done[value] = self._rebuilt(value)
        return found

    def _rebuilt(self, value: Expr) -> Expr:
        if value.op == "load":
            return load(value.param[0], value.dtype, self.index(value.param[1]))
        if value.op == "index":
            return index(self.index(value.param))
        if value.op == "step value":
            free = frozenset().union(*(self._axes(a) for a in value.free))
            return make(value.op, (), value.dtype, (value.param[0], free), free)
        args = tuple(self(a) for a in value.args)
        if value.op == "steps":
            free = frozenset().union(*(self._axes(a) for a in value.free))
            return make(value.op, args, value.dtype, value.param, free)
        if value.op != "reduce":
            return make(value.op, args, value.dtype, value.param)
        kind, bound = value.param
        left = tuple(dict.fromkeys(
            a for axis in bound
            for a in (self.axes[axis].terms if axis in self.axes else (axis,))
            if isinstance(a, Axis)
        ))
        return make("reduce", args, value.dtype, (kind, left), args[0].free - set(left))


class PointSubstitution(Substitution):
    """Replaces axes only where they are free: a reduction's own axis is another one, even where the
    loops around the reduction share it.
    """

    def __call__(self, value: Expr) -> Expr:
        if not value.free & self.axes.keys():
            return value
        own = {*value.param[1]} if value.op in ("reduce", "steps") else set()
        if own & self.axes.keys():
            return PointSubstitution({a: i for a, i in self.axes.items() if a not in own})(value)
        return super().__call__(value)
