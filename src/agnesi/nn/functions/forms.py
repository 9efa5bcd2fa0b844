"""Functions of layers that take PyTorch's arguments in its order, where ours would differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.core.dispatch import assign
from agnesi.core.ir.dims import product
from agnesi.core.op import typed
from agnesi.core.options import NotNegative, Share
from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import at_once, planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import ensured_by
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import mean
from agnesi.ops.elementwise import explog
from agnesi.ops.indexing import join
from agnesi.ops.neural import normalize
from agnesi.ops.neural import softmax as softmaxes
from agnesi.ops.neural.normalize import moments

__all__ = ["batch_norm", "instance_norm", "log_softmax", "pad", "relu", "softmax", "softplus"]

#: What PyTorch calls the ways to fill a border.
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@planned
@public
def relu(input: TensorLike, inplace: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Each element, or 0 where it is negative; ``inplace`` writes into the operand.

    :param input: Real numbers.
    :type input: array_like
    :param inplace: Whether to write into ``input``, which is given back then.
    :returns: Of the shape and dtype of ``input``; NaN stays NaN.
    :see: nn.ReLU, nn.functional.leaky_relu, nn.functional.relu6

    >>> ag.nn.functional.relu(ag.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    found = select.relu(input) if out is None else select.relu(input, out=out)
    return assign(as_tensor(input), found) if inplace else found


@planned
@public
def softplus(input: TensorLike, beta: TensorLike = 1.0, threshold: float = 20.0, *,
             out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, without overflow.

    :param input: Real numbers.
    :param beta: How sharp the bend at 0 is.
    :type beta: float
    :param threshold: Below 20, elements stay as they are where ``beta * x`` is larger; there is no
        need for it.
    :returns: Of the shape of ``input``, floating.
    :see: nn.Softplus, nn.functional.relu

    >>> ag.nn.functional.softplus(ag.tensor([0.0, 1000.0]), beta=2.0)
    tensor([3.4657...e-01, 1.0000...e+03])
    """
    if isinstance(beta, (int, float)) and beta == 1:
        scaled, found = input, explog.softplus(input)
    else:
        scaled = arith.multiply(input, beta)
        found = arith.divide(explog.softplus(scaled), beta)
    if isinstance(threshold, (int, float)) and threshold >= 20:
        return found
    far = compare.greater(scaled, threshold)
    return select.where(far, cast(as_tensor(input), found.dtype), found)


def scores_axis(name: str, x: Any, axis: Any) -> tuple[Tensor, Any]:
    """Scores and their axis: the last one of vectors and matrices where none is named."""
    x = as_tensor(x)
    if axis is None and x.ndim > 2:
        raise TypeError(f"{name} of {typed(x)} needs dim=: PyTorch takes the first or second axis "
                        "without it, and warns; for the last one write dim=-1")
    return x, -1 if axis is None else axis


@planned
@at_once(softmaxes.softmax_of_few)
@public
def softmax(x: TensorLike, axis: Axis = None, *, dtype: DTypeLike = None, out: Tensor | None = None
            ) -> Tensor:
    """Exponentials along an axis, divided by their sum.

    :param x: Scores; integers become the default float dtype.
    :param axis: Of vectors and matrices the last one by default.
    :param dtype: What to compute in.
    :returns: Of the shape of ``x``; positive numbers that sum to 1 along the axis.
    :raises TypeError: For more than two axes without one that is named.
    :see: nn.functional.log_softmax, nn.Softmax

    >>> ag.nn.functional.softmax(ag.zeros((1, 2)), dim=1)
    tensor([[0.5, 0.5]])
    """
    x, axis = scores_axis("softmax", x, axis)
    return softmaxes.softmax(x if dtype is None else x.astype(dtype), axis)


