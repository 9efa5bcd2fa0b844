"""Adam's kin: other scales of steps, and other uses of the running mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.core.options import Decay, NotNegative, NotNegativeBound
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.arith import abs as size_of
from agnesi.ops.base.arith import sign, sqrt
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.select import maximum, where
from agnesi.optim.adam import Adam, two_betas
from agnesi.optim.counts import counter
from agnesi.optim.decay import Decaying
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper


class Adamax(Adam):
    """Adam scaled by a decaying maximum of gradients (Kingma and Ba, 2015, section 7).

    :param betas: How much is kept of the running means of the gradient, and of its maximum.
    :param eps: Added to the root of the maximum.
    :param weight_decay: Multiple of the parameter that is added to its gradient.
    :raises ValueError: If a number is out of its range.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.Adam

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_words: Mapping[str, str] = {"mean": "exp_avg", "mean_square": "exp_inf"}

    def __init__(self, parameters: Parameters, lr: NotNegative = 2e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 weight_decay: NotNegative = 0.0, *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         maximize=maximize)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, largest, size, _ = rest
        g = self.slope(p, g)
        mean.add_((1 - self.beta1) * (g - mean))
        largest.copy_(maximum(self.beta2 * largest, size_of(g) + self.eps))
        p.sub_(size.astype(p.dtype) * mean / largest)


class NAdam(Adam):
    """Adam that looks ahead along the running mean (Dozat, 2016).

    :like: Adamax
    :param betas: How much is kept of the running means of gradient and squared gradient.
    :param eps: Added to the root of the mean square.
    :param momentum_decay: How fast the momentum approaches ``betas[0]``.
    :param decoupled_weight_decay: Whether decay shrinks the parameter instead.
    :see: optim.Adam, optim.RAdam

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.NAdam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.47...], requires_grad=True)
    """

    momentum_decay = Hyper()

    def __init__(self, parameters: Parameters, lr: NotNegative = 2e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 weight_decay: NotNegative = 0.0, momentum_decay: NotNegative = 4e-3,
                 decoupled_weight_decay: bool = False, *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         maximize=maximize, decoupled_weight_decay=decoupled_weight_decay)
        self.momentum_decay = momentum_decay
        self._product = wrap(np.array(1.0))

    def begin(self) -> tuple[Any, ...]:
        """Factors of the gradient and of the mean, and the root of the second correction.

        :returns: Three float64 numbers.
        """
        steps: Any = self._steps
        product: Any = self._product
        t = steps.add_(1).astype("float64")
        now, then = (self.beta1 * (1 - 0.5 * 0.96 ** (k * self.momentum_decay)) for k in (t, t + 1))
        past = product.mul_(now)
        return (self.lr * (1 - now) / (1 - past), self.lr * then / (1 - past * then),
                sqrt(1 - self.beta2**t))

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, square, own, ahead, root = rest
        g = self.slope(p, g)
        mean.add_((1 - self.beta1) * (g - mean))
        square.add_((1 - self.beta2) * (g * g - square))
        scale = sqrt(square) / root.astype(p.dtype) + self.eps
        p.sub_((own.astype(p.dtype) * g + ahead.astype(p.dtype) * mean) / scale)


