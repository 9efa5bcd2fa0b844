"""Other ways to convolve than the generated kernel: loops, unfolding, FFT, and NumPy.

Each wraps a convolution or one of its adjoints; what it means, and its gradients, stay theirs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.linearity import BilinearOp
from agnesi.ops.base.movement import moveaxis, permute_dims, reshape
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.convolution.im2col import Columns, Folded
from agnesi.ops.convolution.windows import Ints
from agnesi.ops.signal.fourier import library


class _By(BilinearOp):
    """Base: a way to compute the convolution ``op``."""

    op: Any
    traits = frozenset(("convolution",))
    bilinear = True
    kept_by_one = ((0,), (1,))
    way = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.op.name} by {self.way}"

    def infer(self, a: Any, b: Any) -> Any:
        return self.op.infer(a, b)

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.op.reference(a, b)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        return self.op.vjp(g, y, a, b)

    def resolve(self, known: Any) -> Op:
        return type(self)(self.op.resolve(known))  # type: ignore[call-arg]


@record
class Reference(_By):
    """NumPy, also inside of compiled functions."""

    op: Any
    way = "reference"


@record
class Direct(_By):
    """Generated loops over pixels, channels and the kernel."""

    op: Any
    way = "direct"
    rereads = True
    template = "windows"

    def lower(self, at: Any, a: Any, b: Any) -> Any:
        return self.op.lower(at, a, b)


@record
class Unfolded(_By):
    """Windows written out as the columns of a matrix, and a matrix product."""

    op: Any
    way = "unfold"

    def decompose(self, a: Tensor, b: Tensor) -> Tensor:
        found: Tensor = getattr(self, f"_{self.op.kind}")(a, b)
        return found

    def _rows(self, x: Tensor, kernel: Ints) -> Tensor:
        """The windows of each group: (batch, groups, channels * kernel, pixels)."""
        columns = apply(Columns(self.op.windows, kernel), x)
        rows = x.shape[1] // self.op.groups * math.prod(kernel)
        return reshape(columns, (x.shape[0], self.op.groups, rows, _output_size(columns, kernel)))

    def _filters(self, w: Tensor) -> Tensor:
        each = w.shape[0] // self.op.groups
        return reshape(w, (self.op.groups, each, math.prod(w.shape[1:])))

    def _maps(self, g: Tensor) -> Tensor:
        each = g.shape[1] // self.op.groups
        return reshape(g, (g.shape[0], self.op.groups, each, math.prod(g.shape[2:])))

    def _forward(self, x: Tensor, w: Tensor) -> Tensor:
        shape, _ = self.op.infer(x, w)
        return reshape(matmul(self._filters(w), self._rows(x, w.shape[2:])), shape)

    def _input(self, g: Tensor, w: Tensor) -> Tensor:
        kernel = w.shape[2:]
        rows = matmul(moveaxis(self._filters(w), 1, 2), self._maps(g))
        shape = (g.shape[0], self.op.shape[1], *kernel, *g.shape[2:])
        return apply(Folded(self.op.windows, kernel, self.op.shape[2:]), reshape(rows, shape))

    def _weight(self, x: Tensor, g: Tensor) -> Tensor:
        rows = self._rows(x, self.op.shape[2:])
        each = matmul(self._maps(g), permute_dims(rows, (0, 1, 3, 2)))
        return reshape(sum_of(each, 0), self.op.shape)


def _output_size(columns: Tensor, kernel: Ints) -> int:
    return math.prod(columns.shape[2 + len(kernel):])


@record
class Fourier(_By):
    """Products of Fourier transforms."""

    op: Any
    way = "fft"

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        kind, op = self.op.kind, self.op
        (shape, dtype), windows = op.infer(a, b), op.windows
        kernel = {"forward": b.shape, "input": b.shape, "weight": shape}[kind][2:]
        axes = tuple(range(-len(kernel), 0))
        image = shape if kind == "input" else a.shape
        sizes = [n + low + high for n, (low, high) in zip(image[2:], windows.padding, strict=True)]
        real, by = dtype.kind != "c", library()
        whole, back = (by.rfftn, by.irfftn) if real else (by.fftn, by.ifftn)
        first = _spread(a, windows.stride) if kind == "input" else windows.padded(a)
        second = _spread(b, windows.stride if kind == "weight" else windows.dilation)
        if kind != "input":  # what is conjugated behind the transform turns around, and no more
            second = np.conj(second)
        x, w = whole(first, sizes, axes), whole(second, sizes, axes)
        groups, wide = op.groups, x.shape[2:]
        x = x.reshape(len(x), groups, x.shape[1] // groups, *wide)
        if kind == "weight":
            w = w.reshape(len(w), groups, w.shape[1] // groups, *wide)
            y = np.einsum("ngc...,ngo...->goc...", x, np.conj(w))
        else:
            w = w.reshape(groups, len(w) // groups, w.shape[1], *wide)
            formula = "ngc...,goc...->ngo..." if kind == "forward" else "ngo...,goc...->ngc..."
            y = np.einsum(formula, x, np.conj(w) if kind == "forward" else w)
        y = self._cut(back(y, sizes, axes).reshape(shape[0], shape[1], *sizes), kind, shape)
        return np.ascontiguousarray(np.rint(y) if dtype.kind in "iu" else y, dtype)

    def _cut(self, y: np.ndarray, kind: str, shape: Any) -> np.ndarray:
        """Those of the lags that are wanted."""
        windows = self.op.windows
        if kind == "input":
            return windows.inner(y)
        steps = windows.stride if kind == "forward" else windows.dilation
        cut = tuple(slice(0, (n - 1) * s + 1, s) for n, s in zip(shape[2:], steps, strict=True))
        return y[(slice(None), slice(None), *cut)]


def _spread(x: np.ndarray, steps: Ints) -> np.ndarray:
    """``x`` with zeros between its elements."""
    if all(s == 1 for s in steps):
        return x
    sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], steps, strict=True)]
    result = np.zeros((*x.shape[:2], *sizes), x.dtype)
    result[(slice(None), slice(None), *(slice(None, None, s) for s in steps))] = x
    return result
