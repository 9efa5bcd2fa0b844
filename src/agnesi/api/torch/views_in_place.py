"""Methods of PyTorch's that give a tensor itself another shape: it is a view of what it was, or
has memory of its own where that is too small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.autodiff.recording import is_leaf
from agnesi.core.ir.dims import product
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.shapes import surely_less
from agnesi.core.storage.views import views_of
from agnesi.core.support.errors import GradientError, TraceError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, as_kind, register
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import checked_sizes, zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.indexing.join import concat

#: The attributes by which a tensor is a view of memory.
_OWN = ("array", "node", "_view", "_version")


def _become(x: Tensor, name: str, *axes: Any, **keywords: Any) -> Tensor:
    """Let a tensor be the view of itself that a method gives."""
    given = [*map(str, axes), *(f"{key}={value}" for key, value in keywords.items())]
    return _replaced(x, name, lambda y: getattr(y, name)(*axes, **keywords),
                     f"write x = x.{name}({', '.join(given)})")


def _replaced(x: Tensor, name: str, make: Callable[[Tensor], Tensor], instead: str) -> Tensor:
    """Let a tensor be what is made of it."""
    if x._requires_grad and is_leaf(x):
        raise GradientError(at(f"{name}_() of {typed(x)}, a leaf that requires a gradient; "
                               f"{instead}"))
    before: Any = as_kind(Tensor, x)
    found = make(before)
    if found is before:
        return x
    if is_tracing() if x.array is not None else (
            x.node is None or x.node.op is None or "alias" in x.node.op.traits):
        raise TraceError(at(f"{name}_() of {typed(x)}, which exists outside of the compiled "
                            f"function or symbolic program; {instead}"))
    for view in [t._view for t in views_of(x)]:
        if view is not None and view.base is x:
            view.base = before  # where they look as before
    for slot in _OWN:
        setattr(x, slot, getattr(found, slot))
    if x._version is not None and all(ref() is not x for ref in x._version[1:]):
        register(x._version, x)
    return x


@strict
def squeeze_(self: Tensor, dim: int | tuple[int, ...] | None = None) -> Tensor:
    """Remove axes of size 1 from the tensor itself; other tensors in its memory keep their shapes.

    :param dim: Which one, where its size is 1; all without it.
    :type dim: int or tuple of int or None
    :returns: The tensor itself.
    :raises GradientError: If the tensor is a leaf that requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> x = ag.ones((1, 3))
    >>> x.squeeze_().shape, x.shape
    ((3,), (3,))
    """
    return _become(self, "squeeze", **({} if dim is None else {"dim": dim}))


@strict
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert an axis of size 1 into the tensor itself; other tensors in its memory keep their
    shapes.

    :like: squeeze_
    :param dim: Where.

    >>> ag.ones(3).unsqueeze_(0).shape
    (1, 3)
    """
    return _become(self, "unsqueeze", dim)


@strict
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes of the tensor itself; other tensors in its memory keep their shapes.

    :like: squeeze_
    :param dim0, dim1: Which ones.

    >>> ag.ones((2, 3)).transpose_(0, 1).shape
    (3, 2)
    """
    return _become(self, "swapaxes", dim0, dim1)


swapdims_ = transpose_


@strict
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes of the tensor itself, as :meth:`transpose_`.

    :like: squeeze_
    :param axis0, axis1: Which ones.

    >>> ag.ones((2, 3)).swapaxes_(0, 1).shape
    (3, 2)
    """
    return _become(self, "swapaxes", axis0, axis1)


@strict
def t_(self: Tensor) -> Tensor:
    """Swap the axes of a matrix itself; other tensors in its memory keep their shapes.

    :like: squeeze_

    >>> ag.ones((2, 3)).t_().shape
    (3, 2)
    """
    return _become(self, "t")


@strict
def resize_(self: Tensor, *sizes: Any, memory_format: object = None) -> Tensor:
    """Give the tensor itself another shape, of as many elements as one likes: the first ones stay,
    further ones are zero and in new memory.

    :param *sizes: The shape, as several sizes or as one tuple.
    :type *sizes: int or tuple of int
    :param memory_format: Taken from PyTorch's calls, and not needed.
    :returns: The tensor itself.
    :raises GradientError: If the tensor requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> x = ag.tensor([1.0, 2.0, 3.0])
    >>> x.resize_(2, 2), x.resize_((1, 2))
    (tensor([[1., 2.]]), tensor([[1., 2.]]))
    """
    shape = checked_sizes(sizes[0] if len(sizes) == 1 else sizes)
    if self._requires_grad:
        raise GradientError(at(f"resize_() of {typed(self)}, which requires a gradient; "
                               "write y = x.detach().clone() and resize this"))
    return _replaced(self, "resize", lambda x: _with_elements(x, shape),
                     f"write x = x.reshape(-1)[:{product(shape)}].reshape{shape}")


@strict
def resize_as_(self: Tensor, the_template: TensorLike, *, memory_format: object = None) -> Tensor:
    """Give the tensor itself the shape of another, as :meth:`resize_`.

    :like: resize_
    :param the_template: It gives the shape.

    >>> ag.tensor([1.0, 2.0, 3.0]).resize_as_(ag.ones((1, 2)))
    tensor([[1., 2.]])
    """
    return resize_(self, as_tensor(the_template).shape)


def _with_elements(x: Tensor, shape: Any) -> Tensor:
    """The first elements in a shape; zeros follow where there are too few."""
    if x.shape == shape:
        return x
    count, flat = product(shape), reshape(x, (-1,))
    if surely_less(flat.shape[0], count):
        flat = concat([flat, zeros(count - flat.shape[0], dtype=x.dtype)])
    return reshape(flat[:count], shape)
