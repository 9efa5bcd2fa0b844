"""The problem that a product plan solves: sizes, accumulator type, strides, sources of operands."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record

_TYPES = {"float16": "half", "float32": "float", "float64": "double"}


@record
class GemmSpec:
    """``C[m, n] = sum over k of A[m, k] * B[k, n]``, for each of ``batch`` members.

    All sizes are known and at least 1. Strides count elements, along (m, k) for A, (k, n) for B and
    (m, n) for C; empty ones are those of a row-major matrix. An operand that is not *direct* has no
    memory: its callback computes it, and its strides only say along which axis neighbours are cheap
    to compute together (the one with stride 1).
    """

    m: int
    n: int
    k: int
    batch: int = 1
    dtype: str = "float32"
    a_strides: tuple[int, ...] = ()
    b_strides: tuple[int, ...] = ()
    c_strides: tuple[int, ...] = ()
    a_direct: bool = True
    b_direct: bool = True
    actual: tuple[Size, ...] = ()
    steps: tuple[tuple[Any, ...], ...] = ()
    zeros: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k, self.batch) < 1:
            raise ValueError(
                f"gemm: sizes must be at least 1, got m={self.m}, n={self.n}, k={self.k}, "
                f"batch={self.batch}; an empty product is the caller's to fill with zeros"
            )
        for name, pitch in (("a_strides", self.k), ("b_strides", self.n), ("c_strides", self.n)):
            if not getattr(self, name):
                object.__setattr__(self, name, (pitch, 1))

    @property
    def sizes(self) -> tuple[Any, ...]:
        """Batch, m, n and k as the code has them."""
        return self.actual or (self.batch, self.m, self.n, self.k)

    @property
    def a_steps(self) -> tuple[Any, ...]:
        """Strides of A as the code has them."""
        return self.steps[0] if self.steps else self.a_strides

    @property
    def b_steps(self) -> tuple[Any, ...]:
        """Strides of B as the code has them."""
        return self.steps[1] if self.steps else self.b_strides

    @property
    def type(self) -> str:
        """LLVM's name of the accumulator type."""
        return _TYPES.get(self.dtype) or "i" + self.dtype.removeprefix("u").removeprefix("int")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return nbytes(self.type)

    def transposed(self) -> GemmSpec:
        """This product read as ``C' = B' A'``, all three matrices transposed."""
        return GemmSpec(
            self.n,
            self.m,
            self.k,
            self.batch,
            self.dtype,
            a_strides=self.b_strides[::-1],
            b_strides=self.a_strides[::-1],
            c_strides=self.c_strides[::-1],
            a_direct=self.b_direct,
            b_direct=self.a_direct,
            actual=tuple(self.actual[i] for i in (0, 2, 1, 3)) if self.actual else (),
            steps=tuple(s[::-1] for s in reversed(self.steps)),
            zeros=self.zeros[::-1],
        )
