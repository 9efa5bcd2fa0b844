"""Axes, shapes, joining and splitting, and parts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api import symbolic
from agnesi.compat.theano.base.casting import alike
from agnesi.compat.theano.tensor.creation import _shape, arange, as_tensor_variable
from agnesi.compat.theano.variable import Sizes, Variable, bare, floats, lifted, wrapped
from agnesi.core.integers import is_integer
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_by


def shape(x: Any) -> Sizes:
    """The sizes of a variable."""
    return as_tensor_variable(x).shape


def reshape(x: Any, newshape: Any, ndim: int | None = None) -> Variable:
    """The elements in another shape; -1 stands for what is left."""
    x, sizes = as_tensor_variable(x), bare(newshape)
    if isinstance(newshape, Variable):
        count = ndim if ndim is not None else newshape._value.shape[0]
        sizes = [bare(newshape[i]) for i in range(count)] if newshape.ndim else (sizes,)
    elif ndim is not None and ndim != (len(sizes) if isinstance(sizes, (list, tuple)) else 1):
        raise ValueError(at(f"reshape: ndim={ndim}, but newshape has another number of sizes: "
                            f"{newshape}"))
    return wrapped(F.reshape(x._value, tuple(sizes) if isinstance(sizes, list) else sizes))


def flatten(x: Any, ndim: int = 1, outdim: int | None = None) -> Variable:
    """The last axes joined, so that ``ndim`` are left."""
    value, left = as_tensor_variable(x)._value, outdim or ndim
    if not 1 <= left <= max(value.ndim, 1):
        raise ValueError(at(f"flatten: ndim is 1 to {max(value.ndim, 1)} for a variable with "
                            f"{value.ndim} axes, not {left}"))
    if value.ndim == 0:
        return wrapped(F.reshape(value, (1,)))
    return wrapped(symbolic.flatten(value, left - 1))


def dimshuffle(x: Any, *pattern: Any) -> Variable:
    """Axes in another order, "x" for new ones of size 1."""
    return as_tensor_variable(x).dimshuffle(*pattern)


def transpose(x: Any, axes: Any = None) -> Variable:
    """Axes in another order; in reverse order for None."""
    x = as_tensor_variable(x)
    return x.T if axes is None else wrapped(F.permute_dims(x._value, tuple(axes)))


def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """Two axes exchanged."""
    return lifted(F.swapaxes)(x, axis1, axis2)


def shape_padleft(t: Any, n_ones: int = 1) -> Variable:
    """New axes of size 1 in front."""
    t = as_tensor_variable(t)
    return t.dimshuffle(*["x"] * n_ones, *range(t.ndim))


def shape_padright(t: Any, n_ones: int = 1) -> Variable:
    """New axes of size 1 behind the others."""
    t = as_tensor_variable(t)
    return t.dimshuffle(*range(t.ndim), *["x"] * n_ones)


def shape_padaxis(t: Any, axis: int) -> Variable:
    """A new axis of size 1 at a place."""
    return lifted(F.expand_dims)(t, axis=axis)


def size(x: Any) -> Variable:
    """How many elements there are."""
    found: Variable = as_tensor_variable(as_tensor_variable(x).size)
    return found


def squeeze(x: Any, axis: Any = None) -> Variable:
    """Without axes whose size is known to be 1."""
    x = as_tensor_variable(x)
    if axis is None:
        axis = tuple(i for i, one in enumerate(x.broadcastable) if one)
    return lifted(F.squeeze)(x, axis=axis)


def addbroadcast(x: Any, *axes: int) -> Variable:
    """The variable with axes of which it is known that their size is 1."""
    x = as_tensor_variable(x)._value
    _check_axes("addbroadcast", x, axes)
    sizes = [1 if i in axes else n for i, n in enumerate(x.shape)]
    return wrapped(F.reshape(x, tuple(sizes)))


def unbroadcast(x: Any, *axes: int) -> Variable:
    """The variable itself: sizes that are known stay known."""
    x = as_tensor_variable(x)
    _check_axes("unbroadcast", x._value, axes)
    return x


def _check_axes(name: str, x: Any, axes: Sequence[int]) -> None:
    for axis in axes:
        if not 0 <= axis < x.ndim:
            raise ValueError(at(f"{name}: axis {axis} is out of range for {x.ndim} dimensions"))


def patternbroadcast(x: Any, broadcastable: Sequence[bool]) -> Variable:
    """The variable with size 1 where the pattern is true."""
    x = as_tensor_variable(x)
    if len(broadcastable) != x._value.ndim:
        raise ValueError(at(f"patternbroadcast: broadcastable must have an entry for each of the "
                            f"{x._value.ndim} dimensions, not be {broadcastable!r}"))
    return addbroadcast(x, *(i for i, one in enumerate(broadcastable) if one))


specify_broadcastable = addbroadcast


def specify_shape(x: Any, shape: Any) -> Variable:
    """The variable with sizes that are checked when it is computed; None leaves one open."""
    x = as_tensor_variable(x)._value
    sizes = _shape(shape)
    if len(sizes) != x.ndim:
        raise ShapeError(at(f"specify_shape: {wrapped(x).type} has {x.ndim} axes, and the shape "
                            f"{len(sizes)} sizes"))
    for axis, n in enumerate(sizes):
        if n is not None:
            x = F.ensure(x, F.equal(F.asarray(x.shape[axis]), bare(n)),
                         f"the size of axis {axis} is not {n}")
    return wrapped(x)


def join(axis: Any, *tensors: Any) -> Variable:
    """Tensors one behind the other along an axis; the axis comes first."""
    if isinstance(axis, Variable) and getattr(axis._value, "array", None) is None:
        raise TypeError(at(f"join takes the axis first, a number, and then tensors, not {axis!r}"))
    with floats():
        parts = [as_tensor_variable(t)._value for t in tensors]
        return wrapped(F.concatenate(list(alike(*parts)), axis=int(np.asarray(bare(axis)))))


def concatenate(tensor_list: Any, axis: Any = 0) -> Variable:
    """Tensors one behind the other along an axis."""
    _need_list("concatenate", tensor_list)
    return join(axis, *tensor_list)


def _need_list(name: str, tensors: Any) -> None:
    """Refuse one tensor where a list of them is taken."""
    if isinstance(tensors, (Variable, str)):
        raise TypeError(at(f"{name} takes a list of tensors, not {tensors!r}: {name}([x, y], "
                           "axis=0)"))


def horizontal_stack(*args: Any) -> Variable:
    """Matrices beside each other."""
    return join(1, *args)


def vertical_stack(*args: Any) -> Variable:
    """Matrices one below the other."""
    return join(0, *args)


def split(x: Any, splits_size: Any, n_splits: int, axis: int = 0) -> list[Variable]:
    """Parts of given sizes along an axis."""
    x = as_tensor_variable(x)
    sizes = splits_size if isinstance(splits_size, (list, tuple, np.ndarray)) else [
        as_tensor_variable(splits_size)[i] for i in range(n_splits)]
    if len(sizes) != n_splits:
        raise ValueError(f"n_splits is {n_splits}, but splits_size has {len(sizes)} sizes")
    x = _splittable(x, sizes, axis)
    parts, begin = [], 0
    for k in range(n_splits):
        key = [slice(None)] * x.ndim
        key[axis] = slice(begin, begin + sizes[k])
        parts.append(x[tuple(key)])
        begin = begin + sizes[k]
    return parts


def _splittable(x: Variable, sizes: Any, axis: int) -> Variable:
    """``x``, once sizes are known to be those of its parts along an axis."""
    whole, parts = as_tensor(x._value.shape[axis]), [as_tensor(bare(n)) for n in sizes]
    holds = F.equal(reduce(F.add, parts), whole)
    for n in parts:
        holds = F.logical_and(holds, F.greater_equal(n, 0))
    message = f"sizes must not be negative, and their sum must be the size of axis {axis}"
    if holds.array is not None and not holds.array:
        raise ValueError(at(f"split({x!r}, {list(sizes)}): {message}"))
    return x if holds.array is not None else wrapped(ensured_by("split", x._value, holds, message))


def tile(x: Any, reps: Any, ndim: int | None = None) -> Variable:
    """The tensor several times along its axes."""
    return lifted(F.tile)(x, _shape(reps))


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Every element (or slice of an axis) several times."""
    return lifted(F.repeat)(x, repeats, axis=axis)


