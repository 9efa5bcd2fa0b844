"""Loops of which only the end counts, in Theano's words: ``reduce``, ``foldl``, ``foldr``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.api.control.taps import scan
from agnesi.core.keywords import strict


@strict
def reduce(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
           go_backwards: bool = False) -> tuple[Any, dict[Any, Any]]:
    """Return the last carry of a :func:`symbolic.scan` over the rows of sequences; no rows are
    kept.

    Parameters
    ----------
    fn : callable
        Gets the sequences' rows, then the earlier values, then the non-sequences; returns the next
        values.
    sequences : Tensor, dict, or list of them
        Run over along their first axis.
    outputs_info : Tensor or list of Tensor
        The values before the first step.
    non_sequences : Tensor or list of Tensor
        What every step gets.
    go_backwards : bool
        Begin with the last row.

    Returns
    -------
    outputs : Tensor or list of Tensor
        The values behind the last step, each of the shape of its first one.
    updates : dict
        New values of what the steps change, for ``updates`` of ``ag.function``.

    Raises
    ------
    TypeError
        If ``fn`` returns something else than the next values.
    ValueError
        If sequences have no rows, or their sizes do not fit.

    See Also
    --------
    symbolic.foldl, symbolic.foldr, symbolic.scan

    Examples
    --------
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> total, _ = T.reduce(lambda row, so_far: so_far * 10 + row, x, outputs_info=0.0)
    >>> total.eval({x: [1.0, 2.0, 3.0]})
    array(123.)
    """
    found, updates = scan(fn, sequences, outputs_info, non_sequences, go_backwards=go_backwards)
    last = [y[-1] for y in found] if isinstance(found, list) else found[-1]
    return last, updates


@strict
def foldl(fn: Callable[..., Any], sequences: Any, outputs_info: Any,
          non_sequences: Any = None) -> tuple[Any, dict[Any, Any]]:
    """:func:`symbolic.reduce` from the first row to the last.

    Parameters
    ----------
    fn : callable
        Gets the sequences' rows, then the earlier values, then the non-sequences.
    sequences : Tensor, dict, or list of them
        Run over along their first axis.
    outputs_info : Tensor or list of Tensor
        The values before the first step.
    non_sequences : Tensor or list of Tensor
        What every step gets.

    Returns
    -------
    outputs : Tensor or list of Tensor
        The values behind the last step.
    updates : dict
        New values of what the steps change.

    Raises
    ------
    TypeError
        If ``fn`` returns something else than the next values.

    See Also
    --------
    symbolic.reduce, symbolic.foldr

    Examples
    --------
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> y, _ = T.foldl(lambda row, so_far: so_far / row, x, outputs_info=12.0)
    >>> y.eval({x: [2.0, 3.0]})
    array(2.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences)


@strict
def foldr(fn: Callable[..., Any], sequences: Any, outputs_info: Any,
          non_sequences: Any = None) -> tuple[Any, dict[Any, Any]]:
    """:func:`symbolic.reduce` from the last row to the first.

    Parameters
    ----------
    fn : callable
        Gets the sequences' rows, then the earlier values, then the non-sequences.
    sequences : Tensor, dict, or list of them
        Run over along their first axis, backwards.
    outputs_info : Tensor or list of Tensor
        The values before the first step.
    non_sequences : Tensor or list of Tensor
        What every step gets.

    Returns
    -------
    outputs : Tensor or list of Tensor
        The values behind the last step, which is the one with the first row.
    updates : dict
        New values of what the steps change.

    Raises
    ------
    TypeError
        If ``fn`` returns something else than the next values.

    See Also
    --------
    symbolic.reduce, symbolic.foldl

    Examples
    --------
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> y, _ = T.foldr(lambda row, so_far: so_far * 10 + row, x, outputs_info=0.0)
    >>> y.eval({x: [1.0, 2.0, 3.0]})
    array(321.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True)
