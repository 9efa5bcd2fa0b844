"""The step functions that a trainer compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.options import Count, NotNegativeBound
from agnesi.core.support import dtypes
from agnesi.core.support.errors import StateError, at, shown, typed
from agnesi.core.support.tree import map_leaves
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.utils import clip_grad_norm_
from agnesi.ops.arrays.loading import write_all
from agnesi.ops.base.convert import cast
from agnesi.ops.sparse.words import dense


class Steps:
    """The steps of a trainer, and the sums of gradients that several batches share."""

    def __init__(self, trainer: Any, precision: str, accumulate: Count,
                 clip_norm: NotNegativeBound | None) -> None:
        if precision not in ("float32", "bfloat16"):
            raise ValueError(at("Trainer: precision must be 'float32' or 'bfloat16', which has the "
                                f"same range, not {shown(precision)}"))
        count = index(accumulate) if hasattr(accumulate, "__index__") else 0
        if count < 1:
            raise ValueError(at("Trainer: accumulate must be an integer of at least 1, not "
                                f"{shown(accumulate)}"))
        if clip_norm is not None and not clip_norm > 0:
            raise ValueError(at(f"Trainer: clip_norm must be above 0, not {clip_norm}"))
        self.trainer, self.accumulate, self.clip_norm = trainer, count, clip_norm
        self.narrow: Any = dtypes.as_dtype("bfloat16") if precision == "bfloat16" else None
        if count > 1 and trainer.optimizer.needs_closure:
            raise ValueError(at(f"Trainer: {type(trainer.optimizer).__name__} calls for the "
                                "gradients of a batch several times, so none are added up: leave "
                                "accumulate=1 and make batches larger"))
        self.sums = [wrap(np.zeros(p.shape, p.dtype)) for p in trainer.optimizer.parameters
                     ] if count > 1 else []

    def train(self, *batch: Any) -> None:
        """Add a batch's gradients and update the parameters."""
        trainer = self.trainer
        trainer.optimizer.zero_grad()
        self._backward(batch)
        parameters = trainer.optimizer.parameters
        for p, held in zip(parameters, self.sums, strict=False):
            p.grad = held / self.accumulate if p.grad is None else (
                (held + p.grad) / self.accumulate)
            held.zero_()
        if self.clip_norm is not None:
            clip_grad_norm_(parameters, self.clip_norm)
        trainer.optimizer.step()

    def add(self, *batch: Any) -> None:
        """Add a batch's gradients to those of others."""
        self.trainer.optimizer.zero_grad()
        self._backward(batch)
        for p, held in zip(self.trainer.optimizer.parameters, self.sums, strict=True):
            if p.grad is not None:
                held.add_(dense(p.grad))
        self.trainer.optimizer.zero_grad()

    def search(self, measure: Callable[..., Tensor], *batch: Any) -> None:
        """Update the parameters by an optimizer that calls for loss and gradients several times."""
        loss = self.trainer.optimizer.step(lambda: measure(*batch))
        self.trainer.train_loss.update(loss)

    def measure(self, *batch: Any) -> Tensor:
        """Return the loss of a batch, whose gradients the parameters have then."""
        self.trainer.optimizer.zero_grad()
        loss, _ = self._loss(batch)
        loss.backward()
        if self.clip_norm is not None:
            clip_grad_norm_(self.trainer.optimizer.parameters, self.clip_norm)
        found: Tensor = loss.detach()
        return found

    def _backward(self, batch: Any) -> None:
        loss, _ = self._loss(batch)
        loss.backward()
        self.trainer.train_loss.update(loss)

    @no_grad()
    def test(self, *batch: Any) -> None:
        """Add a batch to the metrics."""
        trainer = self.trainer
        loss, output = self._loss(batch)
        trainer.test_loss.update(loss, len(batch[-1]))
        for metric in trainer.metrics.values():
            metric.update(output, batch[-1])

    @no_grad()
    def output(self, *inputs: Any) -> Any:
        """The model's output."""
        if self.narrow is None:
            return self.trainer.model(*inputs)
        return self._widened(self._narrowed(self.trainer.model)(*self._cast(inputs)))

    # -- precision ------------------------------------------------------------------------
    def _loss(self, batch: Any) -> tuple[Any, Any]:
        """The loss of a batch, and the output."""
        trainer, model = self.trainer, self.trainer.model
        if self.narrow is not None:
            model = _Wide(self._narrowed(model), self._cast, self._widened)
        loss, output = trainer.loss_of(model, *batch)
        if not isinstance(loss, Tensor) or loss.size != 1:
            raise TypeError(at("the loss must be a scalar tensor, computed from the output, not "
                               f"{typed(loss)}; .mean() reduces one"))
        return loss, output

    def _narrowed(self, model: Any) -> Any:
        """The model with its parameters in the narrow type, from which gradients lead back."""
        return model.with_parameters({
            name: cast(p, self.narrow) for name, p in model.named_parameters()
            if p.dtype == dtypes.float32})

    def _cast(self, tree: Any) -> Any:
        return map_leaves(lambda t: cast(t, self.narrow) if isinstance(t, Tensor) and (
            t.dtype == dtypes.float32) else t, tree)

    def _widened(self, tree: Any) -> Any:
        return map_leaves(lambda t: cast(t, dtypes.float32) if isinstance(t, Tensor) and (
            t.dtype == self.narrow) else t, tree)

    # -- saving ---------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The sums of gradients."""
        return {str(k): np.array(t) for k, t in enumerate(self.sums)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over sums of gradients."""
        mine = {str(k): t for k, t in enumerate(self.sums)}
        if mine.keys() != state.keys():
            raise StateError(at(f"the state has sums of {len(state)} gradients, the Trainer of "
                                f"{len(mine)}: accumulate is another one"))
        write_all(mine, state)


class _Wide:
    """A model of a narrow type that takes and gives wide numbers."""

    def __init__(self, model: Any, narrow: Any, widen: Any) -> None:
        self.model, self.narrow, self.widen = model, narrow, widen

    def __call__(self, *inputs: Any) -> Any:
        return self.widen(self.model(*self.narrow(inputs)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
