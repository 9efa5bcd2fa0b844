"""Tensors from data, and tensors filled with one number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from agnesi.core.calls.modules import is_pythons
from agnesi.core.calls.watched import warn_of_single_elements
from agnesi.core.dispatch import apply, graph_node, make_node, symbolic
from agnesi.core.integers import integer
from agnesi.core.ir.dims import Dim, Shape, is_static
from agnesi.core.ir.node import Node
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import at_once, planned, public
from agnesi.core.shapes import check_axes
from agnesi.core.storage import memory
from agnesi.core.storage.leaves import COPY
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, config
from agnesi.core.support.errors import DTypeError, oversized
from agnesi.core.support.foreign import attribute_of
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.tracing import current_reads, current_trace, is_tracing
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.core.value_sizes import refusal
from agnesi.ops.base.convert import (
    LISTS,
    SCALARS,
    as_array,
    as_tensor,
    cast,
    check_real,
    joined,
    of_default,
    strong,
    too_large,
    written,
)
from agnesi.ops.base.expand import BroadcastTo, broadcast_to

#: Codes of the dtypes of NumPy's that are as those of tensors.
_CHARS = "?bBhHiIlLefdFD"
#: Elements and axes up to which a new tensor is created without a compiled plan.
_FEW_ELEMENTS, _FEW_AXES = 1024, 8


# -- helpers --------------------------------------------------------------------------------
def sizes_of(shape: Any) -> Shape:
    """A shape from a size or a sequence of sizes, each an integer or a Dim."""
    if type(shape) is tuple or type(shape) is list or attribute_of(shape, "ndim") == 1:
        pass
    elif isinstance(shape, (int, Dim, bytes)) or not isinstance(shape, Sequence):
        shape = (shape,)
    return tuple([n if type(n) is int else integer(n, "a size") for n in shape])


def checked_sizes(shape: Any) -> Shape:
    """Like :func:`sizes_of`; none may be negative, and there are no more than arrays have axes."""
    sizes = sizes_of(shape)
    check_axes(sizes)
    for n in sizes:
        if isinstance(n, int) and n < 0:
            raise ValueError(f"sizes must not be negative: {sizes}")
    return sizes


def made(op: Op, *sizes: Any) -> Tensor:
    """The result of an operation without operands: a graph node where a size is unknown."""
    return apply(op) if is_static(sizes) else symbolic(op, ())


def constant(value: Any, dtype: np.dtype) -> Tensor:
    """A constant of a graph."""
    found = silently(np.asarray, value, dtype)
    return symbol(Node(None, (), found.shape, dtype, value=found))


def filled(shape: Shape, value: Any, dtype: np.dtype) -> Tensor:
    """A tensor of one number; in a graph a broadcast constant, so that nothing big is kept."""
    if type(value) is complex:
        check_real(value, dtype)
    if not is_tracing() and is_static(shape):
        try:
            if value == 0 and "-" not in repr(value):
                return wrap(np.zeros(shape, dtype))
            return wrap(aside(math.prod(shape), silently, np.full, shape, value, dtype))
        except ValueError as error:
            raise oversized(error, shape, dtype) from None
    return spread_constant(shape, value, dtype)


def filled_by_steps(shape: Any, value: Any, dtype: np.dtype) -> Tensor:
    """A tensor of one number; of a shape of which each step of a body may compute one size."""
    if type(shape) is int:
        return filled(checked_sizes(shape), value, dtype)
    wanted = shape if isinstance(shape, (tuple, list, Sequence)) else (shape,)
    unknown = [a for a, n in enumerate(wanted) if isinstance(n, Tensor) and refusal(n) is not None]
    if len(unknown) != 1:
        return filled(checked_sizes(shape), value, dtype)
    (axis,) = unknown
    one = filled(checked_sizes((*wanted[:axis], 1, *wanted[axis + 1:])), value, dtype)
    found: Tensor = HOOKS.repeated(one, wanted[axis], axis)
    return found


def spread_constant(shape: Shape, value: Any, dtype: np.dtype) -> Tensor:
    """A constant of one number in a graph, broadcast to a shape."""
    one = constant(value, dtype)
    return symbol(make_node(BroadcastTo(shape), (one,))) if shape else one


def float_dtype(dtype: Any) -> np.dtype:
    """A dtype as the user gave it; the default float dtype for None."""
    return dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)


def _finished(t: Tensor, requires_grad: bool, name: str | None = None) -> Tensor:
    if requires_grad:
        if not dtypes.is_inexact(t.dtype):
            raise DTypeError(f"only float and complex tensors can require grad, not {t.dtype}")
        t._requires_grad = True
        if t.node is not None and not is_tracing():  # a trace lets its gradient begin there
            t.node.requires_grad = True
    if name is not None:
        t._name = name
    return t


def _is_followed(t: Tensor) -> bool:
    """Return whether operations on a tensor are recorded for gradients or traced."""
    return is_tracing() or (MODE.get().recording and t._requires_grad)


def _read(t: Tensor) -> Node:
    """A live tensor's value at run time, as a leaf of gradients."""
    node = graph_node(apply(COPY, t))
    node.requires_grad = False
    return node


