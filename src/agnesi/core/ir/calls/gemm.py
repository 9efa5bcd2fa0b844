"""The library that evaluates matrix products under ``fast_compile``.

Of what follows a product it does ``alpha * sums + beta * what is there``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, Store
from agnesi.core.ir.loops import Affine, Expr
from agnesi.core.support.dtypes import name_of
from agnesi.core.support.record import record


@record
class Library:
    """Functions for matrix products, by dtype, and by how many threads they are called.

    :ivar symbols: Names of functions; where there is none, code is generated.
    :ivar threads: How many threads of ours share a product.  From two on, the library is made to
        work in the thread that calls it.  0 where we have several but it cannot be set: it has its
        own then, and those of both wait for each other busily.
    :ivar every: Whether it evaluates small and narrow products, too.
    """

    symbols: Mapping[str, str] = MappingProxyType({})
    threads: int = 1
    every: bool = False


@record
class Summed:
    """An epilogue that a library knows; without ``base``, nothing is added.

    The factors are numbers that are the same for all elements.
    """

    alpha: Expr
    beta: Expr
    base: Buffer | None


def summed(body: Sequence[Store], total: Buffer) -> Summed | None:
    """The epilogue of a product, if it is one that a library knows.

    ``base`` is laid out as the result is, element by element.
    """
    (store, *others) = body
    if others or store.buffer.dtype != total.dtype:
        return None
    kind = name_of(total.dtype)
    value, one = store.value, loops.const(1.0, kind)
    if value.op not in ("add", "subtract"):
        alone = _scaled(value, one)
        zero = loops.const(0.0, kind)
        return None if alone is None or alone[1] is not total else Summed(alone[0], zero, None)
    found = _scaled(value.args[0], one), _scaled(value.args[1], one)
    if None in found:
        return None
    first: Any = found[0]
    second: Any = found[1]
    if value.op == "subtract":
        second = _times(loops.const(-1.0, kind), second[0]), *second[1:]
    if (first[1] is total) == (second[1] is total):
        return None
    (alpha, *_), (beta, base, at) = (first, second) if first[1] is total else (second, first)
    if at != store.offset or base.strides != store.buffer.strides:
        return None
    return Summed(alpha, beta, base)


def _scaled(value: Expr, factor: Expr) -> tuple[Expr, Buffer, Affine] | None:
    """A factor times an element: the factor, the element's buffer, and its position."""
    minus = loops.const(-1.0, value.dtype)
    while value.op in ("multiply", "negative"):
        if value.op == "negative":
            factor, value = _times(minus, factor), value.args[0]
            continue
        same = [a for a in value.args if not a.free]
        if len(same) != 1:
            return None
        factor = _times(factor, same[0])
        (value,) = (a for a in value.args if a.free)
    return (factor, *value.param) if value.op == "load" else None


def _times(a: Expr, b: Expr) -> Expr:
    if a.op == b.op == "const":
        return loops.const(a.param * b.param, a.dtype)
    return a * b
