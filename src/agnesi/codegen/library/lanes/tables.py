"""The steps of a Fourier transform (its radices), and the table of roots of unity that they read.
"""

from __future__ import annotations

import numpy as np


def radices(n: int) -> list[int]:
    """Lengths of the steps of a transform, whose product is ``n``."""
    found = []
    twos = (n & -n).bit_length() - 1
    n >>= twos
    while twos:
        step = 2 if twos in (2, 4) else min(twos, 3)
        found.append(1 << step)
        twos -= step
    p = 3
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 2
    return found


class Table:
    """Numbers that code reads, in the order of use."""

    def __init__(self, dtype: str) -> None:
        self.parts: list[np.ndarray] = []
        self.dtype = np.dtype(dtype)
        self.size = 0

    def add(self, numbers: np.ndarray) -> int:
        """Append numbers; return the index of the first of them."""
        first = self.size
        self.parts.append(numbers.astype(self.dtype))
        self.size += numbers.size
        return first

    def array(self) -> np.ndarray:
        """All of it."""
        return np.concatenate([*self.parts, np.zeros(64, self.dtype)])


def pairs(x: np.ndarray) -> np.ndarray:
    """Real and imaginary parts, interleaved."""
    return np.stack([x.real, x.imag], -1).ravel()


