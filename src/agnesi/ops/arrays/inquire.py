"""Properties of arrays, and of their memory layout: sizes, types, bytes and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir.dims import Size
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.arrays.types import result_type
from agnesi.ops.base.compare import equal, isfinite, not_equal
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked
from agnesi.ops.base.creation import asarray
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.reduce import all as every
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.elementwise import bitwise
from agnesi.ops.indexing.join import concat

__all__ = [
    "array_equiv", "asanyarray", "asarray_chkfinite", "frombuffer", "issubdtype", "iterable",
    "may_share_memory", "ndim", "packbits", "promote_types", "shape", "shares_memory", "size",
    "unpackbits",
]


# -- sizes --------------------------------------------------------------------------------------
@public
def shape(x: TensorLike) -> tuple[Size, ...]:
    """The shape.

    :returns: Sizes that are not known yet are :class:`Dim`.
    :see: ndim, size

    >>> ag.shape([[1, 2, 3]])
    (1, 3)
    """
    return as_tensor(x).shape


@public
def ndim(x: TensorLike) -> int:
    """How many axes there are.

    :returns: 0 for numbers.
    :see: shape, size

    >>> ag.ndim([[1, 2, 3]])
    2
    """
    return as_tensor(x).ndim


@public
def size(x: TensorLike, axis: int | None = None) -> Any:
    """How many elements there are, in all or along an axis.

    :param axis: Which axis.
    :returns: Or a :class:`Dim` where it is not known yet.
    :rtype: int
    :raises IndexError: If the axis is out of range.
    :see: shape, ndim

    >>> ag.size([[1, 2, 3]]), ag.size([[1, 2, 3]], 0)
    (3, 1)
    """
    x = as_tensor(x)
    return x.size if axis is None else x.shape[shapes.axis_of(axis, x.ndim)]


@public
def iterable(x: TensorLike) -> bool:
    """Return whether Python can iterate over ``x``.

    :param x: Anything.
    :type x: object
    :returns: False for a tensor without axes.
    :see: isscalar, ndim

    >>> ag.iterable(ag.ones(2)), ag.iterable(ag.ones(()))
    (True, False)
    """
    return x.ndim > 0 if isinstance(x, Tensor) else bool(np.iterable(x))


# -- types --------------------------------------------------------------------------------------
@public
def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype:
    """The dtype that holds the values of both.

    :param type1, type2: Two dtypes or their names.
    :type type1, type2: dtype
    :returns: As of :func:`result_type`.
    :rtype: dtype
    :raises TypeError: If one is no dtype.
    :see: result_type, can_cast

    >>> ag.promote_types("int8", "uint8")
    dtype('int16')
    """
    return result_type(dtypes.as_dtype(type1), dtypes.as_dtype(type2))


@public
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether a dtype belongs to a kind of NumPy's, such as ``numpy.floating``.

    :param arg1: The object in question.
    :type arg1: dtype
    :param arg2: The kind.
    :type arg2: dtype or type
    :returns: As NumPy says.
    :raises TypeError: If one is no dtype.
    :see: isdtype, can_cast

    >>> import agnesi as ag, numpy as np
    >>> ag.issubdtype(ag.float32, np.floating)
    True
    """
    return bool(np.issubdtype(arg1, arg2))


# -- conversions --------------------------------------------------------------------------------
asanyarray = asarray


@public
def asarray_chkfinite(x: TensorLike, dtype: DTypeLike = None, *, out: Tensor | None = None
                      ) -> Tensor:
    """:func:`asarray`, once it is sure that all elements are finite.

    :param x: Also what speaks DLPack or the buffer protocol.
    :param dtype: Type of the elements; by default that of the data.
    :returns: As of :func:`asarray`.
    :raises ValueError: For NaN and infinities, in compiled code too.
    :see: asarray, isfinite, ensure

    >>> ag.asarray_chkfinite([1.0, 2.0])
    tensor([1., 2.])
    """
    x = asarray(x, dtype)
    return ensure(x, isfinite(x), "there are NaN or infinities") if x.dtype.kind in "fcV" else x


@public
def frombuffer(buffer: object, dtype: DTypeLike = None, count: int = -1, offset: int = 0, *,
               out: Tensor | None = None) -> Tensor:
    """A vector over the bytes of a buffer, without a copy.

    :param buffer: With the buffer protocol, as bytes.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :param count: How many elements; -1 is all.
    :param offset: Where to begin, in bytes.
    :returns: A vector; it cannot be changed where the buffer cannot.
    :raises ValueError: If the buffer is too small, or its size is no multiple of the elements'.
    :raises TypeError: If it is a text.
    :see: from_numpy, asarray, fromiter

    >>> ag.frombuffer(b"abc", "uint8")
    tensor([97, 98, 99], dtype=uint8)
    """
    kind = dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(buffer, str):
        raise TypeError(f"buffer must be bytes, or what has their protocol, not {buffer!r}: write "
                        "text.encode()")
    check_unmasked(buffer)
    return wrap(np.frombuffer(buffer, kind, count, offset))  # type: ignore[call-overload]


