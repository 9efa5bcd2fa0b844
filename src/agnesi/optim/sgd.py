"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.options import NotNegative
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.sparse.coordinates import COO
from agnesi.optim.counts import begin_counts
from agnesi.optim.decay import Decaying
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper


class SGD(Decaying):
    """``p -= lr * g``, with momentum if wanted (Polyak, 1964).

    :param momentum: Share of the last step's direction that is kept.  Steps for sparse gradients
        change the rows in use only without it: momentum moves rows that were in use before.
    :param dampening: Share of the gradient that does not enter the momentum, but for the first.
    :param weight_decay: Multiple of the parameter that is added to its gradient.
    :param nesterov: Whether to look ahead along the momentum.
    :raises ValueError: If ``nesterov`` is set without momentum, or with dampening, or there are no
        parameters.
    :raises TypeError: If a parameter is no tensor that requires a gradient.
    :see: optim.Adam, optim.lr_scheduler.StepLR

    >>> w = ag.tensor([1.0], requires_grad=True)
    >>> optimizer = ag.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    momentum = Hyper(optional=True)
    optional_slots = ("momentum",)

    def __init__(self, parameters: Parameters, lr: NotNegative = 1e-3, momentum: NotNegative = 0.0,
                 dampening: float = 0.0, weight_decay: NotNegative = 0.0, nesterov: bool = False,
                 *, maximize: bool = False) -> None:
        if nesterov and (momentum == 0 or dampening != 0):
            raise ValueError(at("SGD: nesterov needs momentum, and no dampening"))
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        self.dampening, self.nesterov = float(dampening), nesterov
        self.momentum = momentum

    def make_room(self, term: str) -> None:
        """Begin to keep the momentum, and to count steps where the first one is another.

        :param term: The number's name.
        """
        super().make_room(term)
        if term == "momentum" and self.dampening and "_steps" not in vars(self):
            self._steps = wrap(np.array(0))
            begin_counts(self)

    def begin(self) -> tuple[Any, ...]:
        """The share of the gradient that enters the momentum: all of the first one.

        :returns: A number, or nothing without dampening.
        """
        if not ("momentum" in self.terms and self.dampening):
            return ()
        steps: Any = self._steps
        return (1 - self.dampening * (steps.add_(1) != 1).astype("float64"),)

    def update_rows(self, p: Tensor, g: COO, *rest: Any) -> None:
        """Change rows; with momentum all rows that ever had a gradient, as in PyTorch.

        :param p: The parameter, changed in place.
        :type p: Tensor
        :param g: Its gradient.
        :param *rest: The momentum and the share of the gradient that enters it, if there are.
        """
        rows, slopes = self.row_slopes(g, total=False)
        if "momentum" in self.terms:
            v, *share = rest
            v.mul_(self.momentum).index_add_(
                0, rows, slopes * share[0].astype(p.dtype) if share else slopes)
            p.sub_(self.lr * (self.momentum * v if self.nesterov else v))
            if not self.nesterov:
                return
        p.index_add_(0, rows, -self.lr * slopes)

    def update(self, p: Any, g: Any, *rest: Any) -> None:
        g = self.slope(p, g)
        if "momentum" in self.terms:
            v, *share = rest
            v.mul_(self.momentum).add_(g * share[0].astype(p.dtype) if share else g)
            g = g + self.momentum * v if self.nesterov else v
        p.sub_(self.lr * g)
