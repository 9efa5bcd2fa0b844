"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, Self

from agnesi.core.errors import at, no_attribute
from agnesi.core.op import typed
from agnesi.core.public import check_call
from agnesi.optim.optimizer import Optimizer


class Scheduler:
    """Base of schedulers: sets the optimizer's ``lr`` for each epoch.

    Parameters
    ----------
    optimizer : Optimizer
        Whose ``lr`` is set.

    Raises
    ------
    TypeError
        If it is no optimizer.

    See Also
    --------
    optim.lr_scheduler.StepLR, optim.lr_scheduler.CosineAnnealingLR

    Examples
    --------
    >>> import agnesi as ag
    >>> class Warmup(ag.optim.lr_scheduler.Scheduler):
    ...     def rate(self, epoch):
    ...         return self.base_lr * min(1.0, (epoch + 1) / 4)
    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Warmup(optimizer)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        check_call(cls, args, keywords)
        return super().__new__(cls)

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            name = type(self).__name__
            raise TypeError(at(f"{name} steers an optimizer, not {typed(optimizer)}"))
        self.optimizer = optimizer
        self.base_lr: float = optimizer.lr
        self.epoch = 0

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch.

        Parameters
        ----------
        epoch : int
            From 0.

        Returns
        -------
        float
            The rate.

        Raises
        ------
        NotImplementedError
            Unless a subclass has its own.
        """
        raise NotImplementedError

    def step(self) -> None:
        """Begin the next epoch."""
        self.epoch += 1
        self.optimizer.lr = self.rate(self.epoch)


class StepLR(Scheduler):
    """``lr`` times ``gamma`` every ``step_size`` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Whose ``lr`` is set.
    step_size : int
        How many epochs there are between changes.
    gamma : float
        Factor of each change.

    Raises
    ------
    ValueError
        If ``step_size`` is below 1.

    See Also
    --------
    optim.lr_scheduler.CosineAnnealingLR

    Examples
    --------
    >>> import agnesi as ag
    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer)
        if step_size < 1:
            raise ValueError(at(f"StepLR: step_size must be at least 1, not {step_size}"))
        self.step_size, self.gamma = step_size, gamma

    def rate(self, epoch: int) -> float:
        return float(self.base_lr * self.gamma ** (epoch // self.step_size))


class CosineAnnealingLR(Scheduler):
    """Half a cosine from ``lr`` down to ``eta_min`` in ``T_max`` epochs.

    Parameters
    ----------
    optimizer : Optimizer
        Whose ``lr`` is set.
    T_max : int
        Epochs from the highest rate to the lowest.
    eta_min : float
        The lowest rate.

    Raises
    ------
    ValueError
        If ``T_max`` is below 1.

    See Also
    --------
    optim.lr_scheduler.StepLR

    Examples
    --------
    >>> import agnesi as ag
    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer)
        if T_max < 1:
            raise ValueError(at(f"CosineAnnealingLR: T_max must be at least 1, not {T_max}"))
        self.T_max, self.eta_min = T_max, eta_min

    def rate(self, epoch: int) -> float:
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (self.base_lr - self.eta_min) * share


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.optim.lr_scheduler'", name)
