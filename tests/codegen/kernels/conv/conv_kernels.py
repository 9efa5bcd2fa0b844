"""Convolution kernels on their own, for tests: built, loaded and run on arrays of any strides."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from agnesi.codegen.program import emit_program
from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.kernels import Buffer, Convolution, Matrix, Store
from agnesi.core.ir.loops import Affine, Axis, Expr, load
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import replace
from agnesi.core.target import Target
from agnesi.ops.convolution.conv import Conv, ConvGradW, ConvGradX, Windows
from agnesi.runtime import machine, support
from agnesi.schedule.lowering.split_filter_gradients import split_filter_gradients
from agnesi.schedule.mapping.nests import LoopMapping

Epilogue = Callable[[Expr, tuple[Affine, ...]], Expr]


def host(vector_bits: int = 0, **caches: int) -> Target:
    """This machine, or what it would be with other vectors and caches."""
    found = machine.native()
    return replace(found, vector_bits=vector_bits or found.vector_bits, **caches)


def conv_sizes(batch: int, groups: int, channels: int, filters: int, image: Sequence[int],
               kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
               padding: Sequence[tuple[int, int]]) -> ConvSizes:
    """Sizes with the places that follow from the others."""
    windows = Windows(tuple(stride), tuple(padding), tuple(dilation))
    places = windows.sizes(tuple(image), tuple(kernel))
    return ConvSizes(batch, groups, channels, filters, tuple(image), tuple(kernel), places,
                     tuple(stride), tuple(dilation), tuple(padding))


def shapes(kind: str, s: ConvSizes) -> tuple[tuple[int, ...], ...]:
    """Shapes of first operand, second operand and result."""
    image = (s.batch, s.groups * s.channels, *s.image)
    filters = (s.groups * s.filters, s.channels, *s.kernel)
    cotangent = (s.batch, s.groups * s.filters, *s.output)
    return {"forward": (image, filters, cotangent), "input": (cotangent, filters, image),
            "weight": (image, cotangent, filters)}[kind]


def reference(kind: str, s: ConvSizes, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What the operations of the graph compute."""
    windows = Windows(s.stride, s.padding, s.dilation)
    image, filters, _ = shapes("forward", s)
    op = {"forward": Conv(windows, s.groups), "input": ConvGradX(windows, s.groups, image),
          "weight": ConvGradW(windows, s.groups, filters)}[kind]
    return op.perform(a, b)


def ordered(array: np.ndarray, order: Sequence[int] | None) -> np.ndarray:
    """The same values with the axes in memory in this order, outermost first."""
    if order is None:
        return np.ascontiguousarray(array)
    copy = np.ascontiguousarray(array.transpose(order))
    return copy.transpose(np.argsort(order))


def _buffer(array: np.ndarray, role: str, slot: int) -> Buffer:
    strides = tuple(s // array.itemsize for s in array.strides)
    buffer = Buffer(array.shape, array.dtype, role, strides=strides)
    buffer.slot = slot
    return buffer


class Runnable:
    """A kernel on arrays; ``extra`` are arrays of the result's shape (or 1s) for the epilogue."""

    def __init__(self, kind: str, sizes: ConvSizes, a: np.ndarray, b: np.ndarray, out: np.ndarray,
                 where: Target | None = None,
                 epilogue: Callable[..., Expr] | None = None,
                 extra: Sequence[np.ndarray] = (), policy: CompilePolicy = FAST_RUN) -> None:
        self.arrays = [a, b, out, *extra]
        buffers = [_buffer(x, "argument", i) for i, x in enumerate(self.arrays)]
        axes = tuple(Axis(d, n) for d, n in enumerate(out.shape))
        at = tuple(Affine(0, {axis: 1}) for axis in axes)
        total = Buffer(out.shape, out.dtype, "sum")
        value = load(total, out.dtype.name, total.offset_of(at))
        loads = [load(x, x.dtype.name, x.offset_of(at)) for x in buffers[2:]]
        if epilogue is not None:
            value = epilogue(value, *loads)
        first, second = (Matrix(x, 0, x.strides) for x in buffers[:2])
        body = [Store(buffers[2], buffers[2].offset_of(at), value)]
        self.kernel = Convolution([], kind, sizes, first, second, axes, total, body)
        self.kernels, more = split_filter_gradients(self.kernel)
        for buffer in more:
            buffer.slot = len(self.arrays)
            self.arrays.append(np.full(buffer.shape, np.nan, buffer.dtype))
        where = where or host()
        mapping = LoopMapping(where, policy)
        self.text, self.steps = emit_program(self.kernels, where, mapping, policy)
        self.code = machine.load(self.text, optimize=policy.opt_level)
        kind_ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._body = kind_(self.code.address("body"))
        self._rt = (ctypes.c_void_p * 4)(support.native().address("parallel_for"))
        self._table = (ctypes.c_void_p * len(self.arrays))(*(x.ctypes.data for x in self.arrays))

    def __call__(self) -> np.ndarray:
        """Run it on the arrays; the result."""
        assert self._body(self._table, self._rt) == 0
        return self.arrays[2]
