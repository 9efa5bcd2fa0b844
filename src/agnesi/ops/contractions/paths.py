"""In which order a product of many terms is computed: the cheapest, or nearly so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence

Labels = frozenset[Hashable]
Sizes = Mapping[Hashable, int]
#: Pairs of positions in the list of terms; the product of a pair goes to its end.
Path = list[tuple[int, int]]

#: Terms up to which every order is considered.
_MAX_EXHAUSTIVE_TERMS = 8


def cost(labels: Labels, sizes: Sizes) -> int:
    """Multiplications of a product over these labels.

    >>> from agnesi.ops.contractions.paths import cost
    >>> cost(frozenset("ijk"), {"i": 2, "j": 3, "k": 4})
    24
    """
    return math.prod(sizes[n] for n in labels)


def best_path(terms: Sequence[Labels], result: Labels, sizes: Sizes) -> Path:
    """The path of least cost for a few terms, else one found step by step.

    >>> from agnesi.ops.contractions.paths import best_path
    >>> a, b, c = frozenset("ij"), frozenset("jk"), frozenset("k")
    >>> best_path([a, b, c], frozenset("i"), {"i": 9, "j": 9, "k": 9})
    [(1, 2), (0, 1)]
    """
    few = len(terms) <= _MAX_EXHAUSTIVE_TERMS
    return optimal_path(terms, result, sizes) if few else greedy_path(terms, result, sizes)


def path_cost(path: Path, terms: Sequence[Labels], result: Labels, sizes: Sizes) -> int:
    """Multiplications along a path.

    >>> from agnesi.ops.contractions.paths import path_cost
    >>> path_cost([(0, 1)], [frozenset("ij"), frozenset("j")], frozenset("i"), {"i": 2, "j": 3})
    6
    """
    left, total = list(terms), 0
    for pair in path:
        chosen = [left[k] for k in pair]
        for k in sorted(pair, reverse=True):
            left.pop(k)
        union = frozenset().union(*chosen)
        total += cost(union, sizes)
        left.append(union & result.union(*left))
    return total


def greedy_path(terms: Sequence[Labels], result: Labels, sizes: Sizes) -> Path:
    """First the pair whose product is smallest beside its factors, and so on.

    >>> from agnesi.ops.contractions.paths import greedy_path
    >>> a, b, c = frozenset("ij"), frozenset("jk"), frozenset("k")
    >>> greedy_path([a, b, c], frozenset("i"), {"i": 9, "j": 9, "k": 9})
    [(1, 2), (0, 1)]
    """
    left, path = list(terms), []
    while len(left) > 1:
        def growth(pair: tuple[int, int]) -> tuple[int, int]:
            a, b = (left[k] for k in pair)
            rest = result.union(*(t for k, t in enumerate(left) if k not in pair))
            made = cost((a | b) & rest, sizes)
            return made - cost(a, sizes) - cost(b, sizes), cost(a | b, sizes)

        i, j = min(itertools.combinations(range(len(left)), 2), key=growth)
        b, a = left.pop(j), left.pop(i)
        left.append((a | b) & result.union(*left))
        path.append((i, j))
    return path


def optimal_path(terms: Sequence[Labels], result: Labels, sizes: Sizes) -> Path:
    """The path of least cost among all, by the best way to each set of terms.

    >>> from agnesi.ops.contractions.paths import optimal_path
    >>> a, b, c = frozenset("ij"), frozenset("jk"), frozenset("k")
    >>> optimal_path([a, b, c], frozenset("i"), {"i": 9, "j": 9, "k": 9})
    [(1, 2), (0, 1)]
    """
    n = len(terms)
    everything = (1 << n) - 1
    labels: dict[int, Labels] = {1 << i: t for i, t in enumerate(terms)}
    least = {1 << i: 0 for i in range(n)}
    halves: dict[int, tuple[int, int]] = {}
    for chosen in sorted(range(1, everything + 1), key=int.bit_count):
        if chosen in least:
            continue
        inside = [t for i, t in enumerate(terms) if chosen >> i & 1]
        outside = [t for i, t in enumerate(terms) if not chosen >> i & 1]
        labels[chosen] = frozenset().union(*inside) & result.union(*outside)
        part = (chosen - 1) & chosen
        found = None
        while part > chosen ^ part:  # each split once
            other = chosen ^ part
            total = least[part] + least[other] + cost(labels[part] | labels[other], sizes)
            if found is None or total < found:
                found, halves[chosen] = total, (part, other)
            part = (part - 1) & chosen
        least[chosen] = found or 0
    return _written(everything, halves, n)


def _written(chosen: int, halves: dict[int, tuple[int, int]], n: int) -> Path:
    """A tree of splits as pairs of positions."""
    left = [1 << i for i in range(n)]
    path: Path = []

    def join(node: int) -> None:
        if node not in halves:
            return
        a, b = halves[node]
        join(a)
        join(b)
        i, j = sorted((left.index(a), left.index(b)))
        left.pop(j)
        left.pop(i)
        left.append(node)
        path.append((i, j))

    join(chosen)
    return path
