"""What a training program keeps: counts of classes, and columns of numbers in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agnesi.compat.torch7.tensor import View
from agnesi.core.support.atomic import append_line, replacing
from agnesi.core.support.errors import at, typed
from agnesi.image import imshow, plot

__all__ = ["ConfusionMatrix", "Logger"]


class ConfusionMatrix:
    """How often which class was taken for which, counted from 1.

    Parameters
    ----------
    classes : int or sequence
    """

    def __init__(self, classes: Any) -> None:
        if isinstance(classes, str) or (not isinstance(classes, int) and not len(classes)):
            raise TypeError(at("ConfusionMatrix: classes must be their number, or a list of their "
                               f"names, not {typed(classes)}"))
        self.classes = list(range(1, classes + 1)) if isinstance(classes, int) else list(classes)
        self.mat = np.zeros((len(self.classes),) * 2, int)

    def add(self, prediction: Any, target: Any) -> None:
        """Count one: a number or scores, and a number or scores."""
        count = len(self.mat)
        for word, given in (("prediction", prediction), ("target", target)):
            if not 1 <= _class(given) <= count or np.size(np.asarray(given)) not in (1, count):
                raise IndexError(f"{word} must be a number from 1 to {count}, or {count} scores, "
                                 f"not {typed(given)}")
        self.mat[_class(target) - 1, _class(prediction) - 1] += 1

    def batchAdd(self, predictions: Any, targets: Any) -> None:
        """Count the rows of a batch."""
        if len(predictions) != len(targets):
            raise ValueError(f"predictions and targets must have as many rows, not "
                             f"{typed(predictions)} and {typed(targets)}")
        for p, t in zip(predictions, targets, strict=True):
            self.add(p, t)

    def zero(self) -> None:
        """Start again."""
        self.mat[...] = 0

    def updateValids(self) -> None:
        """Compute ``totalValid``, ``valids`` and ``averageValid``."""
        rows = self.mat.sum(1)
        self.valids = np.divide(np.diag(self.mat), rows, where=rows > 0, out=np.zeros(len(rows)))
        self.totalValid = float(np.trace(self.mat) / max(self.mat.sum(), 1))
        self.averageValid = float(self.valids[rows > 0].mean()) if rows.any() else 0.0
        union = rows + self.mat.sum(0) - np.diag(self.mat)
        overlap = np.diag(self.mat)[union > 0] / union[union > 0]
        self.averageUnionValid = float(overlap.mean()) if overlap.size else 0.0

    def farFrr(self) -> tuple[Any, Any]:
        """For each class how often others are taken for it, and how often it is not recognised."""
        hits, rows, columns = np.diag(self.mat), self.mat.sum(1), self.mat.sum(0)
        others = self.mat.sum() - rows
        self.classFar = (columns - hits) / np.maximum(others, 1)
        self.classFrr = (rows - hits) / np.maximum(rows, 1)
        return self.classFar, self.classFrr

    def render(self, path: Any = None) -> Any:
        """Draw the matrix with matplotlib, into a file if there is a path."""
        rows = np.maximum(self.mat.sum(1, keepdims=True), 1)
        return imshow((self.mat / rows)[None], path)

    def __repr__(self) -> str:
        self.updateValids()
        rows = [f"{' '.join(f'{n:7d}' for n in row)}   {100 * v:7.3f}%  [class: {name}]"
                for row, v, name in zip(self.mat, self.valids, self.classes, strict=True)]
        return "\n".join(["ConfusionMatrix:", *rows,
                          f" + average row correct: {100 * self.averageValid:g}%",
                          f" + average rowUcol correct: {100 * self.averageUnionValid:g}%",
                          f" + global correct: {100 * self.totalValid:g}%"])


def _class(x: Any) -> int:
    return int(np.argmax(x.array)) + 1 if isinstance(x, View) else int(x)


class Logger:
    """Columns of numbers in a text file, and a plot of them.

    Parameters
    ----------
    filename : str
        What was there is replaced.

    Attributes
    ----------
    names : list of str
    symbols : dict of str to list
        The columns.
    """

    def __init__(self, filename: str) -> None:
        self.name = Path(filename)
        self.name.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.name):
            pass
        self.names: list[str] = []
        self.symbols: dict[str, list[Any]] = {}
        self.logscale = False

    def _write(self, cells: Any) -> None:
        append_line(self.name, "".join(f"{c}\t" for c in cells))

    def setNames(self, names: Any) -> Logger:
        """What columns are called."""
        self.names = list(names)
        self.symbols = {n: [] for n in self.names}
        self._write(self.names)
        return self

    def add(self, values: Any) -> None:
        """One more line: a dict by names, or values in their order."""
        named = values if isinstance(values, dict) else dict(zip(
            self.names or map(str, range(1, len(values) + 1)), values, strict=True))
        if not self.names:
            self.setNames(named)
        for name, value in named.items():
            self.symbols[name].append(value)
        self._write(v if isinstance(v, str) else f"{float(v):11.4e}"
                    for v in (named[n] for n in self.names))

    def setlogscale(self, state: bool) -> None:
        """Plot logarithms (to the base 10)."""
        self.logscale = state

    def plot(self, path: Any = None) -> Any:
        """Draw the columns of numbers with matplotlib, by default into ``filename`` + ".png"."""
        lines = [np.asarray(self.symbols[n], float) for n in self.names
                 if not any(isinstance(v, str) for v in self.symbols[n])]
        lines = [np.log10(line) for line in lines] if self.logscale else lines
        return plot(*lines, path=path or f"{self.name}.png")
