"""A linear chain of tags: its likelihood, and the most probable tags (Lafferty et al., 2001)."""

from __future__ import annotations

from typing import Any

from agnesi.api.control.loops import scan
from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module, size_of
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import empty, ones
from agnesi.ops.base.movement import expand_dims, sized, squeeze, swapaxes
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.select import where
from agnesi.ops.indexing.index import gather
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.neural.softmax import logsumexp
from agnesi.ops.reductions.positions import argmax


class CRF(Module):
    """A linear-chain conditional random field over sequences of tags (Lafferty et al., 2001).

    Parameters
    ----------
    num_tags : int
        How many tags there are.
    batch_first : bool
        Whether sequences come as (batch, length, tags) instead of (length, batch, tags).
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    start_transitions, end_transitions : Tensor
        Scores of first and last tags, (tags,).
    transitions : Tensor
        Scores of a tag and the next one, (tags, tags).

    See Also
    --------
    nn.CrossEntropyLoss, nn.LSTM

    Examples
    --------
    >>> import agnesi as ag
    >>> field = ag.nn.CRF(3)
    >>> scores, tags = ag.zeros((4, 2, 3)), ag.zeros((4, 2), dtype="int64")
    >>> field(scores, tags).shape, field.decode(scores).shape
    ((), (4, 2))
    """

    _rules = rules("num_tags")

    def __init__(self, num_tags: Count, batch_first: bool = False, *, dtype: DTypeLike = None
                 ) -> None:
        self.num_tags, self.batch_first = size_of(self, num_tags, "num_tags"), batch_first

        def drawn(*shape: int) -> Tensor:
            t = empty(shape, dtype=dtype)
            t._requires_grad = True
            return init.uniform_(t, -0.1, 0.1)

        self.start_transitions, self.end_transitions = drawn(num_tags), drawn(num_tags)
        self.transitions = drawn(num_tags, num_tags)

    def forward(self, emissions: Tensor, tags: TensorLike, mask: TensorLike | None = None,
                reduction: str = "sum") -> Tensor:
        """The log-likelihood of tags.

        :param emissions: Scores of tags at each step, (length, batch, tags).
        :param tags: (length, batch).
        :type tags: array_like of int
        :param mask: Whether a step belongs to its sequence, whose first one always does.
        :type mask: array_like of bool, optional
        :param reduction: What becomes of the likelihoods of sequences.
        :type reduction: {"sum", "mean", "token_mean", "none"}
        :returns: A number, or (batch,).
        :raises ShapeError: If the shapes do not fit.
        :raises ValueError: If there is no such reduction.
        """
        if reduction not in ("sum", "mean", "token_mean", "none"):
            raise ValueError(at(f"CRF: there is no reduction {reduction!r}"))
        scores, live = self._given(emissions, mask)
        wanted = as_tensor(tags)
        wanted = swapaxes(wanted, 0, 1) if self.batch_first and wanted.ndim == 2 else wanted
        if not fits(wanted.shape, scores.shape[:2]):
            raise ShapeError(at(f"CRF: tags must be {scores.shape[:2]}, one for each step, not "
                                f"{typed(wanted)}"))
        wanted = sized(sized(wanted, 0, scores.shape[0]), 1, scores.shape[1])
        found = self._score(scores, wanted, live) - self._total(scores, live)
        if reduction == "none":
            return found
        if reduction == "token_mean":
            return sum_of(found) / cast(sum_of(live), found.dtype)
        return mean(found) if reduction == "mean" else sum_of(found)

    def _given(self, emissions: Any, mask: Any) -> tuple[Tensor, Tensor]:
        """Scores and whether steps count, the steps first."""
        scores = as_tensor(emissions)
        if scores.ndim != 3 or not fits(scores.shape[-1:], (self.num_tags,)):
            raise ShapeError(at(f"CRF: emissions must be (length, batch, {self.num_tags}), with "
                                f"batch_first (batch, length, {self.num_tags}), not "
                                f"{typed(scores)}"))
        scores = sized(scores, -1, self.num_tags)
        live = ones(scores.shape[:2], dtype=bool) if mask is None else as_tensor(mask) != 0
        if not fits(live.shape, scores.shape[:2]):
            raise ShapeError(at(f"CRF: the mask must be {scores.shape[:2]}, not {typed(live)}"))
        live = sized(sized(live, 0, scores.shape[0]), 1, scores.shape[1])
        if self.batch_first:
            return swapaxes(scores, 0, 1), swapaxes(live, 0, 1)
        return scores, live

    def _score(self, scores: Tensor, tags: Tensor, live: Tensor) -> Tensor:
        """The scores of given tags, (batch,)."""
        own = squeeze(gather(scores, 2, expand_dims(tags, 2)), 2)
        total = self.start_transitions[tags[0]] + sum_of(where(live, own, 0.0), 0)
        moves = self.transitions[tags[:-1], tags[1:]]
        total = total + sum_of(where(live[1:], moves, 0.0), 0)
        last = expand_dims(sum_of(cast(live, tags.dtype), 0) - 1, 0)
        return total + self.end_transitions[squeeze(gather(tags, 0, last), 0)]

    def _total(self, scores: Tensor, live: Tensor) -> Tensor:
        """The logarithm of the sum over all tags of what their scores are powers of, (batch,)."""
        def step(before: Tensor, row: Any) -> tuple[Tensor, None]:
            own, now = row
            ways = expand_dims(before, 2) + self.transitions + expand_dims(own, 1)
            return where(expand_dims(now, 1), logsumexp(ways, 1), before), None

        first = self.start_transitions + scores[0]
        last, _ = scan(step, first, (scores[1:], live[1:]))
        return logsumexp(last + self.end_transitions, 1)

    def decode(self, emissions: Tensor, mask: TensorLike | None = None) -> Tensor:
        """The most probable tags, by Viterbi's algorithm.

        :param emissions: Scores of tags at each step, (length, batch, tags).
        :param mask: Whether a step belongs to its sequence.
        :type mask: array_like of bool, optional
        :returns: (length, batch), int64; -1 where a step belongs to none.
        :raises ShapeError: If the shapes do not fit.
        """
        scores, live = self._given(emissions, mask)
        stay = arange(self.num_tags)

        def step(before: Tensor, row: Any) -> tuple[Tensor, Tensor]:
            own, now = row
            ways = expand_dims(before, 2) + self.transitions
            after = greatest(ways, 1) + own
            now = expand_dims(now, 1)
            return where(now, after, before), where(now, argmax(ways, 1), stay)

        last, came = scan(step, self.start_transitions + scores[0], (scores[1:], live[1:]))
        best = argmax(last + self.end_transitions, 1)

        def back(tag: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            before = squeeze(gather(row, 1, expand_dims(tag, 1)), 1)
            return before, tag

        first, behind = scan(back, best, came, reverse=True)
        tags = where(live, concat([expand_dims(first, 0), behind], 0), -1)
        return swapaxes(tags, 0, 1) if self.batch_first else tags

    def extra_repr(self) -> str:
        return f"{self.num_tags}"
