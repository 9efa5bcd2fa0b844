"""Callbacks that write the numbers of epochs: to CSV, JSON lines and TensorBoard files."""

from __future__ import annotations

import csv
import io
import json
import operator
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from agnesi.core.options import NotNegativeBound
from agnesi.core.support.atomic import append_line, replacing
from agnesi.core.support.errors import at
from agnesi.training.callbacks import Callback


class CSVLogger(Callback):
    """Write a CSV table with a row for each epoch, again each time, so that columns may be added.

    :param path: The file.
    :see: training.JSONLogger, training.TensorBoardLogger

    >>> from agnesi import training
    >>> training.CSVLogger("log.csv").path.name
    'log.csv'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        names = dict.fromkeys(name for one in trainer.history for name in one)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(names))
        writer.writeheader()
        writer.writerows(trainer.history)
        with replacing(self.path) as file:
            file.write(text.getvalue().encode())


class JSONLogger(Callback):
    """Adds a line of JSON to a file for each epoch.

    :param path: The file; lines are added behind those that are there.
    :see: training.CSVLogger

    >>> from agnesi import training
    >>> training.JSONLogger("log.jsonl").path.name
    'log.jsonl'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        append_line(self.path, json.dumps(row))


class TensorBoardLogger(Callback):
    """Writes event files for TensorBoard, by tensorboardX.

    What an epoch gave is in the file a second later; each ``fit`` writes a file of its own.

    :param folder: Where they go.
    :raises ImportError: If tensorboardX is not there.
    :see: training.CSVLogger

    >>> from agnesi import training
    >>> try:
    ...     logger = training.TensorBoardLogger("/nowhere")
    ... except (ImportError, OSError):
    ...     logger = None
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ImportError(at("event files need tensorboardX: pip install 'agnesi[tensorboard]';"
                                 " CSVLogger and JSONLogger need nothing")) from None
        self._open, self._fits = partial(SummaryWriter, os.fspath(folder), flush_secs=1), 0
        self.writer = self._open()

    def on_fit_begin(self, trainer: Any) -> None:
        if self._fits:  # names of files have seconds: two fits in one would write the same
            self.writer = self._open(filename_suffix=f".{self._fits}")

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        for name, value in row.items():
            if isinstance(value, (int, float)) and name not in ("epoch", "step"):
                self.writer.add_scalar(name, value, row["step"])

    def on_fit_end(self, trainer: Any) -> None:
        self._fits += 1
        self.writer.close()  # its flush() leaves what its thread has not written yet


class Progress(Callback):
    """A line for each epoch, and while it runs a bar of tqdm, where that is installed.

    :param file: Where to write; standard error by default.
    :type file: file, optional
    :param interval: Seconds between two looks at the loss.
    :see: training.Trainer

    >>> import sys
    >>> from agnesi import training
    >>> training.Progress(sys.stdout).interval
    0.2
    """

    def __init__(self, file: object = None, interval: NotNegativeBound = 0.2) -> None:
        self.file: Any = file
        self.interval = interval
        self._bar: Any = None
        self._first = self._next = 0.0

    def on_epoch_begin(self, trainer: Any) -> None:
        self._first, self._next = trainer.step, time.perf_counter() + self.interval
        file = self.file or sys.stderr
        if not getattr(file, "isatty", bool)():
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        loader: Any = trainer.loader
        total = operator.length_hint(loader) or None
        self._bar = tqdm(total=total, file=file, desc=f"epoch {trainer.epoch + 1}", leave=False)

    def on_batch_end(self, trainer: Any) -> None:
        if self._bar is None or time.perf_counter() < self._next:
            return
        self._next = time.perf_counter() + self.interval
        self._bar.update(trainer.step - self._first - self._bar.n)
        self._bar.set_postfix(loss=f"{float(trainer.train_loss.compute()):.4g}")

    def on_epoch_end(self, trainer: Any, row: dict[str, Any]) -> None:
        self._close()
        values = " ".join(f"{name} {value:.4g}" for name, value in row.items()
                        if isinstance(value, float) and name != "seconds")
        print(f"epoch {row['epoch']}: {values} ({row['seconds']:.1f} s)",
              file=self.file or sys.stderr)

    def on_fit_end(self, trainer: Any) -> None:
        self._close()
        if trainer.stop is not None:
            print(f"ended: {trainer.stop}", file=self.file or sys.stderr)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None
