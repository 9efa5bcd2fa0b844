"""Prefix scans along an axis: sums, products and recurrences, with gradients where factors are
zero.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import product
from agnesi.core.ir.foreign import Call, number, operand, result, units_for
from agnesi.core.op import Op
from agnesi.core.public import planned
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record, replace
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import cast
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import permute_dims, reshape

#: Elements from which rows are not short, and dtypes, for the function of running sums.
_MIN_ROW_ELEMENTS = 8
_RUNNING = frozenset(("float32", "float64", "int32", "int64"))
#: Elements from which compiled code is worth its call, and multiply-adds of NumPy's in the time of
#: one: it waits for each sum of floats before it begins the next one.
_MIN_COMPILED_ELEMENTS, _ELEMENT_MULTIPLY_ADDS = 1024, 30


@record
class Scan(Op):
    """Base of operations along one axis, in either direction; shape and dtype stay."""

    axis: int
    reverse: bool = False
    work = elements(2)

    def infer(self, x: Any, *more: Any) -> Any:
        return x.shape, x.dtype

    def forwards(self, x: np.ndarray) -> np.ndarray:
        """A view in which the axis is the first and runs in the direction of the scan."""
        x = x.swapaxes(0, self.axis)
        return x[::-1] if self.reverse else x

    def backwards(self, **changes: Any) -> Any:
        """The operation in the other direction."""
        return replace(self, reverse=not self.reverse, **changes)

    # -- compiled -------------------------------------------------------------------------
    def is_slow(self, x: np.ndarray) -> bool:
        """Return whether compiled code adds up an array's rows many times as fast as NumPy."""
        return (x.size >= _MIN_COMPILED_ELEMENTS and self.axis == x.ndim - 1
                and x.dtype.char in "fd" and x.shape[-1] >= _MIN_ROW_ELEMENTS
                and x.flags.c_contiguous)

    def compiled(self, x: np.ndarray) -> np.ndarray | None:
        """Return the result by compiled code; None where it is not compiled, or not yet."""
        return HOOKS.run(self, (x,), x.size * _ELEMENT_MULTIPLY_ADDS) if self.is_slow(x) else None

    def running(self, x: Any, kind: str) -> Call | None:
        """The function for rows that are not short and whose elements are neighbours."""
        n, inner = x.shape[self.axis], product(x.shape[self.axis + 1:])
        if (
            inner != 1
            or x.dtype.name not in _RUNNING
            or (isinstance(n, int) and n < _MIN_ROW_ELEMENTS)
        ):
            return None
        count = product(x.shape[: self.axis])
        units = units_for(product(x.shape), count)
        symbol = f"running:{kind} {x.dtype.name}{' reverse' if self.reverse else ''}"
        table = operand(0), result(), number(n), number(count), number(units)
        return Call(symbol, table, units=units)

    def stepped(self, at: Any, steps: int) -> Any:
        """The point ``steps`` further in the direction of the scan."""
        index = list(at)
        index[self.axis] = at[self.axis] + (-steps if self.reverse else steps)
        return tuple(index)

    def in_order(self, shape: Any, first: Any, later: Any) -> list[Any]:
        """The result as its first slice, ``first(at)``, and then ``later(own, at)`` in order."""
        n = shape[self.axis]
        slab, rest = list(shape), list(shape)
        slab[self.axis], rest[self.axis] = min(n, 1), max(n - 1, 0)
        start = [0] * len(shape)
        start[self.axis] = n - 1 if self.reverse and n else 0

        def target(at: Any) -> Any:
            at = list(at)
            t = at[self.axis]
            at[self.axis] = t * -1 + (n - 2) if self.reverse else t + 1
            return tuple(at)

        def began(at: Any) -> Any:
            return first(tuple(i + s for i, s in zip(at, start, strict=True)))

        return [
            loops.Part(tuple(start), (1,) * len(shape), tuple(slab), began),
            loops.Sequential(
                tuple(rest), target, lambda own, at: later(own, target(at)), (self.axis,)),
        ]


