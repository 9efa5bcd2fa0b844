"""Methods of PyTorch's that give a tensor itself another shape: it is a view of what it was."""

from __future__ import annotations

from typing import Any

from agnesi.autodiff.recording import is_leaf
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.storage.views import views_of
from agnesi.core.support.errors import GradientError, TraceError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, as_kind, register

#: What makes a tensor look into memory, and how.
_OWN = ("array", "node", "_view", "_version")


def _become(x: Tensor, name: str, *axes: Any, **keywords: Any) -> Tensor:
    """Let a tensor be the view of itself that a method gives."""
    given = [*map(str, axes), *(f"{key}={value}" for key, value in keywords.items())]
    instead = f"write x = x.{name}({', '.join(given)})"
    if x._requires_grad and is_leaf(x):
        raise GradientError(at(f"{name}_() of {typed(x)}, a leaf that requires a gradient; "
                               f"{instead}"))
    if is_tracing() if x.array is not None else (
            x.node is None or x.node.op is None or x.node.op.name == "alias"):
        raise TraceError(at(f"{name}_() of {typed(x)}, which exists outside of the compiled "
                            f"function or symbolic program; {instead}"))
    before: Any = as_kind(Tensor, x)
    found = getattr(before, name)(*axes, **keywords)
    if found is before:
        return x
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

    :param dim: Where.
    :returns: The tensor itself.
    :raises GradientError: If the tensor is a leaf that requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> ag.ones(3).unsqueeze_(0).shape
    (1, 3)
    """
    return _become(self, "unsqueeze", dim)


@strict
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes of the tensor itself; other tensors in its memory keep their shapes.

    :param dim0, dim1: Which ones.
    :returns: The tensor itself.
    :raises GradientError: If the tensor is a leaf that requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> ag.ones((2, 3)).transpose_(0, 1).shape
    (3, 2)
    """
    return _become(self, "swapaxes", dim0, dim1)


swapdims_ = transpose_


@strict
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes of the tensor itself, as :meth:`transpose_`.

    :param axis0, axis1: Which ones.
    :returns: The tensor itself.
    :raises GradientError: If the tensor is a leaf that requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> ag.ones((2, 3)).swapaxes_(0, 1).shape
    (3, 2)
    """
    return _become(self, "swapaxes", axis0, axis1)


@strict
def t_(self: Tensor) -> Tensor:
    """Swap the axes of a matrix itself; other tensors in its memory keep their shapes.

    :returns: The tensor itself.
    :raises GradientError: If the tensor is a leaf that requires a gradient.
    :raises TraceError: In compiled functions, if the tensor exists outside of them.

    >>> ag.ones((2, 3)).t_().shape
    (3, 2)
    """
    return _become(self, "t")
