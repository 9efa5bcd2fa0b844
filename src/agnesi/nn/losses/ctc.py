"""Connectionist temporal classification: a loss for sequences without alignment."""

from __future__ import annotations

from typing import Any, Literal

from agnesi.api.control.loops import scan
from agnesi.core.ir.dims import is_static
from agnesi.core.op import typed
from agnesi.core.options import Size
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import autocasts, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import filled
from agnesi.ops.base.movement import expand_dims, reshape, sized
from agnesi.ops.base.parameter_checks import demanded, of_shape
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.explog import logaddexp
from agnesi.ops.indexing.index import as_index, take, take_along_axis
from agnesi.ops.indexing.join import concat, pad, stack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.neural.losses import reduced_loss
from agnesi.ops.reductions.running import cumsum

#: The logarithm of no chance: finite, so that differences of two of them are numbers.
_LOG_ZERO = -1e30


@autocasts
@public
def ctc_loss(log_probs: TensorLike, targets: TensorLike, input_lengths: TensorLike,
             target_lengths: TensorLike, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Minus the logarithm of the chance that a sequence of scores reads as the target.

    A reading takes a label or a blank at every step; labels that follow each other without a blank
    are one (Graves et al. 2006).

    Parameters
    ----------
    log_probs : array_like
        Of shape (length, batch, labels), or (length, labels) of one sequence: logarithms of
        probabilities, as of ``ag.log_softmax``.
    targets : array_like of int
        Of shape (batch, length of the longest target), filled up with anything; or one behind the
        other, of shape (sum of the targets' lengths,).
    input_lengths, target_lengths : array_like of int
        Lengths of the sequences and of the targets, of shape (batch,); numbers for one sequence.
    blank : int
        The label that is no label.
    reduction : {"mean", "sum", "none"}
        The mean is that of each loss over its target's length.
    zero_infinity : bool
        Whether targets that cannot be read, being too long, count nothing instead of infinity.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        One number, or with "none" a loss for each sequence, of shape (batch,).

    Raises
    ------
    ShapeError, DTypeError
        If operands are of other shapes or dtypes than these.
    ValueError
        If lengths are longer than what there is, targets are no labels, or those that are one
        behind the other are not as many as their lengths say; compiled code says so too.

    See Also
    --------
    nn.CTCLoss, nll_loss, log_softmax

    Notes
    -----
    The gradient is the loss's own derivative, whatever ``log_probs`` are. PyTorch's adds
    ``exp(log_probs)``, which is right only in front of ``log_softmax``, and vanishes behind it:
    gradients of scores are the same.

    Examples
    --------
    >>> import agnesi as ag
    >>> scores = ag.log_softmax(ag.zeros((2, 1, 3)))
    >>> round(ag.exp(-ag.nn.functional.ctc_loss(scores, [[1]], [2], [1])).item(), 6)
    0.333333
    """
    log_probs, targets = as_tensor(log_probs), as_tensor(targets)
    if targets.dtype.kind not in "iu":
        raise DTypeError(f"targets must be integers, not {typed(targets)}: convert them with "
                         ".astype('int64')")
    targets = _checked(log_probs, targets, blank)
    if log_probs.ndim == 2:
        found = ctc_loss(expand_dims(log_probs, 1), targets, _of_one(input_lengths),
                         _of_one(target_lengths), blank, reduction, zero_infinity)
        return reshape(found, ())
    steps, batch, _ = log_probs.shape
    inputs = _lengths("input_lengths", input_lengths, batch, steps)
    wanted = _lengths("target_lengths", target_lengths, batch, targets.shape[-1])
    if targets.ndim == 1:
        targets = _in_rows(targets, wanted)
    places = targets.shape[1]
    wide = cast(log_probs, dtypes.float32) if log_probs.dtype in dtypes.HALVES else log_probs
    known = where(arange(places) < expand_dims(wanted, 1), targets, blank)
    labels = log_probs.shape[-1]
    (known,) = demanded("ctc_loss", f"targets must be labels, at least 0 and below {labels}",
                        lambda t: (t >= 0) & (t < labels), targets=known)
    last = _chances(wide, _with_blanks(known, blank), inputs, blank)
    ends = take_along_axis(last, stack([2 * wanted, maximum(2 * wanted - 1, 0)], 1), 1)
    total = logaddexp(ends[:, 0], where(wanted > 0, ends[:, 1], _LOG_ZERO))
    loss = where(total < _LOG_ZERO / 2, 0.0 if zero_infinity else float("inf"), -total)
    if reduction == "mean":
        loss = loss / cast(maximum(wanted, 1), loss.dtype)
    return reduced_loss(cast(loss, log_probs.dtype), reduction)


def _checked(log_probs: Tensor, targets: Tensor, blank: int) -> Tensor:
    """The targets, which fit the rest."""
    if log_probs.dtype.kind not in "fV":
        raise DTypeError(f"log_probs must be floats, not {typed(log_probs)}")
    if log_probs.ndim not in (2, 3) or targets.ndim not in (1, log_probs.ndim - 1):
        raise ShapeError("log_probs must be (length, batch, labels) and targets (batch, length) or "
                         "(sum of lengths,); or of one sequence (length, labels) and (length,), "
                         f"not {typed(log_probs)} and {typed(targets)}")
    if targets.ndim == 2:
        count, wanted = targets.shape[0], log_probs.shape[1]
        targets = of_shape("ctc_loss", targets, (wanted, targets.shape[1]),
                           f"there are {wanted} sequences of log_probs, {count} of targets")
    labels = log_probs.shape[-1]
    if isinstance(labels, int) and not 0 <= blank < labels:
        raise ValueError(f"blank={blank} is none of {labels} labels")
    return targets


def _lengths(name: str, given: Any, batch: Any, most: Any) -> Tensor:
    lengths: Any = as_index(given)
    if lengths.ndim != 1 or (is_static((lengths.shape[0], batch)) and lengths.shape[0] != batch):
        raise ShapeError(f"{name} must be ({batch},), one for each sequence, not {typed(lengths)}")
    lengths = sized(lengths, 0, batch)
    (lengths,) = demanded("ctc_loss", f"{name} must be at least 0 and at most {most}",
                          lambda n: (n >= 0) & (n <= most), lengths=lengths)
    return cast(lengths, dtypes.int64)


def _of_one(length: Any) -> Tensor:
    """The length of one sequence, as a batch of one has it."""
    found = as_index(length)
    return reshape(found, (1,)) if found.ndim == 0 else found


def _in_rows(targets: Tensor, lengths: Tensor) -> Tensor:
    """Targets that are concatenated, each in a row; lengths that are not known yet may be
    all of them."""
    total = targets.shape[0]
    longest = int(lengths.array.max(initial=0)) if is_known(lengths) else total
    (lengths,) = demanded("ctc_loss", f"target_lengths must be {total} in sum, as there are so "
                          "many targets one behind the other", lambda n: n.sum() == total,
                          lengths=lengths)
    places = arange(longest) + expand_dims(cumsum(lengths, 0) - lengths, 1)
    return take(targets, places, mode="clip")


def _with_blanks(targets: Tensor, blank: int) -> Tensor:
    """Targets with blanks around all labels."""
    batch, places = targets.shape
    pairs = reshape(stack([filled(targets.shape, blank, targets.dtype), targets], 2),
                    (batch, 2 * places))
    return concat([pairs, filled((batch, 1), blank, targets.dtype)], 1)


def _chances(log_probs: Tensor, labels: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """For each sequence the logarithms of the chances to have read so many of its labels."""
    steps, batch, _ = log_probs.shape
    width = labels.shape[1]
    said = take_along_axis(log_probs, broadcast_to(labels, (steps, batch, width)), 2)
    ahead = (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != blank)
    skips = pad(ahead, [(0, 0), (2, 0)])[:, :width]
    live = expand_dims(expand_dims(arange(steps), 1) < lengths, 2)
    none = filled((batch, width), _LOG_ZERO, log_probs.dtype)
    start = where(arange(width) == 0, 0.0, none)

    def step(chance: Tensor, row: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        before = pad(chance, [(0, 0), (2, 0)], constant_values=_LOG_ZERO)
        two = where(skips, before[:, :width], _LOG_ZERO)
        after = logaddexp(logaddexp(chance, before[:, 1: width + 1]), two) + row[0]
        return where(row[1], after, chance), None

    last: Tensor = scan(step, start, (said, live))[0]
    return last


class CTCLoss(Module):
    """Connectionist temporal classification (Graves et al., 2006).

    :param blank: The label that is no label.
    :param reduction: The mean is that of each loss over its target's length.
    :param zero_infinity: Whether targets that cannot be read, being too long, count nothing instead
        of infinity.
    :see: nn.functional.ctc_loss, nn.CrossEntropyLoss

    >>> scores = ag.log_softmax(ag.zeros((5, 2, 4)))
    >>> ag.nn.CTCLoss()(scores, ag.tensor([[1, 2], [3, 0]]), [5, 4], [2, 1]).shape
    ()
    """

    def __init__(self, blank: Size = 0, reduction: Literal["mean", "sum", "none"] = "mean",
                 zero_infinity: bool = False) -> None:
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any,
                target_lengths: Any) -> Tensor:
        return ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank,
                        self.reduction, self.zero_infinity)
