"""Dropout of whole channels."""

from __future__ import annotations

from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import warn
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.parameter_checks import probability
from agnesi.ops.base.select import where
from agnesi.ops.convolution.images import as_images
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import growth, survivors

#: The text of each, indented as that of others.
_DOC = """A share ``p`` of the channels of images zero, the others divided by ``1 - p``.

    :param x: (batch, channels{size}), or one image without a batch; matrices with a warning.
    :param p: Chance of a channel to become zero.
    :param training: Otherwise ``x`` stays as it is.
    :returns: Of the shape and dtype of ``x``.
    :raises ValueError: If ``p`` is not in [0, 1].
    :raises ShapeError: If ``x`` has another number of axes.
    :see: dropout, agnesi.nn.{layer}

    >>> y = ag.nn.functional.{name}(ag.ones((8, 4{ones})), 0.75)
    >>> bool(((y == 0) | (y == 4)).all())
    True
    """


def _ranked(rank: int) -> Any:
    """Dropout of the channels of images of ``rank`` axes, with or without a batch."""

    def dropout(x: TensorLike, p: float = 0.5, training: bool = True, *,
                generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        x = as_tensor(x)
        matrix = rank > 1 and x.ndim == 2
        if matrix:
            warn(f"{name} of a matrix lets single elements be zero, as in PyTorch; use dropout")
        else:
            x = as_images(x, rank)
        (p,) = probability(name, p=p)
        if not training or (not isinstance(p, Tensor) and p == 0):
            return x
        shape = x.shape if matrix else (*x.shape[: x.ndim - rank], *(1,) * rank)
        return where(survivors(shape, p, generator), x * growth(p, x.dtype), 0)

    name = f"dropout{rank}d"
    dropout.__name__ = dropout.__qualname__ = name
    dropout.__doc__ = _DOC.format(
        name=name, layer=f"Dropout{rank}d", size=", size" * rank, ones=", 1" * rank)
    return planned(public(dropout))


dropout1d, dropout2d, dropout3d = (_ranked(n) for n in (1, 2, 3))
