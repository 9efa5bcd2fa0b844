"""Rates that rise and fall."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from agnesi.core.options import Count, Epoch, NotNegative, Positive, Share
from agnesi.core.support.errors import at
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.base import Scheduler
from agnesi.optim.schedules.decay import at_least


class CosineAnnealingLR(Scheduler):
    """Half a cosine from ``lr`` to ``eta_min`` in ``T_max`` epochs (Loshchilov and Hutter, 2017).

    :param T_max: Epochs from the highest rate to the lowest.
    :param eta_min: The lowest rate.
    :raises ValueError: If ``T_max`` is below 1.
    :see: optim.lr_scheduler.StepLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    _goes_on = True

    def __init__(self, optimizer: Optimizer, T_max: Count, eta_min: NotNegative = 0.0,
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if T_max < 1:
            raise ValueError(at(f"CosineAnnealingLR: T_max must be at least 1, not {T_max}"))
        self.T_max, self.eta_min = T_max, eta_min

    def rate(self, epoch: float) -> float:
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (self.base_lr - self.eta_min) * share

    def _onward(self, now: float, before: float, after: float) -> float:
        above = before - self.eta_min
        if abs(above) < 1e-12:  # from the lowest rate up again
            return now + after - before
        return self.eta_min + (now - self.eta_min) * (after - self.eta_min) / above


class CosineAnnealingWarmRestarts(Scheduler):
    """Half a cosine down to ``eta_min``, again and again (Loshchilov and Hutter, 2017).

    :param T_0: Epochs of the first cosine.
    :param T_mult: How many times as long each is as the one before.
    :param eta_min: The lowest rate.
    :raises ValueError: If a number is out of its range.
    :see: optim.lr_scheduler.CosineAnnealingLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_0: Count, T_mult: Count = 1,
                 eta_min: NotNegative = 0.0, last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        self.T_0, self.T_mult = at_least(self, "T_0", T_0, 1), at_least(self, "T_mult", T_mult, 1)
        self.eta_min = eta_min

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch.

        :param epoch: Of this one, perhaps a part of one (``epoch + batch / batches``).
        """
        self.epoch = self.epoch + 1 if epoch is None else epoch  # type: ignore[assignment]
        self._set([])

    def rate(self, epoch: float) -> float:
        length = self.T_0
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        share = (1 + math.cos(math.pi * epoch / length)) / 2
        return self.eta_min + (self.base_lr - self.eta_min) * share


class _Cycle(Scheduler):
    """Rates beside which the momentum moves the other way."""

    #: The momentum at the lowest rate and at the highest, or None.
    momenta: tuple[float, float] | None = None

    def share(self, epoch: float) -> float:
        """How far the rate has risen, from 0 to 1."""
        raise NotImplementedError

    def begin(self) -> None:
        super().begin()
        if self.momenta is not None:
            low, high = self.momenta
            momentum = low + (high - low) * self.share(self.epoch)
            if self.optimizer.steps_by_hand:
                for group in self.optimizer.param_groups:
                    name = _momentum_of(self.optimizer)
                    group[name] = (momentum, *group[name][1:]) if name == "betas" else momentum
            else:
                setattr(self.optimizer, _momentum_of(self.optimizer), momentum)  # in all groups

    def step(self, epoch: Epoch | None = None) -> None:
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.begin()


def _momentum_of(optimizer: Any) -> str:
    """The name of what keeps the last direction."""
    if optimizer.steps_by_hand:
        for name in ("betas", "momentum"):
            if name in optimizer.defaults:
                return name
    if hasattr(type(optimizer), "beta1"):
        return "beta1"
    if not hasattr(optimizer, "momentum"):
        raise ValueError(at(f"{type(optimizer).__name__} has no momentum to cycle: "
                            "pass cycle_momentum=False"))
    return "momentum"


class CyclicLR(_Cycle):
    """Up and down in a straight line between two rates (Smith, 2017).

    :param base_lr, max_lr: The lowest and the highest rate, or those of each group.
    :param step_size_up: Steps up.
    :param step_size_down: Steps down; as many as up.
    :param mode: Whether the height stays, is halved with each cycle, or falls by ``gamma`` in each
        step.
    :param gamma: For "exp_range".
    :param scale_fn: The height by its number, in the place of ``mode``.
    :param scale_mode: Whether that is the cycle's number, from 1, or the step's, from 0.
    :param cycle_momentum: Whether the momentum goes down as the rate goes up.
    :param base_momentum, max_momentum: The lowest and the highest momentum.
    :raises ValueError: If a number is out of its range.
    :see: optim.lr_scheduler.OneCycleLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, 2, cycle_momentum=False)
    >>> scheduler.step()
    >>> optimizer.lr
    0.5
    """

    def __init__(self, optimizer: Optimizer, base_lr: NotNegative | list[NotNegative],
                 max_lr: NotNegative | list[NotNegative], step_size_up: Count = 2000,
                 step_size_down: Count | None = None,
                 mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
                 gamma: NotNegative = 1.0, scale_fn: Callable[[float], float] | None = None,
                 scale_mode: Literal["cycle", "iterations"] = "cycle", cycle_momentum: bool = True,
                 base_momentum: Share = 0.8, max_momentum: Share = 0.9, last_epoch: Epoch = -1
                 ) -> None:
        super().__init__(optimizer, last_epoch)
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(at(f"CyclicLR: there is no mode {mode!r}"))
        self.base_lrs = self.each("base_lr", base_lr)
        self.max_lrs = self.each("max_lr", max_lr)
        self.up = at_least(self, "step_size_up", step_size_up, 1)
        self.down = step_size_up if step_size_down is None else step_size_down
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(at(f"CyclicLR: there is no scale_mode {scale_mode!r}"))
        self.mode, self.gamma = mode, gamma
        self.scale_fn, self.scale_mode = scale_fn, scale_mode
        self.momenta = (max_momentum, base_momentum) if cycle_momentum else None
        self.begin()

    def share(self, epoch: float) -> float:
        cycle, place = divmod(epoch, self.up + self.down)
        risen = place / self.up if place <= self.up else 1 - (place - self.up) / self.down
        if self.scale_fn is not None:
            return risen * self.scale_fn(cycle + 1 if self.scale_mode == "cycle" else epoch)
        return risen * {"triangular": 1.0, "triangular2": 0.5**cycle,
                        "exp_range": self.gamma**epoch}[self.mode]

    def rate(self, epoch: float) -> float:
        return self.base_lr + (self.max_lrs[self._group] - self.base_lr) * self.share(epoch)


class OneCycleLR(_Cycle):
    """Up once and down for the rest of the training (Smith and Topin, 2018).

    :like: CyclicLR
    :param max_lr: The highest rate, or that of each group.
    :param total_steps: Steps in all; by default ``epochs * steps_per_epoch``.
    :param epochs, steps_per_epoch: In place of ``total_steps``.
    :param pct_start: Share of the steps that go up.
    :param anneal_strategy: Along half a cosine, or in a straight line.
    :param div_factor: The first rate is ``max_lr / div_factor``.
    :param final_div_factor: The last one is the first one over this.
    :param three_phase: Whether it goes down to the first rate as fast as it went up, and then to
        the last one.
    :see: optim.lr_scheduler.CyclicLR

    >>> optimizer = ag.optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ag.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 10, cycle_momentum=False)
    >>> scheduler.step()
    >>> round(optimizer.lr, 6)
    0.52
    """

    def __init__(self, optimizer: Optimizer, max_lr: NotNegative | list[NotNegative],
                 total_steps: Count | None = None,
                 epochs: Count | None = None, steps_per_epoch: Count | None = None,
                 pct_start: Share = 0.3, anneal_strategy: Literal["cos", "linear"] = "cos",
                 cycle_momentum: bool = True, base_momentum: Share = 0.85,
                 max_momentum: Share = 0.95, div_factor: Positive = 25.0,
                 final_div_factor: Positive = 1e4, three_phase: bool = False,
                 last_epoch: Epoch = -1) -> None:
        super().__init__(optimizer, last_epoch)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(at("OneCycleLR: total_steps, or epochs and steps_per_epoch, must "
                                    "be given"))
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(at(f"OneCycleLR: there is no anneal_strategy {anneal_strategy!r}"))
        self.max_lrs = self.each("max_lr", max_lr)
        self.total_steps = at_least(self, "total_steps", total_steps, 1)
        top = pct_start * total_steps - 1
        #: Where phases end: up, with three phases down to the first rate, down to the last one.
        self.ends = [top, *([2 * top] if three_phase else []), total_steps - 1]
        self.strategy = anneal_strategy
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        self.momenta = (max_momentum, base_momentum) if cycle_momentum else None
        self.begin()

    def _eased(self, share: float) -> float:
        return (1 - math.cos(math.pi * share)) / 2 if self.strategy == "cos" else share

    def _along(self, epoch: float, *values: float) -> float:
        """A number that goes from each value to the next one, a phase for each step."""
        begin = 0.0
        for end, a, b in zip(self.ends, values, values[1:], strict=False):
            if epoch <= end or (epoch <= self.total_steps and end == self.ends[-1]):
                return a + (b - a) * self._eased((epoch - begin) / (end - begin))
            begin = end
        raise ValueError(at(f"OneCycleLR: all {self.total_steps} steps are done"))

    def share(self, epoch: float) -> float:
        return self._along(epoch, 0.0, 1.0, 0.0, 0.0)

    def rate(self, epoch: float) -> float:
        high = self.max_lrs[self._group]
        low = high / self.div_factor
        down = [low] if len(self.ends) > 2 else []
        return self._along(epoch, low, high, *down, low / self.final_div_factor)
