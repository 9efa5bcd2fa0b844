"""A function over data that is too large for one call: block by block, in several processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from agnesi.core.support import tree
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.processes.workers import Workers


def map_blocks(function: Callable[..., Any], blocks: Any, *, workers: Workers | None = None,
               **options: object) -> Any:
    """Run a function, compiled or not, on each block of a collection.

    Compiled functions are pickled with their graph, and find their code in the cache of the
    machine, so that it is compiled once there.

    :param function: Of a tensor; its result is a tensor, or a nest of them.
    :param blocks: Arrays, read one by one where they are wanted; a Dask array, whose blocks are
        mapped where Dask runs them, as are the values of a Dask DataFrame and the items of a bag; a
        Ray dataset, whose batches, dicts of columns, are.
    :type blocks: iterable, or a collection of Dask or Ray
    :param workers: Processes that share the blocks of an iterable; without them this process has
        them all.
    :param **options: What the collection's own method takes: ``drop_axis=1`` where a function of
        Dask's blocks leaves out an axis, ``new_axis``, ``chunks``, arguments of the function by
        their names; ``batch_size`` of Ray.
    :returns: Results as NumPy arrays, in order; of Dask and Ray what ``map_blocks`` and
        ``map_batches`` give, which is computed when it is wanted.
    :rtype: list, or a collection
    :raises TypeError: If ``blocks`` is none of that, or takes no such options.
    :raises ValueError: If results have other axes than those declared to Dask.
    :see: distributed.Workers

    >>> import numpy as np
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> sums = dist.map_blocks(ag.jit(lambda x: x.sum()), (np.full(3, i) for i in range(3)))
    >>> [int(s) for s in sums]
    [0, 3, 6]
    """
    call = functools.partial(_block, function)
    if hasattr(blocks, "map_partitions"):  # tables of Dask, and bags
        if not hasattr(blocks, "values"):
            return blocks.map(call, **options)
        blocks = blocks.values
    if hasattr(blocks, "map_blocks"):
        return blocks.map_blocks(_of_axes(call, blocks, options), **options)
    if hasattr(blocks, "map_batches"):
        return blocks.map_batches(call, **options)
    if isinstance(blocks, (str, bytes)) or hasattr(blocks, "columns") or not isinstance(
            blocks, Iterable):
        what = "a frame; give its values" if hasattr(blocks, "columns") else typed(blocks)
        raise TypeError(at("map_blocks: blocks must be arrays, or a collection of Dask or Ray, "
                           f"not {what}"))
    if options:
        raise TypeError(at(f"map_blocks: {', '.join(sorted(options))} are options of collections "
                           f"of Dask or Ray, not of {typed(blocks)}"))
    return [*map(call, blocks)] if workers is None else workers.map(call, blocks)


def _of_axes(call: Callable[..., Any], blocks: Any, options: dict[str, Any]) -> Any:
    """A function of blocks whose results must have the axes that are declared to Dask."""
    if not hasattr(blocks, "ndim"):
        return call
    left, more = (0 if options.get(name) is None else np.size(options[name])
                  for name in ("drop_axis", "new_axis"))
    return functools.partial(_checked, call, blocks.ndim - left + more)


def _checked(call: Callable[..., Any], ndim: int, block: Any, **keywords: Any) -> Any:
    """The function's result, which has so many axes."""
    found = call(block, **keywords)
    if np.ndim(found) != ndim:
        raise ValueError(at(f"map_blocks: the function makes {typed(found)} of a block "
                            f"{typed(block)}, and Dask expects {ndim} axes: say which ones it "
                            "leaves out or adds, by drop_axis= or new_axis="))
    return found


def _block(function: Callable[..., Any], block: Any, **keywords: Any) -> Any:
    """The function on arrays, with arrays as result."""
    def entered(x: Any) -> Any:
        return wrap(x) if isinstance(x, np.ndarray) else x

    found = function(tree.map_leaves(entered, block), **keywords)
    return tree.map_leaves(lambda y: y.numpy() if isinstance(y, Tensor) else y, found)