def _like(x: Any, dtype: Any) -> tuple[Shape, np.dtype]:
    x = as_tensor(x)
    return x.shape, x.dtype if dtype is None else dtypes.as_dtype(dtype)


# -- from data ------------------------------------------------------------------------------
def _is_plain(data: Any) -> bool:
    """Return whether data is an array as tensors hold it."""
    if type(data) is not np.ndarray:
        return False
    dtype = data.dtype
    return dtype.isbuiltin == 1 and dtype.char in _CHARS


def _around(data: Any = None, *more: Any) -> Any:
    """A tensor around an array, in the usual call of what shares its memory."""
    return NotImplemented if more or not _is_plain(data) else wrap(data)


def _itself(data: Any = None, *more: Any) -> Any:
    """The tensor that data is, or one around an array, in the usual call of ``asarray``."""
    if type(data) is Tensor and not more and data.array is not None:
        return data
    return _around(data, *more)


def _of_copy(data: Any = None, *more: Any) -> Any:
    """A tensor of a copy of an array, or of numbers, in the usual call of ``tensor``."""
    if more:
        return NotImplemented
    if _is_plain(data):
        return wrap(memory.copied(data))
    kind: Any = type(data)
    if kind is list and 0 < len(data) <= _FEW_ELEMENTS:
        kind = _only(map(type, data))
        if kind is list and sum(map(len, data)) <= _FEW_ELEMENTS:
            kind = _only(map(type, chain.from_iterable(data)))
    dtype = config._float_dtype if kind is float else dtypes.int64 if kind is int else None
    if dtype is None:
        return NotImplemented
    try:
        return wrap(silently(np.array, data, dtype))
    except (OverflowError, ValueError):  # rows differ in length
        return NotImplemented


