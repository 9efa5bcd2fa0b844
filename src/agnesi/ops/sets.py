"""Sets: the different elements of a tensor, and whether elements are among others.

How many different elements there are is known only with their values, so these functions, but for
:func:`isin`, do not run while a graph is written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core.config import STATE
from agnesi.core.errors import TraceError
from agnesi.core.public import public
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.compare import equal, greater, logical_and, logical_not
from agnesi.ops.convert import as_tensor, pair
from agnesi.ops.index import take
from agnesi.ops.movement import reshape
from agnesi.ops.sort import searchsorted, sort


class UniqueAll(NamedTuple):
    """The different elements, where each is found first, which one each element is, how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The different elements, and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The different elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _known(x: Any) -> tuple[Tensor, np.ndarray]:
    x = as_tensor(x)
    if x.data is None or STATE.trace is not None:
        raise TraceError(
            "how many different elements there are is unknown when the graph is written; "
            "sort the elements instead"
        )
    return x, x.data


def _values(x: Tensor, first: np.ndarray) -> Tensor:
    """The elements at the places ``first``: gradients go there."""
    return take(reshape(x, (-1,)) if x.size else x.reshape((0,)), wrap(first))


@public
def unique(x: Any, *, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False) -> Any:
    """The different elements, in order; optionally where they are and how often.

    Parameters
    ----------
    x : array_like
    return_index, return_inverse, return_counts : bool
        Whether to tell where each is found first, which of them each element is, and how often
        each is there.

    Returns
    -------
    Tensor, or tuple of Tensor
        All NaN are one.  Gradients go to the element that is found first.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.unique(ag.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    x, data = _known(x)
    if not (return_index or return_inverse or return_counts or x.requires_grad):
        return wrap(np.unique(data))
    _, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True
    )
    wanted = ((return_index, first), (return_inverse, inverse), (return_counts, counts))
    rest = [wrap(found) for asked, found in wanted if asked]
    return (_values(x, first), *rest) if rest else _values(x, first)


@public
def unique_all(x: Any, /) -> UniqueAll:
    """The different elements, where each is found first, which one each element is, how often.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, indices, inverse_indices, counts : Tensor
        Every NaN is an element of its own.  ``values[inverse_indices]`` is ``x``.

    Raises
    ------
    TraceError
        While a graph is written.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.unique_all(ag.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """
    x, data = _known(x)
    _, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAll(_values(x, first), wrap(first), wrap(inverse.reshape(data.shape)),
                     wrap(counts))


@public
def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements, and how often each is there; every NaN is one of its own.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, counts : Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.unique_counts(ag.tensor([3, 1, 3]))
    UniqueCounts(values=tensor([1, 3]), counts=tensor([1, 2]))
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


@public
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements, and which of them each element is; every NaN is one of its own.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, inverse_indices : Tensor
        ``values[inverse_indices]`` is ``x``.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.unique_inverse(ag.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@public
def unique_values(x: Any, /, *, out: Tensor | None = None) -> Tensor:
    """The different elements, in order; every NaN is one of its own.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.unique_values(ag.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    return unique_all(x).values


@public
def isin(x1: Any, x2: Any, /, *, invert: bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element of ``x1`` is among the elements of ``x2``.

    Parameters
    ----------
    x1, x2 : array_like
        NaN is never among others.
    invert : bool
        Whether to tell the opposite.

    Returns
    -------
    Tensor
        bool, of the shape of ``x1``.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.isin(ag.tensor([1, 2, 3]), ag.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    x, among = pair(x1, x2)
    row = sort(reshape(among, (among.size,)))
    found = greater(searchsorted(row, x, "right"), searchsorted(row, x, "left"))
    if x.dtype.kind in "fc":
        found = logical_and(found, equal(x, x))
    return logical_not(found) if invert else found
