"""Methods that are more than a function of the same name: shapes given as ``*shape``, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from agnesi.core.backend import DEVICES
from agnesi.core.dispatch import apply
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import (
    explain_errors,
    on_host,
    planned,
    public,
    target_dtype,
    where_torch,
)
from agnesi.core.storage.device_tensors import device_of, moved
from agnesi.core.storage.layout_queries import note
from agnesi.core.storage.views import root
from agnesi.core.support import dtypes
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.types import astype
from agnesi.ops.base.arith import conj, imag
from agnesi.ops.base.convert import Cast, cast
from agnesi.ops.base.movement import flatten as flatten_axes
from agnesi.ops.base.movement import permuted, ravel, reshaped, swapaxes, transposed
from agnesi.ops.base.movement import reshape as to_shape


def _listed(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(2, 3)`` and ``f((2, 3))`` alike."""
    if len(sizes) == 1 and (isinstance(sizes[0], (tuple, list))
                            or getattr(sizes[0], "ndim", 0) == 1):
        return tuple(sizes[0])
    return sizes


@planned
@public
def reshape(self: Tensor, *shape: Any, order: str = "C") -> Tensor:
    """The elements in another shape; one size may be -1.  Shares memory where it can.

    With ``order="F"`` they are taken and put in column-major order.

    :param *shape: Sizes, as several arguments or one tuple.
    :type *shape: int
    :param order: "F" takes and puts the elements in column-major order.
    :type order: {"C", "F"}
    :returns: A view where memory allows.
    :raises ShapeError: If the shape does not hold as many elements.

    >>> ag.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    if order == "C":
        return reshaped(self, _listed(shape))
    return to_shape(self, _listed(shape), order=order)


@planned
@public
def view(self: Tensor, *shape: Any) -> Tensor:
    """Like :func:`reshape`, never a copy: what is laid out otherwise in memory is an error.

    With a dtype in place of sizes it is :func:`bitcast`, as in NumPy and PyTorch.

    :param *shape: Sizes, as several arguments or one tuple; or a dtype; all of it with nothing.
    :type *shape: int
    :returns: A view.
    :raises ValueError: If the elements are laid out otherwise in memory.
    :raises ShapeError: If the shape does not hold as many elements.
    """
    if not shape and self.ndim:
        return self
    as_dtype = len(shape) == 1 and isinstance(shape[0], (np.dtype, type, str))
    if as_dtype:
        bitcast = import_module("agnesi.ops.elementwise.bitcast").bitcast

        result = bitcast(self, shape[0])
    else:
        result = reshaped(self, _listed(shape))
    if root(result) is not root(self):
        raise ValueError(f"{typed(self)} does not lie in memory so that {typed(result)} could look "
                         f"into it; {'ag.bitcast' if as_dtype else 'reshape'} copies it")
    if self.array is None and result is not self:
        note(self, result, result._view.op, raises=True)
    return result


@planned
@public
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor.

    :param other: Whose shape is taken.
    :returns: A view where memory allows.
    :raises ShapeError: If it has not as many elements.
    """
    return reshaped(self, other.shape)


@planned
@public
def permute(self: Tensor, *axes: Any) -> Tensor:
    """The axes in another order.

    :param *axes: Which axis comes where, as several arguments or one tuple.
    :type *axes: int
    :returns: A view.
    :raises ValueError: If ``axes`` does not name each axis once.

    >>> ag.ones((2, 3, 4)).permute(2, 0, 1).shape
    (4, 2, 3)
    """
    return permuted(self, _listed(axes))


@where_torch
@planned
@public
def transpose(self: Tensor, *axes: Any) -> Tensor:
    """The axes in another order, reversed by default, as in NumPy.

    Two numbers on a tensor that has not two axes swap these axes, as in PyTorch.

    :param *axes: An order of all axes, or two axes to swap.
    :type *axes: int
    :returns: A view.
    :raises TypeError: For two numbers that leave a matrix as it is in NumPy and transpose it in
        PyTorch.

    >>> ag.ones((2, 3, 4)).transpose().shape, ag.ones((2, 3, 4)).transpose(0, 1).shape
    ((4, 3, 2), (3, 2, 4))
    """
    if len(axes) == 2:
        if self.ndim == 2 and axes in ((0, 1), (-2, -1), (0, -1), (-2, 1)):
            a, b = axes
            raise TypeError(f"transpose({a}, {b}) leaves a matrix as it is in NumPy and swaps its "
                            f"axes in PyTorch; write x.swapaxes({a}, {b}), or x.permute({a}, {b})")
        return swapaxes(self, *axes)
    order = _listed(axes)
    return permuted(self, None if not order or order == (None,) else order)


@planned
def t(self: Tensor) -> Tensor:
    """The transposed matrix; vectors and numbers as they are.

    :returns: A view.
    :raises ShapeError: If there are more than two axes.
    """
    if len(self.shape) > 2:
        raise ShapeError(at(f"t() takes at most two axes, not {typed(self)}; use "
                            "x.swapaxes(0, 1), or .mT for stacks of matrices"))
    return permuted(self)


@planned
def turned(self: Tensor) -> Tensor:
    """The axes in reverse order, as NumPy has it."""
    return permuted(self)


@planned
def mt(self: Tensor) -> Tensor:
    """The last two axes swapped."""
    return transposed(self)


def mh(self: Tensor) -> Tensor:
    """The matrices with rows and columns swapped, and conjugated; a view of real ones."""
    found = mt(self)
    return conj(found) if self.dtype.kind == "c" else found


