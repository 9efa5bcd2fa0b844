"""Loops of which only the end counts, in Theano's words: ``reduce``, ``foldl``, ``foldr``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from agnesi.api.control.taps import looped
from agnesi.core.keywords import strict
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor


@strict
def reduce(fn: Callable[..., Any], sequences: Tensor | Mapping[str, Any] | Sequence[Any],
           outputs_info: TensorLike, non_sequences: TensorLike | None = None,
           go_backwards: bool = False) -> tuple[Any, dict[Any, Any]]:
    """Return the last carry of a :func:`symbolic.scan` over the rows of sequences; no rows are
    kept.

    :param fn: Gets the sequences' rows, then the earlier values, then the non-sequences; returns
        the next values.
    :param sequences: Run over along their first axis.
    :type sequences: Tensor, dict, or list of them
    :param outputs_info: The values before the first step.
    :type outputs_info: Tensor or list of Tensor
    :param non_sequences: What every step gets.
    :type non_sequences: Tensor or list of Tensor
    :param go_backwards: Begin with the last row.
    :returns outputs: The values behind the last step, each of the shape of its first one; where
        there are no rows, what the loop begins with.
    :rtype: Tensor or list of Tensor
    :returns updates: New values of what the steps change, for ``updates`` of ``ag.function``.
    :rtype: dict
    :raises TypeError: If ``fn`` returns something else than the next values.
    :raises ValueError: If the sizes of sequences do not fit.
    :raises IndexError: If sequences have no rows, and an output begins with nothing.
    :see: symbolic.foldl, symbolic.foldr, symbolic.scan

    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> total, _ = T.reduce(lambda row, so_far: so_far * 10 + row, x, outputs_info=0.0)
    >>> total.eval({x: [1.0, 2.0, 3.0]})
    array(123.)
    """
    last, rows, updates = looped(fn, sequences, outputs_info, non_sequences,
                                 go_backwards=go_backwards)
    found = [y[-1] if end is None else end for end, y in zip_longest(last, rows)]
    return (found[0] if len(found) == 1 else found), updates


@strict
def foldl(fn: Callable[..., Any], sequences: Tensor | Mapping[str, Any] | Sequence[Any],
          outputs_info: TensorLike, non_sequences: TensorLike | None = None
          ) -> tuple[Any, dict[Any, Any]]:
    """:func:`symbolic.reduce` from the first row to the last.

    :param fn: Gets the sequences' rows, then the earlier values, then the non-sequences.
    :param sequences: Run over along their first axis.
    :type sequences: Tensor, dict, or list of them
    :param outputs_info: The values before the first step.
    :type outputs_info: Tensor or list of Tensor
    :param non_sequences: What every step gets.
    :type non_sequences: Tensor or list of Tensor
    :returns outputs: The values behind the last step.
    :rtype: Tensor or list of Tensor
    :returns updates: New values of what the steps change.
    :rtype: dict
    :raises TypeError: If ``fn`` returns something else than the next values.
    :see: symbolic.reduce, symbolic.foldr

    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> y, _ = T.foldl(lambda row, so_far: so_far / row, x, outputs_info=12.0)
    >>> y.eval({x: [2.0, 3.0]})
    array(2.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences)


@strict
def foldr(fn: Callable[..., Any], sequences: Tensor | Mapping[str, Any] | Sequence[Any],
          outputs_info: TensorLike, non_sequences: TensorLike | None = None
          ) -> tuple[Any, dict[Any, Any]]:
    """:func:`symbolic.reduce` from the last row to the first.

    :like: foldl
    :param sequences: Run over along their first axis, backwards.
    :type sequences: Tensor, dict, or list of them
    :returns outputs: The values behind the last step, which is the one with the first row.
    :rtype: Tensor or list of Tensor
    :see: symbolic.reduce, symbolic.foldl

    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> y, _ = T.foldr(lambda row, so_far: so_far * 10 + row, x, outputs_info=0.0)
    >>> y.eval({x: [1.0, 2.0, 3.0]})
    array(321.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True)
