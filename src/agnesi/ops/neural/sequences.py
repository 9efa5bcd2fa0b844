"""Sequences of unequal lengths as one tensor, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from agnesi.core.integers import known_integer
from agnesi.core.ir.dims import is_static
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import swapaxes
from agnesi.ops.indexing.join import pad, stack


@planned
@public
def pad_sequence(sequences: Sequence[Any], batch_first: bool = False,
                 padding_value: TensorLike = 0,
                 padding_side: Literal["right", "left"] = "right", *,
                 out: Tensor | None = None) -> Tensor:
    """Sequences of unequal lengths side by side, filled up to the longest (PyTorch's).

    :param sequences: Of shapes (length, ...), equal but for the lengths; recurrent layers take
        these as ``lengths``.
    :param batch_first: Whether the result is (batch, length, ...) instead of (length, batch, ...).
    :param padding_value: What fills up.
    :type padding_value: number
    :param padding_side: Where it stands, behind or before what is there.
    :returns: (longest, sequences, ...), or (sequences, longest, ...) with ``batch_first``.
    :raises ShapeError: If there is no sequence, or they differ in more than their lengths.
    :see: nn.functional.unpad_sequence, stack, nn.RNN

    >>> words = [ag.tensor([3, 1, 4]), ag.tensor([1])]
    >>> ag.nn.functional.pad_sequence(words, batch_first=True)
    tensor([[3, 1, 4],
            [1, 0, 0]])
    """
    rows = [as_tensor(s) for s in sequences]
    if not rows or any(r.ndim == 0 or r.shape[1:] != rows[0].shape[1:] for r in rows):
        raise ShapeError(f"sequences must be (length, ...), equal behind it, not {typed(rows)}")
    lengths: Any = [r.shape[0] for r in rows]
    if not is_static(lengths):
        raise ShapeError(f"the lengths {lengths} must be known")
    most = max(lengths)
    sides = [(most - n, 0) if padding_side == "left" else (0, most - n) for n in lengths]
    filled = [pad(r, [side, *[(0, 0)] * (r.ndim - 1)], constant_values=padding_value)
              for r, side in zip(rows, sides, strict=True)]
    return stack(filled, 0 if batch_first else 1)


@public
def unpad_sequence(padded: TensorLike, lengths: Sequence[int], batch_first: bool = False
                   ) -> list[Tensor]:
    """The sequences that :func:`pad_sequence` put side by side, without what filled them up.

    :param padded: (longest, sequences, ...), or (sequences, longest, ...) with ``batch_first``.
    :param lengths: The length of each sequence.
    :type lengths: sequence of int
    :param batch_first: Whether the sequences are on axis 0 instead of axis 1.
    :returns: Of shapes (length, ...).
    :raises ShapeError: If there is not a length for each sequence.
    :see: nn.functional.pad_sequence, unstack

    >>> ag.nn.functional.unpad_sequence([[3, 1, 4], [1, 0, 0]], [3, 1], batch_first=True)
    [tensor([3, 1, 4]), tensor([1])]
    """
    padded = as_tensor(padded)
    counts = [known_integer(n, "a length") for n in lengths]
    if padded.ndim < 2 or padded.shape[not batch_first] != len(counts):
        order = "(batch, length, ...)" if batch_first else "(length, batch, ...)"
        raise ShapeError(f"{typed(padded)} must be {order} with one of the {len(counts)} lengths "
                         "for each sequence")
    rows = padded if batch_first else swapaxes(padded, 0, 1)
    return [row[:n] for row, n in zip(rows, counts, strict=True)]
