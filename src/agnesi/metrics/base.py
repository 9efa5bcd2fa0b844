"""The base of all metrics: sums that batches are added to in place, eagerly or compiled."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from agnesi.core.options import Written
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import check_call
from agnesi.core.support.errors import Explained, StateError, at, typed, warn
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.loading import check_state, differing, write_all
from agnesi.ops.base.compare import greater_equal, less
from agnesi.ops.base.ensure import ensure


class Metric(Written, Explained):
    """Base of metrics: a subclass keeps sums in tensors, which :meth:`update` changes in place.

    Nothing is read while batches are added, so that a compiled step may add its own; only what
    :meth:`compute` gives is read, when its number is wanted.

    :see: metrics.Accuracy, metrics.Mean

    >>> class Largest(ag.metrics.Metric):
    ...     def __init__(self):
    ...         self.add_state("found", float("-inf"))
    ...     def update(self, x):
    ...         self.found.copy_(ag.maximum(self.found, x.max()))
    ...     def compute(self):
    ...         return self.found.clone()
    >>> metric = Largest()
    >>> for batch in ([1.0, 5.0], [2.0, 3.0]):
    ...     metric.update(ag.tensor(batch))
    >>> float(metric.compute())
    5.0
    """

    _first: dict[str, np.ndarray]

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "compute" in vars(cls):
            cls.compute = _warning(vars(cls)["compute"])  # type: ignore[method-assign]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        name = type(self).__name__
        raise TypeError(at(f"{name} is not called: metric.update(...) adds a batch, "
                           "metric.compute() gives the value"))

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        check_call(cls, args, keywords)
        self = super().__new__(cls)
        self._first = {}
        return self

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def add_state(self, name: str, first: TensorLike) -> None:
        """Keep a tensor as an attribute, which :meth:`reset` sets back and ``state_dict`` has.

        :param name: Of the attribute.
        :param first: Its value before any batch.
        :type first: array_like
        :raises TypeError: If it is no number and no array of numbers.
        """
        if np.asarray(first).dtype.kind not in "biufc":
            raise TypeError(at(f"{type(self).__name__}.add_state: {name} must begin as a number or "
                               f"an array of numbers, not {typed(first)}"))
        self._first[name] = np.array(first)
        setattr(self, name, wrap(np.array(first)))

    def update(self, *batch: Any) -> None:
        """Add a batch.

        :param *batch: What the subclass takes.
        :type *batch: Tensor
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no update(self, ...), which adds "
                                     "a batch"))

    def compute(self) -> Tensor:
        """The metric of all batches since the last reset.

        :returns: NaN where there was none.
        :raises NotImplementedError: Unless a subclass has its own.
        """
        raise NotImplementedError(at(f"{type(self).__name__} has no compute(self), which gives the "
                                     "metric"))

    def reset(self) -> None:
        """Forget all batches."""
        for name, held in self._tensors().items():
            held.copy_(wrap(self._first[name]))

    def _tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in self._first}

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all sums, by name.

        :returns: They share no memory with the metric.
        :rtype: dict of str to numpy.ndarray
        """
        return {name: np.array(t) for name, t in self._tensors().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave.

        :param state: As :meth:`state_dict` gives it.
        :raises KeyError, ValueError, TypeError: If it is of another metric; nothing is changed
            then.
        """
        check_state(type(self).__name__, state)
        mine = self._tensors()
        if mine.keys() != state.keys():
            kind = type(self).__name__
            raise StateError(at(f"{kind}.load_state_dict: the state is not one of this {kind}: "
                                f"{differing(mine, state)}"))
        write_all(mine, state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _warning(compute: Any) -> Any:
    """The method, with a warning where the result is NaN because no batch was added."""
    @functools.wraps(compute)
    def renamed(self: Any) -> Any:
        found = compute(self)
        if self._first and isinstance(found, Tensor) and is_known(found) and np.isnan(
                found.array).any() and all(np.array_equal(t.array, self._first[name])
                                           for name, t in self._tensors().items()):
            warn(f"{type(self).__name__}.compute() before any batch is NaN: update(...) adds one")
        return found

    return renamed


def labels_within(metric: Metric, targets: Any, classes: int) -> Any:
    """Targets as they are, after a check that each is one of so many classes."""
    hint = "; give ignore_index for those that do not count" if hasattr(
        metric, "ignore_index") else ""
    return ensure(targets, (greater_equal(targets, 0) & less(targets, classes)).all(), (
        f"{type(metric).__name__}: targets are labels from 0 to {classes - 1}{hint}"))
