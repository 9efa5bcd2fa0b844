"""Roots and logarithms of upper triangles of complex numbers, column by column.

Both are found by substitution: an element of a column depends on those below it, and its multiples
are then subtracted from those above, which are contiguous in memory.
"""

from __future__ import annotations

import numpy as np

from agnesi.codegen.interrupts import poll
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64
from agnesi.core.target import Target

#: A complex number: its parts.
Pair = tuple[Value, Value]
#: How far from 1 triangles may be for the approximant of the logarithm.
MAX_DISTANCE_FROM_ONE = 0.25
#: The degree of the approximant.
DEGREE = 8
#: Square roots that are taken, at most: far more than exponents of double precision need.
MAX_ROOTS = 200


def triangles_module(kind: str, target: Target) -> str:
    """The module for "rootm" or "logm"; its function is ``main``.

    ``main(ptr triangle, ptr result, i64 n)`` gives the root, ``main(ptr triangle, ptr result,
    ptr workspace, i64 n)`` the logarithm but for its diagonal.  Matrices are stored column by
    column; ``workspace`` holds two of them.
    """
    module = Module(target)
    _write_less(Builder(module, "take_off", [
        ("ptr", "column"), ("ptr", "other"), ("double", "re"), ("double", "im"), ("i64", "n"),
    ]))
    parts = [("ptr", "triangle"), ("ptr", "result"), ("i64", "n")]
    _write_root(Builder(module, "root", parts))
    if kind == "rootm":
        b = Builder(module, "main", parts, internal=False)
        b.call("void", "root", *b.parameters)
        b.finish()
        return str(module)
    _write_rest(Builder(module, "rest", [*parts, ("double", "point"), ("double", "weight")]))
    _write_distance(Builder(module, "distance", [("ptr", "triangle"), ("i64", "n")], "double"))
    _write_logarithm(Builder(module, "main", [
        ("ptr", "triangle"), ("ptr", "result"), ("ptr", "workspace"), ("i64", "n"),
    ], internal=False))
    return str(module)


# -- complex numbers ------------------------------------------------------------------------------
def _number(x: float) -> Value:
    return const("double", x)


def _at(b: Builder, base: Value, i: Value) -> Value:
    return b.gep("double", base, b.mul(i, i64(2)))


def _get(b: Builder, base: Value, i: Value) -> Pair:
    address = _at(b, base, i)
    return b.load("double", address), b.load("double", b.gep("double", address, i64(1)))


def _put(b: Builder, base: Value, i: Value, value: Pair) -> None:
    address = _at(b, base, i)
    b.store(value[0], address)
    b.store(value[1], b.gep("double", address, i64(1)))


def _times(b: Builder, x: Pair, y: Pair) -> Pair:
    (a, c), (d, e) = x, y
    return (b.fsub(b.fmul(a, d), b.fmul(c, e)), b.fadd(b.fmul(a, e), b.fmul(c, d)))


def _size(b: Builder, x: Pair) -> Value:
    """Return the greater magnitude of a complex number's parts."""
    return b.intrinsic("maxnum", b.intrinsic("fabs", x[0]), b.intrinsic("fabs", x[1]))


def _over(b: Builder, x: Pair, y: Pair) -> Pair:
    """Return a complex quotient; 0 / 0 is 0."""
    size = _size(b, y)
    re, im = b.fdiv(y[0], size), b.fneg(b.fdiv(y[1], size))
    length = b.fmul(b.fadd(b.fmul(re, re), b.fmul(im, im)), size)
    found = [b.fdiv(part, length) for part in _times(b, x, (re, im))]
    nothing = b.op("and", b.fcmp("oeq", size, _number(0.0)),
                   b.fcmp("oeq", _size(b, x), _number(0.0)))
    first, second = (b.select(nothing, _number(0.0), part) for part in found)
    return first, second


def _root_of(b: Builder, z: Pair) -> Pair:
    """The principal root of a number, without overflow."""
    x, y = z
    size = _size(b, z)
    ratios = [b.fdiv(part, size) for part in z]
    squares = b.fadd(*(b.fmul(r, r) for r in ratios))
    length = b.fmul(size, b.intrinsic("sqrt", squares))
    half = b.fadd(b.fmul(length, _number(0.5)), b.fmul(b.intrinsic("fabs", x), _number(0.5)))
    great = b.intrinsic("sqrt", half)
    less = b.fdiv(b.fmul(b.intrinsic("fabs", y), _number(0.5)), great)
    right = b.fcmp("oge", x, _number(0.0))
    re, im = b.select(right, great, less), b.select(right, less, great)
    nothing = b.fcmp("oeq", size, _number(0.0))
    re, im = (b.select(nothing, _number(0.0), part) for part in (re, im))
    return re, b.call("double", "llvm.copysign.f64", im, y)


# -- triangles ------------------------------------------------------------------------------------
def _write_less(b: Builder) -> None:
    """Write ``take_off``, which subtracts a multiple of the first elements of one column from
    another.
    """
    column, other, re, im, n = b.parameters
    with b.loop(i64(0), n) as loop:
        there = _times(b, _get(b, other, loop.index), (re, im))
        own = _get(b, column, loop.index)
        _put(b, column, loop.index, (b.fsub(own[0], there[0]), b.fsub(own[1], there[1])))
    b.finish()


def _column(b: Builder, base: Value, j: Value, n: Value) -> Value:
    return _at(b, base, b.mul(j, n))


