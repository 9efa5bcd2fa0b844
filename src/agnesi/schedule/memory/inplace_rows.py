"""In-place reuse after a row is read: the result of a row takes the memory of its operand."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.core.ir.kernels import Buffer, Nest, Store, reductions, walk
from agnesi.core.ir.loops import Affine, Axis, Expr


def reads_rows_first(nest: Nest, source: Buffer, target: Store) -> bool:
    """Return whether each row of ``source`` is read before that row of the target is written.

    A row are the elements that the nest's sums run over, along its last axes.  Their sweeps come
    before the loops that store along these axes, and so do stores of one element for each row.
    Threads share out rows.
    """
    offset = target.offset
    sums = [*reductions([s.value for s in nest.body])]
    if not sums or offset.atoms:
        return False
    along = frozenset(sums[0].param[1])
    around = frozenset(a for a in nest.axes[:len(nest.axes) - len(along)] if a.extent != 1)
    if not nest.ordered < around or offset.free != around | {a for a in along if a.extent != 1}:
        return False
    if not along <= {*nest.axes} or any(
        {*v.param[1]} != along or not v.free <= around for v in sums
    ):
        return False
    whole = {v.param[1] for s in sums for v in walk(s.args) if _is_load(v, source)}
    if not whole <= {offset} or any(
        _is_load(v, source) for s in nest.body for v in walk(s.offset.atoms)
    ):
        return False
    written = False
    for s in nest.body:
        for value in _outside(s.value):
            if not _is_load(value, source):
                continue
            if s.offset.free <= around and _is_in_row(value.param[1], offset, along):
                continue
            # A read after the store would see the new value; before it, the loaded value can be
            # kept.
            if value.param[1] != offset or s.offset.free != offset.free or written:
                return False
        written |= s is target
    return True


def _is_load(value: Expr, source: Buffer) -> bool:
    return value.op == "load" and value.param[0] is source


def _outside(value: Expr) -> Iterator[Expr]:
    """Return the parts of an expression that are evaluated outside of sums."""
    seen, stack = {value}, [value]
    while stack:
        value = stack.pop()
        yield value
        new = {*value.args} - seen if value.op != "reduce" else set()
        seen |= new
        stack += new


def _is_in_row(at: Affine, offset: Affine, along: frozenset[Axis]) -> bool:
    """Return whether an index is surely an element of the row that ``offset`` is in."""
    if len(at.atoms) != 1 or len(along) != 1:
        return False
    (atom,), (axis,) = at.atoms, along
    if at.terms[atom] != offset.terms.get(axis) or not _is_between(atom, axis.extent):
        return False
    rest = {a: c for a, c in at.terms.items() if a is not atom}
    return at.const == offset.const and rest == {
        a: c for a, c in offset.terms.items() if a is not axis
    }


def _is_between(value: Expr, n: int) -> bool:
    """Return whether an index is clipped to [0, n)."""
    if value.op != "minimum" or value.args[0].op != "maximum":
        return False
    low, high = value.args[0].args[1], value.args[1]
    return low.op == high.op == "const" and low.param >= 0 and high.param == n - 1
