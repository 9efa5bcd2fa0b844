"""Batches of a loader of which each process reads its part only."""

from __future__ import annotations

from typing import Any

from agnesi.core.support.errors import Explained
from agnesi.data.orders import Each, is_sequence
from agnesi.data.samplers import BatchSampler, Sampler, ordered
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.random import Generator


class ShardedBatches(Sampler, Explained):
    """This process's part of every batch, as ``parallel.split`` would cut it.

    All processes go through the same batches, so their loaders need the same seed.  The last batch
    may leave processes without any example.

    :param sampler: The order of all samples.
    :type sampler: Sampler or iterable of int
    :param batch_size: How many a batch has, in all processes together.
    :param drop_last: Whether a last batch that is not full is left out.
    :see: data.DataLoader, distributed.data_parallel

    >>> import agnesi as ag
    >>> from agnesi import data, distributed as dist
    >>> dataset = data.TensorDataset(ag.arange(5))
    >>> batches = dist.ShardedBatches(data.RandomSampler(dataset), 2)
    >>> loader = data.DataLoader(dataset, batch_sampler=batches, generator=1)
    >>> [len(x) for x, in loader]  # of one process
    [2, 2, 1]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False,
                 group: Group | None = None) -> None:
        self.batches = BatchSampler(sampler, batch_size, drop_last)
        found = world(group)
        self.rank, self.size = found.rank, found.size  # workers of the loader are no members

    def order(self, generator: Generator) -> Any:
        """The numbers of this process's samples, batch by batch.

        :param generator: The only source of random numbers.
        :returns: As many in each process.
        :rtype: sequence of sequences of int
        """
        batches = ordered(self.batches, generator)
        if is_sequence(batches):
            return Each(len(batches), lambda k: self._part(batches[k]))
        return map(self._part, batches)

    def _part(self, batch: Any) -> Any:
        size = len(batch)
        return batch[size * self.rank // self.size: size * (self.rank + 1) // self.size]

    def __len__(self) -> int:
        return len(self.batches)
