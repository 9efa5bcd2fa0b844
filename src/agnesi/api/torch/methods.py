"""Methods of PyTorch's tensors that are no functions: devices, types, sizes, changes."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from agnesi.api import functions as F
from agnesi.api.torch import kinds
from agnesi.autodiff.recording import is_leaf
from agnesi.core import shapes
from agnesi.core.dispatch import assign
from agnesi.core.integers import integer
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import at_once, explain_errors, on_host, planned, public
from agnesi.core.storage.device_tensors import moved
from agnesi.core.support.config import config
from agnesi.core.support.dtypes import as_dtype, name_of
from agnesi.core.support.errors import GradientError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays import triangles
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.sparse.coordinates import COO


# -- devices ----------------------------------------------------------------------------------
@strict
def cpu(self: Tensor, memory_format: object = None) -> Tensor:
    """The tensor in the computer's memory: itself, or a copy from a device.

    :param memory_format: Taken from PyTorch's calls, and not needed.
    :type memory_format: object
    :returns: The tensor itself where it is there.
    """
    return moved(self, "cpu")


@strict
def cuda(self: Tensor, device: object = None, non_blocking: bool = False,
         memory_format: object = None
         ) -> NoReturn:
    """Refused: there is one device, the CPU.

    :param device: Which one.
    :type device: object
    :param non_blocking: Taken from PyTorch's calls.
    :param memory_format: Likewise.
    :type memory_format: object
    :raises ValueError: Always.
    """
    raise ValueError(at("there is one device, 'cpu', and not 'cuda'; ask for it with "
                        "ag.cuda.is_available(), or leave .cuda() out"))


@strict
def get_device(self: Tensor) -> int:
    """The number of the GPU: -1, which means the CPU.

    :returns: -1.
    """
    return -1


# -- types and sizes --------------------------------------------------------------------------
def dim(self: Tensor) -> int:
    """The number of axes.

    Returns
    -------
    int
        The same as ``x.ndim``.
    """
    data = self.array
    return data.ndim if data is not None else self.ndim


def _strides(self: Any, *more: Any) -> Any:
    """All strides, in the usual call."""
    data = self.array
    if more or data is None:
        return NotImplemented
    size = data.itemsize
    return tuple([n // size for n in data.strides])


@at_once(_strides)
@explain_errors
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Elements from one to the next along each axis, or along one.

    :param dim: The axis; all by default.
    :returns: As NumPy's ``strides``, counted in elements.
    :rtype: tuple of int, or int
    """
    steps = tuple(n // self.itemsize for n in self.numpy().strides)
    return steps if dim is None else steps[shapes.axis_of(dim, self.ndim)]


@planned
@explain_errors
def type(self: Tensor, dtype: DTypeLike = None, non_blocking: bool = False) -> Any:
    """The name of the type as PyTorch writes it; or the values as another dtype.

    :param dtype: Such as ``ag.int64``, ``ag.LongTensor`` or "torch.LongTensor"; ``ag.Tensor`` means
        the dtype of ``ag.Tensor(2, 3)``.
    :type dtype: dtype, str or constructor, optional
    :param non_blocking: Taken from PyTorch's calls, and not needed.
    :returns: "torch.FloatTensor" and the like; the tensor itself where it has the dtype.
    :rtype: str or Tensor
    :raises DTypeError: If there is no such dtype.

    >>> ag.ones(2).type(), ag.ones(2).type(ag.LongTensor).dtype
    ('torch.FloatTensor', dtype('int64'))
    """
    if dtype is None:
        return f"torch.{kinds.OF.get(name_of(self.dtype), self.dtype)}"
    if dtype is Tensor:
        return cast(self, as_dtype(config.default_float))
    name = dtype.rpartition(".")[2] if isinstance(dtype, str) else ""
    if name in kinds.NAMES:
        return cast(self, as_dtype(kinds.NAMES[name]))
    return cast(self, as_dtype(dtype.dtype if isinstance(dtype, kinds.Kind) else dtype))


@strict
def new(self: Tensor, *data: Any, device: object = None) -> Tensor:
    """A tensor of this one's dtype: of data, or of sizes, filled with zeros.

    :param *data: The elements; or integers, or the shape of a tensor, which are sizes.
    :type *data: array_like or int
    :param device: Only "cpu", which is the default.
    :type device: str, optional
    :returns: Of memory of its own.
    :raises TypeError: If there are several data.
    :raises ValueError: If a size is negative, or the device is not "cpu".
    :see: Tensor.new_tensor, Tensor.new_zeros, Tensor.new_empty

    >>> ag.ones(2, dtype="int32").new(2, 3).dtype
    dtype('int32')
    """
    on_host(device)
    return kinds.typed_tensor(self.dtype, data)


@planned
@public
def view_as(self: Tensor, other: TensorLike) -> Tensor:
    """The elements in the shape of another tensor, as :func:`view` has them: never a copy.

    :param other: It gives the shape.
    :returns: A view of that shape.
    :raises ValueError: If the elements are laid out otherwise in memory.
    :raises ShapeError: If there is another number of elements.
    """
    return self.view(as_tensor(other).shape)


@strict
def to_dense(self: Tensor, dtype: DTypeLike = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense; of a sparse one all its elements.

    :param dtype: What it is converted to.
    :param masked_grad: Taken from PyTorch's calls, and not needed.
    :returns: The tensor.
    """
    return self if dtype is None else cast(self, as_dtype(dtype))


@strict
def to_sparse(self: Tensor, sparse_dim: int | None = None) -> Any:
    """The elements that are not 0, by their places.

    :param sparse_dim: How many of the first axes have places; all by default.
    :returns: Gradients flow from its values to the tensor.
    :rtype: COO
    :raises ValueError: If there are not so many axes.
    """
    count = self.ndim if sparse_dim is None else integer(sparse_dim, "to_sparse: sparse_dim")
    if not 1 <= count <= self.ndim:
        raise ValueError(at(f"to_sparse: sparse_dim must be between 1 and {self.ndim}, not "
                            f"{sparse_dim}"))
    there = self.detach() != 0
    places = F.nonzero(F.any(there, tuple(range(count, self.ndim))))
    return COO(F.stack(places), self[places], self.shape, is_coalesced=True)


@strict
def to_sparse_csr(self: Tensor, dense_dim: None = None) -> Any:
    """A matrix's elements that are not 0, by rows.

    :param dense_dim: Taken from PyTorch's calls: all axes have places.
    :returns: Gradients flow from its values to the tensor.
    :rtype: CSR
    :raises ShapeError: If it is no matrix.
    """
    return importlib.import_module("agnesi.api.sparse").csr(self)


@strict
def to_sparse_csc(self: Tensor, dense_dim: None = None) -> Any:
    """A matrix's elements that are not 0, by columns.

    :param dense_dim: Taken from PyTorch's calls: all axes have places.
    :returns: Gradients flow from its values to the tensor.
    :rtype: CSC
    :raises ShapeError: If it is no matrix.
    """
    return importlib.import_module("agnesi.api.sparse").csc(self)


to_sparse_coo = to_sparse


@planned
@public
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the axes along which a shape would have to be broadcast.

    :param *size: The shape, as several arguments or one tuple.
    :type *size: int
    :returns: Of that shape.
    :raises ShapeError: If the shape does not broadcast to the tensor's.
    """
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = self.ndim - len(shape)
    axes = [*range(lead), *(a + lead for a, n in enumerate(shape) if n != self.shape[a + lead])]
    found = F.sum(self, axis=tuple(axes), keepdims=True) if axes else self
    return F.reshape(found, shape)


@planned
@public
def polygamma(self: Tensor, n: int) -> Tensor:
    """A derivative of the logarithm of the gamma function.

    :param n: Which one, counted from that of order 1, which is 0.
    :returns: Of the tensor's shape.
    """
    found: Tensor = importlib.import_module("agnesi.api.special").polygamma(n, self)
    return found


# -- changes ----------------------------------------------------------------------------------
@strict
def detach_(self: Tensor) -> Tensor:
    """Forget how the tensor was computed: it is a leaf from now on, and gradients stop here.

    :returns: The tensor itself.
    :raises GradientError: In compiled functions, where ``x = x.detach()`` says the same; what has
        no gradient is the tensor itself there, too.

    >>> x = ag.ones(2, requires_grad=True) * 2
    >>> x.detach_().requires_grad
    False
    """
    if is_tracing() and not self._requires_grad:
        return self
    if is_tracing() or self.array is None:
        raise GradientError(at(f"detach_() of {typed(self)} in a compiled function or symbolic "
                               "program; write x = x.detach()"))
    if not is_leaf(self):
        self.node = None
    self._requires_grad = False
    return self


@explain_errors
def fill_diagonal_(self: Tensor, fill_value: TensorLike, wrap: bool = False) -> Tensor:
    """Set the elements of the main diagonal.

    :param fill_value: What they become.
    :type fill_value: number or Tensor
    :param wrap: Whether the diagonal goes on below a square part of a tall matrix.
    :returns: The tensor itself.
    :raises ValueError: If there are less than two axes, or several ones of different sizes.
    """
    triangles.fill_diagonal(self, fill_value, wrap)
    return self


@explain_errors
def put_(self: Tensor, index: TensorLike, source: TensorLike, accumulate: bool = False) -> Tensor:
    """Set elements at places of the flat tensor.

    :param index: The places.
    :type index: array_like of int
    :param source: As many elements.
    :param accumulate: Whether to add them to what is there.
    :returns: The tensor itself.
    :raises IndexError: If a place is out of range.
    """
    places, values = F.reshape(index, (-1,)), F.reshape(source, (-1,))
    flat = F.index_put(F.reshape(self, (-1,)), (places,), values, accumulate=accumulate)
    return assign(self, cast(F.reshape(flat, self.shape), self.dtype))
