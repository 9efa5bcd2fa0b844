"""Caffe's losses and its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.core.support.dtypes import int64
from agnesi.nn.base.module import Module
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise import explog
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.neural.softmax import log_softmax

_Given = Mapping[str, Any]


class Function(Module):
    """A layer without parameters: a function of tensors.

    Parameters
    ----------
    compute : callable
    name : str
        For printing.
    """

    def __init__(self, compute: Callable[..., Any], name: str) -> None:
        self.compute, self.title = compute, name

    def forward(self, *xs: Any) -> Any:
        return self.compute(*xs)

    def extra_repr(self) -> str:
        return self.title


def plain(name: str, compute: Callable[..., Any]) -> Any:
    """A layer without parameters."""
    return lambda given, shapes: Function(compute, name)


def _labels(x: Any, t: Any, axis: int) -> Any:
    """Labels of all places, with an axis of one element in the place of that of the scores."""
    axis %= len(x.shape)
    return cast(reshape(t, (*x.shape[:axis], 1, *x.shape[axis + 1:])), int64)


def _counted(t: Any, given: _Given, dtype: Any) -> Any:
    """1 for each label that counts, 0 for those that are ignored."""
    ignored = given.get("ignore_label")
    return cast(t == t if ignored is None else not_equal(t, int(ignored)), dtype)


def _normalized(total: Any, counts: Any, given: _Given, samples: Any, default: str) -> Any:
    """A sum of losses divided as ``loss_param`` says."""
    old = {None: default, True: "VALID", False: "BATCH_SIZE"}[given.get("normalize")]
    kind = str(given.get("normalization", old))
    by = {"VALID": lambda: maximum(sum_(counts), 1.0), "FULL": lambda: float(counts.size),
          "BATCH_SIZE": lambda: float(samples), "NONE": lambda: 1.0}
    if kind not in by:
        raise ValueError(f"normalization is one of {', '.join(by)}, not {kind}")
    return total / by[kind]()


def _of_labels(scores: Callable[[Any, int], Any]) -> Any:
    """The negative logarithm of a label's probability."""
    def make(given: _Given, shapes: list[Any]) -> Module:
        axis = int(given.get("axis", 1))

        def compute(x: Any, t: Any) -> Any:
            t = _labels(x, t, axis)
            counts = _counted(t, given, x.dtype)
            own = take_along_axis(scores(x, axis), where(counts > 0, t, 0), axis=axis)
            return _normalized(-sum_(own * counts), counts, given, x.shape[0], "VALID")

        return Function(compute, f"axis {axis}")

    return make


def _sigmoid_loss(given: _Given, shapes: list[Any]) -> Module:
    def compute(x: Any, t: Any) -> Any:
        counts = _counted(t, given, x.dtype)
        total = sum_((explog.logaddexp(x, 0.0) - x * cast(t, x.dtype)) * counts)
        return _normalized(total, counts, given, x.shape[0], "BATCH_SIZE")

    return Function(compute, "SigmoidCrossEntropyLoss")


def _hinge(given: _Given, shapes: list[Any]) -> Module:
    def compute(x: Any, t: Any) -> Any:
        labels = cast(reshape(t, (-1, 1)), int64)
        signs = where(labels == as_tensor(np.arange(x.shape[1])), -1.0, 1.0)
        found = maximum(1.0 + signs * x, 0.0)
        return sum_(found * found if given.get("norm") == "L2" else found) / x.shape[0]

    return Function(compute, str(given.get("norm", "L1")))


def _contrastive(given: _Given, shapes: list[Any]) -> Module:
    margin, older = float(given.get("margin", 1)), bool(given.get("legacy_version", False))

    def compute(x: Any, y: Any, same: Any) -> Any:
        off = reshape(x - y, (x.shape[0], -1))
        squared = sum_(off * off, 1)
        # The root of 0 has no slope, and nothing follows from one.
        root = where(squared > 0, squared, 1.0) ** 0.5 * cast(squared > 0, squared.dtype)
        apart = maximum(margin - squared, 0.0) if older else maximum(margin - root, 0.0) ** 2
        found = where(reshape(same, (-1,)) > 0, squared, apart)
        return sum_(found) / (2 * x.shape[0])

    return Function(compute, f"margin {margin}")


def _accuracy(given: _Given, shapes: list[Any]) -> Module:
    axis, k = int(given.get("axis", 1)), int(given.get("top_k", 1))

    def compute(x: Any, t: Any) -> Any:
        t = _labels(x, t, axis)
        counts = _counted(t, given, x.dtype)
        own = take_along_axis(x, where(counts > 0, t, 0), axis=axis)
        ahead = expand_dims(sum_(cast(x >= own, int64), axis), axis) - 1
        return sum_(cast(ahead < k, x.dtype) * counts) / sum_(counts)

    return Function(compute, f"top {k}")


_NORMED = "axis ignore_label normalization normalize"
#: How each is made, and the names of its parameters.
LOSSES: dict[str, tuple[Callable[[_Given, list[Any]], Module], str]] = {
    "SoftmaxWithLoss": (_of_labels(lambda x, axis: log_softmax(x, axis=axis)), _NORMED),
    "MultinomialLogisticLoss": (_of_labels(lambda x, axis: explog.log(maximum(x, 1e-20))),
                                "ignore_label normalization normalize"),
    "EuclideanLoss": (plain("EuclideanLoss", lambda x, t: sum_(
        (x - reshape(t, x.shape)) ** 2) / (2 * x.shape[0])), ""),
    "SigmoidCrossEntropyLoss": (_sigmoid_loss, "ignore_label normalization normalize"),
    "HingeLoss": (_hinge, "norm"), "ContrastiveLoss": (_contrastive, "margin legacy_version"),
    "Accuracy": (_accuracy, "axis top_k ignore_label"),
}
