"""Calls that PyTorch answers in its own way: values with their places, parts of given sizes.

A form is given the function that was called, its arguments and keywords, where these name foreign
parameters, or where the function has refused them.  It gives NotImplemented for what means the
same there and here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.api.tensor.written_forms import (
    diagonal_of_matrices,
    index_added,
    lu_solved,
    put_of_flat,
    scattered,
    searched,
    solved,
    triangle,
)
from agnesi.core import shapes
from agnesi.core.calls.spellings import in_our_words
from agnesi.core.calls.watched import LISTED, UNSAID, warn_of
from agnesi.core.dispatch import apply
from agnesi.core.integers import check_integer, known_integer
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import on_host, planned, public, where_torch
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays import replicate
from agnesi.ops.arrays.nonzeros import argwhere
from agnesi.ops.base import creation, select
from agnesi.ops.base.convert import as_tensor, cast, common
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import reshape, swapaxes
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.contractions.composite import array_equal
from agnesi.ops.contractions.composite import cross as vector_product
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.linalg.norms import matrix_norm
from agnesi.ops.numerics.statistics import Histogram
from agnesi.ops.sorting import ranked
from agnesi.ops.sorting.sort import Ordered
from agnesi.ops.sorting.sort import sort as in_order

Form = Callable[..., Any]


def _keeps(args: Any, keywords: Any) -> bool:
    """Return whether an axis shall stay in PyTorch's word, as NumPy does not write it."""
    return "keepdim" in keywords and (len(args) > 1 or "axis" in keywords)


def _in_their_words(found: Form, args: Any, keywords: Any) -> Any:
    """A call in PyTorch's words, beside which it takes two of NumPy's."""
    words = {"keepdims": "keepdim", "axis": "dim"}
    return found(*args, **{words.get(w, w): v for w, v in keywords.items()})


def _named(found: Form, *words: str) -> Form:
    """Another function where one of PyTorch's words is given, or more than it takes by place."""
    foreign = {"dim", "input", *words}

    def form(function: Form, args: Any, keywords: Any) -> Any:
        by_place = len(args) > 2 and args[2] is not None and not keywords
        if by_place or foreign & keywords.keys() or _keeps(args, keywords):
            return _in_their_words(found, args, keywords)
        return NotImplemented

    return form


def _extreme(found: Form, of_two: Form) -> Form:
    """The extreme of an axis with its place, or the greater (smaller) ones of two tensors."""

    def form(function: Form, args: Any, keywords: Any) -> Any:
        by_place = len(args) == 3 and type(args[2]) is bool and not keywords
        if by_place or "dim" in keywords or _keeps(args, keywords) or (
                {"input", "axis"} <= keywords.keys()):
            return _in_their_words(found, args, keywords)
        if "other" in keywords and len(args) < 2:
            return of_two(*args, *(keywords[w] for w in ("input", "other") if w in keywords))
        if len(args) == 2 and isinstance(args[1], Tensor) and not (keywords or args[1].weak):
            return of_two(*args)
        return NotImplemented

    return form