@planned
@at_once(softmaxes.log_softmax_of_few)
@public
def log_softmax(x: TensorLike, axis: Axis = None, *, dtype: DTypeLike = None,
                out: Tensor | None = None) -> Tensor:
    """Logarithms of :func:`softmax`.

    :like: softmax
    :returns: Of the shape of ``x``; not positive.
    :see: nn.functional.softmax, nll_loss, nn.LogSoftmax

    >>> ag.nn.functional.log_softmax(ag.zeros((1, 2)), dim=1)
    tensor([[-0.6931472, -0.6931472]])
    """
    x, axis = scores_axis("log_softmax", x, axis)
    return softmaxes.log_softmax(x if dtype is None else x.astype(dtype), axis)


@planned
@public
def batch_norm(input: TensorLike, running_mean: Tensor | None = None,
               running_var: Tensor | None = None, weight: TensorLike | None = None,
               bias: TensorLike | None = None, training: bool = False, momentum: Share = 0.1,
               eps: NotNegative = 1e-5, *, out: Tensor | None = None) -> Tensor:
    """Mean 0 and variance 1 of every channel over batch and places, then ``* weight + bias``.

    :param input: (batch, channels, ...).
    :param running_mean, running_var: Mean and variance of each channel, which are used unless
        ``training``; else they move towards those of ``input``, in place.
    :type running_mean, running_var: Tensor, optional
    :param weight, bias: A number for each channel.
    :param training: Whether to use the mean and variance of ``input``; so it is without running
        ones, too.
    :param momentum: Share of ``input`` in the running mean and variance.
    :param eps: Added to the variance.
    :returns: Of the shape and dtype of ``input``.
    :raises ValueError: If there is one value for each channel, whose variance would be 0.
    :see: nn.BatchNorm2d, nn.functional.instance_norm, nn.functional.layer_norm
        nn.functional.group_norm

    >>> ag.nn.functional.batch_norm(ag.tensor([[1.0], [3.0]]), training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    x = as_tensor(input)
    if training:
        x = normalize.several(x, (0, *range(2, x.ndim)), f"{SINGLE}, or training=False")
        if has_both(running_mean, running_var):
            follow(x, running_mean, running_var, momentum)
    return normalize.batch_norm(x, running_mean, running_var, weight, bias, training, eps)


def has_both(running_mean: Any, running_var: Any) -> bool:
    """Whether there are running values, which a batch changes in place: both, or none."""
    given = {"running_mean": running_mean, "running_var": running_var}
    for name, running in given.items():
        if running is not None and not isinstance(running, Tensor):
            raise TypeError(f"{name} must be a tensor, which is changed in place, not "
                            f"{typed(running)}")
    missing = [name for name, running in given.items() if running is None]
    if len(missing) == 1:
        raise ValueError(f"give {missing[0]}, too, or none of running_mean and running_var")
    return not missing


SINGLE = "one value for each channel has no variance to divide by; give more examples"


def follow(x: Tensor, running_mean: Any, running_var: Any, share: Any,
           apart: bool = False) -> None:
    """Move the running mean and variance towards those of a batch, or the means of those of its
    images, each ``apart``."""
    axes = tuple(range(2, x.ndim)) if apart else (0, *range(2, x.ndim))
    count: Any = product([x.shape[a] for a in axes])
    if isinstance(count, int) and count == 0:  # nothing was seen
        return
    with no_grad():
        centre, variance = moments(normalize.widened(x), axes)
        unbiased = variance * (count / (count - 1)) if count != 1 else variance
        for running, new in ((running_mean, centre), (running_var, unbiased)):
            new = reshape(mean(new, 0) if apart else new, running.shape)
            move_towards(running, new, share)


def move_towards(running: Tensor, new: Tensor, share: Any) -> None:
    """Let a running value be that of a batch by a share, in place."""
    with no_grad():
        running.copy_(cast(running * (1 - share) + new * share, running.dtype))


@planned
@public
def instance_norm(input: TensorLike, running_mean: Tensor | None = None,
                  running_var: Tensor | None = None, weight: TensorLike | None = None,
                  bias: TensorLike | None = None, use_input_stats: bool = True,
                  momentum: Share = 0.1, eps: NotNegative = 1e-5, *, out: Tensor | None = None
                  ) -> Tensor:
    """Mean 0 and variance 1 of every channel of every image, then ``* weight + bias``.

    :like: batch_norm
    :param input: (batch, channels, size, ...).
    :param running_mean, running_var: Mean and variance of each channel, which are used unless
        ``use_input_stats``; else they move towards the means of those of the images, in place.
    :type running_mean, running_var: Tensor, optional
    :param use_input_stats: Whether to use mean and variance of each image; otherwise the running
        ones.
    :raises ValueError: If a channel has one value, whose variance would be 0; or without
        ``use_input_stats``, if there are no running values.
    :see: nn.InstanceNorm2d, nn.functional.batch_norm, nn.functional.group_norm

    >>> ag.nn.functional.instance_norm(ag.tensor([[[1.0, 3.0]]]), eps=0.0)
    tensor([[[-1.,  1.]]])
    """
    x = as_tensor(input)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError("without use_input_stats there must be running_mean and running_var")
        return normalize.batch_norm(x, running_mean, running_var, weight, bias, False, eps)
    if x.ndim > 2:
        x = normalize.several(
            x, range(2, x.ndim), "one value for each channel of an image has no variance "
            "to divide by; give larger images, or use_input_stats=False")
    if has_both(running_mean, running_var):
        follow(x, running_mean, running_var, momentum, apart=True)
    return normalize.instance_norm(x, weight, bias, eps)


@planned
@public
def pad(input: TensorLike, pad: Sequence[int], mode: str = "constant",
        value: TensorLike | None = None, *,
        out: Tensor | None = None) -> Tensor:
    """With a border, whose widths are given from the last axis on; negative ones cut off.

    :param input: At least as many axes as pairs of widths.
    :param pad: Before and behind the last axis, then the one before it, and so on.
    :param mode: What the border holds: ``value``, the elements mirrored at the edge (without it),
        those of the edge, or those of the other side.
    :type mode: {"constant", "reflect", "replicate", "circular"}
    :param value: What the border of mode "constant" holds; 0 by default.
    :type value: number, optional
    :returns: Of the dtype of ``input``, longer by the widths on each axis.
    :raises ShapeError: If there are not two widths for each axis.
    :raises ValueError: If there is no such mode.
    :see: nn.ConstantPad2d, nn.ReflectionPad2d

    >>> ag.nn.functional.pad(ag.tensor([[1, 2, 3]]), (1, -1))
    tensor([[0, 1, 2]])
    """
    x, widths = as_tensor(input), tuple(pad)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(f"pad must hold two widths for each axis from the last on, not {pad}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    ends = list(zip(widths[-2::-2], widths[::-2], strict=True))
    pairs = [*[(0, 0)] * (x.ndim - len(ends)), *ends]
    x = cut(x, pairs)
    borders = [(max(a, 0), max(b, 0)) for a, b in pairs]
    for (before, behind), n in zip(borders, x.shape, strict=True):
        most = max(n - (mode == "reflect"), 0) if isinstance(n, int) else math.inf
        if mode in ("reflect", "circular") and max(before, behind) > most:
            raise ShapeError(f"mode {mode!r} takes widths of {most} at most on an axis of {n}, not "
                             f"({before}, {behind}); ag.pad goes through the elements repeatedly")
    return join.pad(x, borders, MODES[mode], 0 if value is None else value)


def cut(x: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Without as many elements at the ends of axes as negative widths say."""
    if all(a >= 0 and b >= 0 for a, b in pairs):
        return x
    for (before, behind), n in zip(pairs, x.shape, strict=True):
        if isinstance(n, int) and min(before, 0) + min(behind, 0) + n < 0:
            raise ShapeError(f"widths {before} and {behind} cut off more than the axis of {n}")
        if not isinstance(n, int) and min(before, behind) < 0:
            x = ensured_by("pad", x, as_tensor(n) >= -min(before, 0) - min(behind, 0),
                           f"widths {before} and {behind} cut off more than the axis", "ShapeError")
    keys = tuple(slice(max(-a, 0), n + min(b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    return x[keys]
