"""The softmax over a binary tree of words, and the tree of Huffman's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.link import Link
from agnesi.compat.chainer.variable import Variable
from agnesi.core.options import Count
from agnesi.core.support.errors import at, typed


def create_huffman_tree(word_counts: Mapping[int, int]) -> Any:
    """The binary tree in which frequent words are near the root.

    :param word_counts:
    :type word_counts: mapping of int to int
    :returns:
    :rtype: nested pairs of words
    :raises ValueError: If there are no words.

    >>> from agnesi.compat.chainer.hierarchy import create_huffman_tree
    >>> create_huffman_tree({0: 8, 1: 5, 2: 6})
    (0, (1, 2))
    """
    of_classes = ag.nn.BinaryHierarchicalSoftmax.create_huffman_tree
    return of_classes(dict(sorted(word_counts.items())))


class BinaryHierarchicalSoftmax(Link):
    """The loss of words in a binary tree: each inner node distinguishes left from right.

    A call sums minus the logarithms of the words' chances over the batch, in time that grows with
    the depth of the tree.

    :param in_size: Length of the vectors.
    :param tree: Each word is a leaf.
    :type tree: nested pairs of int
    :raises ValueError: If a node of the tree is no pair.
    """

    W: Variable
    create_huffman_tree = staticmethod(create_huffman_tree)

    def __init__(self, in_size: Count, tree: Any) -> None:
        if not isinstance(tree, tuple):
            raise TypeError(at(f"BinaryHierarchicalSoftmax: tree must be a nest of pairs of words, "
                               f"as ((0, 1), 2), not {typed(tree)}"))
        self.paths, self.codes = _leaves(tree)
        nodes = 1 + max((int(p.max()) for p in self.paths.values() if len(p)), default=0)
        super().__init__(W=(nodes, in_size))
        self.W.data[...] = np.random.uniform(-1, 1, self.W.data.shape)

    def __call__(self, x: Any, t: Any) -> Any:
        words = [int(w) for w in np.asarray(getattr(t, "data", t)).ravel()]
        missing = [w for w in words if w not in self.paths]
        if missing:
            raise ValueError(f"word {missing[0]} is no leaf of the tree, which has "
                             f"{len(self.paths)} words")
        samples = np.repeat(np.arange(len(words)), [len(self.paths[w]) for w in words])
        nodes = np.concatenate([self.paths[w] for w in words])
        signs = np.concatenate([self.codes[w] for w in words])

        def compute(x: Any, w: Any) -> Any:
            scores = ag.sum(x[samples] * w[nodes], 1)
            return ag.sum(ag.logaddexp(-signs * scores, 0.0))

        return applied("BinaryHierarchicalSoftmaxFunction", compute, x, self.W)


def _leaves(tree: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    """Inner nodes on the way to each word, and -1 or 1 for left and right at each."""
    paths: dict[int, Any] = {}
    codes: dict[int, Any] = {}
    waiting: list[Any] = [(tree, [], [])]
    number = 0
    while waiting:
        node, path, code = waiting.pop()
        if not isinstance(node, tuple):
            paths[node] = np.asarray(path, np.int32)
            codes[node] = np.asarray(code, np.float32)
            continue
        if len(node) != 2:
            raise ValueError(f"a node of the tree has {len(node)} children, not 2: {node!r}")
        left, right = node
        waiting.append((right, [*path, number], [*code, 1]))
        waiting.append((left, [*path, number], [*code, -1]))
        number += 1
    return paths, codes
