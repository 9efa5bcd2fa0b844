"""Data parallel training: each process has a part of every batch, all have the same weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.autodiff.custom import custom_vjp
from agnesi.autodiff.recording import no_grad
from agnesi.core.errors import ShapeError, at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.core.tracing import is_tracing
from agnesi.distributed.collectives import all_reduce, broadcast
from agnesi.distributed.group import Group
from agnesi.distributed.world import world
from agnesi.nn.module import Module
from agnesi.nn.norms import BatchNorm1d
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.join import concat
from agnesi.ops.movement import reshape
from agnesi.ops.select import where
from agnesi.optim.optimizer import Optimizer

#: Bytes of a bucket: smaller gradients go together, larger ones alone and without a copy.
BUCKET_BYTES = 4 << 20


class DataParallel:
    """What :func:`data_parallel` returns.

    Attributes
    ----------
    share : Tensor
        Which part of the present batch this process has, a number.  :meth:`split` and
        :meth:`count` set it; at first all have the same.
    """

    def __init__(self, model: Module, optimizer: Optimizer, group: Group, bucket_bytes: int,
                 compress: bool, share_batch_norm: bool) -> None:
        self.model, self.optimizer, self.group = model, optimizer, group
        self.bucket_bytes, self.compress = bucket_bytes, compress
        self.share = wrap(np.array(1.0 / group.size))
        self._reduced = False
        with no_grad():
            for t in _state(model, optimizer):
                t.copy_(broadcast(t, 0, group))
        if share_batch_norm:
            for module in model.modules():
                if isinstance(module, BatchNorm1d):
                    module.totals = self._total
        optimizer.before_update.append(self._before)

    # -- batches ----------------------------------------------------------------------------
    def split(self, *tensors: Any, axis: int = 0) -> Any:
        """The examples of this process, of a whole batch that all have.

        Sizes differ by one at most; a small batch leaves processes without any example.

        Parameters
        ----------
        *tensors : array_like
            With the same number of examples.
        axis : int
            Along which they lie.

        Returns
        -------
        Tensor or tuple of Tensor
            One for each of ``tensors``.

        Raises
        ------
        ShapeError
            If the numbers differ.
        """
        xs = [as_tensor(x) for x in tensors]
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

        Parameters
        ----------
        examples : int
            0 if it has none.
        """
        with no_grad():
            mine = cast(as_tensor(examples), self.share.dtype)
            self._take(mine / all_reduce(mine, "sum", self.group))

    def _take(self, share: Tensor) -> None:
        """Note the share of the batch that comes; gradients that are there had the last one."""
        share = cast(share, self.share.dtype)
        for p in self.optimizer.parameters:
            if p.grad is not None:
                ratio = where(share > 0, self.share / where(share > 0, share, 1.0), 1.0)
                p.grad = p.grad * cast(ratio, p.dtype)
        self.share.copy_(share)

    def mean(self, x: Any) -> Tensor:
        """The mean over the whole batch of what is a mean over this process's examples.

        Parameters
        ----------
        x : array_like
            Such as the loss.

        Returns
        -------
        Tensor
            The same in all processes.
        """
        x = as_tensor(x)
        return all_reduce(self._weighted(x), "sum", self.group)

    def _weighted(self, x: Tensor) -> Tensor:
        """Its part of the mean over all; nothing, where this process has no examples."""
        share = cast(self.share, x.dtype)
        if not is_tracing() and float(self.share.data) > 0:
            return x * share
        return where(share > 0, x * share, cast(as_tensor(0), x.dtype))

    # -- gradients ----------------------------------------------------------------------------
    def reduce(self) -> None:
        """Let all processes have the whole batch's gradients now, before ``optimizer.step``.

        That does so by itself; this is for what looks at gradients in between, such as clipping.
        """
        with no_grad():
            owners = [p for p in reversed(self.optimizer.parameters) if p.grad is not None]
            for bucket in _buckets(owners, self.bucket_bytes):
                self._reduce(bucket)
        self._reduced = True

    def _before(self) -> None:
        if not self._reduced:
            self.reduce()
        self._reduced = False

    def _reduce(self, bucket: list[Tensor]) -> None:
        grads: list[Any] = [p.grad for p in bucket]
        flat = grads[0] if len(grads) == 1 else concat([reshape(g, (-1,)) for g in grads])
        flat = self._weighted(flat)
        small = self.compress and flat.dtype.kind == "f" and flat.dtype.itemsize > 2
        sent = cast(flat, np.dtype("float16")) if small else flat
        total = cast(all_reduce(sent, "sum", self.group), flat.dtype)
        if len(grads) == 1:
            bucket[0].grad = total
            return
        start = 0
        for p in bucket:
            n = math.prod(p.shape)
            p.grad = reshape(total[start: start + n], p.shape)
            start += n

    # -- statistics ---------------------------------------------------------------------------
    def _total(self, x: Tensor) -> Tensor:
        """The sum over processes, whose derivative fits gradients that are weighted afterwards."""
        return _led_in(all_reduce(_led_out(x, self.share), "sum", self.group), self.share)

    def close(self) -> None:
        """Let model and optimizer be those of one process again."""
        if self._before in self.optimizer.before_update:
            self.optimizer.before_update.remove(self._before)
        for module in self.model.modules():
            if isinstance(module, BatchNorm1d):
                module.totals = None


