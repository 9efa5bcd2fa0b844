"""Complex numbers in memory: real and imaginary part beside each other."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Value, const, i64, vector
from agnesi.core.ir.kernels import Buffer
from agnesi.core.ir.loops import Affine, Expr

Pair = tuple[Value, Value]
#: The dtype of one of the two parts.
PARTS = {"complex64": "float32", "complex128": "float64"}


def load(scope: Any, number: Expr) -> Pair:
    """The parts of a complex number in memory, loaded once in a scope."""
    known = (s.pairs[number] for s in (scope, *scope.around) if number in s.pairs)
    found: Pair | None = next(known, None)
    if found is None:
        buffer, at = number.param
        found = scope.pairs[number] = _load(scope, buffer, at, scope.varies(number))
    return found


def _load(scope: Any, buffer: Buffer, at: Affine, varies: bool) -> Pair:
    b, type_, item = scope.b, scalars.register(PARTS[buffer.dtype.name]), buffer.dtype.itemsize // 2
    if not varies:
        address = _address(scope, type_, buffer, at)
        return b.load(type_, address, item), b.load(type_, b.gep(type_, address, i64(1)), item)
    if scope.step(at) != 1:
        mask = scope.mask or const(vector("i1", scope.lanes), True)
        re, im = (
            b.gather(vector(type_, scope.lanes), p, mask, item)
            for p in _addresses(scope, type_, buffer, at)
        )
        return re, im
    both, address = vector(type_, 2 * scope.lanes), _address(scope, type_, buffer, at)
    if scope.mask is None:
        raw = b.load(both, address, item)
    else:
        raw = b.masked_load(both, address, _twice(scope), item, const(both, 0))
    evens = range(0, 2 * scope.lanes, 2)
    return b.shuffle(raw, None, evens), b.shuffle(raw, None, [k + 1 for k in evens])


def store(scope: Any, buffer: Buffer, at: Affine, value: Expr) -> None:
    """Write a complex number, given by its parts."""
    b, type_, item = scope.b, scalars.register(PARTS[buffer.dtype.name]), buffer.dtype.itemsize // 2
    if not scope.varies(at):
        address = _address(scope, type_, buffer, at)
        re, im = (scope.value(a) for a in value.args)
        b.store(re, address, item)
        b.store(im, b.gep(type_, address, i64(1)), item)
        return
    re, im = (scope.wide(a) for a in value.args)
    if scope.step(at) != 1:
        mask = scope.mask or const(vector("i1", scope.lanes), True)
        for part, addresses in zip((re, im), _addresses(scope, type_, buffer, at), strict=True):
            b.scatter(part, addresses, mask, item)
        return
    order = [k for i in range(scope.lanes) for k in (i, i + scope.lanes)]
    both, address = b.shuffle(re, im, order), _address(scope, type_, buffer, at)
    if scope.mask is not None:
        b.masked_store(both, address, _twice(scope), item)
    elif scope.streams(buffer, at):
        b.stream(both, address)
    else:
        b.store(both, address, item)


def _twice(scope: Any) -> Value:
    """The mask of a scope, each lane for two parts."""
    mask: Value = scope.b.shuffle(scope.mask, None, [k // 2 for k in range(2 * scope.lanes)])
    return mask


def _address(scope: Any, type_: str, buffer: Buffer, at: Affine) -> Value:
    """Return the address of the real part of a complex number."""
    address: Value = scope.b.gep(type_, scope.pointer(buffer), scope.scalar_index(at * 2))
    return address


def _addresses(scope: Any, type_: str, buffer: Buffer, at: Affine) -> Pair:
    """Return the offsets of the parts of each lane."""
    re, im = (scope.pointers(type_, buffer, at * 2 + k) for k in (0, 1))
    return re, im
