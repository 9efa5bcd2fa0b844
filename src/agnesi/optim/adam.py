"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.options import Decay, NotNegative
from agnesi.core.support.errors import at
from agnesi.core.tensor import wrap
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.select import maximum
from agnesi.optim.decay import Decaying
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper


def two_betas(optimizer: Any, betas: Any) -> tuple[float, float]:
    """The two numbers, checked."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        name = type(optimizer).__name__
        raise ValueError(at(f"{name}: betas must be two numbers, not {betas!r}"))
    return betas[0], betas[1]


class Adam(Decaying):
    """Adam (Kingma and Ba, 2015).

    :param betas: How much is kept of the running means of gradient and squared gradient.
    :param eps: Added to the root of the mean square.
    :param weight_decay: Multiple of the parameter that is added to its gradient.
    :param amsgrad: Whether steps are scaled by the largest mean square so far (Reddi et al., 2018).
    :param decoupled_weight_decay: Whether decay shrinks the parameter instead, as in
        :class:`AdamW`.
    :raises ValueError: If ``betas`` are not two numbers.
    :raises TypeError: If a parameter is no tensor that requires grad.
    :see: optim.AdamW, optim.SGD, optim.lr_scheduler.CosineAnnealingLR

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5...], requires_grad=True)
    """

    beta1 = Hyper(below=1.0)
    beta2 = Hyper(below=1.0)
    eps = Hyper()

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 weight_decay: NotNegative = 0.0, amsgrad: bool = False, *, maximize: bool = False,
                 decoupled_weight_decay: bool = False) -> None:
        self.slot_names = ("mean", "mean_square", *(("largest",) if amsgrad else ()))
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize,
                         decoupled=decoupled_weight_decay)
        self.beta1, self.beta2 = two_betas(self, betas)
        self.eps, self.amsgrad = eps, amsgrad
        self._steps = wrap(np.array(0))

    def begin(self) -> tuple[Any, ...]:
        """The step's size and the root of the second mean's correction, in double precision.

        :returns: Two float64 numbers.
        """
        steps: Any = self._steps
        t = steps.add_(1).astype("float64")
        return self.lr / (1 - self.beta1**t), sqrt(1 - self.beta2**t)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        mean, square, *largest, size, root = rest
        g = self.slope(p, g)
        mean.add_((1 - self.beta1) * (g - mean))
        square.add_((1 - self.beta2) * (g * g - square))
        for most in largest:
            most.copy_(maximum(most, square))
            square = most
        scale = sqrt(square) / root.astype(p.dtype) + self.eps
        p.sub_(size.astype(p.dtype) * mean / scale)


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2019).

    Parameters are those of :class:`Adam`; ``weight_decay`` is 0.01 by default.

    :param betas: How much is kept of the running means of gradient and squared gradient.
    :param eps: Added to the root of the mean square.
    :param weight_decay: Share of ``lr`` by which parameters shrink in a step, apart from the
        gradient.
    :param amsgrad: Whether steps are scaled by the largest mean square so far.
    :see: optim.Adam, optim.SGD

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.AdamW([w], lr=0.5, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5...], requires_grad=True)
    """

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3,
                 betas: tuple[Decay, Decay] = (0.9, 0.999), eps: NotNegative = 1e-8,
                 weight_decay: NotNegative = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         amsgrad=amsgrad, maximize=maximize, decoupled_weight_decay=True)
