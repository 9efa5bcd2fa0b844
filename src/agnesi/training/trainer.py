"""The training loop: one compiled step, epochs, evaluation, and what happens between them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from agnesi.compiler.jit import jit as compiled
from agnesi.core.op import typed
from agnesi.core.options import Count, NotNegativeBound, Rule, Size, Written
from agnesi.core.support.errors import Explained, StateError, at, call_user
from agnesi.core.tensor import Tensor
from agnesi.data.dataset import TensorDataset
from agnesi.data.loader import DataLoader
from agnesi.metrics.averages import Mean
from agnesi.metrics.base import Metric
from agnesi.nn.base.module import Module
from agnesi.ops.indexing.join import concat
from agnesi.ops.random.generators import default_generator
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.schedules.base import Scheduler
from agnesi.saving.checkpoints import load_checkpoint, save_checkpoint
from agnesi.saving.keeper import Checkpoints
from agnesi.training.callbacks import Callback
from agnesi.training.history import History
from agnesi.training.steps import Steps

Path_ = str | os.PathLike[str]


def _made(part: Any, method: str) -> bool:
    """Whether something has a method, and is no class."""
    return hasattr(part, method) and not isinstance(part, type)


def _all_made(parts: Iterable[Any], method: str, such: str) -> str:
    """Return the requirement on parts of which one has no such method; empty where all have it."""
    wrong = next((part for part in parts if not _made(part, method)), None)
    return "" if wrong is None else f"objects such as {such} in the place of {typed(wrong)}"


#: What a trainer is made of, and how it may be written.
_Model: TypeAlias = Annotated[Module, Rule("a Module", lambda m: isinstance(m, Module))]
_Optimizer: TypeAlias = Annotated[Optimizer, Rule(
    "an Optimizer, such as optim.SGD(model.parameters(), lr=0.1)",
    lambda o: isinstance(o, Optimizer))]
_Loss: TypeAlias = Annotated[Callable[..., Any], Rule(
    "a function of output and target, as nn.CrossEntropyLoss() is", callable)]
_Metrics: TypeAlias = Annotated[Mapping[str, Metric], Rule(
    "a dict of metrics by name, such as {'accuracy': metrics.Accuracy()}",
    lambda m: isinstance(m, Mapping),
    lambda m: _all_made(m.values(), "update", "metrics.Accuracy()"))]
_Schedule: TypeAlias = Annotated[Scheduler, Rule(
    "a scheduler of the optimizer, such as optim.lr_scheduler.StepLR(optimizer, 10)",
    lambda s: _made(s, "step") and not isinstance(s, Optimizer))]
_Callbacks: TypeAlias = Annotated[Sequence[Callback], Rule(
    "a list, such as [training.EarlyStopping()]", lambda c: isinstance(c, Sequence),
    lambda c: _all_made(c, "on_fit_begin", "training.EarlyStopping()"))]


class Trainer(Written, Explained):
    """Trains a model: ``fit``, ``evaluate`` and ``predict``.

    One step, from the batch to the updated parameters, is one function compiled by
    :func:`agnesi.jit`; the loop around it is :meth:`fit`.  A subclass may compute its loss in its
    own way by :meth:`loss_of`.

    Parameters
    ----------
    model : nn.Module
        Takes what batches begin with.
    optimizer : optim.Optimizer
        Of the model's parameters.
    loss : callable
        Takes the model's output and what batches end with, and gives a number.
    metrics : mapping of str to Metric, optional
        What evaluations report besides the loss.
    schedule : optim.lr_scheduler.Scheduler, optional
        Steps after each epoch; after each update with ``schedule_every="step"``.
    callbacks : sequence of Callback
        Are called at batches and epochs, and may stop the training.
    precision : {"float32", "bfloat16"}
        In which type the model computes; parameters and updates stay float32.
    accumulate : int
        Over how many batches gradients are averaged before an update.
    clip_norm : float, optional
        The greatest norm of all gradients together; longer ones are scaled down.
    schedule_every : {"epoch", "step"}
        When the schedule steps.
    jit : bool
        False runs steps eagerly, as for a debugger.

    Attributes
    ----------
    epoch : int
        How many epochs are over.
    step : int
        How many batches were trained on.
    history : History
        A row of numbers for each epoch.
    stop : str or None
        Set by callbacks: why the training shall end.

    Raises
    ------
    TypeError
        If something is of the wrong kind.
    ValueError
        If a number or a choice is out of range.

    See Also
    --------
    data.DataLoader, metrics.Accuracy, training.EarlyStopping, training.ModelCheckpoint

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn, optim
    >>> from agnesi.training import Trainer
    >>> generator = ag.manual_seed(0)
    >>> x = ag.randn(64, 2)
    >>> y = (x.sum(axis=1) > 0).astype("int64")
    >>> model = nn.Linear(2, 2)
    >>> trainer = Trainer(model, optim.Adam(model.parameters(), lr=0.1), nn.CrossEntropyLoss(),
    ...                   metrics={"accuracy": ag.metrics.Accuracy()})
    >>> history = trainer.fit((x, y), epochs=5, batch_size=16)
    >>> trainer.evaluate((x, y))["accuracy"] > 0.9
    True
    >>> trainer.predict(x).shape
    (64, 2)
    """

    def __init__(self, model: _Model, optimizer: _Optimizer, loss: _Loss, *,
                 metrics: _Metrics | None = None, schedule: _Schedule | None = None,
                 callbacks: _Callbacks = (),
                 precision: Literal["float32", "bfloat16"] = "float32", accumulate: Count = 1,
                 clip_norm: NotNegativeBound | None = None,
                 schedule_every: Literal["epoch", "step"] = "epoch", jit: bool = True) -> None:
        if isinstance(loss, type):
            raise TypeError(at(f"Trainer: loss is the class {loss.__name__}: make one of it, "
                               f"{loss.__name__}()"))
        self.model, self.optimizer, self.loss = model, optimizer, loss
        mine = {*map(id, model.parameters())}
        if mine and mine.isdisjoint(map(id, optimizer.parameters)):
            raise ValueError(at("Trainer: the optimizer has none of the model's parameters: make "
                                "it with model.parameters()"))
        self.schedule: Any = schedule
        self.metrics = dict(metrics or {})
        self.callbacks, self.schedule_every = list(callbacks), schedule_every
        self.epoch = self.step = 0
        self.history = History()
        self.stop: str | None = None
        self.train_loss, self.test_loss = Mean(), Mean()
        self.loader: DataLoader | None = None
        self._steps = Steps(self, precision, accumulate, clip_norm)
        self._jit = jit
        self._compiled: dict[tuple[str, bool], Any] = {}

    def loss_of(self, model: Module, *batch: Any) -> tuple[Any, Any]:
        """The loss of a batch, and what metrics are given of it: for subclasses to replace.

        :param model: The model, in the precision of the trainer.
        :type model: nn.Module
        :param *batch: What the loader gives: inputs, then the target.
        :type *batch: Tensor
        :returns loss: A number.
        :returns output: The model's output.
        """
        output = model(*batch[:-1])
        return call_user(self.loss, (output, batch[-1]), {}, "Trainer",
                         "loss(output, target)"), output

    def _step(self, name: str, whole: bool) -> Any:
        """A step as it is run.  Batches that are not full, as the last of an epoch, have code of
        their own: what is compiled for full ones, and how it rounds, does not depend on when the
        first other one was met, so that a training that goes on is the same bit by bit."""
        if name == "train" and self.optimizer.needs_closure:
            return partial(self._steps.search, self._step("measure", whole))
        if (name, whole) not in self._compiled:
            step = getattr(self._steps, name)
            self._compiled[name, whole] = compiled(step) if self._jit else step
        return self._compiled[name, whole]

    # -- training -------------------------------------------------------------------------
    def fit(self, data: object, epochs: Size, validation: object = None, *, batch_size: Count = 32,
            resume: Path_ | Checkpoints | None = None) -> History:
        """Train until so many epochs are over, counted from the first one on.

        :param data: Batches; of a dataset or arrays, in random order.
        :type data: DataLoader, Dataset, tuple of array_like, or iterable of batches
        :param epochs: After how many epochs to end, those of earlier calls included.
        :param validation: What to evaluate on after each epoch.
        :type validation: DataLoader, Dataset, or tuple of array_like, optional
        :param batch_size: Samples of a batch, where ``data`` is no loader.
        :param resume: A checkpoint to go on from, if it is there: a file of :meth:`save`, or the
            last one of a folder of :class:`agnesi.training.ModelCheckpoint`.
        :type resume: str, os.PathLike or Checkpoints, optional
        :returns: All epochs so far.
        :raises FileFormatError, KeyError, ValueError, TypeError: If a checkpoint is damaged, or of
            another training; nothing is changed then.
        """
        loader = self.loader = as_loader(data, batch_size, shuffle=True)
        tests = None if validation is None else as_loader(validation, batch_size, name="validation")
        self.stop = None
        if resume is not None:
            self._resume(resume)
        self._notify("on_fit_begin")
        try:
            while self.epoch < epochs and self.stop is None:
                began = time.perf_counter()
                self._notify("on_epoch_begin")
                self._run_epoch(loader)
                self._end_epoch(tests, began)
        finally:
            self._notify("on_fit_end")
        return self.history

    def _run_epoch(self, loader: Iterable[Any]) -> None:
        """Train on all batches, or on those that are left of an epoch that was begun."""
        self.model.train()
        size = getattr(getattr(loader, "batch_sampler", None) or loader, "batch_size", None)
        whole, rest = self._step("train", True), self._step("train", False)
        accumulates = self._steps.accumulate > 1
        hooks: list[Callable[[Any], None]] = [
            c.on_batch_end for c in self.callbacks
            if type(c).on_batch_end is not Callback.on_batch_end]
        if self.schedule is not None and self.schedule_every == "step":
            hooks.insert(0, self._follow)
        begun = self.step
        state = vars(self)  # as written without the checks of users' writes
        for batch in loader:
            args = batch if type(batch) is tuple and len(batch) > 1 else self._parts(batch)
            if accumulates:
                self.train_batch(*args)
            elif size is None or _rows(args[-1]) == size:
                whole(*args)
            else:
                rest(*args)
            state["step"] += 1
            for hook in hooks:
                hook(self)
            if state["stop"] is not None:
                break
        if self.step == begun and self.stop is None and not float(self.train_loss.weight):
            raise ValueError(at(f"Trainer.fit: there is no batch in epoch {self.epoch + 1}: the "
                                "data are empty, or a generator that was read to its end; give "
                                "a list or a DataLoader"))

    def _parts(self, batch: Any) -> Any:
        """The parts of a batch: the model's inputs, and the target behind them."""
        parts = batch if isinstance(batch, (tuple, list)) else (batch,)
        if batch is None or (len(parts) < 2 and type(self).loss_of is Trainer.loss_of):
            raise TypeError(at("Trainer: a batch must be a tuple of inputs and the target, not "
                               f"{typed(batch)}; give (x, y), or a dataset and a collate_fn that "
                               "make such ones"))
        return parts

    def train_batch(self, *batch: Any) -> None:
        """Train on one batch; where gradients are accumulated, the last one of some updates.

        :param *batch: What :meth:`loss_of` takes.
        :type *batch: Tensor
        """
        last = (self.step + 1) % self._steps.accumulate == 0
        size = getattr(self.loader, "batch_size", None)
        self._step("train" if last else "add", size is None or _rows(batch[-1]) == size)(*batch)

    def _follow(self, _: Any) -> None:
        if self.step % self._steps.accumulate == 0:
            self.schedule.step()

    def _end_epoch(self, tests: DataLoader | None, began: float) -> None:
        row: dict[str, Any] = {"epoch": self.epoch + 1, "step": self.step,
                               "loss": self._mean_loss(), "lr": self.optimizer.lr}
        self.train_loss.reset()
        if tests is not None:
            row.update((f"val_{name}", v) for name, v in self.evaluate(tests).items())
        row["seconds"] = time.perf_counter() - began
        if self.stop is None:
            self.epoch += 1
            if self.schedule is not None and self.schedule_every == "epoch":
                self.schedule.step(*([row.get("val_loss", row["loss"])]
                                     if hasattr(self.schedule, "patience") else []))
        self.history.append(row)
        self._notify("on_epoch_end", row)

    def _mean_loss(self) -> float:
        """The mean of the losses of an epoch's batches; NaN, with a warning, of none."""
        weight = float(self.train_loss.weight)
        return (float(self.train_loss.sum) / weight if weight else float(self.train_loss.compute()))

    def _notify(self, what: str, *details: Any) -> None:
        for callback in self.callbacks:
            call_user(getattr(callback, what), (self, *details), {}, type(callback).__name__,
                      f"{what}(trainer{', row' * bool(details)})")

    # -- evaluating -----------------------------------------------------------------------
    def evaluate(self, data: object, *, batch_size: Count = 256) -> dict[str, Any]:
        """The loss and the metrics of data, with the model in evaluation mode.

        :param data: Batches.
        :type data: DataLoader, Dataset, or tuple of array_like
        :param batch_size: Samples of a batch, where ``data`` is no loader.
        :returns: ``loss`` and the metrics by name; metrics of several numbers as lists.
        :rtype: dict of str to float
        :raises ValueError: If there is no batch.
        """
        for metric in (self.test_loss, *self.metrics.values()):
            metric.reset()
        training = self.model.training
        self.model.eval()
        try:
            loader = as_loader(data, batch_size)
            size = getattr(getattr(loader, "batch_sampler", None) or loader, "batch_size", None)
            for args in map(self._parts, loader):
                self._step("test", size is None or _rows(args[-1]) == size)(*args)
        finally:
            self.model.train(training)
        if not float(self.test_loss.weight):
            raise ValueError(at("Trainer.evaluate: there is no batch: the data are empty, or a "
                                "generator that was read to its end; give a list or a DataLoader"))
        found = {"loss": self.test_loss, **self.metrics}
        return {name: np.asarray(metric.compute()).tolist() for name, metric in found.items()}

    def predict(self, data: object, *, batch_size: Count = 256) -> Tensor:
        """The model's output for data, with the model in evaluation mode.

        :param data: Inputs; of batches that are tuples, all but the last are inputs, as while
            training.
        :type data: DataLoader, Dataset, or array_like
        :param batch_size: Samples of a batch, where ``data`` is no loader.
        :returns: Of all samples.
        :raises ValueError: If there are no samples.
        """
        training = self.model.training
        self.model.eval()
        try:
            outputs = [
                self._step("output", True)(
                    *(batch[:-1] if isinstance(batch, (tuple, list)) else (batch,)))
                for batch in as_loader(data, batch_size)
            ]
        finally:
            self.model.train(training)
        if not outputs:
            raise ValueError(at("predict: there are no samples"))
        return concat(outputs)

    # -- going on -------------------------------------------------------------------------
    def parts(self) -> dict[str, Any]:
        """Return the contents of a checkpoint of this training, by name.

        :returns: As :func:`agnesi.saving.save_checkpoint` takes them.
        :rtype: dict of str to object
        """
        found = {"model": self.model, "optimizer": self.optimizer, "trainer": self,
                 "generator": default_generator(), "schedule": self.schedule, "loader": self.loader}
        return {name: part for name, part in found.items() if part is not None}

    def save(self, path: Path_) -> None:
        """Write a whole checkpoint, also in the middle of an epoch.

        :param path: The file; ``fit(..., resume=path)`` goes on from it.
        """
        save_checkpoint(path, **self.parts())

    def _resume(self, source: Path_ | Checkpoints) -> None:
        if not isinstance(source, Checkpoints) and os.path.isdir(source):
            source = Checkpoints(source, name="last")  # as ModelCheckpoint writes them
        if isinstance(source, Checkpoints):
            if source.steps():
                source.load(**self.parts())
        elif os.path.exists(source):
            load_checkpoint(source, **self.parts())

    def state_dict(self) -> dict[str, Any]:
        """Where the training is, without the model, optimizer and loader.

        :returns: Counts, history, sums of losses and gradients, and states of callbacks.
        """
        return {
            "epoch": self.epoch, "step": self.step, "history": list(self.history),
            "loss": self.train_loss.state_dict(), "gradients": self._steps.state_dict(),
            "callbacks": [callback.state_dict() for callback in self.callbacks],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        :param state: As :meth:`state_dict` gives it.
        :raises KeyError: If it is no such state.
        :raises ValueError: If there are other callbacks, or gradients are accumulated otherwise.
        """
        if "callbacks" not in state:
            raise StateError(at("Trainer.load_state_dict: the state is none of a Trainer, but has "
                                f"{sorted(map(str, state))}; state_dict() of a Trainer is one"))
        states, callbacks = state["callbacks"], self.callbacks
        if len(states) != len(callbacks):  # those without a state may come and go
            states = [own for own in states if own]
            callbacks = [callback for callback in callbacks if callback.state_dict()]
        if len(states) != len(callbacks):
            raise ValueError(at(f"the state is of a Trainer with {len(states)} callbacks that keep "
                                f"a state; here are {len(callbacks)}"))
        self._steps.load_state_dict(state["gradients"])
        self.train_loss.load_state_dict(state["loss"])
        self.epoch, self.step = int(state["epoch"]), int(state["step"])
        self.history = History(state["history"])
        for callback, own in zip(callbacks, states, strict=True):
            callback.load_state_dict(own)

    def __repr__(self) -> str:
        return (f"Trainer({type(self.model).__name__}, {type(self.optimizer).__name__}, "
                f"epoch={self.epoch}, step={self.step})")


def _rows(target: Any) -> int:
    """How many samples a target has."""
    held = target.array if type(target) is Tensor else None
    return len(held if held is not None and held.ndim else target)


def as_loader(data: Any, batch_size: int, shuffle: bool = False, name: str = "data") -> Any:
    """Batches of what users give: a loader as it is, datasets and arrays as loaders."""
    if isinstance(data, DataLoader):
        return data
    if isinstance(data, (str, bytes)):
        raise TypeError(at(f"Trainer: {name} must be a DataLoader, a dataset or a tuple of arrays, "
                           f"not {typed(data)}"))
    if isinstance(data, tuple):
        data = TensorDataset(*data)
    if isinstance(data, (np.ndarray, Tensor)) or (
            hasattr(data, "__getitem__") and hasattr(data, "__len__")
            and not isinstance(data, list)):  # whose items are batches
        return DataLoader(data, batch_size, shuffle=shuffle)
    if not isinstance(data, Iterable):
        raise TypeError(at(f"Trainer: {name} must be a DataLoader, a dataset or a tuple of arrays, "
                           f"not {typed(data)}"))
    return data