def roll(x: Any, shift: Any, axis: Any = None) -> Variable:
    """Elements moved along an axis, from the end to the front."""
    return lifted(F.roll)(x, shift, axis=axis)


def take(a: Any, indices: Any, axis: Any = None, mode: str | None = "raise") -> Variable:
    """Elements at indices along an axis; of the flattened tensor for None."""
    a, indices = as_tensor_variable(a), as_tensor_variable(indices)
    a, axis = (a.flatten(), 0) if axis is None else (a, axis)
    if mode == "clip":
        indices = lifted(F.clip)(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = indices % a.shape[axis]
    key = [slice(None)] * (axis % a.ndim) + [indices]
    return a[tuple(key)]


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Variable:
    """For each element of ``a``, that of the choice with this number."""
    a = as_tensor_variable(a)
    rows = as_tensor_variable(choices) if not isinstance(choices, (list, tuple)) else None
    if rows is not None and not isinstance(rows._value.shape[0], int):
        return _chosen(a, rows)
    parts = list(choices) if rows is None else [rows[i] for i in range(rows._value.shape[0])]
    found = as_tensor_variable(parts[0])
    for k, part in enumerate(parts[1:], 1):
        found = lifted(symbolic.switch)(lifted(F.equal)(a, k), part, found)
    return found


def diag(x: Any, k: int = 0) -> Variable:
    """A vector as a diagonal matrix, or a matrix's diagonal."""
    return lifted(F.diag)(x, k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """A diagonal, as the last axis."""
    return lifted(F.diagonal)(a, offset, axis1, axis2)


extract_diag = diagonal


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The sum of a diagonal."""
    return diagonal(a, offset, axis1, axis2).sum(-1)


def _check_part(name: str, x: Any, y: Any) -> None:
    """Refuse what is no part of a tensor, and values with more axes than the part."""
    if not isinstance(x, Variable):
        raise TypeError(at(f"{name} takes an indexed variable, x[...], first, not {typed(x)}"))
    value = as_tensor_variable(y)
    if value.ndim > x.ndim and not all(value.broadcastable[:value.ndim - x.ndim]):
        raise ShapeError(at(f"{name}: the part, {x.type}, has fewer axes than the value, "
                            f"{value.type}"))


def set_subtensor(x: Variable, y: Any, inplace: bool = False,
                  tolerate_inplace_aliasing: bool = False,
                  ignore_duplicates: bool = False) -> Variable:
    """The tensor of which ``x`` is a part, with the part replaced."""
    _check_part("set_subtensor", x, y)
    return lifted(symbolic.set_subtensor)(x, y)


def inc_subtensor(x: Variable, y: Any, inplace: bool = False, set_instead_of_inc: bool = False,
                  tolerate_inplace_aliasing: bool = False,
                  ignore_duplicates: bool = False) -> Variable:
    """The tensor of which ``x`` is a part, with ``y`` added to the part, or put there; at a place
    that is there several times once only, if duplicates are to be ignored."""
    if set_instead_of_inc:
        return set_subtensor(x, y)
    _check_part("inc_subtensor", x, y)
    if ignore_duplicates:
        return lifted(symbolic.set_subtensor)(x, x + y)
    return lifted(symbolic.inc_subtensor)(x, y)


def advanced_subtensor(x: Any, *indices: Any) -> Variable:
    """Elements at places that arrays of indices or masks name: ``x[indices]``."""
    found: Variable = as_tensor_variable(x)[indices]
    return found


def advanced_inc_subtensor(x: Any, y: Any, *indices: Any, **options: Any) -> Variable:
    """The tensor with ``y`` added at places that arrays name."""
    return inc_subtensor(advanced_subtensor(x, *indices), y, **options)


def advanced_set_subtensor(x: Any, y: Any, *indices: Any, **options: Any) -> Variable:
    """The tensor with ``y`` at places that arrays name."""
    return set_subtensor(advanced_subtensor(x, *indices), y, **options)


advanced_subtensor1, advanced_inc_subtensor1 = advanced_subtensor, advanced_inc_subtensor
advanced_set_subtensor1 = advanced_set_subtensor


def _chosen(a: Variable, rows: Variable) -> Variable:
    """Elements of choices whose number only the run knows: where ``a`` says, at each place."""
    value, numbers = rows._value, a._value
    places = []
    for axis in range(1, value.ndim):
        n = value.shape[axis]
        at = F.arange(n) if n != 1 else F.zeros((1,), dtype="int64")
        places.append(F.reshape(at, (-1, *(1,) * (value.ndim - 1 - axis))))
    return wrapped(value[(numbers, *places)])


def fill_diagonal(a: Any, val: Any) -> Variable:
    """The tensor with a value where all its axes have the same index."""
    a, val = _diagonal_operands("fill_diagonal", a, val)
    if a.ndim == 2:
        return fill_diagonal_offset(a, val, 0)
    rest = [arange(n).dimshuffle(*["x"] * i, 0, *["x"] * (a.ndim - 1 - i))
            for i, n in enumerate(a.shape)]
    on = lifted(F.equal)(rest[0], rest[1])
    for other in rest[2:]:
        on = lifted(F.logical_and)(on, lifted(F.equal)(rest[0], other))
    return lifted(symbolic.switch)(on, val.astype(a.dtype), a)


def _diagonal_operands(name: str, a: Any, val: Any) -> tuple[Variable, Variable]:
    """A tensor with a diagonal, and one value."""
    a, val = as_tensor_variable(a), as_tensor_variable(val)
    if a.ndim < 2 or val.ndim:
        raise TypeError(at(f"{name} takes a tensor of at least two axes and a scalar, not {a.type} "
                           f"and {val.type}"))
    return a, val


def fill_diagonal_offset(a: Any, val: Any, offset: Any) -> Variable:
    """The matrix with a value on a diagonal above (below, if negative) the main one."""
    a, val = _diagonal_operands("fill_diagonal_offset", a, val)
    if not isinstance(offset, Variable) and not is_integer(offset):
        raise TypeError(at("fill_diagonal_offset: offset must be an integer, how far above the "
                           f"main diagonal, not {offset!r}"))
    rows, columns = arange(a.shape[0]), arange(a.shape[1])
    on = lifted(F.equal)(columns[None, :] - offset, rows[:, None])
    return lifted(symbolic.switch)(on, val.astype(a.dtype), a)


def inverse_permutation(perm: Any) -> Variable:
    """The permutation that undoes one (each row of a matrix)."""
    perm = as_tensor_variable(perm)
    found: Variable = lifted(F.argsort)(perm, axis=-1)
    return found if found.dtype == perm.dtype else found.astype(perm.dtype)


def permute_row_elements(x: Any, y: Any, inverse: Any = 0) -> Variable:
    """The elements of each row in the order of a permutation."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    order = inverse_permutation(y) if bare(inverse) else y
    x, order = lifted(F.broadcast_arrays)(x, order)
    return lifted(F.take_along_axis)(x, order, axis=-1)


def broadcast_shape(*arrays: Any, arrays_are_shapes: bool = False) -> Sizes:
    """The sizes of tensors that broadcast; of tensors of given shapes, where these are given."""
    given = [wrapped(F.zeros(_shape(a), dtype="bool")) if arrays_are_shapes
             else as_tensor_variable(a) for a in arrays]
    return lifted(F.broadcast_arrays)(*given)[0].shape


def concat_with_broadcast(tensor_list: Sequence[Any], axis: int = 0) -> Variable:
    """Tensors behind each other along an axis, broadcast along all others."""
    parts = [as_tensor_variable(t) for t in tensor_list]
    axis = axis % parts[0].ndim
    rest = broadcast_shape(*(
        [1 if i == axis else n for i, n in enumerate(t.shape)] for t in parts),
        arrays_are_shapes=True)
    return join(axis, *(wrapped(F.broadcast_to(t._value, _shape(
        [t.shape[i] if i == axis else n for i, n in enumerate(rest)]))) for t in parts))


def unravel_index(indices: Any, dims: Any, order: str = "C") -> list[Variable]:
    """The places of elements along axes, by their places in the flattened tensor."""
    return list(lifted(F.unravel_index)(indices, _shape(dims), order))


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise",
                      order: str = "C") -> Variable:
    """Places in the flattened tensor, by those along axes."""
    return lifted(F.ravel_multi_index)(tuple(multi_index), _shape(dims), mode, order)


def is_flat(var: Any, ndim: int | None = None, outdim: int | None = None) -> bool:
    """Return whether a variable has so many axes."""
    return as_tensor_variable(var).ndim == (ndim or outdim or 1)


def get_vector_length(v: Any) -> int:
    """The number of elements of a vector where it is known before the run."""
    n = as_tensor_variable(v)._value.shape[0]
    if not isinstance(n, int):
        raise ValueError(f"the length of {v!r} is not known before the run")
    return n


def matrix_transpose(x: Any) -> Variable:
    """The last two axes exchanged."""
    return lifted(F.matrix_transpose)(x)
