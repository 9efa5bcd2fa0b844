"""Calls that PyTorch answers in its own way: values with their places, parts of given sizes.

A form is given the function that was called, its arguments and keywords, where these name foreign
parameters, or where the function has refused them.  It gives NotImplemented for what means the
same there and here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.tensor import Tensor
from agnesi.ops import ranked, select
from agnesi.ops.convert import as_tensor
from agnesi.ops.movement import swapaxes
from agnesi.ops.nonzeros import argwhere
from agnesi.ops.replicate import tile
from agnesi.ops.slices import FULL, Slice

Form = Callable[..., Any]


def _by_dim(found: Form) -> Form:
    """Another function where ``dim`` names the axis."""

    def form(function: Form, args: Any, keywords: Any) -> Any:
        return found(*args, **keywords) if "dim" in keywords else NotImplemented

    return form


def _extreme(found: Form, of_two: Form) -> Form:
    """The extreme of an axis with its place, or the greater (smaller) ones of two tensors."""

    def form(function: Form, args: Any, keywords: Any) -> Any:
        if "dim" in keywords:
            return found(*args, **keywords)
        if "other" in keywords and len(args) < 2:
            return of_two(*args, *keywords.values())
        if len(args) == 2 and isinstance(args[1], Tensor) and not keywords:
            return of_two(*args)
        return NotImplemented

    return form


def _deviation(function: Form, args: Any, keywords: Any) -> Any:
    """With ``dim`` somebody must say what to divide by: the libraries differ."""
    if "dim" in keywords and not {"correction", "unbiased", "ddof"} & keywords.keys():
        raise TypeError(
            f"{function.__name__}(dim=) divides by n - 1 in PyTorch and {function.__name__}(axis=) "
            "by n in NumPy; write correction=1 or correction=0"
        )
    return NotImplemented


def parts_of(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> list[Tensor]:
    """Parts of an axis: of one size but for the last, or of the sizes given."""
    x, sizes = as_tensor(tensor), split_size_or_sections
    axis = shapes.axis_of(dim, x.ndim)
    n = operator.index(x.shape[axis])
    if not isinstance(sizes, Sequence):
        size = operator.index(sizes)
        if size < 1:
            raise ValueError(f"the size of the parts must be positive, not {size}")
        sizes = [size] * (n // size) + [n % size] * (n % size > 0) or [0]
    if sum(sizes) != n:
        raise ValueError(f"the sizes {list(sizes)} do not add up to {n}, the size of axis {axis}")
    found, start = [], 0
    for size in sizes:
        cut = (start, start + size, 1)
        found.append(apply(Slice(tuple(cut if a == axis else FULL for a in range(x.ndim))), x))
        start += size
    return found


def _split(function: Form, args: Any, keywords: Any) -> Any:
    words = {"split_size_or_sections", "split_size", "dim"} & keywords.keys()
    if not words:
        return NotImplemented
    given = {w: v for w, v in keywords.items() if w != "split_size"}
    if "split_size" in keywords:
        given["split_size_or_sections"] = keywords["split_size"]
    return parts_of(*args, **given)


def _squeeze(function: Form, args: Any, keywords: Any) -> Any:
    """Axes of other sizes than 1 stay."""
    if "dim" not in keywords:
        return NotImplemented
    x = as_tensor(args[0] if args else keywords["input"])
    dims = keywords["dim"] if isinstance(keywords["dim"], Sequence) else (keywords["dim"],)
    return function(x, tuple(d for d in dims if x.shape[shapes.axis_of(d, x.ndim)] == 1))


def _nonzero(function: Form, args: Any, keywords: Any) -> Any:
    if keywords.keys() != {"as_tuple"}:
        return NotImplemented
    return function(*args) if keywords["as_tuple"] else argwhere(*args)


def _shape(function: Form, args: Any, keywords: Any) -> Any:
    """Sizes as several arguments."""
    if len(args) > 1 and all(type(n) is int for n in args):
        return function(args, **keywords)
    return NotImplemented


def _axes(function: Form, args: Any, keywords: Any) -> Any:
    """Two axes as arguments are swapped."""
    if len(args) == 3 and not keywords:
        return swapaxes(*args)
    return NotImplemented


def _repeat(function: Form, args: Any, keywords: Any) -> Any:
    """More than two counts can be PyTorch's only."""
    if len(args) > 3 and not keywords:
        return tile(args[0], args[1:])
    return NotImplemented


#: By the name of the function.
FORMS: dict[str, Form] = {
    "max": _extreme(ranked.max_with_place, select.maximum),
    "min": _extreme(ranked.min_with_place, select.minimum),
    "sort": _by_dim(ranked.sort_with_places),
    "median": _by_dim(ranked.median_with_place),
    "nanmedian": _by_dim(ranked.nanmedian_with_place),
    "cummax": _by_dim(ranked.cummax_with_places),
    "cummin": _by_dim(ranked.cummin_with_places),
    "std": _deviation, "var": _deviation, "nanstd": _deviation, "nanvar": _deviation,
    "split": _split, "squeeze": _squeeze, "nonzero": _nonzero, "repeat": _repeat,
    "permute_dims": _axes,
    **dict.fromkeys(("zeros", "ones", "empty"), _shape),
}
