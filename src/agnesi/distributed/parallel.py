"""Data parallel training: each process has a part of every batch, all have the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.storage.memory_order import axes_in_memory
from agnesi.core.support.errors import at, typed
from agnesi.core.support.tree import map_leaves
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.agreement import compare_tensors
from agnesi.distributed.collectives import all_reduce, broadcast
from agnesi.distributed.halves import add_halves, to_halves
from agnesi.distributed.overlap import Pending
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.distributed.shares import Shares, led_in, led_out
from agnesi.nn.base.module import Module
from agnesi.nn.layers.norms import _BatchNorm
from agnesi.ops.base.movement import permute_dims, reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.sparse.words import dense
from agnesi.optim.optimizer import Optimizer

#: Bytes of a bucket: smaller gradients go together, larger ones alone and without a copy.
BUCKET_BYTES = 4 << 20


class DataParallel(Shares):
    """The result of :func:`data_parallel`, which makes it.

    :param model: What is trained; weights begin as those of rank 0.
    :param optimizer: Of its parameters.
    :param group: Which processes.
    :param bucket_bytes: Of gradients that travel together.
    :param compress: Whether gradients travel as half-precision numbers.
    :param share_batch_norm: Whether batch norm takes the statistics of all processes' batches.
    :param overlap: Whether gradients travel while others are computed.
    :raises ValueError: If the optimizer has none of the model's parameters.
    :see: distributed.data_parallel, distributed.Zero

    >>> from agnesi import distributed as dist, nn, optim
    >>> model = nn.Linear(2, 1)
    >>> dist.data_parallel(model, optim.SGD(model.parameters(), lr=0.1)).group.size
    1
    """

    def __init__(self, model: Module, optimizer: Optimizer, group: Group | None = None,
                 bucket_bytes: int = BUCKET_BYTES, compress: bool = False,
                 share_batch_norm: bool = False, overlap: bool = True) -> None:
        group = world(group)
        super().__init__(group, optimizer.parameters)
        if overlap:
            group.overlap()
        self.overlap = overlap
        self.model, self.optimizer = model, optimizer
        self.bucket_bytes, self.compress = bucket_bytes, compress
        self._reduced = False
        state = _state(model, optimizer)
        kinds = f"{type(model).__name__}, {type(optimizer).__name__}"
        trained = {id(p) for p in optimizer.parameters}
        if trained.isdisjoint(map(id, model.parameters())):
            raise ValueError(at("data_parallel: the optimizer has none of the model's parameters "
                                f"({kinds}): make it of model.parameters()"))
        compare_tensors(f"data_parallel({kinds})", (
            (name if id(t) in trained else f"{name} (not trained)", t) for name, t in state), group)
        with no_grad():
            for _, t in state:
                t.copy_(broadcast(t, 0, group))
            #: The order of each parameter's axes in rank 0's memory: gradients travel in that.
            self._axes = _memory_axes(optimizer.parameters, group)
        if share_batch_norm:
            for module in model.modules():
                if isinstance(module, _BatchNorm):
                    module.totals = self._total
        optimizer.before_update.append(self._before)

    def __call__(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Let a step that was written for one process be that of all: a decorator.

        :param step: Takes tensors with an example per row, trains, and returns means over the
            examples, such as the loss, or a nest of them.
        :returns: Takes the whole batch in all processes, of which ``step`` gets this process's
            part, and returns the means over the whole batch.
        """
        if isinstance(step, Tensor) or not callable(step):
            raise TypeError(at("data_parallel decorates a step, a function of a batch, and is not "
                               f"called with {typed(step)}: call the model, with what split gives"))

        @wraps(step)
        def parallel_step(*batch: Any) -> Any:
            parts = self.split(*batch)
            return map_leaves(self.mean, step(*(parts if len(batch) > 1 else (parts,))))

        return parallel_step

    # -- gradients ----------------------------------------------------------------------------
    def reduce(self) -> None:
        """Let all processes have the whole batch's gradients now, before ``optimizer.step``.

        That does so by itself; this is for what looks at gradients in between, such as clipping.
        """
        with no_grad():
            owners = [p for p in reversed(self.optimizer.parameters) if p.grad is not None]
            begun = [(b, self._begin(b)) for b in _buckets(owners, self.bucket_bytes)]
            for bucket, pending in begun:
                self._finish(bucket, pending)
        self._reduced = True

    def _before(self) -> None:
        if not self._reduced:
            self.reduce()
        self._reduced = False

    def _begin(self, bucket: list[Tensor]) -> Callable[[], Tensor]:
        """Begin the sum of weighted gradients; the function that gives it."""
        rows = [self._row(p) for p in bucket]
        flat = rows[0] if len(rows) == 1 else concat(rows)
        if self.compress and flat.dtype.kind == "f" and flat.dtype.itemsize > 2:
            halves = Pending("all_gather", to_halves(flat), self.group, self.overlap)
            return lambda: add_halves(halves.result(), flat.dtype)
        return Pending("all_reduce", flat, self.group, self.overlap).result

    def _axes_of(self, p: Tensor) -> Sequence[int]:
        return self._axes.get(id(p), range(p.ndim))

    def _row(self, p: Tensor) -> Tensor:
        """A weighted gradient as a row of numbers, in the order of the parameter's memory."""
        axes = self._axes_of(p)
        return reshape(self.weighted_gradient(permute_dims(dense(p.grad), axes)), (-1,))

    def _finish(self, bucket: list[Tensor], total: Callable[[], Tensor]) -> None:
        flat, start = total(), 0
        for p in bucket:
            n = math.prod(p.shape)
            row = flat[start: start + n] if len(bucket) > 1 else flat
            axes = self._axes_of(p)
            back = sorted(range(p.ndim), key=axes.__getitem__)
            p.grad = permute_dims(reshape(row, [p.shape[axis] for axis in axes]), back)
            start += n

    def hidden(self) -> float:
        """How much of the communication was hidden behind computation, since the last call of this.

        :returns: The part of the time that reductions of compiled steps took in which the step did
            not wait for them; not a number where there were none.
        """
        beside = self.group.beside
        return math.nan if beside is None or not self.overlap else beside.hidden()

    # -- statistics ---------------------------------------------------------------------------
    def _total(self, x: Tensor) -> Tensor:
        """The sum over processes, whose derivative fits gradients that are weighted afterwards."""
        return led_in(all_reduce(led_out(x, self._held), "sum", self.group), self._held)

    def close(self) -> None:
        """End data parallel training: model and optimizer work in this process alone again."""
        if self._before in self.optimizer.before_update:
            self.optimizer.before_update.remove(self._before)
        for module in self.model.modules():
            if isinstance(module, _BatchNorm):
                module.totals = None


