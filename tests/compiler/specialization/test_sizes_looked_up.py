"""Sizes that change, used as what they are eagerly: keys, classes and hashes."""

from __future__ import annotations

import collections
import functools
import numbers

import pytest

import agnesi as ag


def shapes_as_keys():
    known = {}
    return lambda x: x * known.setdefault(x.shape, len(known) + 1)


def sizes_as_keys():
    return lambda x: x * {3: 10, 5: 20}.get(x.shape[0], 1)


def sizes_in_sets():
    seen = set()

    def function(x):
        seen.add(x.shape[0])
        return x * len(seen), x.shape[0] in frozenset((3, 5)), x.shape in [(3,), (4,)]

    return function


def counted():
    count = collections.Counter()

    def function(x):
        count.update([x.shape])
        return x * count[x.shape], sum(count.values())

    return function


def hashes():
    return lambda x: (x * (hash(x.shape) % 7), x * (hash(x.shape[0]) % 3))


def classes():
    def function(x):
        n = x.shape[0]
        match n:
            case int():
                y = x * 2
            case _:
                y = -x
        return (y, isinstance(n, int), isinstance(n, (float, str)), isinstance(n, numbers.Integral),
                type(n).__name__, issubclass(type(n), int))

    return function


def remembered():
    @functools.lru_cache
    def mask(n):
        return ag.arange(n) * n

    return lambda x: x * mask(x.shape[0])


def quotients():
    def function(x):
        n = x.shape[0] / 2
        return (n, [0.5 + x.shape[0], x.shape[0] ** 0.5], isinstance(n, float), max(n, 1.2),
                type(x.shape[0] * 0.5).__name__, f"{n:.2f}", n > 1.2, {1.5: 2}.get(n), x * n)

    return function


@pytest.mark.parametrize("make", [
    shapes_as_keys, sizes_as_keys, sizes_in_sets, counted, hashes, classes, remembered, quotients])
def test_sizes_are_looked_up_as_eagerly(make):
    """A version for several sizes took them for keys that are nowhere, and for no numbers."""
    function, run = make(), ag.jit(make())
    for n in (3, 5, 4, 3, 6, 5):
        x = ag.arange(1.0, n + 1)
        assert repr(run(x)) == repr(function(x))
