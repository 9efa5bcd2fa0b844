"""The bits of numbers as numbers of another dtype, in the same memory (little-endian)."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_settled, product
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import reshape
from agnesi.ops.elementwise.complexes import view_as_complex, view_as_real


@record
class Bitcast(Op):
    """The bits of real elements as elements of another dtype, as a view.

    Smaller ones are along a new last axis, larger ones replace the last axis.
    """

    source: np.dtype
    dtype: np.dtype
    name = "bitcast"
    view = True
    differentiable = False
    keep_inputs = ()

    @property
    def ratio(self) -> int:
        """The ratio of the larger to the smaller item size."""
        sizes = sorted((self.source.itemsize, self.dtype.itemsize))
        return sizes[1] // sizes[0]

    def infer(self, x: Any) -> Any:
        whole = self.source.itemsize >= self.dtype.itemsize
        if (x.dtype != self.source or "c" in (self.source.kind, self.dtype.kind)
                or (not whole and (not x.shape or not fits(x.shape[-1:], (self.ratio,))))):
            raise ShapeError(f"no bits of {self.source} and shape {x.shape} make {self.dtype}")
        if self.source.itemsize > self.dtype.itemsize:
            return (*x.shape, self.ratio), self.dtype
        return (x.shape[:-1] if self.ratio > 1 else x.shape), self.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        if self.source.itemsize > self.dtype.itemsize:
            return x[..., None].view(self.dtype)
        if self.ratio == 1:
            return x.view(self.dtype)
        whole = np.ascontiguousarray(x).view(self.dtype)
        return (whole if whole.flags.aligned else whole.copy())[..., 0]

    def aliases(self, x: np.ndarray) -> bool:
        return self.source.itemsize >= self.dtype.itemsize or bool(x.flags.c_contiguous)

    def undo(self, shape: Any) -> Op:
        """The operation that leads back: used when the view is changed in place."""
        return Bitcast(self.dtype, self.source)

    def lower(self, at: Any, x: Any) -> Any:
        if self.ratio == 1:
            return _as_number(_as_integer(x(*at)), self.dtype)
        if self.source.itemsize > self.dtype.itemsize:
            shift = loops.index(at[-1]) * (8 * self.dtype.itemsize)
            bits = _as_integer(x(*at[:-1]))
            part = loops.call("bitwise_right_shift", bits, loops.cast(shift, bits.dtype))
            return _as_number(loops.cast(part, _unsigned(self.dtype)), self.dtype)
        wide, whole = _unsigned(self.dtype), None
        for i in range(self.ratio):
            part = loops.cast(_as_integer(x(*at, loops.Affine(i))), wide)
            by = loops.const(8 * self.source.itemsize * i, wide)
            part = loops.call("bitwise_left_shift", part, by) if i else part
            whole = part if whole is None else loops.call("bitwise_or", whole, part)
        return _as_number(whole, self.dtype)


def _unsigned(dtype: np.dtype) -> str:
    return f"uint{8 * dtype.itemsize}"


def _as_integer(x: Any) -> Any:
    """The bits of an element as an unsigned integer."""
    dtype = dtypes.as_dtype(x.dtype)
    return loops.cast(loops.bits(x) if dtypes.is_inexact(dtype) else x, _unsigned(dtype))


def _as_number(bits: Any, dtype: np.dtype) -> Any:
    """An element that has the bits of an unsigned integer of its size."""
    if dtypes.is_inexact(dtype):
        return loops.bits(loops.cast(bits, bits.dtype.removeprefix("u")), dtype.name)
    return loops.cast(bits, dtype.name)


@public
def bitcast(x: TensorLike, dtype: DTypeLike, /, *, out: Tensor | None = None) -> Tensor:
    """The bits of elements as elements of another dtype, of the same size or not (TensorFlow's).

    NumPy and PyTorch write ``x.view(dtype)``, which is a method here, too.  Elements of half the
    size make the last axis twice as long, larger ones shorter.  The result is a view where memory
    allows it; no gradient flows through it, but between complex numbers and their parts.

    :param dtype: Of the result; bools are made of bools only, as not all bits are one.
    :returns: Of the shape of ``x``, but for the last axis where sizes of elements differ.
    :raises DTypeError: For bools made of numbers.
    :raises ShapeError: If the last axis has not the size for whole elements, or is missing.
    :see: astype, view_as_real, view_as_complex

    >>> ag.bitcast(ag.tensor([1.0, -2.0]), "int32")
    tensor([ 1065353216, -1073741824], dtype=int32)
    >>> ag.tensor([1.0]).view("uint8")
    tensor([  0,   0, 128,  63], dtype=uint8)
    """
    x, target = as_tensor(x), dtypes.as_dtype(dtype)
    if target == x.dtype:
        return x
    if target.kind == "b":
        raise DTypeError(f"{typed(x)}: not all bits make bools; write x != 0")
    if x.dtype.kind == "c":
        parts = view_as_real(x)
        if x.shape:
            parts = reshape(parts, (*x.shape[:-1], x.shape[-1] * 2))
        return bitcast(parts, target)
    if target.kind == "c":
        parts = bitcast(x, dtypes.real_of(target))
        _need_parts(x, target, 2, parts)
        return view_as_complex(reshape(parts, (*parts.shape[:-1], parts.shape[-1] // 2, 2)))
    return _of_numbers(x, Bitcast(x.dtype, target))


def _of_numbers(x: Tensor, op: Bitcast) -> Tensor:
    """Reinterpret the bits as NumPy does: the last axis holds all parts in order."""
    if op.ratio == 1:
        return apply(op, x)
    if op.source.itemsize > op.dtype.itemsize:
        parts = apply(op, x)
        return reshape(parts, (*x.shape[:-1], x.shape[-1] * op.ratio)) if x.shape else parts
    _need_parts(x, op.dtype, op.ratio, x)
    adjacent = reshape(x, (-1,))  # a copy of what is strided
    return apply(op, reshape(adjacent, (*x.shape[:-1], x.shape[-1] // op.ratio, op.ratio)))


def _need_parts(x: Tensor, target: np.dtype, count: int, parts: Tensor) -> None:
    """Refuse an axis that does not hold whole elements."""
    if not parts.shape or (is_settled(parts.shape[-1:]) and product(parts.shape[-1:]) % count):
        raise ShapeError(f"{typed(x)} does not make elements of {target}: the last axis must have "
                         f"{count} of {parts.dtype} for each")