def _only(kinds: Iterable[type]) -> type | None:
    """The one type among some; None where there are others, or none."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else None


def _uninitialised(*sizes: Any) -> Any:
    """An uninitialised tensor of the default dtype, in the usual call of ``empty``."""
    shape = sizes[0] if len(sizes) == 1 and type(sizes[0]) is tuple else sizes
    floats = config._float_dtype
    known = [type(n) is int and 0 <= n < _FEW_ELEMENTS for n in shape]
    if floats is None or not sizes or len(known) > _FEW_AXES or False in known:
        return NotImplemented
    return wrap(np.empty(shape, floats))


@at_once(_of_copy)
@public
def tensor(data: TensorLike, dtype: DTypeLike = None, *, device: str | None = None,
           requires_grad: bool = False, name: str | None = None, out: Tensor | None = None
           ) -> Tensor:
    """A new tensor with a copy of the data.

    :param data: Numbers, nested sequences, arrays, or a tensor.  Sequences may hold tensors.
    :type data: array_like or Tensor
    :param dtype: Type of the elements; Python floats take ``config.default_float`` otherwise.
    :param requires_grad: Whether the tensor is one that gradients are computed for.  Otherwise
        those of what is computed from it go on to the tensors that it was made of.
    :param name: A name for printing.
    :returns: Of memory of its own, in row-major order; its shape is that of the data.
    :raises TypeError: If the name is no string.
    :raises ShapeError: If the parts of a nested sequence differ in length.
    :raises DTypeError: For data without numbers, such as strings; for numbers that do not fit into
        ``dtype``; for ``requires_grad`` with integers or bool.
    :see: asarray, from_numpy, full, symbolic.variable

    >>> ag.tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, not {typed(name)}")
    given = data
    data = joined(list(data) if isinstance(data, LISTS) else data)
    if data is not given and _is_of_single_elements(given):
        warn_of_single_elements()
    if isinstance(data, Tensor) and data.array is None:
        t = of_default(data) if kind is None and data.weak else written(data, kind or data.dtype)
        return _finished(symbol(graph_node(t)), requires_grad, name)
    if isinstance(data, Tensor) and requires_grad and is_tracing():
        return _finished(symbol(_read(written(data, kind or data.dtype))), requires_grad, name)
    if isinstance(data, Tensor) and not requires_grad and _is_followed(data):
        return _finished(written(apply(COPY, data), kind or data.dtype), False, name)
    array = data.array if isinstance(data, Tensor) else data
    fresh = memory.copied(as_array(array, kind))
    if kind is not None and fresh.dtype != kind:
        fresh = fresh.astype(kind)
    found = noted(wrap(fresh))
    if requires_grad and is_tracing():
        found = symbol(_read(found))
    return _finished(found, requires_grad, name)


def _is_of_single_elements(data: Any) -> bool:
    """Return whether the first leaf of a nested list is a tensor with axes and a single element."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, Tensor) and bool(data.ndim) and data.size == 1


def noted(x: Tensor, given: bool = False) -> Tensor:
    """A new tensor with a value; a trace notes that each call makes its own.  ``given``: over an
    array that others may see."""
    note = getattr(current_trace(), "note_made", None)
    if note is not None:
        note(x, given)
    return x


@at_once(_itself)
@public
def asarray(obj: TensorLike, /, dtype: DTypeLike = None, *, device: str | None = None,
            copy: bool | None = None, out: Tensor | None = None) -> Tensor:
    """A tensor of the data, which shares the memory of an array where that is possible.

    :param obj: Also what speaks DLPack or the buffer protocol.
    :type obj: array_like or Tensor
    :param dtype: Type of the elements; by default that of the data, for Python floats
        ``config.default_float``.
    :param device: Only "cpu".
    :param copy: True always copies, False never does (ValueError where it must).
    :returns: ``obj`` itself where it is a tensor of that dtype.
    :raises ValueError: If ``copy`` is False and the data must be copied.
    :raises TypeError: If the name is no string.
    :raises ShapeError: If the parts of a nested sequence differ in length.
    :raises DTypeError: For data without numbers, such as strings.
    :see: tensor, from_numpy, from_dlpack

    >>> import numpy as np, agnesi as ag
    >>> a = np.zeros(2)
    >>> t = ag.asarray(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=float64)
    """
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(obj, Tensor):
        weak = kind is None and obj.weak
        result = strong(obj) if weak else cast(obj, obj.dtype if kind is None else kind)
        if copy is False and result is not obj:
            raise ValueError(f"copy=False, but {typed(obj)} must be copied to become {kind}")
        return apply(COPY, result) if copy and result is obj else result
    if copy or (copy is None and type(obj) in SCALARS):
        return tensor(obj, dtype)
    result = as_tensor(obj, kind)
    if copy is False and not _shares_memory(result, obj):
        raise ValueError("copy=False, but the data must be copied to make a tensor of it")
    return over(result)


def over(x: Tensor) -> Tensor:
    """A tensor over memory; a trace notes if no memory that was there before the call."""
    reads = current_reads()
    known = reads is None or x.array is None or reads.knows_memory(x.array)
    return x if known else noted(x, given=True)


def _shares_memory(t: Tensor, source: Any) -> bool:
    """Return whether a tensor looks into the memory of an array or buffer that it was made from."""
    if isinstance(source, (np.ndarray, np.generic)):
        return np.may_share_memory(source, t.array)
    return not isinstance(source, (list, tuple, *SCALARS)) and t.array.base is not None


@at_once(_around)
@public
def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    :param array: Of bool, integer, float or complex elements.
    :returns: Changes of one show in the other.
    :raises TypeError: For what is no NumPy array.
    :raises DTypeError: For arrays of other elements, such as strings.
    :see: asarray, tensor, from_dlpack, Tensor.numpy

    >>> import numpy as np, agnesi as ag
    >>> ag.from_numpy(np.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy takes a NumPy array, not {type(array).__name__}; ag.tensor "
                        "takes numbers and lists")
    return asarray(array)


# -- filled ---------------------------------------------------------------------------------
@planned
@public
def zeros(shape: ShapeLike, dtype: DTypeLike = None, *, device: str | None = None,
          requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Zeros of a shape.

    :param shape: Sizes of the axes; not negative. They may be given as several arguments, too.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :returns: Of that shape and dtype.
    :raises ValueError: If a size is negative, or the device is not "cpu".
    :raises TypeError: If a size is no integer.
    :raises DTypeError: If ``requires_grad`` is set for a dtype that is neither floating nor
        complex.
    :see: zeros_like, ones, full, empty

    >>> ag.zeros((2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return _finished(filled_by_steps(shape, 0, float_dtype(dtype)), requires_grad)


@planned
@public
def ones(shape: ShapeLike, dtype: DTypeLike = None, *, device: str | None = None,
         requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Ones of a shape.

    :like: zeros
    :see: ones_like, zeros, full, empty

    >>> ag.ones(3)
    tensor([1., 1., 1.])
    """
    return _finished(filled_by_steps(shape, 1, float_dtype(dtype)), requires_grad)


