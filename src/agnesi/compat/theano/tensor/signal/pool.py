"""``theano.tensor.signal.pool``: the largest element, sum or mean of patches."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.derivatives import disconnected_grad, grad
from agnesi.compat.theano.tensor.opclasses import Kind
from agnesi.compat.theano.tensor.signal.windows import taken, windows
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.ir.dims import Dim, combine
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of

_MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def pool_2d(input: Any, ws: Any = None, ignore_border: bool | None = None,
            stride: Any = None, pad: Any = (0, 0), mode: str = "max", ds: Any = None,
            st: Any = None, padding: Any = None) -> Variable:
    """Patches of the last two axes.

    Parameters
    ----------
    input : Variable
        (..., rows, columns)
    ws, stride, pad : pair of int or integer scalars, or vector
        Size and distance of the patches, zeros around.  ``ds``, ``st``, ``padding`` are older
        names.
    ignore_border : bool
        Whether patches that are not whole are left out.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    """
    size, step = ds if ws is None else ws, st if stride is None else stride
    return _pooled(input, 2, size, ignore_border, step, pad if padding is None else padding, mode)


def pool_3d(input: Any, ws: Any = None, ignore_border: bool | None = None,
            stride: Any = None, pad: Any = (0, 0, 0), mode: str = "max", **older: Any) -> Variable:
    """Patches of the last three axes; see :func:`pool_2d`."""
    size = older.get("ds") if ws is None else ws
    step = older.get("st") if stride is None else stride
    return _pooled(input, 3, size, ignore_border, step, older.get("padding", pad), mode)


def max_pool_2d_same_size(input: Any, patch_size: Any) -> Variable:
    """The input with zeros in place of all but the largest element of each patch."""
    x = as_tensor_variable(input)
    return x * disconnected_grad(grad(pool_2d(x, patch_size, True).sum(), x))


def _pooled(x: Any, rank: int, ws: Any, ignore: bool | None, stride: Any, pad: Any,
            mode: str) -> Variable:
    if mode not in _MODES:
        raise ValueError(at(f"pool_{rank}d: mode must be one of {', '.join(_MODES)}, not {mode!r}"))
    if ws is None:
        raise TypeError(at(f"pool_{rank}d: ws, the size of the patches, is missing"))
    value = as_tensor_variable(x)._value
    size = _sizes(rank, "ws", ws)
    step = size if stride is None else _sizes(rank, "stride", stride)
    around = (0,) * rank if pad is None else _sizes(rank, "pad", pad)
    if not all(isinstance(n, int) for n in (*size, *step, *around)):
        return wrapped(taken(value, size, step, around, bool(ignore), mode))
    lead = value.shape[:-rank]
    images = F.reshape(value, (-1, 1, *value.shape[-rank:]))
    whole = bool(ignore)
    if mode == "max":
        found = F.max_pool(images, size, step, around, cover_all=not whole)
    else:
        found = _summed(images, size, step, around, whole, mode)
    return wrapped(F.reshape(found, (*lead, *found.shape[-rank:])))


def _sizes(rank: int, word: str, sizes: Any) -> tuple[Any, ...]:
    """Numbers, or what is known at run time: a vector, or integer scalars."""
    if isinstance(sizes, Variable) and sizes.ndim == 1:
        sizes = [sizes[i] for i in range(rank)]
    if not (isinstance(sizes, (tuple, list)) and len(sizes) == rank):
        raise TypeError(at(f"pool_{rank}d: {word} must be {rank} numbers, as in "
                           f"{(2,) * rank}, not {typed(sizes)}"))
    found = []
    for n in map(bare, sizes):
        size = size_of(n, f"pool_{rank}d: {word}") if isinstance(n, Tensor) else n
        found.append(size if isinstance(size, Dim) else int(size))
    return tuple(found)


def _summed(x: Any, size: Any, step: Any, around: Any, whole: bool, mode: str) -> Any:
    """Sums of patches, or their means over what is inside."""
    rank = len(size)
    counts = F.ones_like(x)
    if not whole:  # zeros behind, so that the last patch is whole
        behind = [combine("max", (windows(n + 2 * p, k, s, False) - 1) * s + k - n - 2 * p, 0)
                  for n, p, k, s in zip(x.shape[-rank:], around, size, step, strict=True)]
        width = [(0, 0), (0, 0), *((0, b) for b in behind)]
        x, counts = F.pad(x, width), F.pad(counts, width)
    elements = 1
    for n in size:
        elements *= n
    total = F.avg_pool(x, size, step, around) * elements
    if mode == "sum":
        return total
    if mode == "average_inc_pad" and whole:
        return total / elements
    inside = F.avg_pool(counts, size, step, around) * elements
    return total / inside


class Pool(metaclass=Kind):
    """The operation of :func:`pool_2d`, for ``isinstance(x.owner.op, Pool)``; ``Pool(ignore_border,
    mode)(x, ws)`` makes one."""

    test = staticmethod(lambda op: op.name in ("max_pool", "window_sum"))
    makes = staticmethod(lambda ignore_border=False, mode="max", ndim=2, openmp=None: (
        lambda x, ws, stride=None, pad=None: _pooled(
            x, ndim, ws, ignore_border, stride, pad, mode)))

    @staticmethod
    def out_shape(imgshape: Any, ws: Any = None, ignore_border: bool = False, stride: Any = None,
                  pad: Any = None, ndim: int = 2, ds: Any = None, st: Any = None,
                  padding: Any = None) -> list[Any]:
        """The shape of what comes out for images of some shape."""
        size, step = ds if ws is None else ws, st if stride is None else stride
        around = (0,) * ndim if (border := padding if pad is None else pad) is None else border
        step = size if step is None else step
        return [*imgshape[:-ndim], *(windows(n + 2 * p, k, s, ignore_border) for n, k, s, p in zip(
            imgshape[-ndim:], size, step, around, strict=True))]


_strictly(__name__)
