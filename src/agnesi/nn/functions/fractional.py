"""Maxima over windows that are at random places (Graham, 2014)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.api import functions as F
from agnesi.core.op import typed
from agnesi.core.options import Counts, Share
from agnesi.core.parameter_types import PerAxis, TensorLike
from agnesi.core.public import autocasts, public
from agnesi.core.shapes import surely_less
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.convolution.windows import per_axis
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import uniform

_DOC = """The greatest elements of windows at random places (Graham, 2014).

    Parameters
    ----------
    input : array_like
        (batch, channels{size}), or without a batch.
    kernel_size : int or tuple of int
        Size of the windows.
    output_size : int or tuple of int, optional
        How many windows there are along each axis.
    output_ratio : float or tuple of float, optional
        Their share of the image's sizes, in place of ``output_size``.
    return_indices : bool
        Whether to return the indices of the maxima, too.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.

    Returns
    -------
    Tensor, or two
        The greatest elements; with ``return_indices`` also their places, counted through an image.

    Raises
    ------
    ValueError
        If not exactly one of ``output_size`` and ``output_ratio`` is given.
    ShapeError
        If images are too small.

    See Also
    --------
    nn.{layer}, nn.functional.max_pool{rank}d

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.ones((1, 1{ones}))
    >>> ag.nn.functional.{name}(x, 2, 3){first}.shape
    (1, 1{threes})
    """


def _per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank


def _sizes(name: str, x: Tensor, kernel: Any, size: Any, ratio: Any, rank: int
           ) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    if (size is None) == (ratio is None):
        raise ValueError(f"{name}: give output_size or output_ratio, and not both")
    within = x.shape[2:]
    kernels = per_axis(kernel, rank, "kernel_size")
    if size is None and len(_per_axis(ratio, rank)) != rank:
        raise ValueError(f"{name}: output_ratio must be one number, or one for each of {rank} axes")
    sizes = per_axis(size, rank, "output_size") if size is not None else tuple(
        int(n * r) for n, r in zip(within, _per_axis(ratio, rank), strict=True))
    for n, k, o in zip(within, kernels, sizes, strict=True):
        text = f"{name}: {o} windows of {k} do not lie in {n} elements of {typed(x)}"
        if o < 1 or surely_less(n, o + k - 1):
            raise ShapeError(text)
        x = ensured_sizes("", x, (n,), (o + k - 1,), text, "at least")
    return x, kernels, sizes


def _begins(u: Tensor, n: Any, k: int, o: int) -> Tensor:
    """Where the windows along an axis begin, from a number in [0, 1) for each channel."""
    if o == 1:
        return F.expand_dims(F.full_like(u, n - k), -1).astype("int64")
    step = (n - k) / (o - 1)
    u = F.expand_dims(u, -1)
    begins = F.floor((F.astype(F.arange(o), u.dtype) + u) * step) - F.floor(u * step)
    begins = F.where(F.arange(o) == o - 1, F.astype(as_tensor(n - k), u.dtype), begins)
    return F.astype(F.clip(begins, 0, n - k), "int64")


def _pooled(name: str, input: Any, kernel: Any, size: Any, ratio: Any, rank: int,
            samples: Any, generator: Generator | None) -> tuple[Tensor, Tensor]:
    x = as_tensor(input)
    if x.ndim not in (rank + 1, rank + 2):
        raise ShapeError(f"{name}: images have {rank + 2} axes, or {rank + 1} without a batch, "
                         f"which {typed(x)} has not")
    single = x.ndim == rank + 1
    x = F.expand_dims(x, 0) if single else x
    x, kernels, sizes = _sizes(name, x, kernel, size, ratio, rank)
    u = (uniform((*x.shape[:2], rank), generator=generator) if samples is None
         else as_tensor(samples))
    # as PyTorch has it: numbers of images go to the axes from the last on, those of volumes not
    order = range(rank) if rank == 3 else reversed(range(rank))
    place: Any = 0
    for a, which in enumerate(order):
        n, k, o = x.shape[2 + a], kernels[a], sizes[a]
        rows = F.expand_dims(_begins(u[..., which], n, k, o), -1) + F.arange(k)
        shape = [1] * (2 * rank)
        shape[a], shape[rank + a] = o, k
        place = place * n + F.reshape(rows, (*x.shape[:2], *shape))
    flat = F.flatten(x, 2)  # of no images, too: sizes are not asked of the number of elements
    places = F.flatten(place, 2 + rank)
    values = F.reshape(F.take_along_axis(flat, F.flatten(places, 2), 2), places.shape)
    best = F.expand_dims(F.argmax(values, -1), -1)
    found = [F.squeeze(F.take_along_axis(t, best, -1), -1) for t in (values, places)]
    return tuple(F.squeeze(t, 0) if single else t for t in found)  # type: ignore[return-value]


def _ranked(rank: int, both: bool) -> Callable[..., Any]:
    """The function for images of ``rank`` axes."""

    def pool(input: TensorLike, kernel_size: PerAxis, output_size: PerAxis | None = None,
             output_ratio: float | Sequence[float] | None = None, return_indices: bool = both,
             _random_samples: TensorLike | None = None,
             *, generator: Generator | None = None) -> Any:
        found = _pooled(name, input, kernel_size, output_size, output_ratio, rank,
                        _random_samples, generator)
        return found if return_indices else found[0]

    name = f"fractional_max_pool{rank}d" + "_with_indices" * both
    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = _DOC.format(
        name=name, layer=f"FractionalMaxPool{rank}d", rank=rank, size=", size" * rank,
        ones=", 7" * rank, threes=", 3" * rank, first="[0]" * both)
    return autocasts(public(pool))


fractional_max_pool2d = _ranked(2, False)
fractional_max_pool3d = _ranked(3, False)
fractional_max_pool2d_with_indices = _ranked(2, True)
fractional_max_pool3d_with_indices = _ranked(3, True)


class _FractionalMaxPool(Module):
    """Base: the greatest elements of windows at random places."""

    rank = 2

    def __init__(self, kernel_size: Counts, output_size: Counts | None = None,
                 output_ratio: Share | Sequence[Share] | None = None, return_indices: bool = False,
                 _random_samples: TensorLike | None = None) -> None:
        if (output_size is None) == (output_ratio is None):
            raise ValueError(at(f"{type(self).__name__}: give output_size or output_ratio, and "
                                "not both"))
        self.kernel_size, self.output_size = kernel_size, output_size
        self.output_ratio, self.return_indices = output_ratio, return_indices
        self._random_samples = _random_samples

    def forward(self, x: Tensor) -> Any:
        pool = fractional_max_pool2d if self.rank == 2 else fractional_max_pool3d
        return pool(x, self.kernel_size, self.output_size, self.output_ratio,
                    self.return_indices, self._random_samples)

    def extra_repr(self) -> str:
        return f"{self.kernel_size}, output_size={self.output_size}"


class FractionalMaxPool2d(_FractionalMaxPool):
    """The greatest elements of windows at random places of images (Graham, 2014).

    :param kernel_size: Size of the windows.
    :param output_size: How many windows there are along each axis.
    :param output_ratio: Their share of the image's sizes, in place of ``output_size``.
    :type output_ratio: float or tuple of float, optional
    :param return_indices: Whether to return the indices of the maxima, too.
    :raises ValueError: If not exactly one of ``output_size`` and ``output_ratio`` is given.
    :see: nn.functional.fractional_max_pool2d, nn.MaxPool2d

    >>> ag.nn.FractionalMaxPool2d(2, output_ratio=0.5)(ag.ones((1, 1, 8, 6))).shape
    (1, 1, 4, 3)
    """


class FractionalMaxPool3d(_FractionalMaxPool):
    """The greatest elements of windows at random places of volumes (Graham, 2014).

    :like: FractionalMaxPool2d
    :param output_ratio: Their share of the volume's sizes, in place of ``output_size``.
    :type output_ratio: float or tuple of float, optional
    :see: nn.functional.fractional_max_pool3d, nn.MaxPool3d

    >>> ag.nn.FractionalMaxPool3d(2, 3)(ag.ones((1, 1, 7, 7, 7))).shape
    (1, 1, 3, 3, 3)
    """

    rank = 3