@planned
@public
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike = None, *,
         device: str | None = None, requires_grad: bool = False, out: Tensor | None = None
         ) -> Tensor:
    """A tensor of a given shape filled with one number, or with a scalar tensor's value.

    :param shape: Sizes of the axes; not negative. They may be given as several arguments, too.
    :type shape: int or tuple of int
    :param fill_value: A number, or a tensor that is broadcast to the shape.
    :type fill_value: array_like
    :param dtype: Type of the elements; by default that of ``fill_value``: int64 for Python
        integers, the default float dtype for floats.
    :returns: Of that shape and dtype; gradients flow to ``fill_value``.
    :raises ShapeError: If ``fill_value`` does not broadcast to the shape.
    :raises ValueError: If a size is negative.
    :raises DTypeError: If the number does not fit into ``dtype``, or ``requires_grad`` is set for a
        dtype that is neither floating nor complex.
    :see: full_like, zeros, ones, alloc

    >>> ag.full((2,), 7)
    tensor([7, 7])
    """
    given: Any = fill_value
    if is_pythons(given):
        given = given.item()
    if type(given) in SCALARS:
        kind = dtypes.of_scalar(given) if dtype is None else dtypes.as_dtype(dtype)
        try:
            return _finished(filled_by_steps(shape, given, kind), requires_grad)
        except OverflowError:
            raise too_large(given, kind) from None
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    value = as_tensor(given, None if isinstance(given, Tensor) else wanted)
    value = value if wanted is None else written(value, wanted)
    return _finished(alloc(value, *checked_sizes(shape)), requires_grad)