@record
class CumSum(Scan, LinearOp):
    """Running sums."""

    name = "cumsum"

    def perform(self, x: np.ndarray) -> np.ndarray:
        y = self.compiled(x)
        if y is None:
            y = np.empty_like(x)
            self.fill(y, x)
        return y

    def fill(self, out: np.ndarray, x: np.ndarray) -> bool:
        silently(np.add.accumulate, self.forwards(x), 0, None, self.forwards(out))
        return True

    def c_call(self, x: np.ndarray) -> Any:
        if self.reverse or self.is_slow(x):
            return None
        return np.add.accumulate, (self.axis, x.dtype)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(self.backwards(), g),)

    def foreign(self, x: Any) -> Call | None:
        return self.running(x, "add")

    def parts(self, x: Any) -> list[Any]:
        return self.in_order(
            x.shape, lambda at: x(*at),
            lambda own, at: own(*self.stepped(at, -1)) + x(*at),
        )


@record
class Shift(Scan, LinearOp):
    """Each element's predecessor; 0 at the start."""

    name = "shift"

    def perform(self, x: np.ndarray) -> np.ndarray:
        y = np.zeros_like(x)
        self.forwards(y)[1:] = self.forwards(x)[:-1]
        return y

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(self.backwards(), g),)

    def parts(self, x: Any) -> list[Any]:
        zero, axis, n = loops.const(0, x.dtype), self.axis, x.shape[self.axis]
        first, rest = ((n - 1 if n else 0, 0) if self.reverse else (0, 1))

        def region(start: Any, size: Any, value: Any) -> Any:
            corner = tuple([start if a == axis else 0 for a in range(len(x.shape))])
            shape = tuple([size if a == axis else m for a, m in enumerate(x.shape)])
            return loops.Part(corner, (1,) * len(shape), shape, value)

        def before(at: Any) -> Any:
            return x(*[i + 1 if a == axis and self.reverse else i for a, i in enumerate(at)])

        return [region(first, min(n, 1), lambda at: zero), region(rest, max(n - 1, 0), before)]


