"""Samplers: in which order samples come, and in which batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from types import GenericAlias
from typing import Any

import numpy as np

from agnesi.api.random import Generator, exponential, integers, uniform
from agnesi.core.integers import is_integer
from agnesi.core.options import Count, Written
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at, typed
from agnesi.data.orders import Blocks, cut, is_sequence


class Sampler(Written):
    """Base of samplers: a subclass gives the numbers of all samples of an epoch, in order.

    An iterable of numbers serves as a sampler, too, and so does a subclass with ``__iter__``; what
    a subclass computes from the generator that it is given can be repeated, so that a loader goes
    on in the middle of an epoch.  Orders too long for one array are :class:`Blocks`.

    :see: data.DataLoader, data.RandomSampler, data.BucketBatchSampler, data.Blocks

    >>> import numpy as np
    >>> from agnesi import data
    >>> class Backwards(data.Sampler):
    ...     def order(self, generator):
    ...         return np.arange(4)[::-1]
    >>> dataset = data.TensorDataset(np.arange(4))
    >>> [x.tolist() for x, in data.DataLoader(dataset, batch_size=2, sampler=Backwards())]
    [[3, 2], [1, 0]]
    """

    __class_getitem__ = classmethod(GenericAlias)  # type: ignore[var-annotated]

    #: What random numbers come from where no loader says it.
    generator: Generator | None = None

    def order(self, generator: Generator) -> Any:
        """Numbers of the samples of one epoch.

        :param generator: The only source of random numbers.
        :returns: In order: an array, a range, :class:`Blocks`; of batch samplers, arrays.
        :rtype: sequence of int
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no order(self, generator), which "
                                     "gives the numbers of an epoch's samples"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.order(self.generator or Generator()))


