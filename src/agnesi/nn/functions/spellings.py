"""Functions under other names of PyTorch's: in place, with indices, and older ones."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import autocasts, public
from agnesi.core.support.docstrings import kind_of
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.nn.functions.noise import rrelu
from agnesi.nn.functions.piecewise_activations import hardtanh, threshold
from agnesi.nn.functions.smooth_activations import celu, selu
from agnesi.ops.base.convert import pair
from agnesi.ops.base.movement import moveaxis
from agnesi.ops.base.select import relu
from agnesi.ops.contractions.linear import linear
from agnesi.ops.convolution import pool
from agnesi.ops.convolution.conv import conv1d
from agnesi.ops.neural.activations import elu, leaky_relu
from agnesi.ops.neural.losses import cross_entropy


def _in_place(function: Callable[..., Tensor], example: str) -> Callable[..., Tensor]:
    """The function that writes its result over its operand."""
    name = f"{function.__name__}_"
    signature = inspect.signature(function)
    rest = [p for p in list(signature.parameters.values())[1:] if p.name != "out"]
    first = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")

    @functools.wraps(function)
    def change(input: Tensor, *args: Any, **keywords: Any) -> Tensor:
        input.copy_(function(input, *args, **keywords))
        return input

    change.__name__ = change.__qualname__ = name
    change.__module__ = __name__
    change.__signature__ = signature.replace(parameters=[first, *rest])  # type: ignore[attr-defined]
    _, head, raised = inspect.cleandoc(function.__doc__ or "").partition("Raises\n")
    raises = head + raised.partition("\n\n")[0] + "\n\n" if head else ""
    rows = "".join(f"\n{p.name} : {kind_of(p)}\n    As there." for p in rest)
    change.__doc__ = f"""{function.__name__} in place: see :func:`{function.__name__}`.

Parameters
----------
input : Tensor
    Is changed.{rows}

Returns
-------
Tensor
    ``input`` itself.

{raises}See Also
--------
nn.functional.{function.__name__}

Examples
--------
>>> import agnesi as ag
>>> x = ag.tensor([-1.0, 2.0])
>>> y = ag.nn.functional.{name}(x{example})
>>> y is x
True
"""
    return public(change)


relu_, elu_, selu_, celu_ = (_in_place(f, "") for f in (relu, elu, selu, celu))
leaky_relu_, rrelu_, hardtanh_ = (_in_place(f, "") for f in (leaky_relu, rrelu, hardtanh))
threshold_ = _in_place(threshold, ", 0.0, 1.0")


#: What docstrings say of ``out``.
_OUT = r"out : .*\n(    .*\n)+"


def _with_indices(function: Any) -> Callable[..., tuple[Tensor, Tensor]]:
    """The pool that returns indices of maxima, too; of two results, so that there is no out."""
    name = f"{function.__name__}_with_indices"
    signature = inspect.signature(function)
    rest = [p for p in signature.parameters.values() if p.name != "out"]
    rank = int(function.__name__[-2])
    place = list(signature.parameters).index("return_indices")

    @functools.wraps(function)
    def pooled(*args: Any, **keywords: Any) -> tuple[Tensor, Tensor]:
        if len(args) > place:  # whatever it says
            args = (*args[:place], True, *args[place + 1:])
        else:
            keywords["return_indices"] = True
        found: tuple[Tensor, Tensor] = function(*args, **keywords)
        return found

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__module__ = __name__
    pooled.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=rest, return_annotation="tuple[Tensor, Tensor]")
    text = re.sub(_OUT, "", inspect.cleandoc(function.__doc__ or "")).partition("Examples\n")[0]
    taken, _, after = text.partition("Returns\n")
    after = "".join(after.partition("Raises\n")[1:])
    pooled.__doc__ = f"""{taken}Returns
-------
values, indices : Tensor
    The greatest elements, and of each its number in the image, in row-major order.

{after.strip()}

Examples
--------
>>> import agnesi as ag
>>> y, indices = ag.nn.functional.{name}(ag.ones((1, 1{", 4" * rank})), 2)
>>> y.shape == indices.shape
True
"""
    return public(pooled)


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    _with_indices, (pool.max_pool1d, pool.max_pool2d, pool.max_pool3d))
(adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices,
 adaptive_max_pool3d_with_indices) = map(_with_indices, (
     pool.adaptive_max_pool1d, pool.adaptive_max_pool2d, pool.adaptive_max_pool3d))


@autocasts
@public
def conv_tbc(input: TensorLike, weight: TensorLike, bias: TensorLike, pad: int = 0) -> Tensor:
    """Convolution of sequences that come as (time, batch, channels).

    :param input: (time, batch, in_channels).
    :param weight: (width, in_channels, out_channels).
    :param bias: (out_channels,).
    :param pad: Zeros before and behind.
    :returns: (time, batch, out_channels), of the steps that there are then.
    :raises ShapeError: If the sizes do not fit.
    :see: nn.functional.conv1d

    >>> x, w = ag.ones((5, 2, 3)), ag.ones((3, 3, 4))
    >>> ag.nn.functional.conv_tbc(x, w, ag.zeros(4)).shape
    (3, 2, 4)
    """
    x, w = pair(input, weight)
    if x.ndim != 3 or w.ndim != 3:
        raise ShapeError(f"input and weight must be (time, batch, channels) and (width, in, out), "
                         f"not {typed(x)} and {typed(w)}")
    found = conv1d(moveaxis(x, 0, -1), moveaxis(w, (2, 1), (0, 1)), bias, padding=pad)
    return moveaxis(found, -1, 0)


@public
def linear_cross_entropy(input: TensorLike, linear_weight: TensorLike, target: TensorLike, *,
                         linear_bias: TensorLike | None = None, weight: TensorLike | None = None,
                         reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of the scores that a linear map gives.

    :param input: (batch, features).
    :param linear_weight: (classes, features).
    :param target: Numbers of classes, (batch,), or probabilities, (batch, classes).
    :param linear_bias: (classes,).
    :param weight: Of the classes.
    :param ignore_index: A class that does not count; -100 by default.
    :param label_smoothing: Share of the target that is spread over all classes.
    :returns: A number, or (batch,).
    :see: nn.functional.cross_entropy, nn.LinearCrossEntropyLoss

    >>> ag.nn.functional.linear_cross_entropy(ag.ones((2, 3)), ag.zeros((4, 3)), [0, 1])
    tensor(1.3862...)
    """
    return cross_entropy(linear(input, linear_weight, linear_bias), target, weight,
                         reduction=reduction, label_smoothing=label_smoothing,
                         ignore_index=-100 if ignore_index is None else ignore_index)
