"""Weight decay, and the choice between going down and up."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.options import NotNegative
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.sparse.coordinates import COO
from agnesi.optim.groups import Parameters
from agnesi.optim.hyper import Hyper
from agnesi.optim.optimizer import Optimizer


class Decaying(Optimizer):
    """Base of optimizers with weight decay; a subclass calls :meth:`slope` in ``update``.

    :param weight_decay: Multiple of the parameter that is added to its gradient; with ``decoupled``
        the share of ``lr`` by which the parameter shrinks.
    :param decoupled: Whether decay stays apart from the gradient (Loshchilov and Hutter, 2019).
    :see: optim.Optimizer

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0, weight_decay=0.5)
    >>> optimizer.weight_decay
    0.5
    """

    weight_decay = Hyper(optional=True)

    def __init__(self, parameters: Parameters, lr: NotNegative, *, weight_decay: NotNegative = 0.0,
                 maximize: bool = False, decoupled: bool = False) -> None:
        super().__init__(parameters, lr)
        self.weight_decay = weight_decay
        self.maximize, self.decoupled = maximize, decoupled

    @property
    def decays(self) -> bool:
        """Whether there is weight decay."""
        return "weight_decay" in self.terms

    def row_slopes(self, g: COO, total: bool = True) -> tuple[Any, Any]:
        """The rows of a sparse gradient, and the gradients of each to go down along.

        :param g: A sparse gradient.
        :param total: Whether gradients of one row are to be the sum of them.
        :returns: Of shapes (rows,) and (rows, *sizes of a row).
        :rtype: tuple of Tensor
        :raises TypeError: With weight decay, which would change all rows.
        """
        if self.decays:
            raise TypeError(at(f"{type(self).__name__}: weight_decay would change all rows, so it "
                               "does not go with sparse gradients: make the layer with "
                               "sparse=False"))
        found: Any = g.totals() if total else g.values()
        return g.indices()[0], -found if self.maximize else found

    def slope(self, p: Tensor, g: Tensor) -> Any:
        """The gradient to go down along, with weight decay.

        :param p: The parameter; shrunk in place where decay is decoupled.
        :type p: Tensor
        :param g: Its gradient.
        :type g: Tensor
        :returns: The gradient to go on with.
        :rtype: Tensor
        """
        if self.maximize:
            g = -g
        if self.decays and self.decoupled:
            p.mul_(1 - self.lr * self.weight_decay)
        return g + self.weight_decay * p if self.decays and not self.decoupled else g


class Counting(Decaying):
    """Base of optimizers that count steps only since PyTorch's states have the count.

    :see: optim.Optimizer
    """

    def __init__(self, parameters: Parameters, lr: NotNegative, *, weight_decay: NotNegative = 0.0,
                 maximize: bool = False) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, maximize=maximize)
        self._steps = wrap(np.array(0))

    def begin(self) -> tuple[Any, ...]:
        steps: Any = self._steps
        steps.add_(1)
        return ()
