"""Methods of PyTorch's for memory that several processes see."""

from __future__ import annotations

from agnesi.api.processes import sharing
from agnesi.core.keywords import strict
from agnesi.core.tensor import Tensor


@strict
def share_memory_(self: Tensor) -> Tensor:
    """Move the values into memory that processes share, which are started after that.

    They may be forked, or get the tensor as an argument or through a queue of ``multiprocessing``:
    changes in place are seen by all.  Views that were taken before keep the memory they had.

    :returns: The tensor itself.
    :raises TypeError: If it has no value yet, as in a compiled function.

    >>> ag.zeros(2).share_memory_().is_shared()
    True
    """
    return sharing.share(self)


@strict
def is_shared(self: Tensor) -> bool:
    """Whether processes share the memory, see :func:`share_memory_`.

    :returns: Of a view, whether they share what it looks into.

    >>> ag.zeros(2).is_shared()
    False
    """
    return sharing.is_shared(self)
