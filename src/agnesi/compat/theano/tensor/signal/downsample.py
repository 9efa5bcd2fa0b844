"""``theano.tensor.signal.downsample``: the older name of ``pool``."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.signal.pool import max_pool_2d_same_size as max_pool_2d_same_size
from agnesi.compat.theano.tensor.signal.pool import pool_2d
from agnesi.compat.theano.variable import Variable
from agnesi.core.keywords import strictly as _strictly


def max_pool_2d(input: Any, ds: Any, ignore_border: bool = False, st: Any = None,
                padding: Any = (0, 0), mode: str = "max") -> Variable:
    """The largest element (or what ``mode`` says) of patches of the last two axes."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


_strictly(__name__)
