"""Steps scaled by the size of earlier gradients: AdaGrad, AdaDelta, RMSprop, Rprop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.core.options import NotNegative, Positive, Share
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import sign, sqrt
from agnesi.ops.base.select import clip, where
from agnesi.ops.sparse.coordinates import COO
from agnesi.optim.decay import Counting, Decaying
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper


def _fill(slot: Tensor, value: float) -> None:
    """Let a slot begin with a number; both parts of a complex one."""
    slot.array.fill(complex(value, value) if slot.dtype.kind == "c" else value)


class Adagrad(Decaying):
    """AdaGrad: steps scaled by the root of the sum of squared gradients (Duchi et al., 2011).

    :param lr_decay: The rate of step t is ``lr / (1 + (t - 1) * lr_decay)``.
    :param weight_decay: Multiple of the parameter that is added to its gradient.
    :param initial_accumulator_value: What the sums begin with.
    :param eps: Added to the root.
    :raises ValueError: If a number is out of its range.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.Adadelta, optim.RMSprop

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adagrad([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_names = ("total",)
    slot_words: Mapping[str, str] = {"total": "sum"}
    lr_decay, eps = Hyper(), Hyper()

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-2, lr_decay: NotNegative = 0.0,
                 weight_decay: NotNegative = 0.0, initial_accumulator_value: NotNegative = 0.0,
                 eps: NotNegative = 1e-10, *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        if initial_accumulator_value < 0:
            raise ValueError(at("Adagrad: initial_accumulator_value must be at least 0, not "
                                f"{initial_accumulator_value}"))
        self.lr_decay, self.eps = lr_decay, eps
        self._steps = wrap(np.array(0))
        for total in self.own_slots["total"]:
            _fill(total, initial_accumulator_value)

    def begin(self) -> tuple[Any, ...]:
        """The rate of this step.

        :returns: A float64 number.
        """
        steps: Any = self._steps
        return (self.lr / (1 + (steps.add_(1) - 1).astype("float64") * self.lr_decay),)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        total, rate = rest
        g = self.slope(p, g)
        total.add_(g * g)
        p.sub_(rate.astype(p.dtype) * g / (sqrt(total) + self.eps))

    def update_rows(self, p: Any, g: COO, *rest: Any) -> None:
        total, rate = rest
        rows, slopes = self.row_slopes(g)
        sums = total[rows] + slopes * slopes
        total[rows] = sums
        p[rows] = p[rows] - rate.astype(p.dtype) * slopes / (sqrt(sums) + self.eps)


class Adadelta(Counting):
    """AdaDelta: steps in the ratio of running means of steps and gradients (Zeiler, 2012).

    :like: Adagrad
    :param rho: How much is kept of the running means.
    :param eps: Added under the roots.
    :see: optim.Adagrad, optim.RMSprop

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adadelta([w], lr=100.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.6837...], requires_grad=True)
    """

    slot_names = ("mean_square", "mean_step")
    slot_words: Mapping[str, str] = {"mean_square": "square_avg", "mean_step": "acc_delta"}
    rho, eps = Hyper(below=1.0), Hyper()

    def __init__(self, parameters: Parameters, lr: NotNegative = 1.0, rho: Share = 0.9,
                 eps: NotNegative = 1e-6, weight_decay: NotNegative = 0.0, *, maximize: bool = False
                 ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        self.rho, self.eps = rho, eps

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        square, steps = rest
        g = self.slope(p, g)
        square.add_((1 - self.rho) * (g * g - square))
        step = sqrt(steps + self.eps) / sqrt(square + self.eps) * g
        steps.add_((1 - self.rho) * (step * step - steps))
        p.sub_(self.lr * step)


class RMSprop(Counting):
    """RMSprop: steps scaled by the running root mean square of gradients (Hinton, 2012).

    :like: Adagrad
    :param alpha: How much is kept of the running mean of squares.
    :param momentum: Share of the last step's direction that is kept.
    :param centered: Whether the mean gradient is taken off: the root is then a standard deviation.
    :see: optim.Adagrad, optim.Adam

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.RMSprop([w], lr=0.05)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_words: Mapping[str, str] = {"mean_square": "square_avg", "mean": "grad_avg",
                                     "momentum": "momentum_buffer"}
    alpha, eps = Hyper(below=1.0), Hyper()
    momentum = Hyper(optional=True)
    optional_slots = ("momentum",)

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-2, alpha: float = 0.99,
                 eps: NotNegative = 1e-8, weight_decay: NotNegative = 0.0,
                 momentum: NotNegative = 0.0, centered: bool = False, *, maximize: bool = False
                 ) -> None:
        self.slot_names = ("mean_square", *(("mean",) if centered else ()))
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        self.alpha, self.eps, self.momentum = alpha, eps, momentum
        self.centered = centered

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        square, *others = rest
        g = self.slope(p, g)
        square.add_((1 - self.alpha) * (g * g - square))
        if self.centered:
            mean = others.pop(0)
            mean.add_((1 - self.alpha) * (g - mean))
            square = square - mean * mean
        step = g / (sqrt(square) + self.eps)
        if "momentum" in self.terms:
            v = others[0]
            step = v.mul_(self.momentum).add_(step)
        p.sub_(self.lr * step)


class Rprop(Counting):
    """Rprop: steps whose sizes follow the signs of gradients (Riedmiller and Braun, 1993).

    :param etas: Factors of a step's size where the sign has changed, and where it has not.
    :type etas: tuple of float
    :param step_sizes: The smallest and the largest step.
    :type step_sizes: tuple of float
    :raises ValueError: If a number is out of its range.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.SGD

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Rprop([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_names = ("before", "size")
    slot_words: Mapping[str, str] = {"before": "prev", "size": "step_size"}

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-2,
                 etas: tuple[Positive, Positive] = (0.5, 1.2),
                 step_sizes: tuple[Positive, Positive] = (1e-6, 50.0), *, maximize: bool = False
                 ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(at(f"Rprop: etas must be below and above 1, not {etas}"))
        super().__init__(parameters, lr, maximize=maximize)
        self.etas, self.step_sizes = tuple(etas), tuple(step_sizes)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        before, size = rest
        g = self.slope(p, g)
        turned = sign(g * before)
        less, more = self.etas
        begun = where(size > 0, size, self.lr)  # none is 0 behind the first step
        moved = where(turned > 0, begun * more, where(turned < 0, begun * less, begun))
        least, most = self.step_sizes
        size.copy_(clip(moved, least, most))
        g = where(turned < 0, 0.0, g)
        p.sub_(sign(g) * size)
        before.copy_(g)
