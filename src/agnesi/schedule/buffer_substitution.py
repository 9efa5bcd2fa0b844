"""Buffer substitution: kernels with some buffers replaced by others of the same type and strides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agnesi.core.ir.kernels import Buffer, Convolution, Kernel, Matrix, Nest, Product, Store
from agnesi.core.ir.loops import Affine, Expr, Substitution, load
from agnesi.core.support.record import replace

#: What to load where a kernel loads an element of a buffer.
Reading = Callable[[Buffer, str, Affine], Expr]


def swapped(kernel: Any, others: Mapping[Buffer, Buffer], only: Buffer | None = None,
            reading: Reading | None = None) -> Kernel:
    """Return the kernel (a loop nest, product or convolution) on other buffers; with ``only``,
    without stores to any other buffer.

    ``reading`` makes the expression of each load.
    """
    change = _Swap(reading or (lambda b, dtype, at: load(others.get(b, b), dtype, at)))
    body = [
        Store(others.get(s.buffer, s.buffer), change.index(s.offset), change(s.value))
        for s in kernel.body if only is None or s.buffer is only
    ]
    waits = [others.get(b, b) for b in kernel.waits]
    if isinstance(kernel, Nest):
        return replace(kernel, body=body, waits=waits)
    a, b = (_matrix(m, others) for m in (kernel.a, kernel.b))
    return replace(kernel, a=a, b=b, body=body, waits=waits)


def swappable(kernel: Kernel) -> bool:
    """Return whether :func:`swapped` can exchange its buffers."""
    return isinstance(kernel, (Nest, Product, Convolution))


def _matrix(m: Matrix, others: Mapping[Buffer, Buffer]) -> Matrix:
    return replace(m, buffer=others.get(m.buffer, m.buffer))


class _Swap(Substitution):
    """Substitutes loads in expressions."""

    def __init__(self, reading: Reading) -> None:
        super().__init__({})
        self.reading = reading

    def index(self, at: Affine) -> Affine:
        """Return an index expression with its loads replaced."""
        return super().index(at) if at.atoms else at

    def __call__(self, value: Expr) -> Expr:
        if value.op != "load":
            return super().__call__(value)
        buffer, offset = value.param
        return self.reading(buffer, value.dtype, self.index(offset))
