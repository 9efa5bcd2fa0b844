"""Sequences of unequal lengths: packed step by step, or filled up to one length (PyTorch's)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.api import functions as F
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.exports import shown as _shown
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.neural.sequences import pad_sequence as pad_sequence
from agnesi.ops.neural.sequences import unpad_sequence as unpad_sequence


class PackedSequence(NamedTuple):
    """Sequences by their steps: the first step of all, then the second of all that have one, ...

    Recurrent layers take and give them, as those whose ``lengths`` are told.

    Parameters
    ----------
    data : Tensor
        All steps, (sum of lengths, ...).
    batch_sizes : Tensor
        How many sequences have a first, second, ... step.
    sorted_indices : Tensor, optional
        The sequences in the order of their lengths; None where they came so.
    unsorted_indices : Tensor, optional
        The inverse of that order.

    See Also
    --------
    nn.utils.rnn.pack_padded_sequence, nn.utils.rnn.pad_packed_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    @property
    def lengths(self) -> np.ndarray:
        """The length of each sequence, in their own order."""
        sizes = np.asarray(self.batch_sizes)
        found = (np.arange(int(sizes.max(initial=0)))[:, None] < sizes).sum(1)
        return found if self.unsorted_indices is None else found[np.asarray(self.unsorted_indices)]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that brings back what a permutation has moved.

    Parameters
    ----------
    permutation : Tensor, optional
        Numbers from 0 in any order.

    Returns
    -------
    Tensor or None
        None for None.

    See Also
    --------
    nn.utils.rnn.PackedSequence

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.utils.rnn.invert_permutation(ag.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else F.argsort(as_tensor(permutation))


def _steps(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For lengths that fall: how many have each step, and the places in (batch, length)."""
    longest = int(lengths.max(initial=0))
    live = np.arange(longest)[:, None] < lengths
    step, row = np.nonzero(live)
    return live.sum(1), np.stack([step, row])


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences that are filled up to one length.

    Parameters
    ----------
    input : Tensor
        (length, batch, ...), or (batch, length, ...) with ``batch_first``.
    lengths : array_like of int
        Of each sequence, known before a compilation.
    batch_first : bool
        Whether sequences lie along the first axis.
    enforce_sorted : bool
        Whether lengths must fall; else sequences are sorted by them.

    Returns
    -------
    PackedSequence
        Without what fills up.

    Raises
    ------
    ValueError
        If lengths are not between 1 and the longest, or do not fall though they must.
    ShapeError
        If there are not as many lengths as sequences.

    See Also
    --------
    nn.utils.rnn.pad_packed_sequence, nn.utils.rnn.pack_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.tensor([[1, 2], [3, 0]])
    >>> ag.nn.utils.rnn.pack_padded_sequence(x, [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    x, counts = as_tensor(input), np.asarray(lengths)
    if x.ndim < 2 or counts.shape != (x.shape[0 if batch_first else 1],):
        raise ShapeError(at(f"pack_padded_sequence: {typed(x)} needs as many lengths as sequences, "
                            f"not {counts.shape}"))
    longest = x.shape[1 if batch_first else 0]
    if counts.size and (counts.min() < 1 or counts.max() > longest):
        raise ValueError(at(f"pack_padded_sequence: lengths lie between 1 and {longest}, not "
                            f"{counts.tolist()}"))
    order = None
    if enforce_sorted and not (np.diff(counts) <= 0).all():
        raise ValueError(at(f"pack_padded_sequence: lengths do not fall: {counts.tolist()}; "
                            "enforce_sorted=False sorts the sequences"))
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
    sizes, (step, row) = _steps(counts)
    row = row if order is None else order[row]
    data = x[row, step] if batch_first else x[step, row]
    sorting = None if order is None else as_tensor(order)
    return PackedSequence(data, as_tensor(sizes), sorting, invert_permutation(sorting))


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False,
                        padding_value: float = 0.0, total_length: int | None = None
                        ) -> tuple[Tensor, Tensor]:
    """Fill packed sequences up to one length.

    Parameters
    ----------
    sequence : PackedSequence
        The sequences.
    batch_first : bool
        Whether the result is (batch, length, ...) instead of (length, batch, ...).
    padding_value : number
        What fills up.
    total_length : int, optional
        To this length instead of the longest's.

    Returns
    -------
    padded : Tensor
        Sequences in their own order.
    lengths : Tensor
        Of each.

    Raises
    ------
    ValueError
        If a sequence is longer than ``total_length``.

    See Also
    --------
    nn.utils.rnn.pack_padded_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> padded, lengths = ag.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    >>> padded
    tensor([[1, 2],
            [3, 0]])
    """
    lengths = sequence.lengths
    longest = int(lengths.max(initial=0))
    total = longest if total_length is None else total_length
    if total < longest:
        raise ValueError(at(f"pad_packed_sequence: total_length must be at least {longest}, not "
                            f"{total}"))
    begins = np.concatenate([[0], np.cumsum(np.asarray(sequence.batch_sizes))[:-1]])
    rank = (np.arange(len(lengths)) if sequence.unsorted_indices is None
            else np.asarray(sequence.unsorted_indices))
    live = np.arange(total)[:, None] < lengths
    places = np.zeros(live.shape, np.int64)
    places[:longest] = begins[:, None] + rank
    places = np.where(live, places, 0)
    if batch_first:
        live, places = live.T, places.T
    data = sequence.data
    shown = as_tensor(live.reshape(*live.shape, *(1,) * (data.ndim - 1)))
    filler = as_tensor(np.asarray(padding_value, data.dtype))
    return F.where(shown, data[places], filler), as_tensor(lengths)


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences.

    Parameters
    ----------
    sequences : sequence of array_like
        Of shapes (length, ...).
    enforce_sorted : bool
        Whether lengths must fall; else sequences are sorted by them.

    Returns
    -------
    PackedSequence
        Of all steps.

    Raises
    ------
    ValueError
        If lengths do not fall though they must.

    See Also
    --------
    nn.utils.rnn.unpack_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [len(s) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Packed sequences as a list.

    Parameters
    ----------
    packed_sequences : PackedSequence
        The sequences.

    Returns
    -------
    list of Tensor
        In their own order, each of its length.

    See Also
    --------
    nn.utils.rnn.pack_sequence

    Examples
    --------
    >>> import agnesi as ag
    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> ag.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return [row[:n] for row, n in zip(padded, np.asarray(lengths).tolist(), strict=True)]


def __dir__() -> list[str]:
    return _shown(__name__)


_strictly(__name__)
