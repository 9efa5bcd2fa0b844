"""Small things that Chainer's programs use: sampling by Walker's method, arrays of any result."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.chainer import type_check as type_check
from agnesi.core.keywords import strictly as _strictly


class WalkerAlias:
    """Samples of a discrete distribution, each in the same time (Walker, 1977).

    :param probs: Weights, which need not sum to 1.
    :type probs: sequence of float
    """

    def __init__(self, probs: Any) -> None:
        share = np.asarray(probs, np.float64)
        share = share / share.sum() * len(share)
        self.threshold = np.ones(len(share))
        self.other = np.arange(len(share), dtype=np.int32)
        few = [i for i, p in enumerate(share) if p < 1]
        many = [i for i, p in enumerate(share) if p >= 1]
        while few and many:
            i, j = few.pop(), many.pop()
            self.threshold[i], self.other[i] = share[i], j
            share[j] -= 1 - share[i]
            (few if share[j] < 1 else many).append(j)

    def sample(self, shape: Any) -> Any:
        """Numbers of what was drawn, int32, by NumPy's generator."""
        places = np.random.uniform(0, len(self.threshold), shape)
        index = np.minimum(places.astype(np.int32), len(self.threshold) - 1)
        return np.where(places - index < self.threshold[index], index,
                        self.other[index]).astype(np.int32)

    def to_gpu(self) -> WalkerAlias:
        """The sampler itself: devices are the processor."""
        return self

    def to_cpu(self) -> WalkerAlias:
        """The sampler itself."""
        return self


def force_array(x: Any, dtype: Any = None) -> Any:
    """An array of a number, as reductions of NumPy's give one."""
    return np.asarray(x, dtype)


_strictly(__name__)
