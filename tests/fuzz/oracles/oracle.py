"""Whether two runs agree: exactly, or as far as noise moves the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.oracles.noise import HALF, epsilon
from tests.fuzz.values import is_float

#: Noisy runs at first, and before something is called wrong.
FIRST, MORE = 3, 24
#: How much farther than noise results may lie from each other, and roundings of the largest.
FACTOR, ROUNDINGS = 8, 8
#: The share of digits that derivatives keep.
LOST = 0.54


class Spread:
    """What noisy runs gave, so many as are asked for."""

    def __init__(self, run: Callable[[int], list[np.ndarray]]) -> None:
        self._run = run
        self._runs: list[list[np.ndarray]] = []

    def of(self, place: int, count: int) -> list[np.ndarray]:
        while len(self._runs) < count:
            self._runs.append(self._run(len(self._runs)))
        return [r[place] for r in self._runs[:count]]


@dataclass
class Difference:
    """A result that is wrong: which, at which places, and in words."""

    place: int
    wrong: np.ndarray
    text: str


def difference(expected: Sequence[np.ndarray], found: Sequence[np.ndarray], spread: Spread | None,
               dtypes: bool = True, rounded: float = 0,
               signs: bool = True) -> Difference | None:
    """The first result that is wrong; None where all are right.

    Without ``spread`` results are equal to the bit.  ``rounded``: what noise does not move may
    be off, too, by some of this share.  ``signs``: those of zeros count.
    """
    if len(expected) != len(found):
        return Difference(0, np.ones((), bool), f"{len(found)} results, not {len(expected)}")
    for i, (e, f) in enumerate(zip(expected, found, strict=True)):
        if e.shape != f.shape or (dtypes and e.dtype != f.dtype):
            return Difference(i, np.ones((), bool), f"result {i}: {f.dtype}{list(f.shape)}, not "
                                                    f"{e.dtype}{list(e.shape)}")
        for count in (FIRST, MORE):
            wrong = ~equal(e, f, signs)
            if spread is not None:
                wrong = wrong & _wrong(e, f, spread.of(i, count), rounded)
            if not wrong.any() or spread is None:
                break
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            return Difference(i, wrong, f"result {i}{list(at)}: {f[at]!r}, not {e[at]!r}")
    return None


def equal(a: np.ndarray, b: np.ndarray, signs: bool = True) -> np.ndarray:
    """Where elements are the same numbers, perhaps signs of zero included, or both NaN."""
    same = np.asarray((a == b) | ((a != a) & (b != b)))
    if a.dtype.kind == b.dtype.kind == "c":  # libraries differ in which infinity it is
        same = same | ~(np.isfinite(a) | np.isfinite(b))
    if signs and is_float(a.dtype) and is_float(b.dtype):
        zero = (a == 0) & (b == 0)
        same = same & (~zero | (np.signbit(a) == np.signbit(b)))
    return same


def _wrong(e: np.ndarray, f: np.ndarray, runs: Sequence[np.ndarray],
           rounded: float) -> np.ndarray:
    """Where a result lies outside of what noise explains."""
    moved = np.zeros(e.shape, bool)
    for r in runs:
        moved |= ~equal(e, r)
    if not is_float(e.dtype) and e.dtype.kind != "c":
        return np.asarray(~equal(e, f) & ~moved)
    with np.errstate(all="ignore"):
        return np.asarray(~equal(e, f) & ~_explained(e, f, runs, moved, rounded))


def _explained(e: np.ndarray, f: np.ndarray, runs: Sequence[np.ndarray],
               moved: np.ndarray, rounded: float) -> np.ndarray:
    wide: Any = np.complex128 if e.dtype.kind == "c" else np.float64
    e, f, dtype = e.astype(wide), f.astype(wide), e.dtype
    far = [np.abs(r.astype(wide) - e) for r in runs]
    most = np.max(far, axis=0) if far else np.zeros(e.shape)
    unknown = np.zeros(e.shape, bool)
    for r in runs:
        unknown |= np.isfinite(r.astype(wide)) != np.isfinite(e)
        unknown |= moved & ~np.isfinite(e) & (r.astype(wide) == f)  # the other infinity
    scale = np.max(np.abs(e), initial=0, where=np.isfinite(e))
    few = ROUNDINGS if dtype.name not in HALF else 2
    if rounded:
        scale = max(scale, 1)  # terms that cancel are as large as what programs are given
    rounding = few * max(epsilon(dtype), rounded) * scale
    may = moved | (rounded > 0)
    if rounded:
        # what a derivative loses on the way, as 1 - y * y near 1 does, no noise reaches
        rounding = rounding + max(epsilon(dtype), rounded)**LOST * np.abs(e)
    near = np.abs(f - e) <= FACTOR * most + np.where(may, rounding, 0)
    return np.asarray(unknown | (may & np.isfinite(e) & near))