def _left(b: Builder) -> Value:
    """Return whether the function is to be left for a signal; its result is discarded then."""
    return b.icmp("ne", poll(b), const("i32", 0))


def _write_root(b: Builder) -> None:
    """Write the function for the square root of an upper triangular matrix: Björck and Hammarling
    (1983).
    """
    triangle, result, n = b.parameters
    with b.loop(i64(0), n) as outer:
        j = outer.index
        given, own = _column(b, triangle, j, n), _column(b, result, j, n)
        with b.loop(i64(0), n) as loop:
            above = b.icmp("slt", loop.index, j)
            re, im = (b.select(above, x, _number(0.0)) for x in _get(b, given, loop.index))
            _put(b, own, loop.index, (re, im))
        corner = _root_of(b, _get(b, given, j))
        _put(b, own, j, corner)
        with b.loop(i64(0), j) as loop:
            i = b.sub(b.sub(j, i64(1)), loop.index)
            other = _column(b, result, i, n)
            end = _get(b, other, i)
            total = b.fadd(end[0], corner[0]), b.fadd(end[1], corner[1])
            value = _over(b, _get(b, own, i), total)
            _put(b, own, i, value)
            b.call("void", "take_off", own, other, *value, i)
        outer.until = _left(b)
    b.finish()


def _write_distance(b: Builder) -> None:
    """Write the function for the distance of a triangle from the identity: the greatest sum of
    magnitudes of a column of their difference.
    """
    triangle, n = b.parameters
    with b.loop(i64(0), n, 1, [_number(0.0)]) as outer:
        j = outer.index
        own = _column(b, triangle, j, n)
        with b.loop(i64(0), b.add(j, i64(1)), 1, [_number(0.0)]) as loop:
            re, im = _get(b, own, loop.index)
            re = b.select(b.icmp("eq", loop.index, j), b.fsub(re, _number(1.0)), re)
            length = b.intrinsic("sqrt", b.fadd(b.fmul(re, re), b.fmul(im, im)))
            loop.carry(b.fadd(loop.carried[0], length))
        outer.carry(b.intrinsic("maxnum", outer.carried[0], loop.results[0]))
    b.finish(outer.results[0])


def _write_rest(b: Builder) -> None:
    """``result += weight * (1 + point * x)^-1 x`` for a triangle ``x``, whose 1 is taken off."""
    triangle, result, n, point, weight = b.parameters
    workspace = b.gep("double", result, b.mul(b.mul(n, n), i64(2)))  # a column behind the result
    with b.loop(i64(0), n) as outer:
        j = outer.index
        given, own = _column(b, triangle, j, n), _column(b, result, j, n)
        with b.loop(i64(0), b.add(j, i64(1))) as loop:
            _put(b, workspace, loop.index, _get(b, given, loop.index))
        with b.loop(i64(0), b.add(j, i64(1))) as loop:
            i = b.sub(j, loop.index)
            other = _column(b, triangle, i, n)
            end = [b.fmul(part, point) for part in _get(b, other, i)]
            value = _over(b, _get(b, workspace, i), (b.fadd(end[0], _number(1.0)), end[1]))
            total = _get(b, own, i)
            re, im = (b.fadd(t, b.fmul(weight, v)) for t, v in zip(total, value, strict=True))
            _put(b, own, i, (re, im))
            less = [b.fmul(part, point) for part in value]
            b.call("void", "take_off", workspace, other, *less, i)
        outer.until = _left(b)
    b.finish()


def _write_logarithm(b: Builder) -> None:
    """Write the function for the logarithm by repeated square roots and a Padé approximant: Higham,
    Functions of Matrices (2008), 11.5.
    """
    triangle, result, workspace, n = b.parameters
    count = b.mul(n, n)
    bytes_ = b.mul(count, i64(16))
    other = b.gep("double", workspace, b.mul(b.add(count, n), i64(2)))
    false = const("i1", False)
    b.call("void", "llvm.memcpy.p0.p0.i64", other, triangle, bytes_, false)
    with b.loop(i64(0), i64(MAX_ROOTS), 1, [_number(1.0)]) as loop:
        far = b.call("double", "distance", other, n)
        wanted = b.fcmp("ogt", far, _number(MAX_DISTANCE_FROM_ONE))
        loop.until = b.op("or", b.op("xor", wanted, const("i1", True)), _left(b))
        with b.when(wanted):
            b.call("void", "root", other, workspace, n)
            b.call("void", "llvm.memcpy.p0.p0.i64", other, workspace, bytes_, false)
        loop.carry(b.select(wanted, b.fadd(loop.carried[0], loop.carried[0]), loop.carried[0]))
    (scale,) = loop.results
    with b.loop(i64(0), n) as loop:
        at = b.add(b.mul(loop.index, n), loop.index)
        re, im = _get(b, other, at)
        _put(b, other, at, (b.fsub(re, _number(1.0)), im))
    b.call("void", "llvm.memset.p0.i64", workspace, Value("0", "i8"), bytes_, false)
    points, weights = np.polynomial.legendre.leggauss(DEGREE)
    for point, weight in zip(points, weights, strict=True):
        b.call("void", "rest", other, workspace, n, _number((point + 1) / 2), _number(weight / 2))
    with b.loop(i64(0), b.mul(count, i64(2))) as loop:
        found = b.load("double", b.gep("double", workspace, loop.index))
        b.store(b.fmul(found, scale), b.gep("double", result, loop.index))
    b.finish()
