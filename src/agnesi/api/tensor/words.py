"""What calls mean in modules in which ``torch`` is agnesi, where NumPy's answer is another one.

Each answer is given a public function and a call's arguments, and returns PyTorch's result, or
NotImplemented for a call that means the same everywhere, such as one that names NumPy's ``axis``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.api.tensor.pytorch import parts_of
from agnesi.api.tensor.written_forms import triangle
from agnesi.ops.arrays.nonzeros import argwhere
from agnesi.ops.arrays.replicate import tile
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import swapaxes
from agnesi.ops.contractions.composite import array_equal

Answer = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


def _is_axis(value: Any) -> bool:
    return hasattr(value, "__index__") and type(value) is not bool and not hasattr(value, "ndim")


def _pair(*places: str, default: int | None = None) -> Answer:
    """Values and indices along an axis that is given by place, or of all by default."""

    def answer(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = dict(zip(("dim", *places), args[1:], strict=False))
        if not args or keywords.keys() & {"axis", "dim", "out"}:
            return NotImplemented
        axis = given.setdefault("dim", default)
        return function(args[0], **given, **keywords) if _is_axis(axis) else NotImplemented

    return answer


def _middle(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The lower of two in the middle, also of all."""
    if len(args) == 1 and not keywords:
        return getattr(as_tensor(args[0]), function.__name__)()
    return _pair("keepdim")(function, args, keywords)


def _deviation(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Squares divided by n - 1, unless the call says by what."""
    options = keywords.keys() & {"correction", "unbiased", "ddof", "axis"}
    if options or any(type(a) is bool for a in args):
        return NotImplemented
    return function(*args, **keywords, correction=1)


def _parts(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Parts of a size, or of the sizes given."""
    fits = len(args) > 1 and keywords.keys() <= {"dim"}
    return parts_of(*args, **keywords) if fits else NotImplemented


def _repeated(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The whole tensor, so many times along each axis."""
    x, *counts = args
    if len(counts) == 1 and isinstance(counts[0], (tuple, list)):
        counts = [*counts[0]]
    return NotImplemented if keywords or len(counts) < x.ndim else tile(x, counts)


def _places(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A matrix with a row for each place."""
    return argwhere(*args) if len(args) == 1 and not keywords else NotImplemented


def _grid(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The first vector along axis 0."""
    listed = len(args) == 1 and isinstance(args[0], (tuple, list))
    if keywords and not listed:
        return NotImplemented
    return function(*(args[0] if listed else args), **{"indexing": "ij", **keywords})


def _slopes(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A tensor for each axis, also of one."""
    if "axis" in keywords:
        return NotImplemented
    found = function(*args, **keywords)
    return found if isinstance(found, (list, tuple)) else [found]


def _counts(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """In floats, and in 100 bins by default."""
    if "weight" in keywords or not args:
        return NotImplemented
    given = keywords if len(args) > 1 else {"bins": 100, **keywords}
    return function(*args, **given, weight=None)


def _same(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Whether all elements are equal."""
    return array_equal(*args) if len(args) == 2 and not keywords else NotImplemented


def _swapped(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Two axes of a matrix."""
    fits = len(args) == 3 and args[0].ndim == 2 and not keywords
    return swapaxes(*args) if fits else NotImplemented


def _without(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Without an axis where it is of size 1."""
    fits = len(args) == 2 and _is_axis(args[1]) and not keywords
    return function(args[0], dim=args[1]) if fits else NotImplemented


def _powers(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Of the base that is given by place."""
    fits = len(args) == 4 and "base" not in keywords
    return function(*args[:3], base=args[3], **keywords) if fits else NotImplemented


def _product(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Of vectors along the axis given by place, or the first one of size 3."""
    fits = 1 < len(args) < 4 and keywords.keys() <= {"dim"}
    return as_tensor(args[0]).cross(*args[1:], **keywords) if fits else NotImplemented


#: By the name of the function.
ANSWERS: dict[str, Answer] = {
    "max": _pair("keepdim"), "min": _pair("keepdim"), "sort": _pair("descending", default=-1),
    "median": _middle, "nanmedian": _middle, "std": _deviation, "var": _deviation,
    "split": _parts, "repeat": _repeated, "nonzero": _places, "meshgrid": _grid,
    "cross": _product, "gradient": _slopes, "histogram": _counts, "triu_indices": triangle,
    "tril_indices": triangle, "equal": _same, "transpose": _swapped, "squeeze": _without,
    "logspace": _powers,
}
