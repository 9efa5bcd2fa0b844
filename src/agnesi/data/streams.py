"""Streams of samples that are changed on their way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at, typed
from agnesi.data.dataset import Dataset
from agnesi.data.draws import accepts_generator, batch_generator


class IterableDataset(Dataset):
    """Base of streams: a subclass has ``__iter__``, which gives samples.

    The loader reads a stream in one place, in order; its workers transform and collate.

    :see: data.DataLoader, data.Dataset

    >>> from agnesi import data
    >>> class Countdown(data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> [batch.tolist() for batch in data.DataLoader(Countdown(), batch_size=2)]
    [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(at(f"{type(self).__name__} has no __iter__(self), which gives "
                                     "samples"))

    def __add__(self, other: Any) -> Dataset:
        return ChainDataset([self, other])

    def map(self, function: Callable[..., Any]) -> MappedStream:  # type: ignore[override]
        """The same samples, each changed by a function, which the loader's workers call.

        :param function: Takes what a sample consists of, one argument each, and gives a sample;
            perhaps with ``generator``, as in :meth:`agnesi.data.Dataset.map`.
        :returns: A stream.
        """
        return MappedStream(self, function)


class MappedStream(IterableDataset):
    """A stream whose samples a function changes: :meth:`IterableDataset.map`.

    :param dataset: Where samples come from.
    :type dataset: iterable
    :param function: Takes what a sample consists of, and perhaps ``generator``.
    :raises TypeError: If ``function`` cannot be called.
    :see: data.IterableDataset, data.DataLoader

    >>> from agnesi import data
    >>> list(data.MappedStream([1, 2], lambda x: 10 * x))
    [10, 20]
    """

    def __init__(self, dataset: object, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(at(f"a stream is mapped by a function, not by {typed(function)}"))
        self.dataset: Any = dataset
        self.function = function
        self._draws = accepts_generator(function)

    def __iter__(self) -> Iterator[Any]:
        return map(self.changed, self.dataset)

    def changed(self, sample: TensorLike) -> Any:
        """A sample after the function.

        :param sample: What the function takes; a tuple holds several arguments.
        :type sample: object
        :returns: What it gives.
        """
        args = sample if type(sample) is tuple else (sample,)
        return self.function(*args, generator=batch_generator()) if self._draws else (
            self.function(*args))


class ChainDataset(IterableDataset):
    """Concatenate streams (iterable datasets).

    :param datasets: The streams.
    :type datasets: iterable of iterables
    :raises ValueError: If one is no iterable.
    :see: data.IterableDataset, data.ConcatDataset

    >>> from agnesi import data
    >>> list(data.ChainDataset([[1, 2], [3]]))
    [1, 2, 3]
    """

    def __init__(self, datasets: Iterable[Iterable[Any]]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)
