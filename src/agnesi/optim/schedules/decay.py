"""Rates that fall, or rise to begin with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core.options import Epoch, NotNegative, Share, Size
from agnesi.core.support.errors import at, call_user, typed
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.base import Scheduler

_Factor = Callable[[int], float] | list[Callable[[int], float]]


def at_least(owner: Any, name: str, value: Any, least: float) -> Any:
    """The number, or a ValueError where it is smaller."""
    if not value >= least:
        kind = type(owner).__name__
        raise ValueError(at(f"{kind}: {name} must be at least {least:g}, not {value}"))
    return value


class StepLR(Scheduler):
    """``lr`` times ``gamma`` every ``step_size`` epochs.

    :param step_size: How many epochs there are between changes.
    :param gamma: Factor of each change.
    :raises ValueError: If ``step_size`` is below 1.
    :see: optim.lr_scheduler.CosineAnnealingLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, step_size: NotNegative, gamma: NotNegative = 0.1,
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if step_size < 1:
            raise ValueError(at(f"StepLR: step_size must be at least 1, not {step_size}"))
        self.step_size, self.gamma = step_size, gamma

    def rate(self, epoch: float) -> float:
        return float(self.base_lr * self.gamma ** (epoch // self.step_size))


class MultiStepLR(Scheduler):
    """``lr`` times ``gamma`` at given epochs.

    :param milestones: The epochs.
    :param gamma: Factor of each change.
    :raises ValueError: If the epochs do not rise.
    :see: optim.lr_scheduler.StepLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, milestones: Sequence[Size],
                 gamma: NotNegative = 0.1, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.milestones, self.gamma = list(milestones), gamma
        if sorted(self.milestones) != self.milestones:
            raise ValueError(at(f"MultiStepLR: milestones must rise, not {self.milestones}"))

    def rate(self, epoch: float) -> float:
        return float(self.base_lr * self.gamma ** bisect_right(self.milestones, epoch))


class ExponentialLR(Scheduler):
    """``lr`` times ``gamma`` in each epoch.

    :param gamma: Factor of each change.
    :raises ValueError: If ``gamma`` is negative.
    :see: optim.lr_scheduler.StepLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, gamma: NotNegative, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.gamma = at_least(self, "gamma", gamma, 0.0)

    def rate(self, epoch: float) -> float:
        return float(self.base_lr * self.gamma**epoch)


class ConstantLR(Scheduler):
    """``lr`` times ``factor`` for the first epochs.

    :param factor: Of the first epochs.
    :param total_iters: How many they are.
    :raises ValueError: If a number is out of its range.
    :see: optim.lr_scheduler.LinearLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, factor: Share = 1 / 3, total_iters: Size = 5,
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.factor = at_least(self, "factor", factor, 0.0)
        self.total_iters = at_least(self, "total_iters", total_iters, 0)
        self.begin()

    def rate(self, epoch: float) -> float:
        return self.base_lr * (self.factor if epoch < self.total_iters else 1.0)


class LinearLR(Scheduler):
    """``lr`` times a factor that goes from one number to another in equal steps.

    :param start_factor, end_factor: Of the first epoch, and from the last on.
    :param total_iters: Epochs between them.
    :raises ValueError: If a number is out of its range.
    :see: optim.lr_scheduler.ConstantLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.75
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, start_factor: Share = 1 / 3,
                 end_factor: Share = 1.0, total_iters: Size = 5, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if start_factor == 0:
            raise ValueError(at("LinearLR: start_factor must be above 0: with 0 the first epoch "
                                "trains nothing; 1e-3 starts low"))
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = at_least(self, "total_iters", total_iters, 1)
        self.begin()

    def rate(self, epoch: float) -> float:
        share = min(epoch, self.total_iters) / self.total_iters
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * share)


class PolynomialLR(Scheduler):
    """``lr`` times a power of the share of epochs that are left.

    :param total_iters: Epochs until the rate is 0.
    :param power: Of the share.
    :raises ValueError: If a number is out of its range.
    :see: optim.lr_scheduler.LinearLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, total_iters: Size = 5, power: NotNegative = 1.0,
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.total_iters, self.power = at_least(self, "total_iters", total_iters, 1), power

    def rate(self, epoch: float) -> float:
        left = 1 - min(epoch, self.total_iters) / self.total_iters
        return float(self.base_lr * left**self.power)


class LambdaLR(Scheduler):
    """``lr`` times a function of the epoch.

    :param lr_lambda: Gives the factor of an epoch, or of one group each.
    :type lr_lambda: callable or list of callable
    :raises ValueError: If it gives a negative factor.
    :see: optim.lr_scheduler.MultiplicativeLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: _Factor, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.lr_lambdas = self.each("lr_lambda", lr_lambda)
        self.begin()

    def rate(self, epoch: float) -> float:
        return self.base_lr * factor_of(self, self.lr_lambdas[self._group], epoch)


def factor_of(scheduler: Scheduler, factor: _Factor, epoch: float) -> float:
    """What a user's function gives for an epoch, which must be a number."""
    name = type(scheduler).__name__
    found = call_user(factor, (epoch,), {}, name, "lr_lambda(epoch)")
    try:
        if isinstance(found, str):
            raise TypeError
        return float(found)
    except (TypeError, ValueError):
        raise TypeError(at(f"{name}: lr_lambda must return a number, the factor of the rate, not "
                           f"{typed(found)}")) from None


class MultiplicativeLR(Scheduler):
    """The last rate times a function of the epoch.

    :like: LambdaLR
    :see: optim.lr_scheduler.LambdaLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, lr_lambda: _Factor, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.lr_lambdas = self.each("lr_lambda", lr_lambda)
        self.products = [1.0] * len(self.lr_lambdas)

    def rate(self, epoch: float) -> float:
        return self.base_lr * self.products[self._group]

    def step(self, epoch: Epoch | None = None) -> None:
        before = self._before(self.epoch)
        self.epoch = self.epoch + 1 if epoch is None else epoch
        for k, factor in enumerate(self.lr_lambdas):
            self.products[k] *= factor_of(self, factor, self.epoch)
        self._set(before)