def _middle(with_place: Form) -> Form:
    """The lower of two elements in the middle: of an axis with its place, or of all."""

    def middle(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return with_place(reshape(as_tensor(input), (-1,)), 0).values
        return with_place(input, dim, keepdim)

    return middle


_median, _nanmedian = map(_middle, (ranked.median_with_index, ranked.nanmedian_with_index))


def _deviation(function: Form, args: Any, keywords: Any) -> Any:
    """With ``dim`` the caller must say what to divide by: the libraries differ."""
    if len(args) == 2 and type(args[1]) is bool and not keywords:
        return function(args[0], correction=int(args[1]))
    options = {"correction", "unbiased", "ddof"} & keywords.keys()
    if {"dim", "input", "keepdim"} & keywords.keys() and not options:
        raise TypeError(UNSAID.format(function.__name__))
    return NotImplemented


def _unbiased(function: Form, args: Any, keywords: Any) -> Any:
    """The last argument says whether n - 1 divides."""
    if 1 < len(args) < 4 and type(args[-1]) is bool and not keywords:
        return function(*args[:-1], correction=int(args[-1]))
    return NotImplemented


def parts_of(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> list[Tensor]:
    """Parts of an axis: of one size but for the last, or of the sizes given."""
    x, sizes = as_tensor(tensor), split_size_or_sections
    axis = shapes.axis_of(dim, x.ndim)
    n = x.shape[axis]
    if not isinstance(sizes, Sequence):
        n = operator.index(n)
        size = known_integer(sizes, "the size of the parts")
        if size < 1:
            raise ValueError(f"the size of the parts must be positive, not {size}")
        sizes = [size] * (n // size) + [n % size] * (n % size > 0) or [0]
    for size in sizes:
        check_integer(size, "the size of a part")
    text = f"the sizes {list(sizes)} do not add up to {n}, the size of axis {axis}"
    if not fits((sum(sizes),), (n,)):
        raise ValueError(text)
    x = ensured_sizes("", x, (n,), (sum(sizes),), text, error="ValueError")
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
    if not {"as_tuple", "input"} & keywords.keys():
        return NotImplemented
    x = as_tensor(args[0] if args else keywords["input"])
    if not keywords.get("as_tuple", False):
        return argwhere(x)
    return function(x if x.ndim else reshape(x, (1,)))


def _gradient(function: Form, args: Any, keywords: Any) -> Any:
    """Always as many as there are axes."""
    if not {"dim", "input", "spacing"} & keywords.keys():
        return NotImplemented
    given = dict(keywords)
    x, axis = args[0] if args else given.pop("input"), given.pop("dim", None)
    spacing = given.pop("spacing", None)
    steps = spacing if isinstance(spacing, Sequence) else (1 if spacing is None else spacing,)
    found = function(x, *steps, axis=axis, **given)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _histogram(function: Form, args: Any, keywords: Any) -> Any:
    if "input" in keywords:
        raise TypeError("histogram(input=) has 100 bins by default in PyTorch and 10 in NumPy, "
                        "counted in floats and in integers; write histogram(x, bins=100)")
    if "weight" not in keywords:
        return NotImplemented
    given = {("weights" if word == "weight" else word): v for word, v in keywords.items()}
    counts, edges = function(*args, **given)
    return Histogram(cast(counts, as_tensor(args[0]).dtype), edges)


def _joined(function: Form, args: Any, keywords: Any) -> Any:
    """Vectors without elements are left out beside tensors of other numbers of axes."""
    tensors = args[0] if args else keywords.get("tensors")
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(x, Tensor) for x in tensors):
        return NotImplemented
    rest = [x for x in tensors if x.shape != (0,)]
    if len(rest) in (0, len(tensors)):
        return NotImplemented
    kind = common(*tensors)[0].dtype
    given = in_our_words({w: v for w, v in keywords.items() if w != "tensors"}, ("axis", "out"))
    return function([cast(x, kind) for x in rest], *args[1:], **given)


def _shape(function: Form, args: Any, keywords: Any) -> Any:
    """Sizes as several arguments."""
    if len(args) > 1 and all(hasattr(n, "__index__") and type(n) is not bool for n in args):
        return function(args, **keywords)
    return NotImplemented


def _grid(function: Form, args: Any, keywords: Any) -> Any:
    """Tensors in a list, which NumPy cannot stack; then the first runs along axis 0."""
    listed = len(args) == 1 and isinstance(args[0], (list, tuple)) and all(
        isinstance(x, Tensor) for x in args[0])
    if not listed:
        return NotImplemented
    if len(args[0]) > 1 and len({tuple(x.shape) for x in args[0]}) == 1:
        raise TypeError(LISTED)
    return function(*args[0], **{"indexing": "ij", **keywords})


def _kept(function: Form, args: Any, keywords: Any) -> Any:
    """Sizes of -1 are those that are there."""
    operand, sizes = [*args, *(keywords[w] for w in ("input", "x") if w in keywords)][:1], args[1:]
    sizes = sizes or [keywords[w] for w in ("size", "shape") if w in keywords]
    sizes = [*sizes[0]] if sizes and isinstance(sizes[0], (list, tuple)) else [*sizes]
    if not operand or not any(type(n) is int and n == -1 for n in sizes):
        return NotImplemented
    return replicate.expand(*operand, *sizes)


def _several(function: Form, args: Any, keywords: Any) -> Any:
    """Axes as several arguments."""
    if len(args) > 2 and not keywords:
        return function(args[0], args[1:])
    return NotImplemented


def _axes(function: Form, args: Any, keywords: Any) -> Any:
    """Two axes as arguments are swapped."""
    if len(args) == 3 and not keywords:
        return swapaxes(*args)
    return _named_axes(function, args, keywords)


def _named_axes(function: Form, args: Any, keywords: Any) -> Any:
    if {"dim0", "dim1"} <= keywords.keys():
        return swapaxes(args[0] if args else keywords["input"], keywords["dim0"], keywords["dim1"])
    if len(args) == 2 and keywords.keys() == {"dim1"}:
        return swapaxes(args[0], args[1], keywords["dim1"])
    return NotImplemented


def _triangle(function: Form, args: Any, keywords: Any) -> Any:
    """Rows and columns, where a word is PyTorch's."""
    theirs = {"row", "col", "offset"} & keywords.keys()
    return triangle(function, args, keywords) if theirs and not (
        {"n", "k", "m"} & keywords.keys()) else NotImplemented


def _from_zero(function: Form, args: Any, keywords: Any) -> Any:
    """Where numbers end, by name, and not where they begin."""
    word = {"high", "end", "stop"} & keywords.keys()
    if args or not word or {"low", "start"} & keywords.keys():
        return NotImplemented
    end = word.pop()
    return function(0, keywords[end], **in_our_words(
        {w: v for w, v in keywords.items() if w != end}, ("shape", "step")))


def _bits(function: Form, args: Any, keywords: Any) -> Any:
    """A dtype by name in place of sizes."""
    return function(*args, keywords["dtype"]) if keywords.keys() == {"dtype"} else NotImplemented


def _converting(function: Form, args: Any, keywords: Any) -> Any:
    """The operand in another dtype first."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "dtype" not in keywords or "dtype" in names:
        return NotImplemented
    given = in_our_words({w: v for w, v in keywords.items() if w != "dtype"}, names)
    x = as_tensor(args[0] if args else given.pop(names[0]))
    dtype = keywords["dtype"]
    return function(x if dtype is None else cast(x, dtypes.as_dtype(dtype)), *args[1:], **given)


_converting.words = frozenset(("dtype",))  # type: ignore[attr-defined] # without them it is idle


def _norm(function: Form, args: Any, keywords: Any) -> Any:
    """The norms of matrices that have names: of all elements, or of two axes."""
    order = args[1] if len(args) > 1 else keywords.get("p", keywords.get("ord"))
    if order not in ("fro", "nuc") or function.__module__ == matrix_norm.__module__:
        return _converting(function, args, keywords)
    given = {w: v for w, v in keywords.items() if w not in ("p", "ord", "dtype")}
    given = in_our_words(given, ("x", "axis", "keepdims", "out"))
    given.update(zip(("x", "ord", "axis", "keepdims"), args, strict=False))
    given.pop("ord", None)
    x = as_tensor(given.pop("x"))
    if keywords.get("dtype") is not None:
        x = cast(x, dtypes.as_dtype(keywords["dtype"]))
    if order == "fro":
        return function(x, 2, **given)
    return matrix_norm(x, "nuc", **{"axis": (-2, -1), **given})


_norm.words = frozenset(("dtype", "p"))  # type: ignore[attr-defined]


def _swapped(function: Form, args: Any, keywords: Any) -> Any:
    """Axes counted from 0."""
    if len(args) == 2 and keywords.keys() == {"axis1"}:
        return function(*args, keywords["axis1"])
    if "axis0" not in keywords:
        return NotImplemented
    given = {w: v for w, v in keywords.items() if w not in ("axis0", "axis1", "input")}
    operands = args or (keywords["input"],)
    return function(*operands, keywords["axis0"], keywords["axis1"], **given)


def _counted(function: Form, args: Any, keywords: Any) -> Any:
    """Numbers from 0, as often as counts alone say."""
    known = keywords.keys() <= {"repeats", "output_size"}
    if len(args) + ("repeats" in keywords) != 1 or not known:
        return NotImplemented
    repeats = as_tensor(args[0] if args else keywords["repeats"])
    return function(arange(repeats.shape[0]), repeats)


#: By the name of the function.
FORMS: dict[str, Form] = {
    "searchsorted": searched, "scatter": scattered,
    "max": _extreme(ranked.max_with_index, select.maximum),
    "min": _extreme(ranked.min_with_index, select.minimum),
    "sort": _named(ranked.sort_with_indices),
    "median": _named(_median), "nanmedian": _named(_nanmedian),
    "std": _deviation, "var": _deviation, "std_mean": _unbiased, "var_mean": _unbiased,
    "split": _split, "squeeze": _squeeze, "nonzero": _nonzero, "gradient": _gradient,
    "permute_dims": _axes, "transpose": _named_axes, "histogram": _histogram,
    "put": put_of_flat, "concat": _joined,
    "index_add": index_added, "index_add_": index_added, "solve": solved,
    "solve_triangular": solved, "lu_solve": lu_solved,
    "arange": _from_zero, "randint": _from_zero, "view": _bits,
    "swapaxes": _swapped, "repeat_interleave": _counted, "diagonal": diagonal_of_matrices,
    "meshgrid": _grid, "flip": _several, "triu_indices": _triangle, "tril_indices": _triangle,
    **dict.fromkeys(("zeros", "ones", "empty"), _shape),
    "norm": _norm, "histogramdd": _histogram, "broadcast_to": _kept, "solve_ex": solved,
    **dict.fromkeys(("log_softmax", "nanmean", "softmax", "softmin", "vector_norm",
                     "matrix_norm"), _converting),
}


# -- methods that arrays of NumPy have not, or that mean something else there -------------------
@planned
@public
def median(self: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The middle element, the lower of two; with an axis, and where it is.  NaN wins.

    :param axis: The axis; also written ``dim``. All elements by default.
    :returns: The value; with an axis ``values, indices``, the latter int64.
    :rtype: Tensor, or pair of Tensor
    """
    return _median(self, axis, keepdims)


@planned
@public
def nanmedian(self: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The middle of the elements that are not NaN, the lower of two; with an axis, and where.

    :like: median
    """
    return _nanmedian(self, axis, keepdims)


@planned
@public
def equal(self: Tensor, other: TensorLike) -> Tensor:
    """Return whether both have the same shape and elements; ``x == y`` compares each.

    :param other: Of any shape.
    :returns: One bool, of shape ().
    """
    return array_equal(self, other)


@planned
@public
def cross(self: Tensor, other: TensorLike, axis: int | None = None) -> Tensor:
    """The cross product of vectors of three elements.

    :param other: It broadcasts.
    :param axis: The axis of size 3, by default the first one of that size, where :func:`cross`
        takes the last; also written ``dim``.
    :returns: Of the broadcast shape.
    :raises ShapeError: If no axis has size 3, or the shapes do not broadcast.
    """
    if axis is None:
        shape = shapes.broadcast(self.shape, as_tensor(other).shape)
        axis = shape.index(3) - len(shape) if 3 in shape else -1
    return vector_product(self, other, axis=axis)


@planned
@public
def split(self: Tensor, split_size: ShapeLike, dim: int = 0) -> list[Tensor]:
    """Parts of an axis: of one size but for the last, or of the sizes given.

    :param split_size: One size for all parts, or the size of each.
    :type split_size: int or sequence of int
    :param dim: The axis.
    :returns: Views.
    :raises ValueError: If the sizes do not sum up to that of the axis.
    """
    return parts_of(self, split_size, dim)


@where_torch
@public
def sort(self: Tensor, *args: Any, **keywords: Any) -> Ordered:
    """An axis in order, and where its elements were: as ``x.sort(dim=-1)``.

    :param *args: None: NumPy's and PyTorch's arguments by place differ.
    :param **keywords: ``dim`` or ``axis``, ``descending``, ``stable``.
    :returns values, indices: Of the shape of the tensor; the indices are int64.
    :raises TypeError: Unless the axis is named: NumPy sorts in place.
    """
    if len(args) < 2 and not {"dim", "descending"} & keywords.keys():
        raise TypeError("x.sort() sorts in place in NumPy and gives values and indices in PyTorch; "
                        "write ag.sort(x) for the values, x.sort(dim=-1) for both")
    if not self.ndim and not args:  # a number has dimension 0 in PyTorch
        found: Any = in_order(self, **keywords)
        return found
    return ranked.sort_with_indices(self, *args, **keywords)


@where_torch
@planned
@public
def repeat(self: Tensor, *repeats: Any, axis: int | None = None) -> Tensor:
    """Elements repeated, along an axis or of the flat elements, as in NumPy.

    More counts than a count and an axis repeat the whole tensor, as in PyTorch.

    :param *repeats: One count, or a sequence of one for each element; several are a count for each
        axis.
    :type *repeats: int
    :param axis: The axis of elements that are repeated; also written ``dim``.
    :returns: In memory of its own.
    :raises ValueError: If a count is negative.
    :raises TypeError: If there are several counts beside an axis.
    """
    if len(repeats) == 2 and axis is None and _is_axis(repeats[1], self.ndim):
        axis = repeats[1]
    elif len(repeats) != 1 and axis is None:
        return replicate.tile(self, repeats)
    elif len(repeats) != 1:
        raise TypeError(f"repeat takes one count, or a list of them, with axis={axis}; "
                        f"{len(repeats)} counts repeat the whole tensor, without an axis")
    elif axis is None and isinstance(repeats[0], (tuple, list)) and (
            len(repeats[0]) not in (1, self.size)):
        return replicate.tile(self, repeats[0])
    warn_of("repeat", keyworded=axis is not None and len(repeats) == 1)
    return replicate.repeat(self, repeats[0], axis)


def _is_axis(axis: Any, ndim: int) -> bool:
    return type(axis) is int and -ndim <= axis < ndim


@public
def where(self: Tensor, condition: TensorLike, other: TensorLike) -> Tensor:
    """The tensor's elements where a condition holds, else those of another one.

    :param condition: What decides; it broadcasts.
    :type condition: array_like of bool
    :param other: The elements elsewhere; it broadcasts.
    :returns: Of the broadcast shape and the promoted dtype.
    :raises ShapeError: If the shapes do not broadcast.
    """
    return select.where(condition, self, other)


@public
def new_tensor(self: Tensor, data: TensorLike, *, dtype: DTypeLike = None, device: object = None,
               requires_grad: bool = False) -> Tensor:
    """A tensor of the data, of this tensor's dtype.

    :param data: Numbers, nested sequences, arrays, or a tensor.
    :param dtype: Another dtype.
    :param device: Only "cpu", which is the default.
    :type device: str, optional
    :returns: Of memory of its own.
    :raises ValueError: If the device is not "cpu".
    """
    on_host(device)
    return creation.tensor(data, dtype or self.dtype, requires_grad=requires_grad)


@public
def new_full(self: Tensor, size: ShapeLike, fill_value: TensorLike, *, dtype: DTypeLike = None,
             device: object = None,
             requires_grad: bool = False) -> Tensor:
    """A shape filled with one number, of this tensor's dtype.

    :like: new_tensor
    :param size: Sizes of the axes.
    :param fill_value: What each element is.
    :type fill_value: number
    :returns: Of that shape.
    :raises ValueError: If a size is negative, or the device is not "cpu".
    """
    on_host(device)
    return creation.full(size, fill_value, dtype or self.dtype, requires_grad=requires_grad)


_NEW = """``{name}`` of a shape, of this tensor's dtype.

    Parameters
    ----------
    *size : int
        Sizes, as several arguments or one tuple.
    dtype : dtype, optional
        Another dtype.
    device : str, optional
        Only "cpu", which is the default.
    requires_grad : bool
        Whether gradients are computed for it; of float and complex dtypes only.

    Returns
    -------
    Tensor
        Of that shape.

    Raises
    ------
    ValueError
        If a size is negative, or the device is not "cpu".
    """


def _maker(name: str) -> Form:
    make = getattr(creation, name)

    def new(self: Tensor, *size: Any, dtype: DTypeLike = None, device: object = None,
            requires_grad: bool = False) -> Tensor:
        on_host(device)
        shape = size[0] if len(size) == 1 else size
        made: Tensor = make(shape, dtype or self.dtype, requires_grad=requires_grad)
        return made

    new.__name__ = new.__qualname__ = f"new_{name}"
    new.__doc__ = _NEW.format(name=name)
    return public(new)


new_zeros, new_ones, new_empty = _maker("zeros"), _maker("ones"), _maker("empty")
