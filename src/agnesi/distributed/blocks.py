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


def map_blocks(function: Callable[..., Any], blocks: Any, *, workers: Workers | None = None) -> Any:
    """Run a function, compiled or not, on each block of a collection.

    Compiled functions are pickled with their graph, and find their code in the cache of the
    machine, so that it is compiled once there.

    :param function: Of a tensor; its result is a tensor, or a nest of them.
    :param blocks: Arrays, read one by one where they are wanted; a Dask array, whose blocks are
        mapped where Dask runs them; a Ray dataset, whose batches, dicts of columns, are.
    :type blocks: iterable, or a collection of Dask or Ray
    :param workers: Processes that share the blocks of an iterable; without them this process has
        them all.
    :returns: Results as NumPy arrays, in order; of Dask and Ray what ``map_blocks`` and
        ``map_batches`` give, which is computed when it is wanted.
    :rtype: list, or a collection
    :raises TypeError: If ``blocks`` is none of that.
    :see: distributed.Workers

    >>> import numpy as np
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> sums = dist.map_blocks(ag.jit(lambda x: x.sum()), (np.full(3, i) for i in range(3)))
    >>> [int(s) for s in sums]
    [0, 3, 6]
    """
    call = functools.partial(_block, function)
    if hasattr(blocks, "map_blocks"):
        return blocks.map_blocks(call)
    if hasattr(blocks, "map_batches"):
        return blocks.map_batches(call)
    if isinstance(blocks, (str, bytes)) or not isinstance(blocks, Iterable):
        raise TypeError(at("map_blocks: blocks must be arrays, or a collection of Dask or Ray, "
                           f"not {typed(blocks)}"))
    return [*map(call, blocks)] if workers is None else workers.map(call, blocks)


def _block(function: Callable[..., Any], block: Any) -> Any:
    """The function on arrays, with arrays as result."""
    def entered(x: Any) -> Any:
        return wrap(x) if isinstance(x, np.ndarray) else x

    found = function(tree.map_leaves(entered, block))
    return tree.map_leaves(lambda y: y.numpy() if isinstance(y, Tensor) else y, found)
