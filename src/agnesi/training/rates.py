"""The learning-rate finder: a short training with growing rates, whose losses suggest one."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from agnesi.core.support.errors import at
from agnesi.training.trainer import Trainer, as_loader


@dataclass(frozen=True)
class RateTest:
    """Losses by learning rate, as :func:`agnesi.training.find_lr` found them.

    :param rates: Learning rates, growing.
    :param losses: The loss of each, smoothed.
    :see: training.find_lr

    >>> from agnesi import training
    >>> training.RateTest([0.01, 0.1, 1.0, 10.0], [4.0, 3.9, 1.0, 9.0]).suggestion
    0.1
    """

    rates: list[float]
    losses: list[float]

    @property
    def suggestion(self) -> float:
        """The rate from which the loss falls most steeply."""
        least = self.losses.index(min(self.losses))
        falls = [b - a for a, b in itertools.pairwise(self.losses[: least + 1])] or [0.0]
        return self.rates[falls.index(min(falls))]


def find_lr(trainer: Trainer, data: object, *, low: float = 1e-6, high: float = 10.0,
            steps: int = 100, batch_size: int = 32, smoothing: float = 0.9) -> RateTest:
    """Train with learning rates from low to high, one for each batch, and undo it.

    :param trainer: Whose model and optimizer are tried; they are as before at the end.
    :param data: Batches; taken again from the beginning when they end.
    :type data: DataLoader, Dataset, or tuple of array_like
    :param low, high: The first rate and the last.
    :param steps: How many batches; fewer where the loss has become four times its least value.
    :param batch_size: Samples of a batch, where ``data`` is no loader.
    :param smoothing: How much of the loss before each smoothed loss keeps.
    :returns: Rates and losses, and a suggestion.
    :raises ValueError: If the rates do not grow, there are fewer than 2 steps, or there is no
        batch.
    :see: training.Trainer

    >>> import agnesi as ag
    >>> from agnesi import nn, optim, training
    >>> model = nn.Linear(2, 1)
    >>> trainer = training.Trainer(model, optim.SGD(model.parameters(), lr=0.1), nn.MSELoss())
    >>> found = training.find_lr(trainer, (ag.ones((8, 2)), ag.ones((8, 1))), steps=20)
    >>> found.rates[0] < found.suggestion < 10
    True
    """
    if not 0 < low < high or steps < 2:
        raise ValueError(at(f"find_lr: rates must grow and steps be at least 2, not {low} to "
                            f"{high} in {steps}"))
    before = {name: part.state_dict() for name, part in trainer.parts().items()}
    optimizer, loss = trainer.optimizer, trainer.train_loss
    rates: list[float] = []
    losses: list[float] = []
    held = 0.0
    try:
        trainer.model.train()
        for k, batch in enumerate(_again(as_loader(data, batch_size, shuffle=True), steps)):
            optimizer.lr = low * (high / low) ** (k / (steps - 1))
            loss.reset()
            trainer.train_batch(*batch)
            found = float(loss.compute())
            held = smoothing * held + (1 - smoothing) * found
            smooth = held / (1 - smoothing ** (k + 1))
            if not math.isfinite(smooth) or (losses and smooth > 4 * min(losses)):
                break
            rates.append(optimizer.lr)
            losses.append(smooth)
    finally:
        for name, part in trainer.parts().items():
            part.load_state_dict(before[name])
    return RateTest(rates, losses)


def _again(loader: Any, count: int) -> Any:
    """So many batches, from the beginning again when they end."""
    left = count
    while left:
        before = left
        for batch in itertools.islice(loader, left):
            left -= 1
            yield batch if isinstance(batch, (tuple, list)) else (batch,)
        if left == before:
            raise ValueError(at("find_lr: there is no batch"))
