"""Words of lists of labels: what comes up again without a period."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from agnesi.rewrite.repeats import words

STEPS = [(0, 1, 2), (3, 4), (5,), (6, 7, 8, 9), (0, 6)]


def steps(count: int, seed: int = 0) -> np.ndarray:
    chosen = np.random.default_rng(seed).integers(0, len(STEPS), count)
    return np.array([label for k in chosen for label in STEPS[k]])


@pytest.mark.parametrize("longest", [2, 7, 64])
@pytest.mark.parametrize("enough", [8, 40, 10**9])
def test_words_come_up_often_and_do_not_overlap(longest, enough):
    labels = steps(2000)
    single = np.random.default_rng(1).integers(0, len(labels), 150)
    labels[single] = -1
    found = list(words(labels, longest, 8, enough))
    places = [i for word in found for i in word]
    assert len(places) == len({*places}) and max(map(len, found)) <= longest
    assert labels[places].min() >= 0
    counts = Counter(tuple(labels[i] for i in word) for word in found)
    assert min(counts.values()) >= 8
    assert len(places) > 0.95 * np.count_nonzero(labels >= 0)


def test_what_always_stands_together_is_one_word():
    """However many places another body is worth."""
    labels = np.concatenate([[*range(5), *np.random.default_rng(i).integers(100, 10**6, 3)]
                             for i in range(20)])
    assert [*words(labels, 64, 8, 10**9)] == [range(8 * i, 8 * i + 5) for i in range(20)]


def test_words_are_longer_where_they_come_up_more_often():
    labels = steps(3000, seed=2)
    calls = {enough: len([*words(labels, 64, 8, enough)]) for enough in (8, 48, 400)}
    assert calls[8] < calls[48] < calls[400] <= 3100


@pytest.mark.parametrize("labels", [[], [3], [-1], [1, 1, 1], [-1, -1, 2, 2]])
def test_short_lists_have_none(labels):
    assert list(words(np.array(labels, int), 64, 8, 48)) == []


def test_one_label_many_times():
    found = list(words(np.zeros(1000, int), 64, 8, 48))
    assert sum(map(len, found)) == 1000 and len({*map(len, found)}) <= 3
