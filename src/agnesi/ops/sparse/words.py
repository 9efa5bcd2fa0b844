"""PyTorch's queries of sparse tensors, by coordinates or by rows and columns."""

from __future__ import annotations

import math
from typing import Any, NoReturn, TypeGuard

from agnesi.core.ir.dims import Dim
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import is_device, on_host
from agnesi.core.support import dtypes
from agnesi.core.support.errors import Explained, at
from agnesi.core.support.tracing import is_number_of_trace


class Words(Explained):
    """Methods of PyTorch's sparse tensors; classes have ``_held`` and ``_with`` for the values."""

    __slots__ = ()
    is_sparse = True
    shape: Any
    _held: Any
    _with: Any
    map: Any

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(at("elements of a sparse tensor cannot be assigned: compute with "
                           "x.todense(), or make it again, as by x.map(lambda values: ...)"))

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of an axis.

        :param dim: The axis.
        :returns: Sizes.
        :rtype: tuple of int or int
        """
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """How many axes there are.

        :returns: 2 for a matrix.
        """
        return len(self.shape)

    def numel(self) -> int | Dim:
        """How many elements there are, those that are 0 too.

        :returns: The product of the sizes.
        """
        return math.prod(self.shape)

    ndimension, nelement = dim, numel

    def is_floating_point(self) -> bool:
        """Return whether values are floating-point numbers.

        :returns: False of complex ones, too.
        """
        return self._held.is_floating_point()

    def is_complex(self) -> bool:
        """Return whether values are complex numbers.

        :returns: Whether they are.
        """
        return self._held.is_complex()

    @property
    def device(self) -> Any:
        return self._held.device

    def to(self, *target: Any, dtype: DTypeLike = None, device: str | None = None,
           non_blocking: bool = False, copy: bool = False) -> Any:
        """The same with values of another dtype; there is one device.

        :param *target: What to become like.
        :type *target: dtype, Tensor or device
        :param dtype: The dtype, by name.
        :param device: "cpu".
        :param non_blocking: Taken from PyTorch's calls, and not needed.
        :param copy: Whether to copy where nothing changes.
        :returns: Gradients flow to the values.
        :rtype: SparseTensor or COO
        :raises ValueError: For another device.
        :raises TypeError: If several dtypes are given.
        """
        on_host(device)
        kinds = [t for t in target if type(t) is not bool and not is_device(t)]
        if len(kinds) > 1:
            raise TypeError(at(f"to() takes one dtype or tensor, not {len(kinds)}"))
        wanted = dtype if dtype is not None else kinds[0] if kinds else None
        if wanted is None:
            return self._with(self._held.clone()) if copy else self
        return self._with(self._held.astype(dtypes.as_dtype(
            wanted if is_number_of_trace(wanted) else getattr(wanted, "dtype", wanted))))

    def cpu(self) -> Any:
        """The tensor itself.

        :returns: It is on the only device.
        :rtype: SparseTensor or COO
        """
        return self

    def cuda(self, device: object = None, non_blocking: bool = False) -> NoReturn:
        """An error that says that there is no GPU, as a tensor's.

        :param device: Which one.
        :param non_blocking: Taken from PyTorch's calls.
        :raises ValueError: Always.
        """
        self._held.cuda()
        raise AssertionError

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Let the values have a gradient, or none.

        :param requires_grad: Whether they have one.
        :returns: The tensor itself.
        :rtype: SparseTensor or COO
        """
        self._held.requires_grad_(requires_grad)
        return self

    def sqrt(self) -> Any:
        """The square roots of the values.

        :returns: At the same indices.
        :rtype: SparseTensor or COO
        """
        return self.map(lambda x: x.sqrt())

    def pow(self, exponent: float) -> Any:
        """Powers of the values.

        :param exponent: Above 0: what is 0 stays 0.
        :returns: At the same indices.
        :rtype: SparseTensor or COO
        :raises ValueError: If zeros would not stay zeros.
        """
        if not exponent > 0:
            raise ValueError(at(f"pow({exponent!r}): zeros would not stay zeros; use todense()"))
        return self.map(lambda x: x**exponent)

    def __pow__(self, exponent: float) -> Any:
        return self.pow(exponent)

    def norm(self) -> Any:
        """The square root of the sum of squares.

        :returns: A number.
        :rtype: Tensor
        """
        return (self.map(abs)._held ** 2).sum().sqrt()

    def abs(self) -> Any:
        """The absolute values.

        :returns: At the same indices.
        :rtype: SparseTensor or COO
        """
        return self.map(abs)


def _conversion(name: str, dtype: str) -> Any:
    def convert(self: Any) -> Any:
        return self.to(dtype)

    convert.__name__, convert.__qualname__ = name, f"Words.{name}"
    convert.__doc__ = (f"The same with values of {dtype}.\n\n:returns: Gradients flow to them.\n"
                       ":rtype: SparseTensor or COO")
    return convert


for _name, _dtype in (("float", "float32"), ("double", "float64"), ("half", "float16"),
                      ("int", "int32"), ("long", "int64")):
    setattr(Words, _name, _conversion(_name, _dtype))


def _elementwise(name: str) -> Any:
    def apply(self: Any) -> Any:
        return self.map(lambda x: getattr(x, name)())

    apply.__name__, apply.__qualname__ = name, f"Words.{name}"
    apply.__doc__ = (f"``{name}`` of the values, which gives 0 for 0.\n\n:returns: At the same "
                     "places.\n:rtype: SparseTensor or COO")
    return apply


for _name in ("sin tan asin atan sinh tanh asinh atanh expm1 log1p floor ceil trunc sign square "
              "relu").split():
    setattr(Words, _name, _elementwise(_name))


#: Types that operators of tensors leave to the other operand.
FOREIGN: set[type] = set()


def is_sparse(x: Any) -> TypeGuard[Any]:
    """Return whether an operand keeps some of its elements only."""
    return isinstance(x, Words)


def dense(x: Any) -> Any:
    """A gradient with all its zeros."""
    return x.to_dense() if is_sparse(x) else x
