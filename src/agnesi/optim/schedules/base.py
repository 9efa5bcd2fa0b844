"""The base of all schedules of learning rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from agnesi.core.op import typed
from agnesi.core.options import Epoch, Written
from agnesi.core.public import check_call, needing, renamed
from agnesi.core.support.errors import MissingKeyError, at
from agnesi.ops.arrays.loading import differing
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.compiled import anywhere, has_stepped

#: How far rates that compiled steps keep may be from Python's.
_ROUNDING = 1e-6


class Scheduler(Written):
    """Base of schedulers: sets the optimizer's ``lr`` for each epoch, in all groups.

    A subclass says in :meth:`rate` what it is, for one group at a time, whose rate ``base_lr`` is;
    or for all groups in ``get_lr()``, by ``base_lrs`` and ``last_epoch``, as PyTorch's do.

    Parameters
    ----------
    optimizer : Optimizer
        Whose ``lr`` is set.
    last_epoch : int
        The epoch after which a training goes on, whose optimizer was loaded; -1 starts again.

    Raises
    ------
    TypeError
        If it is no optimizer.
    ValueError
        If a training goes on whose optimizer does not know the rates that it began with.

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

    #: Whether it changes the rates that there are, by as much as its own change: where another
    #: schedule or the user has set them, too.  Else it sets its own ones.
    _goes_on: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__init__" in vars(cls) and cls.__module__.startswith(__name__.partition(".")[0]):
            cls.__init__ = needing(cls.__init__)  # type: ignore[method-assign]
        if "step" in vars(cls):
            cls.step = anywhere(cls.step)  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        check_call(cls, args, keywords)
        return super().__new__(cls)

    @needing
    def __init__(self, optimizer: Optimizer, last_epoch: Epoch = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            name = type(self).__name__
            raise TypeError(at(f"{name} steers an optimizer, not {typed(optimizer)}"))
        if last_epoch != -1 and any("initial_lr" not in g for g in optimizer.param_groups):
            raise ValueError(at(f"{type(self).__name__}: last_epoch={last_epoch} goes on with a "
                                "training, and the optimizer's groups have no 'initial_lr': "
                                "optimizer.load_state_dict brings it back"))
        self.optimizer = optimizer
        #: The rates that schedules of one optimizer multiply: those before the first of them.
        self.base_lrs: list[float] = [
            group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.epoch, self._group = last_epoch + 1, 0
        #: Groups for which there are numbers: rates of those that are added later stay.
        self._known: float = math.inf
        self._last_lr: list[Any] = [group["lr"] for group in optimizer.param_groups]
        if type(self).rate is Scheduler.rate and type(self).get_lr is not Scheduler.get_lr:
            self.begin()

    @property
    def base_lr(self) -> float:
        """The rate that is multiplied, of the group that :meth:`rate` is asked about."""
        return self.base_lrs[self._group]

    def rates(self, epoch: float) -> list[float]:
        """The learning rates of an epoch.

        :param epoch: From 0.
        :returns: One for each group.
        """
        found = []
        groups = self.optimizer.param_groups
        for self._group in range(len(self.base_lrs)):  # noqa: B020
            given = self._group < self._known
            found.append(self.rate(epoch) if given else groups[self._group]["lr"])
        self._group = 0
        return found

    def each(self, name: str, value: object) -> list[Any]:
        """Return a list with a value for each group, of one value for all or of such a list.

        :param name: What it is, for an error.
        :param value: One for all groups, or a list or tuple of as many.
        :returns: One for each group.
        :raises ValueError: If there are more or fewer than groups.
        :raises TypeError: If a factor of the rate is no function.
        """
        count = len(self.base_lrs)
        found = list(value) if isinstance(value, (list, tuple)) else [value] * count
        if name == "lr_lambda" and (wrong := [v for v in found if not callable(v)]):
            raise TypeError(at(f"{type(self).__name__}: lr_lambda must be a function of the epoch, "
                               f"such as lambda epoch: 0.95**epoch, not {typed(wrong[0])}"))
        if len(found) != count:
            kind = type(self).__name__
            raise ValueError(at(f"{kind}: {name} must be one, or as many as there are groups of "
                                f"parameters, {count}, not {len(found)}"))
        self._known = count
        return found

    def begin(self) -> None:
        """Set the rates of the first epoch; subclasses whose first rate is another one call it."""
        before = self._before(max(self.epoch - 1, 0))
        self._set(list(self.base_lrs) if before and self.epoch <= 0 else before)

    def _before(self, epoch: float) -> list[float]:
        """The rates that this schedule alone has set for an epoch, for all groups of now."""
        self._meet_groups()
        return self.rates(epoch) if self._goes_on and type(self).get_lr is Scheduler.get_lr else []

    def _meet_groups(self) -> None:
        """Note the rates of groups that were added since the last epoch."""
        for group in self.optimizer.param_groups[len(self.base_lrs):]:
            self.base_lrs.append(group.setdefault("initial_lr", group["lr"]))

    def _set(self, before: list[float]) -> None:
        """Set the rates of this epoch, where the schedule alone has set ``before``."""
        self._meet_groups()
        groups = self.optimizer.param_groups
        rates = list(self.get_lr())
        for k, old in enumerate(before):
            now = groups[k]["lr"]
            if not _is_near(now, old):
                rates[k] = self._onward(now, old, rates[k])
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = rates

    def _onward(self, now: float, before: float, after: float) -> float:
        """A rate that this schedule alone would take from one number to another."""
        if before:
            return now * after / before
        return after if after else now

    @property
    def last_epoch(self) -> int:
        """The epoch that the present rate is of."""
        return self.epoch

    @last_epoch.setter
    def last_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def get_lr(self) -> list[float]:
        """The rates of this epoch.

        :returns: One number for each group.
        """
        return self.rates(self.epoch)

    def get_last_lr(self) -> list[float]:
        """The rates that this schedule set last.

        :returns: One number for each group.
        """
        if has_stepped(self):
            return [group["lr"] for group in self.optimizer.param_groups]
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """All that changes from epoch to epoch, and the schedule's numbers.

        :returns: By name; without the optimizer, which has a state of its own.
        """
        return {name: value for name, value in vars(self).items()
                if name not in ("optimizer", "_group", "_known", "_last_lr")
                and not _is_code(value)}

    @renamed(state_dict="state")
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        Rates that the optimizer has from elsewhere stay: those of its own state, if that was loaded
        before, and all where the state is of the present epoch.

        :param state: As :meth:`state_dict` gives it.
        :raises KeyError: If it is of another schedule; nothing is changed then.
        :raises TypeError: If it is no mapping.
        """
        if not isinstance(state, Mapping):
            raise TypeError(at(f"{type(self).__name__}.load_state_dict takes a mapping of names to "
                               f"values, not {typed(state)}; state_dict() gives one"))
        self._check_known(state)
        present = [group["lr"] for group in self.optimizer.param_groups]
        mine = state["epoch"] != self.epoch and all(map(_is_near, present, self._last_lr))
        self._take(state)
        self._before(0)
        if mine:
            self._set([])
        else:
            self._last_lr = present

    def _take(self, state: Mapping[str, Any]) -> None:
        """Take over a state, without setting rates."""
        for name, value in state.items():
            held = getattr(self, name)
            if _are_schedules(held):
                for schedule, own in zip(held, value, strict=True):
                    schedule._take(own)
            else:
                setattr(self, name, value)

    def _check_known(self, state: Mapping[str, Any]) -> None:
        """Refuse a state of another schedule, or of one that is made of others."""
        known = self.state_dict()
        if known.keys() != state.keys():
            raise MissingKeyError(at(f"{type(self).__name__}.load_state_dict: the state is not one "
                                     f"of this schedule: {differing(known, state)}"))
        for name, value in state.items():
            held = getattr(self, name)
            if not _are_schedules(held):
                continue
            if len(held) != len(value):
                raise ValueError(at(f"{type(self).__name__}.load_state_dict: the state is of "
                                    f"{len(value)} schedulers, here are {len(held)}"))
            for schedule, own in zip(held, value, strict=True):
                schedule._check_known(own)

    def rate(self, epoch: float) -> float:
        """The learning rate of an epoch, for the group whose ``base_lr`` there is.

        :param epoch: From 0.
        :returns: The rate.
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no rate(self, epoch), which gives "
                                     "the learning rate of an epoch"))

    @anywhere
    def step(self, epoch: Epoch | None = None) -> None:
        """Begin the next epoch, also in a compiled function, each call of which does so.

        :param epoch: Which one, instead of the next.
        """
        before = self._before(self.epoch) if epoch is None else []
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self._set(before)


def _is_near(rate: float, other: float) -> bool:
    """Whether two rates are the same one, which a compiled step may have rounded."""
    return abs(rate - other) <= _ROUNDING * abs(other)


def _are_schedules(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Scheduler)


def _is_code(value: Any) -> bool:
    return callable(value) or (isinstance(value, list) and any(map(callable, value)))
