"""What all schedules of learning rates share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from agnesi.core.errors import at
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
        #: The rate that schedules of one optimizer multiply: what it was before the first of them.
        self.base_lr: float = vars(optimizer).setdefault("initial_lr", optimizer.lr)
        self.epoch = 0

    def begin(self) -> None:
        """Set the rate of the first epoch; subclasses whose first rate is another one call it."""
        self.optimizer.lr = self.rate(self.epoch)

    @property
    def last_epoch(self) -> int:
        """The epoch that the present rate is of."""
        return self.epoch

    def get_last_lr(self) -> list[float]:
        """The present rate, in a list as PyTorch gives those of groups.

        Returns
        -------
        list of float
            One number.
        """
        return [self.optimizer.lr]

    def state_dict(self) -> dict[str, Any]:
        """All that changes from epoch to epoch, and the schedule's numbers.

        Returns
        -------
        dict
            By name; without the optimizer, which has a state of its own.
        """
        return {name: value for name, value in vars(self).items()
                if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        Parameters
        ----------
        state : Mapping[str, Any]
            As :meth:`state_dict` gives it.

        Raises
        ------
        KeyError
            If it is of another schedule; nothing is changed then.
        """
        known = self.state_dict()
        if known.keys() != state.keys():
            differ = sorted(known.keys() ^ state.keys())
            raise KeyError(at(f"the state is not one of this {type(self).__name__}: {differ}"))
        vars(self).update(state)
        self.begin()

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
