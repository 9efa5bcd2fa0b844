"""``agnesi.nn.attention``: what programs for PyTorch say of its kernels for attention.

Examples
--------
>>> import agnesi as ag
>>> from agnesi.nn.attention import SDPBackend, sdpa_kernel
>>> q = ag.ones((1, 2, 4))
>>> with sdpa_kernel(SDPBackend.MATH):
...     ag.nn.functional.scaled_dot_product_attention(q, q, q).shape
(1, 2, 4)
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from agnesi.core.keywords import strictly as _strictly


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels for :func:`agnesi.nn.functional.scaled_dot_product_attention`, by name.

    :see: nn.attention.sdpa_kernel

    >>> ag.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Allow some kernels for attention inside a ``with`` block: here it changes nothing.

    :param backends: Taken from PyTorch's calls.
    :type backends: SDPBackend or sequence of SDPBackend
    :param set_priority: The same.
    :type set_priority: bool, optional
    :returns: It does nothing: the function chooses its kernel itself.
    :rtype: context manager
    :see: nn.functional.scaled_dot_product_attention

    >>> with ag.nn.attention.sdpa_kernel([ag.nn.attention.SDPBackend.FLASH_ATTENTION]):
    ...     pass
    """
    yield


_strictly(__name__)