def _state(model: Module, optimizer: Optimizer) -> list[tuple[str, Tensor]]:
    """All that must be the same in all processes, with names, in one order."""
    seen: dict[int, tuple[str, Tensor]] = {}
    for name, t in (*model.named_parameters(), *model.named_buffers(),
                    *(("", p) for p in optimizer.parameters)):
        seen.setdefault(id(t), (name, t))
    return list(seen.values())


def _memory_axes(parameters: list[Tensor], group: Group) -> dict[int, tuple[int, ...]]:
    """The axes of parameters from the outermost in memory to the innermost, as rank 0 has them."""
    mine = [axes_in_memory(p.array) for p in parameters if p.array is not None]
    numbers = wrap(np.array([axis for axes in mine for axis in axes], np.int64))
    left = iter(broadcast(numbers, 0, group).numpy().tolist())
    return {id(p): tuple([next(left) for _ in range(p.ndim)]) for p in parameters}


def _buckets(owners: list[Tensor], most: int) -> list[list[Tensor]]:
    """Parameters whose gradients are reduced together, those first that are complete first.

    Gradients are computed in the order of ``owners``, about.
    """
    buckets: list[tuple[list[Tensor], list[int]]] = []
    open_: dict[np.dtype, tuple[int, int]] = {}
    for i, p in enumerate(owners):
        nbytes = math.prod(p.shape) * p.dtype.itemsize
        if nbytes >= most:
            buckets.append(([p], [i]))
            continue
        number, room = open_.get(p.dtype, (0, 0))
        if room < nbytes:
            number, room = len(buckets), most
            buckets.append(([], []))
        buckets[number][0].append(p)
        buckets[number][1].append(i)
        open_[p.dtype] = number, room - nbytes
    return [bucket for bucket, _ in sorted(buckets, key=lambda b: b[1][-1])]


def data_parallel(model: Module, optimizer: Optimizer, group: Group | None = None, *,
                  bucket_bytes: int = BUCKET_BYTES, compress: bool = False,
                  share_batch_norm: bool = False, overlap: bool = True) -> DataParallel:
    """Let all processes train one model, each with its part of every batch.

    The program is the same in one process and in many.  Weights begin as those of rank 0;
    ``optimizer.step()`` first replaces gradients by the whole batch's, so that all weights stay the
    same: those of one process that has the whole batch.  Several backward passes before a step add
    up as usual, and only the step communicates; each process needs an example of each batch then.

    :param model: What is trained; losses must be means over examples.
    :param optimizer: Of its parameters.
    :param bucket_bytes: Gradients that are smaller go together, so many bytes at most.
    :param compress: Whether gradients travel as float16, which halves what is moved and rounds
        them to 11 bits; each bucket has a scale, a power of two, and sums are of the gradients'
        dtype.
    :param share_batch_norm: Whether layers of batch normalisation use the whole batch's mean and
        variance, instead of those of each process's examples.
    :param overlap: Whether gradients travel while a compiled step computes the others, by a thread
        beside it.
    :returns: With ``split`` for batches that all have, ``count`` for batches of each process's own,
        ``mean`` for losses to be shown.  As a decorator of a step it does what ``split`` and
        ``mean`` do.
    :raises TypeError: If that is no model, or no optimizer.
    :raises ValueError: If the optimizer has no parameter of the model.
    :raises CollectiveError: If a process has another model.
    :see: distributed.launch, distributed.all_reduce

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

    The same as a decorator of a step that knows nothing of other processes:

    >>> @ag.jit
    ... @parallel
    ... def step(x, y):
    ...     loss = ((net(x) - y) ** 2).mean()
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> step(ag.ones((5, 3)), ag.ones((5, 1))).shape
    ()
    """
    if not isinstance(model, Module) or not isinstance(optimizer, Optimizer):
        raise TypeError(at("data_parallel takes a module and its optimizer, not "
                           f"{typed(model)} and {typed(optimizer)}"))
    return DataParallel(model, optimizer, group, bucket_bytes, compress, share_batch_norm, overlap)
