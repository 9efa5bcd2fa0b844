"""Torch7's elements by index, mask and order: ``gather``, ``index``, ``maskedSelect``, ``topk``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import FUNCTIONS, RANDOM, Tensor, into, new, plain, public
from agnesi.compat.torch7.tensor import View, axis_of, places_of

__all__: list[str] = []


def _places(x: Any, dim: int, numbers: Any) -> Any:
    """Numbers of a dimension, from 0."""
    return places_of(plain(numbers), x.shape[axis_of(dim, x.ndim)], dim)


def _front(x: Any, dim: int) -> Any:
    """A view of an array with an axis, from 1, in front."""
    return np.moveaxis(x, axis_of(dim, np.ndim(x)), 0)


def _results(name: str, operands: int, results: int, compute: Callable[..., Any],
             summary: str) -> None:
    """A function of some tensors with several results, perhaps given before them."""
    def function(*args: Any) -> Any:
        count = next((i for i, a in enumerate(args) if not isinstance(a, View)), len(args))
        targets = args[:max(count - operands, 0)]
        found = compute(*map(plain, args[len(targets):]))
        found = found if isinstance(found, tuple) else (found,)
        made = tuple(into(targets[i], f) if i < len(targets) else new(f)
                     for i, f in enumerate(found))
        return made if results > 1 else made[0]

    def method(self: Tensor, *args: Any) -> Any:
        return function(self, *args)

    public(name, function, method, summary)


def _index(x: Any, dim: int, places: Any) -> Any:
    return np.take(x, _places(x, dim, places), axis_of(dim, x.ndim))


def _gather(x: Any, dim: int, places: Any) -> Any:
    return np.take_along_axis(x, _places(x, dim, places), axis_of(dim, x.ndim))


def index(*args: Any) -> Tensor:
    """The slices at numbers of an axis: ``([result,] x, dim, numbers)``."""
    target, args = (args[0], args[1:]) if isinstance(args[1], View) else (None, args)
    found = _index(args[0].array, args[1], args[2])
    return new(found) if target is None else into(target, found)


def gather(*args: Any) -> Tensor:
    """For each place of numbers the element of that number along an axis: ``([result,] x, dim,
    numbers)``."""
    target, args = (args[0], args[1:]) if isinstance(args[1], View) else (None, args)
    found = _gather(args[0].array, args[1], args[2])
    return new(found) if target is None else into(target, found)


def scatter(self: Tensor, dim: int, numbers: Any, source: Any) -> Tensor:
    """Write elements of a tensor, or a number, to numbers along an axis: :func:`gather` turned."""
    places = _places(self.array, dim, numbers)
    value = plain(source)
    if isinstance(source, View):
        value = value[tuple(slice(n) for n in places.shape)]
    np.put_along_axis(self.array, places, value, axis_of(dim, self.array.ndim))
    return self


def indexCopy(self: Tensor, dim: int, numbers: Any, source: Any) -> Tensor:
    """Write slices of a tensor to numbers of an axis."""
    _front(self.array, dim)[_places(self.array, dim, numbers)] = _front(plain(source), dim)
    return self


def indexAdd(self: Tensor, dim: int, numbers: Any, source: Any) -> Tensor:
    """Add slices of a tensor at numbers of an axis."""
    places = _places(self.array, dim, numbers)
    np.add.at(_front(self.array, dim), places, _front(plain(source), dim))
    return self


def indexFill(self: Tensor, dim: int, numbers: Any, value: float) -> Tensor:
    """One value in the slices at numbers of an axis."""
    _front(self.array, dim)[_places(self.array, dim, numbers)] = value
    return self


def maskedSelect(*args: Any) -> Tensor:
    """The elements where a mask is not 0: ``([result,] x, mask)``."""
    *target, x, mask = args
    found = x.array[mask.array.astype(bool)]
    return into(target[0], found) if target else new(found)


def maskedCopy(self: Tensor, mask: Any, source: Any) -> Tensor:
    """Write the first elements of a tensor where a mask is not 0."""
    wanted = mask.array.astype(bool)
    self.array[wanted] = plain(source).reshape(-1)[:int(wanted.sum())]
    return self


def maskedFill(self: Tensor, mask: Any, value: float) -> Tensor:
    """One value where a mask is not 0."""
    self.array[mask.array.astype(bool)] = value
    return self


def nonzero(*args: Any) -> Tensor:
    """The places, from 1, of elements that are not 0, as rows: ``([result,] x)``."""
    *target, x = args
    found = np.argwhere(x.array) + 1
    return into(target[0], found) if target else new(found, "int64")


_METHODS: list[Any] = [scatter, indexCopy, indexAdd, indexFill, maskedCopy, maskedFill]
_BOTH: list[Any] = [index, gather, maskedSelect, nonzero]
for _f in _METHODS + _BOTH:
    setattr(Tensor, _f.__name__, _f)
FUNCTIONS.update({f.__name__: f for f in [scatter, *_BOTH]})


# -- order -----------------------------------------------------------------------------------------
def _at(x: Any, places: Any, axis: int) -> tuple[Any, Any]:
    return np.take_along_axis(x, places, axis), places + 1


def _check_count(k: Any, size: int) -> None:
    if not isinstance(k, (int, np.integer)) or not 1 <= k <= size:
        raise ValueError(f"k must be a number from 1 to {size}, the size of the dimension, not "
                         f"{k!r}")


def _kthvalue(x: Any, k: int, dim: int | None = None) -> Any:
    axis = axis_of(x.ndim if dim is None else dim, x.ndim)
    _check_count(k, x.shape[axis])
    order = np.argsort(x, axis, kind="stable")
    return _at(x, np.take(order, [k - 1], axis), axis)


def _median(x: Any, dim: int | None = None) -> Any:
    axis = axis_of(x.ndim if dim is None else dim, x.ndim)
    return _kthvalue(x, (x.shape[axis] + 1) // 2, axis + 1)


def _mode(x: Any, dim: int | None = None) -> Any:
    axis = axis_of(x.ndim if dim is None else dim, x.ndim)

    def last(row: Any) -> int:
        values, counts = np.unique(row, return_counts=True)
        return int(np.flatnonzero(row == values[np.argmax(counts)])[-1])

    return _at(x, np.expand_dims(np.apply_along_axis(last, axis, x), axis), axis)


def _topk(x: Any, k: int = 1, dim: int | None = None, largest: bool = False,
          ordered: bool = False) -> Any:
    axis = axis_of(x.ndim if dim is None else dim, x.ndim)
    _check_count(k, x.shape[axis])
    order = np.argsort(-x if largest else x, axis, kind="stable")
    return _at(x, np.take(order, range(k), axis), axis)


_results("kthvalue", 1, 2, _kthvalue, "The k-th smallest along an axis, and its place")
_results("median", 1, 2, _median, "The middle one along an axis, and its place")
_results("mode", 1, 2, _mode, "The most frequent along an axis, and its place")
_results("topk", 1, 2, _topk, "The k smallest (or, by the fourth argument, largest) along an axis")


def _bhistc(x: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
    bounds = (low, high) if low != high else (x.min(), x.max())
    return np.stack([np.histogram(row, bins, bounds)[0] for row in x]).astype(x.dtype)


def _match(a: Any, b: Any, gain: float = 1) -> Any:
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return gain * ((a[:, None] - b[None]) ** 2).sum(-1)


def _multinomial(p: Any, n: int, replacement: bool = False) -> Any:
    totals = np.atleast_2d(p).sum(1, keepdims=True)
    if (p < 0).any() or not (totals > 0).all():
        raise ValueError("chances must not be negative, nor all of them zero")
    if not replacement and n > p.shape[-1]:
        raise ValueError(f"without replacement there are no {n} of {p.shape[-1]}; ask for fewer, "
                         "or give True as the third argument")
    rows = np.atleast_2d(p) / totals
    found = np.stack([RANDOM[0].choice(len(row), n, replacement, row) for row in rows]) + 1
    return found.reshape((*p.shape[:-1], n))


_results("bhistc", 1, 1, _bhistc, "How many elements of each row fall into bins")
_results("match", 2, 1, _match, "Squared distances of rows of two tensors, times a gain")
_results("multinomial", 1, 1, _multinomial, "Numbers drawn by chances, or by those of each row")


def multinomialAliasSetup(probs: Any, state: Any = None) -> list[Tensor]:
    """Prepare draws by chances, each of which takes constant time."""
    p = probs.array / probs.array.sum()
    count = len(p)
    share, other = p * count, np.arange(count)
    small, large = (list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1)))
    while small and large:
        low, high = small.pop(), large[-1]
        other[low] = high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            small.append(large.pop())
    return [new(other + 1, "int64"), new(share)]


def multinomialAlias(output: Tensor, state: list[Tensor]) -> Tensor:
    """Fill a tensor with numbers drawn by the chances of a prepared state."""
    other, share = (s.array for s in state)
    first = RANDOM[0].integers(len(share), size=output.array.shape)
    stay = RANDOM[0].random(first.shape) < share[first]
    output.array[...] = np.where(stay, first + 1, other[first])
    return output


FUNCTIONS.update(multinomialAliasSetup=multinomialAliasSetup, multinomialAlias=multinomialAlias)
