"""Losses: ``forward(input, target)`` is a number, ``backward`` the gradient of the input."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.autodiff.transforms import vjp
from agnesi.compat.torch7.maths import Tensor
from agnesi.compat.torch7.nn.module import arrays, keep_arguments, written
from agnesi.core.op import is_accident
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.nn import functional as F

__all__ = [
    "AbsCriterion", "BCECriterion", "ClassNLLCriterion", "CosineEmbeddingCriterion", "Criterion",
    "CriterionTable", "CrossEntropyCriterion", "DistKLDivCriterion", "HingeEmbeddingCriterion",
    "L1HingeEmbeddingCriterion", "MSECriterion", "MarginCriterion", "MarginRankingCriterion",
    "MultiCriterion", "MultiLabelMarginCriterion", "MultiMarginCriterion", "SmoothL1Criterion",
]


class Criterion:
    """Base of losses; a subclass gives ``compute(input, target)`` in agnesi's functions.

    Attributes
    ----------
    output : float
    gradInput : Tensor or list of Tensor
    sizeAverage : bool
        Whether losses are averaged, not summed.
    """

    #: Whether input and target are compared element by element.
    _elementwise = False
    #: Whether the input must be probabilities.
    _probable = False
    #: Whether the input is a table.
    _table = False

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        keep_arguments(cls)

    def __init__(self, sizeAverage: bool = True) -> None:
        self.sizeAverage = sizeAverage
        self.output = 0.0
        self.gradInput: Any = Tensor()
        self.diagHessianInput: Any = None

    def compute(self, x: Any, t: Any) -> Any:
        raise NotImplementedError(at(f"{type(self).__name__} needs compute(input, target)"))

    def _paired(self, x: Any, t: Any) -> tuple[Any, Any]:
        """Input and target; where they are compared element by element, the target in the shape of
        the input."""
        if self._elementwise and not hasattr(x, "shape"):
            raise TypeError("the input must be a tensor")
        if not self._elementwise or x.shape == np.shape(t):
            return x, t
        if not hasattr(t, "shape"):
            raise TypeError("the target must be a tensor like the input")
        if x.size != t.size:
            raise ShapeError("they must have as many elements")
        return x, t.reshape(x.shape)

    @contextlib.contextmanager
    def _checked(self, method: str, input: Any, target: Any) -> Iterator[None]:
        """Errors name the loss and what it was given."""
        name = f"{type(self).__name__}.{method}"
        if target is None and type(self)._elementwise:
            raise TypeError(at(f"{name}({typed(input)}): the target is missing; it is called "
                               f"as {method}(input, target)"))
        try:
            if self._table and not isinstance(input, (list, tuple)):
                raise TypeError("the input must be a table, a list of two tensors")
            if self._probable and hasattr(input, "array") and not np.all(
                    (input.array >= 0) & (input.array <= 1)):
                raise ValueError("the input must be probabilities, from 0 to 1, as nn.Sigmoid "
                                 "gives them")
            if isinstance(target, (str, bytes, dict)):
                raise TypeError("the target must be a tensor or a number")
            yield
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            reason = str(getattr(error, "reason", None) or error).partition("\n  at ")[0]
            for known in (".compute: ", ": "):
                reason = reason.removeprefix(type(self).__name__ + known)
            if target is None and (is_accident(error) or "cannot be None" in reason):
                reason = f"the target is missing; it is called as {method}(input, target)"
            kind = TypeError if isinstance(error, AttributeError) else type(error)
            given = f"{typed(input)}, {typed(target)}"
            raise kind(at(f"{name}({given}): {reason}")) from None

    def _reduced(self, losses: Any) -> Any:
        return ag.mean(losses) if self.sizeAverage else ag.sum(losses)

    def updateOutput(self, input: Any, target: Any = None) -> float:
        """The loss."""
        with self._checked("forward", input, target):
            self.output = float(self.compute(*self._paired(arrays(input), arrays(target))))
        return self.output

    def updateGradInput(self, input: Any, target: Any = None) -> Any:
        """The gradient of the input, which stays in ``gradInput``."""
        with self._checked("backward", input, target):
            leaves, shape = tree.flatten(arrays(input))
            t = arrays(target)
            y, pull = vjp(lambda *xs: self.compute(*self._paired(shape.build(xs), t)), *leaves)
        found = shape.build(pull(ag.ones_like(y)))
        self.gradInput = written(self.gradInput, found)
        return self.gradInput

    forward, backward = updateOutput, updateGradInput
    __call__ = updateOutput

    def clone(self) -> Any:
        """A copy."""
        return copy.deepcopy(self)

    def type(self, name: str) -> Any:
        """The loss itself: losses have the types of their inputs."""
        return self

    def float(self) -> Any:
        """The loss itself."""
        return self

    double = cuda = float


keep_arguments(Criterion)


def check_criterion(owner: Any, given: Any) -> None:
    """Refuse what is no loss where one is added."""
    if not isinstance(given, Criterion):
        raise TypeError(at(f"{type(owner).__name__}.add: criterion must be a loss, as "
                           f"MSECriterion() is, not {typed(given)}"))


def whole(numbers: Any, what: str) -> Any:
    """Labels or places as integers; others than whole numbers are refused."""
    array = np.asarray(numbers)
    if array.dtype.kind == "f" and array.size and (array != np.floor(array)).any():
        raise ValueError(f"{what} must be whole numbers, not {array[array != np.floor(array)][0]}")
    return array.astype("int64")


class MSECriterion(Criterion):
    """The mean of squared differences."""

    _elementwise = True

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced((x - t) ** 2)


class AbsCriterion(Criterion):
    """The mean of absolute differences."""

    _elementwise = True

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.abs(x - t))


class SmoothL1Criterion(Criterion):
    """Squares of small differences, lengths of large ones."""

    _elementwise = True

    def compute(self, x: Any, t: Any) -> Any:
        off = ag.abs(x - t)
        return self._reduced(ag.where(off < 1, 0.5 * off * off, off - 0.5))


class BCECriterion(Criterion):
    """Minus the logarithm of the chance of 0s and 1s, perhaps times weights of the columns."""

    _elementwise = _probable = True

    def __init__(self, weights: Any = None, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weights = weights

    def compute(self, x: Any, t: Any) -> Any:
        losses = -(t * ag.log(x + 1e-12) + (1 - t) * ag.log(1 - x + 1e-12))
        return self._reduced(losses if self.weights is None else losses * self.weights.array)


class ClassNLLCriterion(Criterion):
    """Minus the logarithm at the label, which counts from 1; ``ignoreIndex`` costs nothing."""

    def __init__(self, weights: Any = None, sizeAverage: bool = True,
                 ignoreIndex: int = -100) -> None:
        super().__init__(sizeAverage)
        if weights is not None and not hasattr(weights, "array"):
            raise TypeError(at(f"{type(self).__name__}: weights must be a tensor with a number for "
                               f"each class, not {typed(weights)}"))
        self.weights, self.ignoreIndex = weights, ignoreIndex

    def _rows(self, x: Any) -> Any:
        return x.reshape(-1, x.shape[-1])

    def compute(self, x: Any, t: Any) -> Any:
        labels = whole(t, "labels").reshape(-1)
        rows = self._rows(x)
        if ((labels != self.ignoreIndex) & ((labels < 1) | (labels > rows.shape[1]))).any():
            raise IndexError(at(f"{type(self).__name__}: labels count from 1 to {rows.shape[1]}, "
                                f"the number of classes, not {labels.min()} to {labels.max()}"))
        if len(labels) != len(rows):
            raise ShapeError(at(f"{type(self).__name__}: there are {len(rows)} rows of scores and "
                                f"{len(labels)} labels"))
        if self.weights is not None and self.weights.array.size != rows.shape[1]:
            raise ShapeError(at(f"{type(self).__name__}: there are {rows.shape[1]} classes and "
                                f"{self.weights.array.size} weights"))
        scale = np.ones(len(labels)) if self.weights is None else (
            self.weights.array[np.clip(labels - 1, 0, rows.shape[1] - 1)])
        scale = np.where(labels == self.ignoreIndex, 0, scale)
        places = np.where(labels == self.ignoreIndex, 1, labels) - 1
        total = ag.sum(-rows[np.arange(len(places)), places] * scale)
        return total / scale.sum() if self.sizeAverage else total


class CrossEntropyCriterion(ClassNLLCriterion):
    """:class:`ClassNLLCriterion` of the logarithms of the softmax."""

    def compute(self, x: Any, t: Any) -> Any:
        return super().compute(ag.log_softmax(x, axis=-1), t)


class DistKLDivCriterion(Criterion):
    """The divergence of a distribution from that whose logarithms are the input."""

    _elementwise = True

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.where(t > 0, t * (ag.log(ag.maximum(t, 1e-300)) - x), 0))


class MarginCriterion(Criterion):
    """By how much scores miss a margin on the side of labels 1 and -1."""

    _elementwise = True

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.maximum(self.margin - x * t, 0))


class MultiMarginCriterion(Criterion):
    """By how much other classes miss a margin below that of the label, which counts from 1."""

    def __init__(self, p: int = 1, weights: Any = None, margin: float = 1,
                 sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        if p not in (1, 2):
            raise ValueError(at(f"{type(self).__name__}: p must be 1 or 2, not {p!r}"))
        self.p, self.weights, self.margin = p, weights, margin

    def compute(self, x: Any, t: Any) -> Any:
        rows = x.reshape(-1, x.shape[-1])
        places = whole(t, "labels").reshape(-1) - 1
        if places.size and not 0 <= places.min() <= places.max() < rows.shape[1]:
            raise IndexError(at(f"{type(self).__name__}: labels count from 1 to {rows.shape[1]}, "
                                f"the number of classes, not {places.min() + 1} to "
                                f"{places.max() + 1}"))
        own = rows[np.arange(len(places)), places]
        others = np.ones(rows.shape)
        others[np.arange(len(places)), places] = 0
        if self.weights is not None:
            others *= self.weights.array[places][:, None]
        missed = ag.maximum(self.margin - own[:, None] + rows, 0) ** self.p * others
        return self._reduced(ag.sum(missed, 1) / rows.shape[1])


class MultiLabelMarginCriterion(Criterion):
    """The same for several labels, counted from 1; 0 ends them."""

    def compute(self, x: Any, t: Any) -> Any:
        t = np.asarray(t).astype("int64")
        return F.multilabel_margin_loss(x, t - 1, reduction="mean" if self.sizeAverage else "sum")


def _sides(t: Any) -> Any:
    """Labels 1 and -1."""
    found = ag.asarray(t)
    if found.array is not None and not np.isin(np.asarray(found), (-1, 1)).all():
        raise ValueError("labels are 1 and -1")
    return found


class HingeEmbeddingCriterion(Criterion):
    """Distances of what belongs together (1), and by how much others (-1) are within a margin."""

    def __init__(self, margin: float = 1) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.where(_sides(t) == 1, x, ag.maximum(self.margin - x, 0)))


class L1HingeEmbeddingCriterion(HingeEmbeddingCriterion):
    """The same of the 1-norm of the difference of two inputs."""

    _table = True

    def compute(self, x: Any, t: Any) -> Any:
        return super().compute(ag.sum(ag.abs(x[0] - x[1])), t)


class CosineEmbeddingCriterion(Criterion):
    """1 minus the cosine of what belongs together (1), that of others (-1) above a margin."""

    _table = True

    def __init__(self, margin: float = 0) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, x: Any, t: Any) -> Any:
        a, b = x
        cos = ag.sum(a * b, -1) / ag.sqrt(ag.sum(a * a, -1) * ag.sum(b * b, -1))
        return self._reduced(ag.where(_sides(t) == 1, 1 - cos, ag.maximum(cos - self.margin, 0)))


class MarginRankingCriterion(Criterion):
    """By how much the first of two inputs misses a margin above the second (1), or below (-1)."""

    _table = True

    def __init__(self, margin: float = 0) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.maximum(self.margin - _sides(t) * (x[0] - x[1]), 0))


class MultiCriterion(Criterion):
    """A weighted sum of losses of one input and target."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[Any, float]] = []

    def add(self, criterion: Any, weight: float = 1) -> MultiCriterion:
        """One more loss."""
        check_criterion(self, criterion)
        self.parts.append((criterion, weight))
        return self

    def compute(self, x: Any, t: Any) -> Any:
        return sum(w * c.compute(*c._paired(x, t)) for c, w in self.parts)


class CriterionTable(Criterion):
    """A loss of a table (input, target)."""

    def __init__(self, criterion: Any) -> None:
        super().__init__()
        self.criterion = criterion

    def updateOutput(self, input: Any, target: Any = None) -> float:
        self.output = self.criterion.updateOutput(*input)
        return self.output

    def updateGradInput(self, input: Any, target: Any = None) -> Any:
        self.gradInput = [self.criterion.updateGradInput(*input)]
        return self.gradInput

    forward, backward = updateOutput, updateGradInput
