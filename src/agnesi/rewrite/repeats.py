"""Words: what comes up again in a list of labels that has no period, as where steps come in random
order.

The pairs of neighbours that come up most often are joined, then those of what was joined, as in
byte pair encoding, as long as that saves more calls than it costs bodies.  A word that is left with
too few positions is divided into its halves again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np


def words(labels: np.ndarray, longest: int, least: int, enough: int) -> Iterator[range]:
    """Positions of words, none of which overlap; negative labels belong to none.

    :param longest: Labels of a word, at most.
    :param least: Positions of a word, at least.
    :param enough: Positions of a word that is joined from two which stay words elsewhere, at least.
    """
    word, first, halves = _joined(labels, longest, least, enough)
    counts = Counter(word)
    for k in sorted(halves, reverse=True):
        if 0 < counts[k] < least:
            for half in halves[k]:
                counts[half] += counts[k]
            counts[k] = 0
    long: dict[int, int] = {}
    for k, (left, right) in halves.items():
        long[k] = long.get(left, 1) + long.get(right, 1)
    for k, position in zip(word, first, strict=True):
        waiting = [k]
        while waiting:
            k = waiting.pop()
            if counts[k] >= least:
                if k >= 0:
                    yield range(position, position + long.get(k, 1))
            elif k in halves:
                waiting += reversed(halves[k])
                continue
            position += long.get(k, 1)


def _joined(labels: np.ndarray, longest: int, least: int, enough: int
            ) -> tuple[list[int], list[int], dict[int, tuple[int, int]]]:
    """Return the words that cover the labels, by number, their positions, and for each longer word
    the two words that it is made of.
    """
    positions = np.arange(len(labels))
    word = np.unique(np.where(labels < 0, -1 - positions, labels), return_inverse=True)[1]
    word[labels < 0] = -1 - positions[labels < 0]
    first, long = positions, np.ones(len(word), int)
    halves: dict[int, tuple[int, int]] = {}
    base = len(word)
    edge = np.array([-1])
    while len(word) > 1:
        counts = np.bincount(word[word >= 0], minlength=base)
        may = (word[:-1] >= 0) & (word[1:] >= 0) & (long[:-1] + long[1:] <= longest)
        kinds, pair, often = np.unique(
            np.where(may, word[:-1] * base + word[1:], -1), return_inverse=True, return_counts=True)
        left, right = np.divmod(kinds, base)
        vanishes = (often == counts[left]) | (often == counts[right])
        worth = (often >= np.where(vanishes, least, enough)) & (kinds >= 0)
        # a pair is joined where it is more frequent than those that overlap it
        score = np.where(worth, often * len(kinds) + np.arange(len(kinds)), -1)[pair]
        best = (score >= 0) & (score > np.append(edge, score[:-1])) & (
            score >= np.append(score[1:], edge))
        best &= (np.bincount(pair[best], minlength=len(kinds)) >= least)[pair]
        joined = np.flatnonzero(best)
        if not len(joined):
            break
        for k in np.unique(pair[joined]).tolist():
            halves[base + k] = int(left[k]), int(right[k])
        word[joined] = base + pair[joined]
        long[joined] += long[joined + 1]
        word, first, long = (np.delete(a, joined + 1) for a in (word, first, long))
        base += len(kinds)
    return word.tolist(), first.tolist(), halves
