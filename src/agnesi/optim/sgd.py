"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.core.errors import at
from agnesi.core.tensor import Tensor
from agnesi.optim.hyper import Hyper
from agnesi.optim.optimizer import Optimizer


class SGD(Optimizer):
    """``p -= lr * g``, with momentum if wanted.

    Parameters
    ----------
    parameters : iterable of Tensor
        What to optimise.
    lr : float
        Learning rate.
    momentum : float
        Share of the last step's direction that is kept.
    weight_decay : float
        Multiple of the parameter that is added to its gradient.
    nesterov : bool
        Whether to look ahead along the momentum.

    Raises
    ------
    ValueError
        If ``nesterov`` is set without momentum.

    See Also
    --------
    optim.Adam, optim.lr_scheduler.StepLR

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    momentum = Hyper(optional=True)
    weight_decay = Hyper(optional=True)

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, *, momentum: float = 0.0,
                 weight_decay: float = 0.0, nesterov: bool = False) -> None:
        if nesterov and momentum == 0:
            raise ValueError(at("SGD: nesterov needs momentum"))
        self.slot_names = ("momentum",) if momentum else ()
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.decays = weight_decay != 0

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        if self.decays:
            g = g + self.weight_decay * p
        for v in rest:
            v.mul_(self.momentum).add_(g)
            g = g + self.momentum * v if self.nesterov else v
        p.sub_(self.lr * g)