@at_once(_uninitialised)
@public
def empty(shape: ShapeLike, dtype: DTypeLike = None, *, device: str | None = None,
          requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """An uninitialised tensor of a given shape; zeros in a graph.

    :like: zeros
    :see: empty_like, zeros, ones

    >>> ag.empty((2, 3)).shape
    (2, 3)
    """
    sizes, kind = checked_sizes(shape), float_dtype(dtype)
    if not is_tracing() and is_static(sizes):
        try:
            return _finished(wrap(np.empty(sizes, kind)), requires_grad)
        except ValueError as error:
            raise oversized(error, sizes, kind) from None
    return filled(sizes, 0, kind)


@planned
@public
def zeros_like(x: TensorLike, /, dtype: DTypeLike = None, *, device: str | None = None,
               requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Zeros of the shape and dtype of ``x``.

    :param x: A tensor or array; only its shape and dtype are read.
    :param dtype: Type of the elements; by default that of ``x``.
    :returns: Of the shape of ``x``.
    :raises DTypeError: If ``requires_grad`` is set for a dtype that is neither floating nor
        complex.
    :see: zeros, ones_like, full_like, empty_like

    >>> ag.zeros_like(ag.ones(2))
    tensor([0., 0.])
    """
    shape, kind = _like(x, dtype)
    return _finished(filled(shape, 0, kind), requires_grad)


@planned
@public
def ones_like(x: TensorLike, /, dtype: DTypeLike = None, *, device: str | None = None,
              requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Ones of the shape and dtype of ``x``.

    :like: zeros_like
    :see: ones, zeros_like, full_like, empty_like

    >>> ag.ones_like(ag.zeros(2))
    tensor([1., 1.])
    """
    shape, kind = _like(x, dtype)
    return _finished(filled(shape, 1, kind), requires_grad)


@planned
@public
def full_like(x: TensorLike, /, fill_value: TensorLike, dtype: DTypeLike = None, *,
              device: str | None = None, requires_grad: bool = False, out: Tensor | None = None
              ) -> Tensor:
    """A tensor of the shape and dtype of ``x``, filled with one number.

    :like: zeros_like
    :param fill_value: A number, or a tensor that is broadcast to the shape.
    :raises DTypeError: If the number does not fit into the dtype, or ``requires_grad`` is set for a
        dtype that is neither floating nor complex.
    :raises ShapeError: If ``fill_value`` does not broadcast to the shape.
    :see: full, zeros_like, ones_like

    >>> ag.full_like(ag.zeros(2), 3)
    tensor([3., 3.])
    """
    shape, kind = _like(x, dtype)
    return full(shape, fill_value, kind, requires_grad=requires_grad)


def _like_one(x: Any = None, *more: Any) -> Any:
    """An uninitialised tensor like one, in the usual call."""
    if type(x) is not Tensor or more or (data := x.array) is None:
        return NotImplemented
    return wrap(np.empty(data.shape, data.dtype))


@at_once(_like_one)
@public
def empty_like(x: TensorLike, /, dtype: DTypeLike = None, *, device: str | None = None,
               requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """An uninitialised tensor of the shape and dtype of ``x``.

    :like: zeros_like
    :see: empty, zeros_like, ones_like

    >>> ag.empty_like(ag.zeros(2)).shape
    (2,)
    """
    shape, kind = _like(x, dtype)
    return empty(shape, kind, requires_grad=requires_grad)


@public
def alloc(value: TensorLike, *shape: Any, out: Tensor | None = None) -> Tensor:
    """``value`` broadcast to a shape, in memory of its own (Theano's name).

    :param value: A number or an array.
    :param *shape: Sizes, as several arguments or one tuple.
    :type *shape: int
    :returns: Of that shape and the dtype of ``value``; gradients flow to ``value``.
    :raises ShapeError: If ``value`` does not broadcast to the shape.
    :raises ValueError: If a size is negative.
    :see: full, broadcast_to

    >>> ag.alloc(ag.tensor([1.0, 2.0]), 2, 2)
    tensor([[1., 2.],
            [1., 2.]])
    """
    value = as_tensor(value)
    sizes = checked_sizes(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    return apply(COPY, broadcast_to(value, sizes))