@custom_vjp
def _led_out(x: Tensor, share: Tensor) -> Tensor:
    """The value; its gradient is divided by this process's share, by which it is weighted later."""
    return x * 1


_led_out.defvjp(lambda x, share: (x * 1, share), lambda share, g: (g / cast(share, g.dtype), None))


@custom_vjp
def _led_in(x: Tensor, share: Tensor) -> Tensor:
    """The value; its gradient counts as much as this process's examples."""
    return x * 1


_led_in.defvjp(
    lambda x, share: (x * 1, share),
    lambda share, g: (where(share > 0, g * cast(share, g.dtype), cast(as_tensor(0), g.dtype)), None)
)


def _state(model: Module, optimizer: Optimizer) -> Iterable[Tensor]:
    """All that must be the same in all processes, in one order."""
    seen: dict[int, Tensor] = {}
    for t in (*model.parameters(), *model.buffers(), *optimizer.parameters):
        seen.setdefault(id(t), t)
    return seen.values()


def _buckets(owners: list[Tensor], most: int) -> list[list[Tensor]]:
    """Parameters whose gradients are reduced together, those first that were computed first."""
    buckets: list[list[Tensor]] = []
    open_: dict[np.dtype, tuple[list[Tensor], int]] = {}
    for p in owners:
        nbytes = math.prod(p.shape) * p.dtype.itemsize
        if nbytes >= most:
            buckets.append([p])
            continue
        found, room = open_.get(p.dtype, ([], 0))
        if room < nbytes:
            found, room = [], most
            buckets.append(found)
        found.append(p)
        open_[p.dtype] = found, room - nbytes
    return buckets


def data_parallel(model: Module, optimizer: Optimizer, group: Group | None = None, *,
                  bucket_bytes: int = BUCKET_BYTES, compress: bool = False,
                  share_batch_norm: bool = False) -> DataParallel:
    """Let all processes train one model, each with its part of every batch.

    The program is the same in one process and in many.  Weights begin as those of rank 0;
    ``optimizer.step()`` first replaces gradients by the whole batch's, so that all weights stay the
    same: those of one process that has the whole batch.  Several backward passes before a step add
    up as usual, and only the step communicates; each process needs an example of each batch then.

    Parameters
    ----------
    model : Module
        What is trained; losses must be means over examples.
    optimizer : Optimizer
        Of its parameters.
    group : Group, optional
        Which processes; all by default.
    bucket_bytes : int
        Gradients that are smaller go together, so many bytes at most.
    compress : bool
        Whether gradients travel as float16, which halves what is moved and rounds them; they are
        added up in float32.
    share_batch_norm : bool
        Whether layers of batch normalisation use the whole batch's mean and variance, instead of
        those of each process's examples.

    Returns
    -------
    DataParallel
        With ``split`` for batches that all have, ``count`` for batches of each process's own,
        ``mean`` for losses to be shown.

    Raises
    ------
    TypeError
        If that is no model, or no optimizer.
    CollectiveError
        If a process has another model.

    See Also
    --------
    distributed.launch, distributed.all_reduce

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> net = ag.nn.Linear(3, 1)
    >>> optimizer = ag.optim.SGD(net.parameters(), lr=0.1)
    >>> parallel = dist.data_parallel(net, optimizer)  # the one line
    >>> @ag.jit
    ... def step(x, y):
    ...     x, y = parallel.split(x, y)
    ...     loss = ((net(x) - y) ** 2).mean()
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return parallel.mean(loss)
    >>> step(ag.ones((5, 3)), ag.ones((5, 1))).shape
    ()
    """
    if not isinstance(model, Module) or not isinstance(optimizer, Optimizer):
        raise TypeError(at("data_parallel takes a module and its optimizer, not "
                           f"{typed(model)} and {typed(optimizer)}"))
    return DataParallel(model, optimizer, world(group), bucket_bytes, compress, share_batch_norm)
