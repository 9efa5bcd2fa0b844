"""Sequences of unequal lengths: packed step by step, or filled up to one length (PyTorch's)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.api import functions as F
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.support.errors import ShapeError, TraceError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.neural.sequences import pad_sequence as pad_sequence
from agnesi.ops.neural.sequences import unpad_sequence as unpad_sequence


class _Steps(NamedTuple):
    """The parts of packed sequences."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


class PackedSequence(_Steps):
    """Sequences by their steps: the first step of all, then the second of all that have one, ...

    Recurrent layers take and return them, like padded ones with ``lengths``.

    :param data: All steps, (sum of lengths, ...).
    :type data: Tensor
    :param batch_sizes: How many sequences have a first, second, ... step.
    :type batch_sizes: Tensor
    :param sorted_indices: The sequences in the order of their lengths; None where they came so.
    :type sorted_indices: Tensor, optional
    :param unsorted_indices: The inverse of that order.
    :type unsorted_indices: Tensor, optional
    :see: nn.utils.rnn.pack_padded_sequence, nn.utils.rnn.pad_packed_sequence

    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """

    #: While a program is traced: the padded sequences, (length, batch, ...) in their own order,
    #: their lengths, and the node of the data that were made of them.
    _padded: tuple[Tensor, Any, Node | None] | None = None

    @property
    def lengths(self) -> Any:
        """The length of each sequence, in their own order: an array, computed ones as a tensor."""
        if is_tracing():
            return self._filled()[1]
        sizes = np.asarray(self.batch_sizes)
        found = (np.arange(int(sizes.max(initial=0)))[:, None] < sizes).sum(1)
        return found if self.unsorted_indices is None else found[np.asarray(self.unsorted_indices)]

    def _filled(self) -> tuple[Tensor, Any]:
        """The sequences as (length, batch, ...) in their own order, whatever is behind their
        ends, and their lengths."""
        if self._padded is not None and self._padded[2] is self.data.node:
            return self._padded[:2]
        return _spread_computed(self) if is_tracing() else _spread(self)

    def _keep(self, padded: Tensor, lengths: Any) -> None:
        """Remember in a trace what the data were made of, until they are written."""
        if is_tracing():
            self._padded = padded, lengths, self.data.node

    def _with(self, padded: Tensor, lengths: Any) -> PackedSequence:
        """Other sequences of the same lengths, (length, batch, ...) in their own order."""
        if isinstance(lengths, np.ndarray):
            return pack_padded_sequence(padded, lengths, False, self.sorted_indices is None)
        return _packed(padded, lengths, self.sorted_indices, self.unsorted_indices)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that brings back what a permutation has moved.

    :param permutation: Numbers from 0 in any order.
    :type permutation: Tensor or None
    :returns: None for None.
    :rtype: Tensor or None
    :see: nn.utils.rnn.PackedSequence

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


def _packed(x: Tensor, lengths: Tensor, order: Tensor | None, back: Tensor | None
            ) -> PackedSequence:
    """Sequences (length, batch, ...) in their own order, of computed lengths, packed."""
    rows, counts = (x, lengths) if order is None else (x[:, order], lengths[order])
    live = F.less(F.expand_dims(F.arange(x.shape[0]), 1), counts)
    sizes = F.sum(live, 1)
    found = PackedSequence(rows[live], sizes[sizes > 0], order, back)
    found._keep(x, lengths)
    return found


def _pack_computed(x: Tensor, lengths: Tensor, enforce_sorted: bool) -> PackedSequence:
    """Sequences (length, batch, ...) whose lengths a compiled program computes, packed."""
    name, longest = "pack_padded_sequence", x.shape[0]
    lengths, = demanded(name, f"lengths lie between 1 and {longest}",
                        lambda n: (n >= 1) & (n <= longest), lengths=lengths)
    if enforce_sorted:
        falling = F.all(lengths[1:] <= lengths[:-1])
        lengths = ensure(lengths, falling, f"{name}: lengths do not fall; enforce_sorted=False "
                                           "sorts the sequences")
        return _packed(x, lengths, None, None)
    order = F.argsort(-lengths, stable=True)
    return _packed(x, lengths, order, invert_permutation(order))


