"""Schedules made of schedules, and one that follows a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agnesi.core.options import Decay, Epoch, NotNegative, Size
from agnesi.core.support.errors import at
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.base import Scheduler


def _optimizer_of(owner: Any, schedulers: Sequence[Scheduler]) -> Optimizer:
    """The one optimizer of all schedules."""
    found = {id(s.optimizer): s.optimizer for s in schedulers}
    if len(found) != 1:
        raise ValueError(at(f"{type(owner).__name__} takes schedulers of one optimizer, "
                            f"not of {len(found)}"))
    return next(iter(found.values()))


class SequentialLR(Scheduler):
    """One schedule after the other, each from its own beginning.

    :param schedulers: In their order.
    :param milestones: The epochs at which the second and later ones begin.
    :raises ValueError: If there are not as many milestones as changes.
    :see: optim.lr_scheduler.ChainedScheduler

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.SequentialLR(optimizer, [
    ...     ag.optim.lr_scheduler.ConstantLR(optimizer, 0.1, total_iters=9),
    ...     ag.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)], milestones=[2])
    >>> scheduler.step()
    >>> optimizer.lr
    0.1
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Scheduler],
                 milestones: Sequence[Size], last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if not len(schedulers):
            raise ValueError(at("SequentialLR: there are no schedulers"))
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(at(f"SequentialLR: {len(schedulers)} schedulers need "
                                f"{len(schedulers) - 1} milestones, not {len(milestones)}"))
        _optimizer_of(self, schedulers)
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        self._place()
        self.begin()

    def _at(self, epoch: float) -> tuple[Scheduler, Any]:
        """The schedule of an epoch, and the epoch that it has then."""
        which = bisect_right(self.milestones, epoch)
        return self.schedulers[which], epoch - (self.milestones[which - 1] if which else 0)

    def _place(self) -> None:
        """Let the present schedule be in its epoch."""
        present, its = self._at(self.epoch)
        present.epoch = its

    def _take(self, state: Mapping[str, Any]) -> None:
        super()._take(state)
        self._place()

    def rates(self, epoch: float) -> list[float]:
        present, its = self._at(epoch)
        return present.rates(its)

    def step(self, epoch: Epoch | None = None) -> None:
        self.epoch = self.epoch + 1 if epoch is None else epoch
        present, its = self._at(self.epoch)
        present.step(its if epoch is not None or its == 0 else None)
        self._last_lr = present.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "milestones": self.milestones,
                "schedulers": [s.state_dict() for s in self.schedulers]}


class ChainedScheduler(Scheduler):
    """Several schedules of one optimizer, each of which changes the rates that the one before set.

    :param schedulers: In their order: those that multiply, as most do, give their product.
    :param optimizer: Theirs, by default.
    :raises ValueError: If they are not all of one optimizer.
    :see: optim.lr_scheduler.SequentialLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.ChainedScheduler([
    ...     ag.optim.lr_scheduler.ConstantLR(optimizer, 0.1, total_iters=9),
    ...     ag.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)])
    >>> scheduler.step()
    >>> optimizer.lr
    0.05
    """

    def __init__(self, schedulers: Sequence[Scheduler], optimizer: Optimizer | None = None) -> None:
        found = _optimizer_of(self, schedulers)
        super().__init__(found)
        self.schedulers = list(schedulers)

    def rates(self, epoch: float) -> list[float]:
        found = list(self.base_lrs)
        for s in self.schedulers:
            for k, (rate, base) in enumerate(zip(s.rates(epoch), s.base_lrs, strict=True)):
                found[k] = s._onward(found[k], base, rate) if s._goes_on else rate
        return found

    def step(self, epoch: Epoch | None = None) -> None:
        for s in self.schedulers:
            s.step(epoch)
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self._last_lr = self.schedulers[-1].get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "base_lrs": self.base_lrs,
                "schedulers": [s.state_dict() for s in self.schedulers]}


class ReduceLROnPlateau(Scheduler):
    """``lr`` times ``factor`` whenever a metric has not become better for a while.

    :param mode: Whether smaller or larger is better.
    :param factor: Of each reduction.
    :param patience: Epochs without progress that are waited for.
    :param threshold: How much better counts.
    :param threshold_mode: Whether ``threshold`` is a share of the best value, which is meant for
        metrics above 0.
    :param cooldown: Epochs after a reduction in which nothing is counted.
    :param min_lr: The lowest rate, or that of each group.
    :param eps: Smaller changes of the rate are not made.
    :raises ValueError: If ``factor`` is not below 1, or there is no such mode.
    :see: optim.lr_scheduler.StepLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    >>> for loss in (3.0, 3.0):
    ...     scheduler.step(loss)
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, mode: Literal["min", "max"] = "min",
                 factor: Decay = 0.1, patience: Size = 10, threshold: float = 1e-4,
                 threshold_mode: Literal["rel", "abs"] = "rel", cooldown: Size = 0,
                 min_lr: NotNegative | list[NotNegative] = 0.0, eps: NotNegative = 1e-8) -> None:
        super().__init__(optimizer)
        if factor >= 1.0:
            raise ValueError(at(f"ReduceLROnPlateau: factor must be below 1, not {factor}"))
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(at("ReduceLROnPlateau: there is no mode "
                                f"{mode!r} with {threshold_mode!r}"))
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, self.each("min_lr", min_lr), eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.present = list(self.base_lrs)

    def rates(self, epoch: float) -> list[float]:
        return self.present

    def _is_better(self, metric: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        if math.isinf(self.best):
            return sign * metric < sign * self.best
        margin = self.threshold * (self.best if self.threshold_mode == "rel" else 1.0)
        return sign * metric < sign * self.best - margin

    def step(self, metrics: float | None = None) -> None:
        """Begin the next epoch.

        :param metrics: The metric of the epoch that is done.
        :type metrics: float
        :raises TypeError: If it is missing.
        """
        if metrics is None:
            raise TypeError(at("ReduceLROnPlateau.step() follows a metric: step(loss)"))
        self.epoch += 1
        value = float(metrics)
        self.present = [group["lr"] for group in self.optimizer.param_groups]
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            known = len(self.min_lr)
            for k, rate in enumerate(self.present):
                lower = max(rate * self.factor, self.min_lr[k] if k < known else min(self.min_lr))
                self.present[k] = lower if rate - lower > self.eps else rate
        self.begin()
