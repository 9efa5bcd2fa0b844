"""Callbacks: what happens between batches and epochs besides training."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Literal

from agnesi.core.options import Count, NotNegative, NotNegativeBound, Size, Written
from agnesi.core.support.errors import MissingKeyError, at, shown, warn
from agnesi.saving.checkpoints import save_checkpoint
from agnesi.saving.keeper import Checkpoints

_CALLED = ("on_fit_begin", "on_epoch_begin", "on_batch_end", "on_epoch_end", "on_fit_end")


class Callback(Written):
    """Base of callbacks: a subclass overrides the methods that it needs.

    :see: training.Trainer, training.EarlyStopping

    >>> from agnesi import training
    >>> class Shout(training.Callback):
    ...     def on_epoch_end(self, trainer, row):
    ...         print(f"epoch {row['epoch']}: {row['loss']:.3f}")
    """

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for name, value in vars(cls).items():
            if name.startswith("on_") and isinstance(value, FunctionType) and not hasattr(
                    Callback, name):
                warn(f"{cls.__name__}.{name} is never called: callbacks have {', '.join(_CALLED)}")

    def on_fit_begin(self, trainer: Any) -> None:
        """Before the first epoch of a call of ``fit``.

        :param trainer: Who trains.
        :type trainer: Any
        """

    def on_epoch_begin(self, trainer: Any) -> None:
        """Before an epoch.

        :param trainer: Who trains.
        :type trainer: Any
        """

    def on_batch_end(self, trainer: Any) -> None:
        """After each batch.

        :param trainer: Who trains.
        :type trainer: Any
        """

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        """After an epoch and its evaluation.

        :param row: The numbers of this epoch, as the history has them.
        """

    def on_fit_end(self, trainer: Any) -> None:
        """After the last epoch, also where an error ends the training.

        :param trainer: Who trains.
        :type trainer: Any
        """

    def state_dict(self) -> dict[str, Any]:
        """Return the callback's part of a checkpoint.

        :returns: Empty by default.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        :param state: As :meth:`state_dict` gives it.
        """


class _Watching(Callback):
    """A callback that follows one number of the epochs, and knows its best value."""

    def __init__(self, monitor: str, mode: str | None, min_delta: NotNegative = 0.0) -> None:
        lower = any(word in monitor for word in ("loss", "error", "perplexity", "seconds"))
        self.monitor, self.mode = monitor, mode or ("min" if lower else "max")
        if self.mode not in ("min", "max"):
            raise ValueError(at(f"{type(self).__name__}: mode must be 'min' or 'max', not "
                                f"{shown(mode)}"))
        self.min_delta = min_delta
        self.best = math.inf if self.mode == "min" else -math.inf

    def _improved(self, row: Mapping[str, Any]) -> bool:
        """Return whether an epoch is the best so far."""
        if self.monitor not in row:
            raise MissingKeyError(at(f"{type(self).__name__} follows {self.monitor!r}, but epochs "
                              f"tell {list(row)}; give fit(validation=...)"))
        value = float(row[self.monitor])
        better = value < self.best - self.min_delta if self.mode == "min" else (
            value > self.best + self.min_delta)
        if better:
            self.best = value
        return better


class EarlyStopping(_Watching):
    """Ends the training when a number has not become better for some epochs.

    :param monitor: A number of an epoch's row, such as ``"val_loss"``.
    :param patience: How many epochs may pass without a better one.
    :param min_delta: By how much a better one is better at least.
    :param mode: Which values are better; by default low ones for names with ``loss``, ``error`` or
        ``perplexity``, else high ones.
    :param restore_best: Whether the model gets the parameters of the best epoch at the end.
    :raises ValueError: If ``patience`` is less than 1, or ``mode`` none of the two.
    :see: training.ModelCheckpoint, training.Trainer

    >>> from agnesi import training
    >>> training.EarlyStopping("val_accuracy", patience=5).mode
    'max'
    """

    def __init__(self, monitor: str = "val_loss", patience: Size = 3, min_delta: NotNegative = 0.0,
                 mode: Literal["min", "max"] | None = None, restore_best: bool = True) -> None:
        super().__init__(monitor, mode, min_delta)
        if patience < 1:
            raise ValueError(at(f"EarlyStopping: patience must be at least 1, not {patience}"))
        self.patience, self.restore_best = patience, restore_best
        self.waited = 0
        self.weights: dict[str, Any] | None = None

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        if self._improved(row):
            self.waited = 0
            self.weights = trainer.model.state_dict() if self.restore_best else None
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.stop = (f"{self.monitor} has not become better than {self.best:.6g} for "
                            f"{self.waited} epochs")

    def on_fit_end(self, trainer: Any) -> None:
        if self.weights is not None:
            trainer.model.load_state_dict(self.weights)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited, "weights": self.weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best, self.waited = float(state["best"]), int(state["waited"])
        self.weights = state["weights"]


class ModelCheckpoint(_Watching):
    """Saves whole checkpoints: the last few, and the best model.

    ``last-....safetensors`` go on by ``fit(..., resume=callback.last)``; ``best.safetensors`` has
    the model of the best epoch and its numbers.

    Parameters
    ----------
    folder : str or os.PathLike
        Made if it is not there.
    monitor : str, optional
        The number by which an epoch is the best; None saves the last ones only.
    keep : int
        How many of the last ones.
    every_steps : int, optional
        Also after each so many batches.
    mode : {"min", "max"}, optional
        As in :class:`agnesi.training.EarlyStopping`.

    Attributes
    ----------
    last : Checkpoints
        The folder's last ones.
    path : pathlib.Path
        Of the best.

    Raises
    ------
    ValueError
        If a number or the mode is out of range.

    See Also
    --------
    saving.Checkpoints, training.EarlyStopping

    Examples
    --------
    >>> import tempfile
    >>> from agnesi import training
    >>> training.ModelCheckpoint(tempfile.mkdtemp(), "val_loss").path.name
    'best.safetensors'
    """

    def __init__(self, folder: str | os.PathLike[str], monitor: str | None = None, keep: Count = 2,
                 every_steps: Count | None = None, mode: str | None = None) -> None:
        super().__init__(monitor or "", mode)
        if every_steps is not None and every_steps < 1:
            raise ValueError(at(f"ModelCheckpoint: every_steps must be at least 1, not "
                                f"{every_steps}"))
        self.last = Checkpoints(folder, keep, "last")
        self.path, self.every_steps = Path(folder) / "best.safetensors", every_steps

    def on_batch_end(self, trainer: Any) -> None:
        if self.every_steps is not None and trainer.step % self.every_steps == 0:
            self.last.save(trainer.step, **trainer.parts())

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        if self.monitor and self._improved(row):
            save_checkpoint(self.path, model=trainer.model, row=row)
        self.last.save(trainer.step, **trainer.parts())

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best = float(state["best"])


class TimeBudget(Callback):
    """Ends the training after some time, also in the middle of an epoch.

    :param seconds: From the beginning of ``fit``.
    :see: training.EarlyStopping

    >>> from agnesi import training
    >>> training.TimeBudget(3600).seconds
    3600
    """

    def __init__(self, seconds: NotNegativeBound) -> None:
        self.seconds = seconds
        self.end = math.inf

    def on_fit_begin(self, trainer: Any) -> None:
        self.end = time.perf_counter() + self.seconds

    def on_batch_end(self, trainer: Any) -> None:
        if time.perf_counter() >= self.end:
            trainer.stop = f"{self.seconds} seconds are over"
