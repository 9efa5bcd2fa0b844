"""Orders of samples: sequences whose parts are made when they are requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.api.random import Generator
from agnesi.core.options import Count, Size
from agnesi.ops.random.generators import start

#: Numbers that are drawn at once.
BLOCK_NUMBERS = 1 << 20


class Blocks(Sequence[Any]):
    """A random order of samples, drawn block by block where it is read.

    Each block has a stream of random numbers of its own, so that an order of any length takes the
    memory of one block, and can be gone on with anywhere at the cost of one block.

    :param draw: Draws so many numbers from a generator, ``draw(generator, count)``, as an array.
    :param count: How many numbers there are.
    :param generator: What all of them follow from.
    :param block: How many are drawn at once.
    :see: data.Sampler, data.RandomSampler

    >>> import agnesi as ag
    >>> from agnesi import data
    >>> class Noisy(data.Sampler):
    ...     def order(self, generator):
    ...         return data.Blocks(lambda g, n: g.integers(0, 6, n).numpy(), 10**15, generator)
    >>> order = Noisy().order(ag.random.default_rng(0))
    >>> len(order), len(order[10**14:10**14 + 3])
    (1000000000000000, 3)
    """

    def __init__(self, draw: Callable[[Generator, int], Any], count: Size, generator: Generator,
                 block: Count = BLOCK_NUMBERS) -> None:
        self._draw, self._count, self._size = draw, count, block
        #: One block is drawn from the generator itself.
        self._words = None if count <= block else [int(w) for w in generator.beginning()]
        self._held: tuple[int, Any] = -1, None
        self._only: Any = draw(generator, count) if self._words is None else None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if self._words is None:
            return self._only[place]
        if not isinstance(place, slice):
            if not -self._count <= place < self._count:
                raise IndexError(place)
            return self[place : place + 1][0] if place >= 0 else self[place + self._count]
        begin, end, step = place.indices(self._count)
        if step != 1:
            return np.array([self[k] for k in range(begin, end, step)], int)
        parts = [self._block(k)[max(begin - k * self._size, 0) : end - k * self._size]
                 for k in range(begin // self._size, -(-end // self._size))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.arange(0)])

    def __iter__(self) -> Iterator[Any]:
        for k in range(-(-self._count // self._size)):
            yield from self._block(k)

    def _block(self, k: int) -> Any:
        if self._words is None:
            return self._only
        if self._held[0] != k:
            own = Generator(0)
            own.load_state_dict({"state": start([*self._words, k])})
            self._held = k, self._draw(own, min(self._size, self._count - k * self._size))
        return self._held[1]


class Each(Sequence[Any]):
    """What a function makes of each number below a count, when it is requested."""

    def __init__(self, count: int, make: Callable[[int], Any]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if type(k) is int and 0 <= k < self._count:
            return self._make(k)
        if isinstance(k, slice):
            return [self._make(each) for each in range(*k.indices(self._count))]
        if not -self._count <= k < self._count:
            raise IndexError(k)
        return self._make(k % self._count)


def is_sequence(order: Any) -> bool:
    """Return whether an order has a length and is cut anywhere."""
    return isinstance(order, Sequence) or hasattr(order, "shape")


def cut(order: Any, size: int, drop_last: bool) -> Each:
    """An order cut into batches, each of which is found at once."""
    count = len(order) // size if drop_last else -(-len(order) // size)
    return Each(count, lambda k: order[k * size : (k + 1) * size])