class RAdam(Adam):
    """Adam whose scale begins when its variance is known (Liu et al., 2020).

    :like: NAdam
    :see: optim.Adam, optim.NAdam

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 weight_decay: NotNegative = 0.0, decoupled_weight_decay: bool = False,
                 *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         maximize=maximize, decoupled_weight_decay=decoupled_weight_decay)

    def begin(self) -> tuple[Any, ...]:
        """The step's size, its rectification (0 before it begins), the second correction's root.

        :returns: Three float64 numbers.
        """
        steps: Any = self._steps
        t = steps.add_(1).astype("float64")
        kept = self.beta2**t
        most = 2 / (1 - self.beta2) - 1
        now = most - 2 * t * kept / (1 - kept)
        known = maximum(now, 5.0)
        rectified = sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
        return (self.lr / (1 - self.beta1**t), where(now > 5, rectified, 0.0), sqrt(1 - kept))

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, square, size, rectified, root = rest
        g = self.slope(p, g)
        mean.add_((1 - self.beta1) * (g - mean))
        square.add_((1 - self.beta2) * (g * g - square))
        rectified = rectified.astype(p.dtype)
        scaled = rectified * root.astype(p.dtype) / (sqrt(square) + self.eps)
        p.sub_(size.astype(p.dtype) * mean * where(rectified > 0, scaled, 1.0))


class Lamb(Adam):
    """LAMB: Adam's steps in proportion to each parameter's norm (You et al., 2020).

    :like: NAdam
    :param weight_decay: Multiple of the parameter that is added to the step's direction.
    :see: optim.Adam, optim.Lion

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Lamb([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-6,
                 weight_decay: NotNegative = 0.0, *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         maximize=maximize)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, square, size, root = rest
        g = -g if self.maximize else g
        mean.add_((1 - self.beta1) * (g - mean))
        square.add_((1 - self.beta2) * (g * g - square))
        first = (size / self.lr).astype(p.dtype)
        step = first * mean / (sqrt(square) / root.astype(p.dtype) + self.eps)
        if self.decays:
            step = step + self.weight_decay * p
        long, far = sqrt(sum_of(p * p)), sqrt(sum_of(step * step))
        known = (long > 0) & (far > 0)
        p.sub_(self.lr * where(known, long / where(known, far, 1.0), 1.0) * step)


class Lion(Decaying):
    """Lion: steps along the sign of a running mean (Chen et al., 2023).

    :param betas: How much of the mean enters the step, and how much is kept of it.
    :param weight_decay: Share of ``lr`` by which parameters shrink in a step.
    :raises ValueError: If a number is out of its range.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.AdamW, optim.Lamb

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Lion([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_names = ("mean",)
    beta1, beta2 = Hyper(below=1.0), Hyper(below=1.0)

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-4,
                 betas: tuple[Decay, Decay] = (0.9, 0.99), weight_decay: NotNegative = 0.0,
                 *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize,
                         decoupled=True)
        self.beta1, self.beta2 = two_betas(self, betas)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        (mean,) = rest
        g = self.slope(p, g)
        p.sub_(self.lr * sign(self.beta1 * mean + (1 - self.beta1) * g))
        mean.add_((1 - self.beta2) * (g - mean))


class ASGD(Decaying):
    """Gradient descent whose iterates are averaged (Polyak and Juditsky, 1992).

    :like: Adamax
    :param lambd: Decay of the parameters, which lowers the rate as well.
    :param alpha: Power of the rate's decay.
    :param t0: Steps before averaging begins; the means are ``slots["average"]``.
    :see: optim.SGD

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.ASGD([w], lr=0.25, lambd=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    slot_names = ("average",)
    slot_words: Mapping[str, str] = {"average": "ax"}

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-2, lambd: NotNegative = 1e-4,
                 alpha: float = 0.75, t0: NotNegativeBound = 1e6, weight_decay: NotNegative = 0.0,
                 *, maximize: bool = False) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        self.lambd, self.alpha, self.t0 = float(lambd), float(alpha), float(t0)
        self._steps = wrap(np.array(0))
        self._eta = wrap(np.array(math.nan))  # as each step leaves it for the next

    def begin(self) -> tuple[Any, ...]:
        """The rate of this step, and the share of the new iterate in the mean.

        :returns: Two float64 numbers.
        """
        steps: Any = self._steps
        done = (steps.add_(1) - 1).astype("float64")
        eta: Any = self._eta
        rate = where(eta != eta, self._decayed(done), eta)
        eta.copy_(self._decayed(done + 1))
        return rate, 1.0 / maximum(1.0, done - self.t0)

    def derived(self, i: int) -> dict[str, Tensor]:
        done: Any = counter(self, "steps", i)
        return {"mu": 1.0 / maximum(1.0, done.astype("float64") - self.t0)}

    def _decayed(self, steps: Any) -> Any:
        return self.lr / (1 + self.lambd * self.lr * steps) ** self.alpha

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        average, rate, share = rest
        rate = rate.astype(p.dtype)
        g = self.slope(p, g)
        p.mul_(1 - self.lambd * rate)
        p.sub_(rate * g)
        average.add_(share.astype(p.dtype) * (p - average))
