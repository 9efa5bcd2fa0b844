"""Which part of a batch a process has, and means over the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.custom import custom_vjp
from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import Explained, ShapeError, at, typed
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.collectives import all_reduce
from agnesi.distributed.processes.group import Group
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.select import where


class Shares(Explained):
    """The examples of each process; base of what trains with them.

    Attributes
    ----------
    share : Tensor
        Which part of the present batch this process has, a number.  :meth:`split` and
        :meth:`count` set it; at first all have the same.
    """

    def __init__(self, group: Group, parameters: Sequence[Tensor]) -> None:
        self.group, self.parameters = group, parameters
        self.share = wrap(np.array(1.0 / group.size))
        #: How much the gradients that are there count: as the last batch of which there was a part.
        self._held = wrap(np.array(1.0 / group.size))

    def split(self, *tensors: Any, axis: int = 0) -> Any:
        """The examples of this process, of a whole batch that all have.

        Sizes differ by one at most; a small batch leaves processes without any example.

        :param *tensors: With the same number of examples.
        :type *tensors: array_like
        :param axis: The axis along which they are.
        :returns: One for each of ``tensors``.
        :rtype: Tensor or tuple of Tensor
        :raises ShapeError: If the numbers differ.
        """
        xs = [as_tensor(x) for x in tensors]
        if not xs or not all(-x.ndim <= axis < x.ndim for x in xs):
            raise ShapeError(at(f"split: axis {axis} has the examples, and is not there in "
                                f"{', '.join(map(typed, xs)) or 'nothing'}"))
        n = xs[0].shape[axis]
        if any(x.shape[axis] is not n and x.shape[axis] != n for x in xs):
            raise ShapeError(at(f"split: axis {axis} has the examples, and is not equally long in "
                                f"{', '.join(map(typed, xs))}"))
        begin, end = (n * r // self.group.size for r in (self.group.rank, self.group.rank + 1))
        key = (slice(None),) * (axis % xs[0].ndim)
        with no_grad():
            self._take(as_tensor(end - begin) / as_tensor(n))
        parts = tuple(x[(*key, slice(begin, end))] for x in xs)
        return parts if len(parts) > 1 else parts[0]

    def count(self, examples: Any) -> None:
        """Say how many examples this process has in the present batch, where that differs.

        All processes say so, since their numbers are added up; of one that has read a shard of its
        own, and no whole batch.

        :param examples: 0 if it has none.
        :type examples: int
        """
        with no_grad():
            mine = cast(as_tensor(examples), self.share.dtype)
            self._take(mine / all_reduce(mine, "sum", self.group))

    def _take(self, share: Tensor) -> None:
        """Note the share of the batch that comes; gradients that are there had the last one."""
        share = held = cast(share, self.share.dtype)
        there = [(p, g) for p in self.parameters if (g := p.grad) is not None]
        if there:  # where nothing comes, it counts next to nothing beside them
            held = where(share > 0, share, self._held * _NEXT_TO_NOTHING)
            ratio = where(held > 0, self._held / where(held > 0, held, 1.0), 1.0)
            for p, g in there:
                p.grad = g * cast(ratio, p.dtype)
        self.share.copy_(share)
        self._held.copy_(held)

    def mean(self, x: Any) -> Tensor:
        """The mean over the whole batch of what is a mean over this process's examples.

        :param x: Such as the loss.
        :type x: array_like
        :returns: The same in all processes.
        """
        x = as_tensor(x)
        return all_reduce(self.weighted(x), "sum", self.group)

    def weighted(self, x: Tensor) -> Tensor:
        """Its part of the mean over all; nothing, where this process has no examples."""
        return _weighted(x, self.share)

    def weighted_gradient(self, g: Tensor) -> Tensor:
        """The part of a gradient, of one batch or of several that were added up."""
        return _weighted(g, self._held)


#: What a batch of which a process has no part counts beside others, as a share of theirs.
_NEXT_TO_NOTHING = 1e-6


def _weighted(x: Tensor, share: Tensor) -> Tensor:
    mine = x * cast(share, x.dtype)
    return mine if not is_tracing() and share.array > 0 else _nothing_unless(share, mine)


def _nothing_unless(share: Tensor, x: Tensor) -> Tensor:
    """The value, where this process has examples."""
    return where(share > 0, x, cast(as_tensor(0), x.dtype))


@custom_vjp
def led_out(x: Tensor, share: Tensor) -> Tensor:
    """The value; its gradient is divided by this process's share, by which it is weighted later."""
    return x * 1


led_out.defvjp(lambda x, share: (x * 1, share), lambda share, g: (g / cast(share, g.dtype), None))


@custom_vjp
def led_in(x: Tensor, share: Tensor) -> Tensor:
    """The value; its gradient counts as much as this process's examples."""
    return x * 1


led_in.defvjp(
    lambda x, share: (x * 1, share),
    lambda share, g: (_nothing_unless(share, g * cast(share, g.dtype)), None)
)
