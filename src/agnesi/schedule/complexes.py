"""Lowering of complex values to pairs of real ones, because code is generated for real ones only.

Complex numbers remain in memory accesses alone: ``real`` and ``imag`` of a load, and ``complex`` of
two parts under a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Kernel, Store, walk
from agnesi.core.ir.loops import Affine, Expr, Substitution, atom_of
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.schedule.program import Program

if TYPE_CHECKING:
    from agnesi.schedule.complexmath import Pair


def is_known(node: Node) -> bool:
    """Return whether an operation on complex numbers can be written in real ones."""
    op = node.op
    if op is None:
        return True
    if op.pointwise:
        from agnesi.schedule.complexmath import COMPLEX, REAL

        known = "conversion" in op.traits or op.name in COMPLEX or op.name in REAL
        return known or getattr(op, "expand", None) is not None
    return "nonlinear" not in op.traits


def to_real(program: Program) -> Program:
    """Write the expressions of kernels in real numbers."""
    if "c" in {node.dtype.kind for node in program.order}:
        program.count(split(program.kernels))
    return program


def split(kernels: Iterable[Kernel]) -> int:
    """Write the expressions of kernels in real numbers; how many needed that."""
    parts, changed = _Parts(), 0
    for kernel in kernels:
        stores = kernel.stores()
        values = [v for s in stores for v in (s.value, *s.offset.atoms)]
        if any(v.dtype.startswith("complex") for v in walk(values)):
            kernel.change([Store(s.buffer, parts.index(s.offset), parts(s.value)) for s in stores])
            changed += 1
    return changed


class _Parts(Substitution):
    """Rewrites expressions without complex operations."""

    def __init__(self) -> None:
        super().__init__({})
        self._pairs: dict[Expr, Pair] = {}

    def index(self, at: Affine) -> Affine:
        """Return an index with its expressions rewritten in real numbers."""
        if not at.atoms:
            return at
        result = Affine(at.const)
        for atom, c in at.terms.items():
            result = result + (atom_of(self(atom)) * c if isinstance(atom, Expr) else
                               Affine(0, {atom: c}))
        return result

    def __call__(self, value: Expr) -> Expr:
        if value.dtype.startswith("complex"):
            re, im = self.pair(value)
            return loops.make("complex", (re, im), value.dtype)
        found = self._done.get(value)
        if found is None:
            found = self._done[value] = self._real(value)
        return found

    def _real(self, value: Expr) -> Expr:
        if not any(a.dtype.startswith("complex") for a in value.args):
            return self._rebuilt(value)
        pairs = [self.pair(a) for a in value.args]
        if value.op == "cast":
            if value.dtype == "bool":
                return pairs[0][0].ne(0) | pairs[0][1].ne(0)
            return loops.cast(pairs[0][0], value.dtype)
        from agnesi.schedule.complexmath import REAL

        return REAL[value.op](*pairs)

    def pair(self, value: Expr) -> Pair:
        """The parts of a complex value."""
        found = self._pairs.get(value)
        if found is None:
            found = self._pairs[value] = self._pair(value)
        return found

    def _pair(self, value: Expr) -> Pair:
        part = dtypes.real_of(dtypes.as_dtype(value.dtype)).name
        if value.op == "load":
            read = loops.load(value.param[0], value.dtype, self.index(value.param[1]))
            re, im = (loops.make(name, (read,), part) for name in ("real", "imag"))
            return re, im
        if value.op == "cast":
            return self._cast(value.args[0], part)
        if value.op == "reduce":
            re, im = self.pair(value.args[0])
            return (loops.make("reduce", (re,), part, value.param, value.free),
                    loops.make("reduce", (im,), part, value.param, value.free))
        from agnesi.schedule.complexmath import COMPLEX

        return COMPLEX[value.op](*[
            (self.pair if a.dtype.startswith("complex") else self)(a) for a in value.args])

    def _cast(self, value: Expr, part: str) -> Pair:
        if not value.dtype.startswith("complex"):
            return loops.cast(self(value), part), loops.const(0.0, part)
        re, im = self.pair(value)
        return loops.cast(re, part), loops.cast(im, part)
