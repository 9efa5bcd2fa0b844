"""``theano.tensor.signal.pool``: the largest element, sum or mean of patches."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.derivatives import disconnected_grad, grad
from agnesi.compat.theano.variable import Variable, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, typed

_MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def pool_2d(input: Any, ws: Any = None, ignore_border: bool | None = None,
            stride: Any = None, pad: Any = (0, 0), mode: str = "max", ds: Any = None,
            st: Any = None, padding: Any = None) -> Variable:
    """Patches of the last two axes.

    Parameters
    ----------
    input : Variable
        (..., rows, columns)
    ws, stride, pad : pair of int
        Size and distance of the patches, zeros around.  ``ds``, ``st``, ``padding`` are older
        names.
    ignore_border : bool
        Whether patches that are not whole are left out.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    """
    return _pooled(input, 2, ws or ds, ignore_border, stride or st, padding or pad, mode)


def pool_3d(input: Any, ws: Any = None, ignore_border: bool | None = None,
            stride: Any = None, pad: Any = (0, 0, 0), mode: str = "max", **older: Any) -> Variable:
    """Patches of the last three axes; see :func:`pool_2d`."""
    return _pooled(input, 3, ws or older.get("ds"), ignore_border, stride or older.get("st"),
                   older.get("padding") or pad, mode)


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
    for word, sizes in (("ws", ws), ("stride", stride), ("pad", pad)):
        if sizes is not None and not (isinstance(sizes, (tuple, list)) and len(sizes) == rank):
            raise TypeError(at(f"pool_{rank}d: {word} must be {rank} numbers, as in "
                               f"{(2,) * rank}, not {typed(sizes)}"))
    size = tuple(int(n) for n in ws)
    step = size if stride is None else tuple(int(n) for n in stride)
    around = tuple(int(n) for n in pad)
    lead = value.shape[:-rank]
    images = F.reshape(value, (-1, 1, *value.shape[-rank:]))
    whole = bool(ignore)
    if mode == "max":
        found = F.max_pool(images, size, step, around, cover_all=not whole)
    else:
        found = _summed(images, size, step, around, whole, mode)
    return wrapped(F.reshape(found, (*lead, *found.shape[-rank:])))


def _summed(x: Any, size: Any, step: Any, around: Any, whole: bool, mode: str) -> Any:
    """Sums of patches, or their means over what is inside."""
    rank = len(size)
    counts = F.ones_like(x)
    if not whole:  # zeros behind, so that the last patch is whole
        behind = [(-(n + 2 * p - k)) % s if isinstance(n, int) else k - 1
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


_strictly(__name__)