class SequentialSampler(Sampler):
    """All samples in their order.

    :param data_source: Whose length counts.
    :type data_source: Dataset
    :see: data.RandomSampler

    >>> from agnesi import data
    >>> list(data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.count = len(data_source)

    def order(self, generator: Generator) -> Any:
        return range(self.count)

    def __len__(self) -> int:
        return self.count


class RandomSampler(Sampler):
    """Samples in random order.

    :param data_source: Whose length counts.
    :type data_source: Dataset
    :param replacement: Whether a sample may come several times.
    :param num_samples: How many, also more than memory holds; by default as many as there are.
        Without replacement, each comes again once all others came.
    :param generator: That of loaders which have none, or its seed.
    :raises ValueError: If there are no samples to draw from.
    :see: data.SequentialSampler, data.WeightedRandomSampler

    >>> from agnesi import data
    >>> sorted(map(int, data.RandomSampler("abc")))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized, replacement: bool = False,
                 num_samples: Count | None = None,
                 generator: Generator | int | None = None) -> None:
        self.count, self.replacement = len(data_source), replacement
        self.generator = seeded(generator)
        self.num_samples = self.count if num_samples is None else num_samples
        if self.num_samples > 0 == self.count:
            raise ValueError(at(f"RandomSampler: there are no samples of which "
                                f"num_samples={self.num_samples} could be drawn"))

    def order(self, generator: Generator) -> Any:
        if self.replacement and self.count:
            return Blocks(lambda own, n: integers(0, self.count, n, generator=own).array,
                          self.num_samples, generator)
        return Blocks(lambda own, n: shuffled(self.count, own)[:n], self.num_samples, generator,
                      block=max(self.count, 1))

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some of the samples, in random order.

    :param indices: The numbers of these samples.
    :type indices: array_like of int
    :param generator: That of loaders which have none, or its seed.
    :raises TypeError: If they are no vector.
    :see: data.RandomSampler, data.Subset

    >>> from agnesi import data
    >>> sorted(map(int, data.SubsetRandomSampler([4, 7])))
    [4, 7]
    """

    def __init__(self, indices: TensorLike, generator: Generator | int | None = None) -> None:
        self.indices, self.generator = np.asarray(indices), seeded(generator)
        if self.indices.ndim != 1:
            raise TypeError(at("SubsetRandomSampler: indices must be a list of integers, not "
                               f"{typed(indices)}"))

    def order(self, generator: Generator) -> Any:
        return self.indices[shuffled(len(self.indices), generator)]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Samples drawn with probabilities of their own.

    :param weights: One for each sample; they need not sum to 1.
    :type weights: array_like of float
    :param num_samples: How many to draw.
    :param replacement: Whether a sample may come several times.
    :param generator: That of loaders which have none, or its seed.
    :raises ValueError: If weights are negative or all zero, or too few for drawing without
        replacement.
    :see: data.RandomSampler

    >>> from agnesi import data
    >>> set(data.WeightedRandomSampler([0.0, 1.0, 0.0], 5)) == {1}
    True
    """

    def __init__(self, weights: TensorLike, num_samples: Count, replacement: bool = True,
                 generator: Generator | int | None = None) -> None:
        self.weights, self.generator = np.asarray(weights, np.float64), seeded(generator)
        self.num_samples, self.replacement = num_samples, replacement
        if self.weights.ndim != 1 or not (self.weights >= 0).all() or not self.weights.sum() > 0:
            raise ValueError(at("WeightedRandomSampler: weights must be a vector of numbers of at "
                                f"least 0, some of them above, not {typed(weights)}"))
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ValueError(at(f"WeightedRandomSampler: {np.count_nonzero(self.weights)} weights "
                                f"are above 0, fewer than num_samples={num_samples}"))

    def order(self, generator: Generator) -> Any:
        if self.replacement:
            ends = np.cumsum(self.weights)
            return Blocks(lambda own, n: _drawn(ends, n, own), self.num_samples, generator)
        with np.errstate(divide="ignore"):  # the smallest of exponential times come first
            times: Any = exponential(
                size=len(self.weights), dtype="float64", generator=generator).array
            return np.argsort(times / self.weights, kind="stable")[: self.num_samples]

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Group the sample numbers that another sampler gives into batches.

    :param sampler: The order of samples.
    :type sampler: Sampler or iterable of int
    :param batch_size: Samples of a batch.
    :param drop_last: Whether a last batch that is not full is left out.
    :raises ValueError: If ``batch_size`` is less than 1.
    :see: data.BucketBatchSampler

    >>> from agnesi import data
    >>> [list(batch) for batch in data.BatchSampler(data.SequentialSampler("abc"), 2)]
    [[0, 1], [2]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: Count, drop_last: bool = False) -> None:
        self.sampler: Any = sampler
        self.batch_size, self.drop_last = batch_size, drop_last

    def order(self, generator: Generator) -> Any:
        order = ordered(self.sampler, generator)
        if is_sequence(order):
            return cut(order, self.batch_size, self.drop_last)
        return _gathered(order, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class BucketBatchSampler(Sampler):
    """Batches of samples of similar length, so that little is padded.

    Samples are shuffled, sorted by length within large groups, and cut into batches, which come in
    random order.

    :param lengths: The length of each sample.
    :type lengths: array_like of int
    :param batch_size: Samples of a batch.
    :param shuffle: Whether the order is random; else samples are sorted as they are.
    :param drop_last: Whether batches that are not full are left out.
    :param batches_per_bucket: How many batches make a group: more need less padding, fewer mix
        better.
    :raises ValueError: If a size is less than 1.
    :see: data.PadCollate, data.BatchSampler

    >>> from agnesi import data
    >>> sampler = data.BucketBatchSampler([5, 1, 4, 2], 2, shuffle=False)
    >>> [list(map(int, batch)) for batch in sampler]
    [[1, 3], [2, 0]]
    """

    def __init__(self, lengths: TensorLike, batch_size: Count, shuffle: bool = True,
                 drop_last: bool = False, batches_per_bucket: Count = 50) -> None:
        if batch_size < 1 or batches_per_bucket < 1:
            raise ValueError(at("BucketBatchSampler: batch_size and batches_per_bucket must be at "
                                f"least 1, not {batch_size} and {batches_per_bucket}"))
        self.lengths, self.batch_size = np.asarray(lengths).reshape(-1), batch_size
        self.shuffle, self.drop_last = shuffle, drop_last
        self.bucket = batch_size * batches_per_bucket

    def order(self, generator: Generator) -> Any:
        count = len(self.lengths)
        order: Any = shuffled(count, generator) if self.shuffle else (np.arange(count))
        batches = []
        for begin in range(0, count, self.bucket):
            group = order[begin : begin + self.bucket]
            group = group[np.argsort(self.lengths[group], kind="stable")]
            batches += [group[k : k + self.batch_size]
                        for k in range(0, len(group), self.batch_size)]
        if self.drop_last:
            batches = [batch for batch in batches if len(batch) == self.batch_size]
        if self.shuffle and batches:
            turns = shuffled(len(batches), generator)
            batches = [batches[k] for k in turns]
        return batches

    def __len__(self) -> int:
        full, last = divmod(len(self.lengths), self.bucket)
        each = self.bucket // self.batch_size
        rest = last // self.batch_size if self.drop_last else -(-last // self.batch_size)
        return full * each + rest


def seeded(generator: Any) -> Any:
    """The generator that a user has given, or that of a seed."""
    return Generator(generator) if is_integer(generator) else generator


def shuffled(count: int, generator: Generator) -> np.ndarray:
    """Numbers in random order: sorted by random keys of 32 bits, of equal ones the lower first."""
    keys: Any = generator.bits(count).array
    order: np.ndarray = keys.astype(np.uint64) << 32
    order |= np.arange(count, dtype=np.uint64)
    order.sort()  # of one array of words NumPy's sort is faster than an argsort
    order &= 0xFFFFFFFF
    return order.view(np.int64)


def ordered(sampler: Any, generator: Generator) -> Any:
    """Return a sampler's indices of one epoch; of an iterable, an iterator."""
    for kind in type(sampler).__mro__ if isinstance(sampler, Sampler) else ():
        if "order" in vars(kind):
            return sampler.order(generator)
        if "__iter__" in vars(kind):  # as PyTorch's programs write samplers
            break
    return iter(sampler)


def _drawn(ends: np.ndarray, count: int, generator: Generator) -> Any:
    """Places drawn with chances whose running sums are given."""
    draws: Any = uniform(size=count, dtype="float64", generator=generator).array
    return np.searchsorted(ends, draws * ends[-1], side="right").clip(0, len(ends) - 1)


def _gathered(order: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Batches of what an iterator gives."""
    batch: list[Any] = []
    for sample in order:
        batch.append(sample)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch
