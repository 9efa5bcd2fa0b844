"""The history of a training: rows of numbers by epoch, as curves in the terminal or in a plot."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agnesi.core.support.atomic import by_name
from agnesi.core.support.errors import MissingKeyError, at

#: Eighths of a line.
_BARS = " ▁▂▃▄▅▆▇█"


class History(list[dict[str, Any]]):
    """Rows of numbers by name, one for each epoch, and their curves.

    :param rows: The first rows.
    :see: training.Trainer, training.CSVLogger

    >>> from agnesi import training
    >>> history = training.History([{"epoch": 1, "loss": 4.0}, {"epoch": 2, "loss": 1.0}])
    >>> history.column("loss")
    [4.0, 1.0]
    >>> print(history.chart("loss", width=2, height=2))
    loss, 2 epochs
    4 ▇
    1 █▁
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(dict(row) for row in rows)

    if not TYPE_CHECKING:

        def __getitem__(self, which: Any) -> Any:
            if isinstance(which, str):
                raise TypeError(at(f"History is a list of rows: history.column({which!r}) gives "
                                   f"one number of all epochs, which tell {self.names()}"))
            return super().__getitem__(which)

        def __getattr__(self, name: str) -> Any:
            if name in ("history", "columns", "keys"):
                raise AttributeError(at(f"History has no {name!r}: it is a list of rows; "
                                        "history.column(name) gives one number of all epochs, "
                                        f"which tell {self.names()}"))
            raise AttributeError(f"'History' object has no attribute {name!r}", name=name, obj=self)

    def names(self) -> list[str]:
        """Names of the numbers in the rows.

        :returns: Without ``epoch`` and ``step``, in their order.
        """
        found = dict.fromkeys(
            name for row in self for name, value in row.items() if isinstance(value, (int, float)))
        return [name for name in found if name not in ("epoch", "step")]

    def column(self, name: str) -> list[float]:
        """One number of all rows.

        :param name: Its name.
        :returns: NaN where a row does not have it.
        :raises KeyError: If no row has it.
        """
        if not any(name in row for row in self):
            raise MissingKeyError(at(f"no epoch tells {name!r}, but {self.names()}"))
        return [row.get(name, math.nan) for row in self]

    def chart(self, name: str = "loss", width: int = 60, height: int = 8) -> str:
        """A curve as text, for a terminal.

        :param name: Of the number.
        :param width, height: Columns and lines; more epochs than columns are averaged.
        :returns: Lines of bars, the greatest and the least value beside them.
        :raises KeyError: If no row has the number.
        """
        values = _thinned(self.column(name), width)
        known = [v for v in values if math.isfinite(v)] or [0.0]
        low, high = min(known), max(known)
        # One eighth is left for the least value, so that it is seen.
        scale = (8 * height - 2) / (high - low) if high > low else 0.0
        tall = [1 + round((v - low) * scale) if math.isfinite(v) else 0 for v in values]
        marks = [f"{high:.4g}", *[""] * (height - 2), f"{low:.4g}"][-height:]
        margin = max(map(len, marks))
        lines = [f"{name}, {len(self)} epochs"]
        for line, mark in zip(range(height - 1, -1, -1), marks, strict=True):
            bars = "".join(_BARS[min(8, max(0, t - 8 * line))] for t in tall)
            lines.append(f"{mark:>{margin}} {bars}".rstrip())
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str] | None = None,
             names: Sequence[str] | None = None) -> Any:
        """Curves as a plot, by matplotlib.

        :param path: A file to write it to, by its ending.
        :param names: Which numbers; by default all but the rate and the time.  ``x`` and ``val_x``
            share axes.
        :returns: The plot.
        :rtype: matplotlib.figure.Figure
        :raises ImportError: If matplotlib is not there.
        :raises KeyError: If no row has a number.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError(at("plots need matplotlib: pip install 'agnesi[plot]'; "
                                 "history.chart() needs nothing")) from None
        shown = [n for n in self.names() if n not in ("lr", "seconds")] if names is None else names
        groups: dict[str, list[str]] = {}
        for name in shown:
            groups.setdefault(name.removeprefix("val_"), []).append(name)
        figure = Figure(figsize=(4.5 * max(1, len(groups)), 3.2), layout="constrained")
        for k, (title, curves) in enumerate(groups.items(), 1):
            axes = figure.add_subplot(1, len(groups), k)
            for name in curves:
                axes.plot([row["epoch"] for row in self], self.column(name), label=name)
            axes.set(title=title, xlabel="epoch")
            axes.legend()
        if path is not None:
            with by_name(path) as name:
                figure.savefig(name)
        return figure


def _thinned(values: Sequence[float], width: int) -> list[float]:
    """At most so many values: means of neighbours."""
    if len(values) <= width:
        return list(values)
    ends = [k * len(values) // width for k in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]