@record
class Recurrence(Scan):
    """``h[t] = a[t] * h[t-1] + b[t]``; ``lagged`` takes ``a[t-1]`` instead."""

    lagged: bool = False
    name = "recurrence"
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any, b: Any) -> Any:
        need_shape(a.shape, b.shape, "the factor")
        return b.shape, b.dtype

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        h = np.empty_like(b)
        factors, terms, results = (self.forwards(v) for v in (a, b, h))
        if len(terms):
            results[0] = terms[0]
            factors = factors[:-1] if self.lagged else factors[1:]
            _recur(factors, terms[1:], results)
        return h

    def vjp(self, g: Tensor, h: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        adjoint = arith.conj(a)
        grad = apply(self.backwards(lagged=not self.lagged), adjoint, g)
        if not a._requires_grad:
            return None, grad
        h = arith.conj(h)
        if self.lagged:
            return arith.multiply(apply(Shift(self.axis, not self.reverse), grad), h), grad
        return arith.multiply(grad, apply(Shift(self.axis, self.reverse), h)), grad

    def jvp(self, ts: Any, h: Tensor, a: Tensor, b: Tensor) -> Any:
        rhs = ts[1]
        if ts[0] is not None:
            before = Shift(self.axis, self.reverse)
            if self.lagged:
                part = apply(before, arith.multiply(ts[0], h))
            else:
                part = arith.multiply(ts[0], apply(before, h))
            rhs = part if rhs is None else arith.add(rhs, part)
        return apply(self, a, rhs)


    def parts(self, a: Any, b: Any) -> list[Any]:
        def later(own: Any, at: Any) -> Any:
            before = self.stepped(at, -1)
            factor = a(*before) if self.lagged else a(*at)
            return factor * own(*before) + b(*at)

        return self.in_order(b.shape, lambda at: b(*at), later)


def _recur(factors: np.ndarray, terms: np.ndarray, results: np.ndarray) -> None:
    """The recurrence along the first axis, from ``results[0]`` on: the longer way in Python's
    loop, the shorter in NumPy's."""
    if results[0].size > 8:
        for t in range(len(terms)):
            np.multiply(factors[t], results[t], out=results[t + 1])
            results[t + 1] += terms[t]
        return
    for at in np.ndindex(results.shape[1:]):
        lane = (slice(None), *at)
        steps = zip(factors[lane].tolist(), terms[lane].tolist(), strict=True)
        results[lane] = list(
            accumulate(steps, lambda h, ab: ab[0] * h + ab[1], initial=results[lane][0].item())
        )


@record
class CumProd(Scan):
    """Running products; ``exclusive`` leaves out the element itself, so that the first is 1."""

    exclusive: bool = False
    name = "cumprod"
    keep_output = True

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = None if self.exclusive else self.compiled(x)
        if found is not None:
            return found
        y = np.empty_like(x)
        source, target = self.forwards(x), self.forwards(y)
        if self.exclusive:
            target[:1] = 1
            source, target = source[:-1], target[1:]
        silently(np.multiply.accumulate, source, 0, None, target)
        return y

    def c_call(self, x: np.ndarray) -> Any:
        if self.reverse or self.exclusive or self.is_slow(x):
            return None
        return np.multiply.accumulate, (self.axis, x.dtype)

    def fill(self, out: np.ndarray, x: np.ndarray) -> bool:
        if self.exclusive:
            return False
        silently(np.multiply.accumulate, self.forwards(x), 0, None, self.forwards(out))
        return True

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        after = Recurrence(self.axis, not self.reverse, lagged=not self.exclusive)
        tail = apply(after, arith.conj(x), g)
        if self.exclusive:
            tail = apply(Shift(self.axis, not self.reverse), tail)
        return (arith.multiply(arith.conj(self.before(y, x)), tail),)

    def before(self, y: Tensor, x: Tensor) -> Tensor:
        """For each element, the product of those before it."""
        return y if self.exclusive else apply(replace(self, exclusive=True), x)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        rhs = arith.multiply(ts[0], self.before(y, x))
        if self.exclusive:
            rhs = apply(Shift(self.axis, self.reverse), rhs)
        return apply(Recurrence(self.axis, self.reverse, lagged=self.exclusive), x, rhs)


    def foreign(self, x: Any) -> Call | None:
        return None if self.exclusive else self.running(x, "multiply")

    def parts(self, x: Any) -> list[Any]:
        def later(own: Any, at: Any) -> Any:
            before = self.stepped(at, -1)
            return own(*before) * (x(*before) if self.exclusive else x(*at))

        one = loops.const(1, x.dtype)
        return self.in_order(
            x.shape, (lambda at: one) if self.exclusive else (lambda at: x(*at)), later
        )


@planned
def product_of_others(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """For each element, the product of the others along ``axes``."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    order = (*rest, *axes)
    wide = cast(x, dtypes.float32) if x.dtype in dtypes.HALVES else x
    lines = permute_dims(wide, order)
    shape = lines.shape
    last = len(rest)
    lines = reshape(lines, (*shape[:last], shapes.count(x.shape, axes)))
    result = arith.multiply(
        apply(CumProd(last, exclusive=True), lines),
        apply(CumProd(last, reverse=True, exclusive=True), lines),
    )
    back = tuple(order.index(i) for i in range(x.ndim))
    return cast(permute_dims(reshape(result, shape), back), x.dtype)


def halved(x: Tensor, axis: int) -> Tensor:
    """The product along an axis, which stays with one element."""
    front = (slice(None),) * axis
    rest = None
    while (n := x.shape[axis]) > 1:
        half = n // 2
        if n % 2:
            last = x[(*front, slice(n - 1, n))]
            rest = last if rest is None else rest * last
        x = x[(*front, slice(0, half))] * x[(*front, slice(half, 2 * half))]
    return x if rest is None else x * rest
