"""Layers, losses and containers under PyTorch's older or other names."""

from __future__ import annotations

from typing import Literal

from agnesi.core.ir.dims import product
from agnesi.core.op import typed
from agnesi.core.options import Count, Share
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.norms import _LocalResponseNorm
from agnesi.nn.losses.classes import NLLLoss
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import reshape
from agnesi.ops.neural.losses import cross_entropy


def Buffer(data: TensorLike, persistent: bool = True) -> Tensor:  # noqa: N802 - a class in PyTorch
    """A tensor that a module owns and that training does not change.

    Every tensor without a gradient that is made in a module's ``__init__`` is one; this is
    PyTorch's word for it.

    :param data: Its value; shares memory with a tensor that is given.
    :param persistent: True: ``register_buffer(persistent=False)`` is for others.
    :returns: Without a gradient.
    :raises ValueError: If it is not persistent, which no tensor records.
    :see: nn.Parameter, nn.Module

    >>> ag.nn.Buffer(ag.zeros(2))
    tensor([0., 0.])
    """
    if not persistent:
        raise ValueError(at("Buffer: write self.register_buffer(name, tensor, persistent=False)"))
    return as_tensor(data).detach()


class Container(Module):
    """A module that holds other modules by name, as attributes.

    :param **modules: The modules.
    :raises TypeError: If something is no module.
    :see: nn.ModuleDict, nn.Sequential

    >>> parts = ag.nn.Container(first=ag.nn.Linear(2, 1))
    >>> [name for name, _ in parts.named_parameters()]
    ['first.weight', 'first.bias']
    """

    def __init__(self, **modules: Module) -> None:
        for name, module in modules.items():
            if not isinstance(module, Module):
                raise TypeError(at(f"Container holds modules, not {name}={typed(module)}"))
            setattr(self, name, module)


class NLLLoss2d(NLLLoss):
    """:class:`NLLLoss` of images.

    :param weight: Of the classes.
    :param ignore_index: A class that does not count.
    :type ignore_index: int or None
    :see: nn.NLLLoss

    >>> target = ag.zeros((1, 3, 3), dtype="int64")
    >>> ag.nn.NLLLoss2d()(ag.zeros((1, 2, 3, 3)), target).shape
    ()
    """


class CrossMapLRN2d(_LocalResponseNorm):
    """:class:`LocalResponseNorm` of images.

    :param size: How many channels are summed over.
    :param alpha: Factor of the mean square.
    :param beta: Power of the divisor.
    :param k: Added to it.
    :see: nn.LocalResponseNorm

    >>> ag.nn.CrossMapLRN2d(3)(ag.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(self, size: Count, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
                 ) -> None:
        super().__init__(size, alpha, beta, k)


class LinearCrossEntropyLoss(Module):
    """Cross-entropy of the scores that a linear layer of its own gives.

    Parameters
    ----------
    in_features : int
        Features of the input.
    num_classes : int
        How many classes there are.
    out_features : tuple of int
        Sizes of the target behind the batch.
    bias : bool
        Whether the layer has a bias.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses.
    weight : array_like, optional
        Of the classes.
    ignore_index : int, optional
        A class that does not count; -100 by default.
    label_smoothing : float
        Share of the target that is spread over all classes.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    linear : Linear
        The layer.

    See Also
    --------
    nn.functional.linear_cross_entropy, nn.CrossEntropyLoss

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.LinearCrossEntropyLoss(3, 4)(ag.ones((2, 3)), [0, 1]).shape
    ()
    """

    _rules = rules("num_classes out_features")

    def __init__(self, in_features: Count, num_classes: Count, *,
                 out_features: tuple[int, ...] = (), bias: bool = False,
                 reduction: Literal["mean", "sum", "none"] = "mean",
                 weight: TensorLike | None = None, ignore_index: int | None = None,
                 label_smoothing: Share = 0.0, dtype: DTypeLike = None) -> None:
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.reduction, self.label_smoothing = reduction, label_smoothing
        self.ignore_index = -100 if ignore_index is None else ignore_index
        self.weight = None if weight is None else as_tensor(weight)
        count = int(product((num_classes, *self.out_features)))
        self.linear = Linear(in_features, count, bias, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        scores = self.linear(input)
        shape = (*scores.shape[:-1], self.num_classes, *self.out_features)
        return cross_entropy(reshape(scores, shape), target, self.weight,
                             reduction=self.reduction, ignore_index=self.ignore_index,
                             label_smoothing=self.label_smoothing)

    def extra_repr(self) -> str:
        return f"{self.linear.weight.shape[1]}, {self.num_classes}"