# -- comparisons --------------------------------------------------------------------------------
@public
def array_equiv(x1: TensorLike, x2: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Return whether two arrays are equal once they are broadcast.

    :param x1, x2: Of any shapes.
    :returns: One bool; False where they do not broadcast.
    :see: array_equal, allclose

    >>> bool(ag.array_equiv([1, 1], 1))
    True
    """
    a, b = as_tensor(x1), as_tensor(x2)
    try:
        return every(equal(a, b))
    except ShapeError:
        return as_tensor(False)


@public
def shares_memory(x1: TensorLike, x2: TensorLike) -> bool:
    """Return whether two arrays have an element in common.

    :param x1, x2: Arrays with a value.
    :returns: About the memory of now.
    :see: may_share_memory, copy

    >>> x = ag.arange(6)
    >>> ag.shares_memory(x[::2], x[1::2]), ag.shares_memory(x, x[2:])
    (False, True)
    """
    return np.shares_memory(asarray(x1).numpy(), asarray(x2).numpy())


@public
def may_share_memory(x1: TensorLike, x2: TensorLike) -> bool:
    """Return whether the bounds of two arrays in memory overlap.

    :param x1, x2: Arrays with a value.
    :returns: About the memory of now.
    :see: shares_memory

    >>> x = ag.arange(6)
    >>> ag.may_share_memory(x[::2], x[1::2])
    True
    """
    return np.may_share_memory(asarray(x1).numpy(), asarray(x2).numpy())


# -- bits ---------------------------------------------------------------------------------------
def _flat_or(x: Tensor, axis: int | None) -> Tensor:
    return reshape(x, (x.size,)) if axis is None else moveaxis(x, axis, -1)


def _weights(bitorder: str) -> np.ndarray:
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder must be 'big' or 'little', not {bitorder!r}")
    shifts = np.arange(8, dtype=np.uint8)
    return shifts[::-1].copy() if bitorder == "big" else shifts


@public
def packbits(x: TensorLike, /, axis: int | None = None, bitorder: str = "big", *,
             out: Tensor | None = None) -> Tensor:
    """Bits (what is not zero) as bytes, eight of an axis in each; zeros fill up the last.

    :param x: Integers or bool.
    :param axis: An axis, counted from the end where negative; by default the elements are taken
        flat. Also written ``dim``.
    :param bitorder: Whether the first bit of a byte is the highest.
    :type bitorder: {"big", "little"}
    :returns: uint8; on the axis an eighth as long, rounded up.
    :raises DTypeError: For floats and complex numbers.
    :raises ValueError: If ``bitorder`` is another.
    :see: unpackbits, bitwise_count

    >>> ag.packbits(ag.tensor([True, False, True]))
    tensor([160], dtype=uint8)
    """
    x = as_tensor(x)
    if x.dtype.kind not in "biu":
        raise DTypeError(f"packbits takes integers or bools, not {typed(x)}")
    row = cast(not_equal(_flat_or(x, axis), 0), dtypes.uint8)
    n = row.shape[-1]
    more = -n % 8
    if more:
        nothing = broadcast_to(as_tensor(0, dtypes.uint8), (*row.shape[:-1], more))
        row = concat([row, nothing], -1)
    eights = reshape(row, (*row.shape[:-1], (n + more) // 8, 8))
    moved = bitwise.bitwise_left_shift(eights, as_tensor(_weights(bitorder)))
    packed = total(moved, -1, dtype=dtypes.uint8)
    return packed if axis is None else moveaxis(packed, -1, axis)


@public
def unpackbits(x: TensorLike, /, axis: int | None = None, count: int | None = None,
               bitorder: str = "big", *, out: Tensor | None = None) -> Tensor:
    """Bytes as bits, eight for each along an axis; ``count`` says how many are kept.

    :like: packbits
    :param x: uint8.
    :param count: How many bits are kept along the axis; negative ones go from the end; all by
        default.
    :returns: uint8, zeros and ones; on the axis eight times as long.
    :raises DTypeError: For other dtypes.
    :see: packbits

    >>> ag.unpackbits(ag.tensor([160], dtype="uint8"), count=3)
    tensor([1, 0, 1], dtype=uint8)
    """
    x = as_tensor(x)
    if x.dtype != dtypes.uint8:
        raise DTypeError(f"unpackbits takes uint8, not {typed(x)}")
    row = _flat_or(x, axis)
    one = reshape(row, (*row.shape, 1))
    moved = bitwise.bitwise_right_shift(one, as_tensor(_weights(bitorder)))
    bits = bitwise.bitwise_and(moved, as_tensor(1, dtypes.uint8))
    flat = reshape(bits, (*row.shape[:-1], 8 * row.shape[-1]))
    if count is not None:
        n = flat.shape[-1]
        if count > n:
            nothing = broadcast_to(as_tensor(0, dtypes.uint8), (*flat.shape[:-1], count - n))
            flat = concat([flat, nothing], -1)
        flat = flat[..., :count]
    return flat if axis is None else moveaxis(flat, -1, axis)
