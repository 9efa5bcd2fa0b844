"""Softmax over many classes at less cost: in clusters by frequency, or along a binary tree."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from agnesi.api import functions as F
from agnesi.core.op import typed
from agnesi.core.options import Count, Positive
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn import init
from agnesi.nn.base.containers import ModuleList
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module
from agnesi.nn.functional import log_softmax, softplus
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.sequential import Sequential
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import empty
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.gather.gather_scatter import checked_within


class LossAndOutput(NamedTuple):
    """The result of :class:`AdaptiveLogSoftmaxWithLoss`.

    :param output: The log-probability of each target.
    :param loss: The mean of its negative.
    :see: nn.AdaptiveLogSoftmaxWithLoss

    >>> import agnesi as ag
    >>> layer = ag.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5])
    >>> output, loss = layer(ag.ones((3, 4)), [0, 4, 9])
    >>> output.shape, loss.shape
    ((3,), ())
    """

    output: Tensor
    loss: Tensor


def _rows(layer: Module, x: Any, target: Any, features: int) -> tuple[Tensor, Tensor]:
    """An input and its targets as (batch, features) and (batch,)."""
    x, target, name = as_tensor(x), as_tensor(target), type(layer).__name__
    if target.dtype.kind not in "iu":
        raise DTypeError(at(f"{name}: targets must be integers, not {typed(target)}"))
    text = (f"the input must be (batch, {features}) with targets (batch,), or ({features},) with "
            f"one target, not {typed(x)} with {typed(target)}")
    wanted = (*target.shape, features)
    if target.ndim > 1 or not fits(x.shape, wanted):
        raise ShapeError(at(f"{name}: {text}"))
    x = ensured_sizes(name, x, x.shape, wanted, text)
    return (x, target) if target.ndim else (x[None], target[None])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax in clusters: frequent classes first, rare ones with fewer features.

    Classes are numbered from the most frequent on (Grave et al., 2017).

    Parameters
    ----------
    in_features : int
        Features of the input.
    n_classes : int
        How many classes there are.
    cutoffs : sequence of int
        Where clusters begin behind the first one.
    div_value : float
        How many times fewer features each cluster has than the one before.
    head_bias : bool
        Whether the first cluster has a bias.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    head, tail : Module
        The first cluster with a score for each other one, and the others.

    Raises
    ------
    ValueError
        If the cutoffs do not rise between 0 and ``n_classes``.

    See Also
    --------
    nn.CrossEntropyLoss, nn.BinaryHierarchicalSoftmax

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5])
    >>> layer(ag.ones((3, 4)), [0, 4, 9]).output.shape
    (3,)
    >>> float(ag.exp(layer.log_prob(ag.ones((1, 4)))).sum().round(4))
    1.0
    """

    _rules = rules("in_features n_classes cutoffs div_value")

    def __init__(self, in_features: Count, n_classes: Count, cutoffs: Sequence[Count],
                 div_value: Positive = 4.0, head_bias: bool = False, *, dtype: DTypeLike = None
                 ) -> None:
        cuts = [int(c) for c in cutoffs]
        if not cuts or cuts != sorted(set(cuts)) or cuts[0] <= 0 or cuts[-1] >= n_classes:
            raise ValueError(at("AdaptiveLogSoftmaxWithLoss: cutoffs must rise between 1 and "
                                f"n_classes - 1 = {n_classes - 1}, not {cuts}"))
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value = [*cuts, n_classes], div_value
        self.shortlist_size, self.n_clusters = cuts[0], len(cuts)
        self.head = Linear(in_features, cuts[0] + len(cuts), head_bias, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False), 1):
            size = max(1, int(in_features // div_value**i))
            self.tail.append(Sequential(
                Linear(in_features, size, False, dtype=dtype),
                Linear(size, high - low, False, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draw new initial values for the parameters of its layers, in place."""
        for layer in (self.head, *(inner for pair in self.tail for inner in pair)):
            layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> LossAndOutput:
        x, wanted = _rows(self, input, target, self.in_features)
        wanted = checked_within(wanted, self.n_classes, "a label", type(self).__name__)
        head = log_softmax(self.head(x), 1)
        place = wanted
        inner: Any = 0
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            here = (wanted >= low) & (wanted < high)
            place = F.where(here, self.shortlist_size + i, place)
            own = F.clip(wanted - low, 0, high - low - 1)
            inside = F.gather(log_softmax(self.tail[i](x), 1), 1, F.expand_dims(own, 1))
            inner = inner + F.where(here, F.squeeze(inside, 1), 0.0)
        output = F.squeeze(F.gather(head, 1, F.expand_dims(place, 1)), 1) + inner
        loss = -F.mean(output)
        return LossAndOutput(output if as_tensor(target).ndim else output[0], loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes.

        :param input: (batch, features).
        :returns: (batch, classes).
        """
        head = log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, part in enumerate(self.tail):
            own = head[:, self.shortlist_size + i: self.shortlist_size + i + 1]
            parts.append(log_softmax(part(input), 1) + own)
        return F.concatenate(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row.

        :param input: (batch, features).
        :returns: (batch,), int64.
        """
        return F.argmax(self.log_prob(input), 1)


class BinaryHierarchicalSoftmax(Module):
    """Loss of classes at a binary tree's leaves, a product for each level (Morin and Bengio, 2005).

    The probability of a leaf is a product of ``sigmoid(b * (x @ w))`` over the inner nodes above
    it, with b = -1 to the left and 1 to the right (Chainer's).

    Parameters
    ----------
    in_size : int
        Features of the input.
    tree : nest of tuples of int
        A leaf is the number of a class, an inner node a pair; :meth:`create_huffman_tree` makes
        one from counts.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of a batch.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        A row for each inner node, (leaves - 1, in_size).

    Raises
    ------
    ValueError
        If a node has not two children, or a class is missing or there twice.

    See Also
    --------
    nn.AdaptiveLogSoftmaxWithLoss, nn.CrossEntropyLoss

    Examples
    --------
    >>> import agnesi as ag
    >>> tree = ag.nn.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 2, 2: 1})
    >>> tree
    ((2, 1), 0)
    >>> ag.nn.BinaryHierarchicalSoftmax(4, tree)(ag.ones((2, 4)), [0, 2]).shape
    ()
    """

    _rules = rules("in_size")

    def __init__(self, in_size: Count, tree: object,
                 reduction: Literal["mean", "sum", "none"] = "mean", *, dtype: DTypeLike = None
                 ) -> None:
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(at(f"BinaryHierarchicalSoftmax: there is no reduction {reduction!r}"))
        self.in_size, self.reduction = in_size, reduction
        nodes, signs = _paths(tree)
        weight = empty((int(nodes.max(initial=0)) + 1, in_size), dtype=dtype)
        weight._requires_grad = True
        self.weight = init.uniform_(weight, -1, 1)
        self.n_classes = len(nodes)
        self.nodes: Tensor
        self.signs: Tensor
        self.register_buffer("nodes", wrap(nodes), persistent=False)
        self.register_buffer("signs", wrap(signs), persistent=False)

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[int, float]) -> Any:
        """The tree in which frequent classes are near the root (Huffman, 1952).

        :param word_counts: How often each class is there.
        :type word_counts: mapping of int to number
        :returns: For :class:`BinaryHierarchicalSoftmax`.
        :rtype: nest of tuples
        :raises ValueError: If there is no class.
        """
        if not word_counts:
            raise ValueError(at("create_huffman_tree: there are no classes"))
        heap: list[tuple[float, int, Any]] = [
            (count, i, leaf) for i, (leaf, count) in enumerate(word_counts.items())]
        heapq.heapify(heap)
        number = len(heap)
        while len(heap) > 1:
            one, two = heapq.heappop(heap), heapq.heappop(heap)
            heapq.heappush(heap, (one[0] + two[0], number, (one[2], two[2])))
            number += 1
        return heap[0][2]

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        rows, wanted = _rows(self, x, target, self.in_size)
        wanted = checked_within(wanted, self.n_classes, "a label", type(self).__name__)
        nodes, signs = self.nodes[wanted], self.signs[wanted]
        scores = F.squeeze(F.matmul(self.weight[nodes], F.expand_dims(rows, -1)), -1)
        lost = F.where(signs == 0, 0.0, softplus(-(F.astype(signs, scores.dtype) * scores)))
        losses = F.sum(lost, 1)
        if self.reduction == "none":
            return losses if as_tensor(target).ndim else losses[0]
        return F.mean(losses) if self.reduction == "mean" else F.sum(losses)

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-probabilities of all classes; as many products as there are classes.

        :param x: (batch, in_size).
        :returns: (batch, classes).
        """
        scores = F.matmul(x, F.swapaxes(self.weight, 0, 1))[:, self.nodes]
        signs = F.astype(self.signs, scores.dtype)
        return -F.sum(F.where(signs == 0, 0.0, softplus(-(signs * scores))), 2)

    def extra_repr(self) -> str:
        return f"{self.in_size}, {self.n_classes} classes, at most {self.nodes.shape[1]} deep"


def _paths(tree: Any) -> tuple[np.ndarray, np.ndarray]:
    """For each leaf the inner nodes above it, from the root on, and the sides; 0 behind the end."""
    above: list[int] = []  # of each inner node the one above it, its side there, and how deep it is
    sides: list[int] = []
    depths: list[int] = []
    leaves: dict[int, tuple[int, int]] = {}
    stack: list[tuple[Any, int, int, int]] = [(tree, -1, 0, 0)]
    while stack:
        node, parent, side, depth = stack.pop()
        if not isinstance(node, (tuple, list)):
            if int(node) in leaves:
                raise ValueError(at(f"BinaryHierarchicalSoftmax: class {node} is there twice"))
            leaves[int(node)] = parent, side
            continue
        if len(node) != 2:
            raise ValueError(at(f"BinaryHierarchicalSoftmax: a node has two children, not "
                                f"{len(node)}: {str(node)[:60]}"))
        for child, place in zip(node, (-1, 1), strict=True):
            stack.append((child, len(above), place, depth + 1))
        above.append(parent)
        sides.append(side)
        depths.append(depth)
    if sorted(leaves) != list(range(len(leaves))):
        raise ValueError(at("BinaryHierarchicalSoftmax: classes are numbered from 0 to "
                            f"{len(leaves) - 1}, and not otherwise"))
    return _climbed(np.array(above, np.int64), np.array(sides, np.int64),
                    np.array(depths, np.int64), np.array([leaves[i] for i in range(len(leaves))]))


def _climbed(above: np.ndarray, sides: np.ndarray, depths: np.ndarray, leaves: np.ndarray
             ) -> tuple[np.ndarray, np.ndarray]:
    """The ways from all leaves to the root, step by step."""
    node, side = leaves[:, 0], leaves[:, 1]
    deep = int(depths.max(initial=-1)) + 1
    nodes = np.zeros((len(leaves), deep), np.int64)
    signs = np.zeros((len(leaves), deep), np.int8)
    rows = np.flatnonzero(node >= 0)
    while len(rows):
        at_hand = node[rows]
        nodes[rows, depths[at_hand]], signs[rows, depths[at_hand]] = at_hand, side[rows]
        node[rows], side[rows] = above[at_hand], sides[at_hand]
        rows = rows[node[rows] >= 0]
    return nodes, signs