def pack_padded_sequence(input: Tensor, lengths: Tensor | np.ndarray | Sequence[Any],
                         batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences that are filled up to one length.

    :param input: (length, batch, ...), or (batch, length, ...) with ``batch_first``.
    :param lengths: Of each sequence. Lists are known before a compilation; those in a tensor may be
        others in each call of a compiled function.
    :type lengths: array_like of int
    :param batch_first: Whether sequences are along the first axis.
    :param enforce_sorted: Whether lengths must fall; else sequences are sorted by them.
    :returns: Without what fills up.
    :raises ValueError: If lengths are not between 1 and the longest, or do not fall though they
        must.
    :raises ShapeError: If there are not as many lengths as sequences.
    :see: nn.utils.rnn.pad_packed_sequence, nn.utils.rnn.pack_sequence

    >>> x = ag.tensor([[1, 2], [3, 0]])
    >>> ag.nn.utils.rnn.pack_padded_sequence(x, [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    x = as_tensor(input)
    computed = is_tracing() and (isinstance(lengths, Tensor)
                                 or any(isinstance(n, Tensor) for n in lengths))
    counts = as_tensor(lengths) if computed else np.asarray(lengths)
    if x.ndim < 2 or counts.shape != (x.shape[0 if batch_first else 1],):
        many = f" ({x.shape[0 if batch_first else 1]})" if x.ndim > 1 else ""
        raise ShapeError(at(f"pack_padded_sequence: {typed(x)} needs as many lengths as sequences"
                            f"{many}, not {counts.shape}"))
    x = F.swapaxes(x, 0, 1) if batch_first else x
    if not isinstance(counts, np.ndarray):
        return _pack_computed(x, counts, enforce_sorted)
    longest = x.shape[0]
    if counts.size and (counts.min() < 1 or counts.max() > longest):
        raise ValueError(at(f"pack_padded_sequence: lengths lie between 1 and {longest}, not "
                            f"{counts.tolist()}"))
    order = None
    if enforce_sorted and not (np.diff(counts) <= 0).all():
        raise ValueError(at(f"pack_padded_sequence: lengths do not fall: {counts.tolist()}; "
                            "enforce_sorted=False sorts the sequences"))
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
    sizes, (step, row) = _steps(counts if order is None else counts[order])
    data = x[step, row if order is None else order[row]]
    orders = () if order is None else (as_tensor(order), as_tensor(np.argsort(order)))
    found = PackedSequence(data, as_tensor(sizes), *orders)
    found._keep(x, counts)
    return found


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False,
                        padding_value: float = 0.0, total_length: int | None = None
                        ) -> tuple[Tensor, Tensor]:
    """Fill packed sequences up to one length.

    :param sequence: The sequences.
    :param batch_first: Whether the result is (batch, length, ...) instead of (length, batch, ...).
    :param padding_value: What fills up.
    :type padding_value: number
    :param total_length: To this length instead of the longest's.
    :returns padded: Sequences in their own order.
    :returns lengths: Of each.
    :raises ValueError: If a sequence is longer than ``total_length``.
    :see: nn.utils.rnn.pack_padded_sequence

    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> padded, lengths = ag.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    >>> padded
    tensor([[1, 2],
            [3, 0]])
    """
    x, lengths = sequence._filled()
    name, known = "pad_packed_sequence", isinstance(lengths, np.ndarray)
    if known and total_length is not None and total_length < lengths.max(initial=0):
        raise ValueError(at(f"{name}: total_length must be at least {lengths.max()}, not "
                            f"{total_length}"))
    counts = as_tensor(lengths)
    if not known and total_length is not None:
        counts, = demanded(name, f"total_length must be at least the longest, not {total_length}",
                           lambda n: n <= total_length, lengths=counts)
    elif total_length is None:
        x = x[: int(lengths.max(initial=0))] if known else x[F.arange(x.shape[0]) < F.max(counts)]
    if total_length is not None:
        short = max(total_length - x.shape[0], 0)
        x = F.pad(x, [(0, short)] + [(0, 0)] * (x.ndim - 1))[:total_length]
    live = F.less(F.expand_dims(F.arange(x.shape[0]), 1), counts)
    live = F.reshape(live, (*live.shape, *(1,) * (x.ndim - 2)))
    y = F.where(live, x, as_tensor(np.asarray(padding_value, x.dtype)))
    return F.swapaxes(y, 0, 1) if batch_first else y, counts


def _spread(packed: PackedSequence) -> tuple[Tensor, np.ndarray]:
    """Known sequences as (length, batch, ...), with any of their steps behind their ends."""
    lengths, sizes = packed.lengths, np.asarray(packed.batch_sizes)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rank = (np.arange(len(lengths)) if packed.unsorted_indices is None
            else np.asarray(packed.unsorted_indices))
    live = np.arange(len(sizes))[:, None] < lengths
    return packed.data[np.where(live, begins[:, None] + rank, 0)], lengths


def _spread_computed(packed: PackedSequence) -> tuple[Tensor, Tensor]:
    """The same of sequences whose lengths a compiled program computes."""
    sizes, back = packed.batch_sizes, packed.unsorted_indices
    batch = size_of(sizes[0]) if back is None else back.shape[0]
    live = F.less(F.arange(batch), F.expand_dims(sizes, 1))
    places = F.reshape(F.cumsum(F.ravel(live)), live.shape) - 1
    lengths = F.sum(live, 0)
    if back is not None:
        live, places, lengths = live[:, back], places[:, back], lengths[back]
    return packed.data[F.where(live, places, 0)], lengths


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences.

    :param sequences: Of shapes (length, ...).
    :param enforce_sorted: Whether lengths must fall; else sequences are sorted by them.
    :returns: Of all steps.
    :raises ValueError: If lengths do not fall though they must.
    :see: nn.utils.rnn.unpack_sequence

    >>> ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [len(s) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Packed sequences as a list.

    :param packed_sequences: The sequences.
    :returns: In their own order, each of its length.
    :raises TraceError: If a compiled program computes the lengths.
    :see: nn.utils.rnn.pack_sequence

    >>> packed = ag.nn.utils.rnn.pack_sequence([ag.tensor([1, 2]), ag.tensor([3])])
    >>> ag.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = packed_sequences._filled()
    if not isinstance(lengths, np.ndarray):
        raise TraceError(at("unpack_sequence: lengths that a compiled program computes are none of "
                            "several tensors; keep them padded, with pad_packed_sequence"))
    return [padded[:n, i] for i, n in enumerate(lengths.tolist())]


_strictly(__name__)