@planned
@public
def flatten(self: Tensor, start_dim: int | str = 0, end_dim: int = -1) -> Tensor:
    """Axes ``start_dim`` to ``end_dim`` as one.

    :param start_dim: First of the axes that become one; or NumPy's order, "C" or "F".
    :type start_dim: int or str
    :param end_dim: The last one.
    :returns: A view where memory allows.
    :raises IndexError: If an axis is out of range.
    """
    if isinstance(start_dim, str):  # the order of NumPy's
        return ravel(self, start_dim)
    return flatten_axes(self, start_dim, end_dim)


@planned
@public
def expand(self: Tensor, *shape: Any) -> Tensor:
    """Axes of size 1 repeated to ``shape``; -1 keeps a size.

    :param *shape: Sizes, as several arguments or one tuple.
    :type *shape: int
    :returns: A view, which cannot be written to where elements are repeated.
    :raises ShapeError: If an axis of another size than 1 would be repeated.
    """
    sizes = _listed(shape)
    extra = len(sizes) - self.ndim
    full = tuple(
        self.shape[i - extra] if isinstance(n, int) and n == -1 and i >= extra else n
        for i, n in enumerate(sizes)
    )
    from agnesi.ops.arrays.replicate import broadcast_to

    return broadcast_to(self, full)


@planned
@public
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Repeated to the shape of another tensor.

    :param other: Whose shape is taken.
    :returns: A view, which cannot be written to where elements are repeated.
    :raises ShapeError: If the shapes do not fit.
    """
    from agnesi.ops.arrays.replicate import broadcast_to

    return broadcast_to(self, other.shape)


@planned
@public
def tile(self: Tensor, *reps: Any) -> Tensor:
    """The whole tensor repeated along each axis.

    :param *reps: How often along each axis, as several arguments or one tuple.
    :type *reps: int
    :returns: In memory of its own.
    """
    from agnesi.ops.arrays.replicate import tile as tiled

    return tiled(self, _listed(reps))


# -- dtypes ---------------------------------------------------------------------------------
@planned
def to(self: Tensor, *target: Any, dtype: DTypeLike = None, device: object = None,
       copy: bool = False,
       non_blocking: bool = False, memory_format: object = None) -> Tensor:
    """The values as another dtype, as that of another tensor, or on another device; the tensor
    itself if it is so.

    How memory is copied or laid out says nothing here.

    :param *target: What to become like.
    :type *target: dtype, Tensor or device
    :param dtype: The dtype, by name.
    :param device: "cpu", or "emulated": a device for tests, which runs loop nests in a memory of
        its own.
    :type device: str, optional
    :param copy: Whether to copy where nothing changes.
    :param non_blocking: Taken from PyTorch's calls, and not needed.
    :param memory_format: Taken from PyTorch's calls, and not needed.
    :type memory_format: object
    :returns: Of that dtype.
    :raises TypeError: If several dtypes are given.
    :raises ValueError: For another device.
    :raises DeviceError: If gradients would have to flow from one device to another.

    >>> x = ag.ones(3).to("emulated")
    >>> (x + 1).device, (x + 1).to("cpu")
    (device(type='emulated'), tensor([2., 2., 2.]))
    """
    if target and type(target[0]) is bool:
        raise TypeError(at(f"to: {target[0]} is neither a dtype nor a device"))
    place = next((d for d in (device, *target) if isinstance(d, str) and d in (
        "cpu", *DEVICES)), None)
    if place is not None and place != device_of(self):
        self, copy = moved(self, place), False
    target = tuple([t for t in target if t is not place])
    if device is not place:
        on_host(device)
    wanted = target_dtype("to", target, dtype)
    if wanted is None:
        return apply(Cast(self.dtype), self) if copy else self
    return astype(self, wanted, copy=copy)


_RETURNS = "Returns\n-------\nTensor\n"
_FORMAT = """Parameters
----------
memory_format : object
    Taken from PyTorch's calls, and not needed.

"""


def converter(dtype: Any, name: str) -> Callable[[Tensor], Tensor]:
    """The method that converts to one dtype."""

    def method(self: Tensor, memory_format: object = None) -> Tensor:
        return cast(self, as_dtype(dtype))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The values as {dtype}.\n\n{_FORMAT}{_RETURNS}" \
                     "    The tensor itself if it is so."
    return planned(method)


def _part(x: Tensor, imaginary: bool) -> Tensor:
    part = import_module("agnesi.ops.elementwise.complexes").part

    return part(x, imaginary)


def real_part(self: Tensor) -> Tensor:
    """The real part, a view; the tensor itself if it is real."""
    return _part(self, False) if self.dtype.kind == "c" else self


def imaginary_part(self: Tensor) -> Tensor:
    """The imaginary part, a view; zeros for real tensors."""
    return _part(self, True) if self.dtype.kind == "c" else imag(self)


@planned
@explain_errors
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The values as the dtype of another tensor.

    :param other: Whose dtype is taken.
    :returns: Of that dtype.
    """
    return cast(self, other.dtype)


def is_floating_point(self: Tensor) -> bool:
    """Return whether the elements are floats.

    :returns: By the dtype.
    """
    return self.dtype.kind in "fV"


def is_complex(self: Tensor) -> bool:
    """Return whether the elements are complex.

    :returns: By the dtype.
    """
    return self.dtype in dtypes.COMPLEX
