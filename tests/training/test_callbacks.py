"""Callbacks: stopping, saving, logging, progress; curves; the finder of rates."""

import csv
import io
import json
import sys
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import metrics, nn, optim, saving, training
from agnesi.saving.checkpoints import live_state
from agnesi.utils.tensorboard import SummaryWriter

RNG = np.random.default_rng(0)
X = RNG.standard_normal((48, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int64)


def trainer(*callbacks, lr=0.05, **keywords):
    ag.manual_seed(0)
    model = nn.Linear(4, 2)
    return training.Trainer(
        model,
        optim.SGD(model.parameters(), lr=lr),
        nn.CrossEntropyLoss(),
        metrics={"accuracy": metrics.Accuracy()},
        callbacks=callbacks,
        jit=False,
        **keywords,
    )


class Script(training.Callback):
    """Lets epochs tell numbers that a test chose."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def on_epoch_end(self, trainer, row):
        row[self.name] = self.values[row["epoch"] - 1]


def test_training_stops_early_with_the_best_weights():
    kept = []

    class Keep(training.Callback):
        def on_epoch_end(self, trainer, row):
            kept.append(trainer.model.weight.numpy().copy())

    stopping = training.EarlyStopping("val_score", patience=2, min_delta=0.05)
    ours = trainer(Script("val_score", [1, 3, 3.04, 2, 9]), Keep(), stopping)
    history = ours.fit((X, Y), epochs=5)
    assert len(history) == 4 and "better than 3 for 2 epochs" in ours.stop
    assert (ours.model.weight.numpy() == kept[1]).all()
    assert stopping.mode == "max" and training.EarlyStopping().mode == "min"
    for bad, told in [({"patience": 0}, "patience"), ({"mode": "best"}, "mode")]:
        with pytest.raises(ValueError, match=told):
            training.EarlyStopping(**bad)
    with pytest.raises(KeyError, match=r"'val_loss', but epochs tell .* give fit\(validation"):
        trainer(training.EarlyStopping()).fit((X, Y), epochs=1)


def test_checkpoints_of_the_last_and_the_best_epoch(tmp_path):
    def make():
        return trainer(
            training.EarlyStopping("val_loss", patience=9),
            training.ModelCheckpoint(tmp_path, "val_loss", keep=2, every_steps=2),
            training.JSONLogger(tmp_path / "log.jsonl"),
        )

    first = make()
    first.fit((X, Y), epochs=2, validation=(X, Y), batch_size=16)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "best.safetensors",
        "last-0000000004.safetensors",
        "last-0000000006.safetensors",
        "log.jsonl",
    ]
    again = make()
    again.fit((X, Y), epochs=4, validation=(X, Y), batch_size=16, resume=again.callbacks[1].last)
    whole = trainer()
    whole.fit((X, Y), epochs=4, validation=(X, Y), batch_size=16)
    assert (again.model.weight.numpy() == whole.model.weight.numpy()).all()
    assert [row["epoch"] for row in again.history] == [1, 2, 3, 4]
    third = make()
    third.fit((X, Y), epochs=4, resume=tmp_path)  # the folder serves, too: nothing is left to do
    assert third.step == 12 and (third.model.weight.numpy() == whole.model.weight.numpy()).all()
    best = nn.Linear(4, 2)
    row = saving.load_checkpoint(tmp_path / "best.safetensors", model=best)["row"]
    losses = again.history.column("val_loss")
    assert row["epoch"] == 1 + int(np.argmin(losses)) and row["val_loss"] == min(losses)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [3, 6, 9, 12]
    with pytest.raises(ValueError, match="every_steps"):
        training.ModelCheckpoint(tmp_path, every_steps=0)


def test_a_time_budget_ends_within_an_epoch():
    ours = trainer(training.TimeBudget(0))
    ours.fit((X, Y), epochs=5, batch_size=8)
    assert ours.step == 1 and ours.epoch == 0 and "0 seconds are over" in ours.stop
    ours.callbacks.clear()
    ours.fit((X, Y), epochs=1, batch_size=8)
    assert ours.epoch == 1


def test_tables_have_all_columns(tmp_path):
    log = training.CSVLogger(tmp_path / "log.csv")
    ours = trainer(log)
    ours.fit((X, Y), epochs=1)
    ours.fit((X, Y), epochs=2, validation=(X, Y))
    with open(log.path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["val_accuracy"] == "" for row in rows] == [True, False]
    assert float(rows[1]["loss"]) == ours.history[1]["loss"]


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_progress_tells_epochs_and_draws_bars_on_terminals():
    plain, screen = io.StringIO(), Screen()
    for file in (plain, screen):
        bar = training.Progress(file, interval=0.0)
        trainer(bar, training.TimeBudget(60)).fit(
            (X, Y), epochs=2, validation=(X, Y), batch_size=16
        )
    assert plain.getvalue().count("\n") == 2 and "val_accuracy" in plain.getvalue()
    assert "epoch 2: loss " in plain.getvalue()
    assert "3/3" in screen.getvalue() and "loss=" in screen.getvalue()
    stopped = io.StringIO()
    trainer(training.Progress(stopped), training.TimeBudget(0)).fit((X, Y), epochs=2)
    assert "ended: 0 seconds are over" in stopped.getvalue()


def test_event_files_are_written_by_tensorboardx(monkeypatch, tmp_path):
    wrote = []

    class SummaryWriter:
        def __init__(self, folder, filename_suffix="", flush_secs=120):
            self.suffix = filename_suffix

        def add_scalar(self, name, value, step):
            wrote.append((name, value, step))

        def close(self):
            wrote.append("close")

    monkeypatch.setitem(
        sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=SummaryWriter)
    )
    ours = trainer(training.TensorBoardLogger(tmp_path))
    ours.fit((X, Y), epochs=1, batch_size=24)
    assert ("loss", ours.history[0]["loss"], 2) in wrote and wrote[-1] == "close"
    assert not {"epoch", "step"} & {w[0] for w in wrote if w != "close"}
    logger = ours.callbacks[-1]
    ours.fit((X, Y), epochs=2, batch_size=24)
    assert logger.writer.suffix == ".1"  # the first fit's file may be of the same second
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"agnesi\[tensorboard\]"):
        training.TensorBoardLogger(tmp_path)


def test_curves_in_the_terminal(monkeypatch):
    history = training.History(
        {"epoch": k + 1, "loss": 10.0 - k, "val_loss": 1.0, "who": "me"} for k in range(9)
    )
    lines = history.chart(width=9, height=2).splitlines()
    assert lines == ["loss, 9 epochs", "10 ▇▅▃▂", " 2 █████▆▅▃▁"]
    assert len(history.chart("val_loss", width=3).splitlines()) == 9
    assert history.chart(width=3, height=1).splitlines()[1].endswith("▁")
    assert history.names() == ["loss", "val_loss"]
    holes = training.History([{"loss": float("nan")}, {"loss": 2.0}])
    assert holes.chart(height=1).splitlines()[1] == "2  ▁"
    with pytest.raises(KeyError, match=r"'x', but \['loss', 'val_loss'\]"):
        history.column("x")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"agnesi\[plot\]"):
        history.plot()


def test_the_rate_finder_changes_nothing():
    ours = trainer(lr=0.3)
    generator = ag.random.default_generator()
    ours.fit((X, Y), epochs=1)
    before = [
        np.asarray(getattr(v, "array", v)).tobytes()
        for part in (ours.model, ours.optimizer, generator)
        for v in live_state(part).values()
    ]
    found = training.find_lr(ours, (X, Y), low=1e-4, high=1e4, steps=60, batch_size=12)
    after = [
        np.asarray(getattr(v, "array", v)).tobytes()
        for part in (ours.model, ours.optimizer, generator)
        for v in live_state(part).values()
    ]
    assert before == after and ours.optimizer.lr == 0.3 and ours.step == 2
    assert found.rates == sorted(found.rates) and len(found.rates) == len(found.losses) <= 60
    assert 1e-4 < found.suggestion <= found.rates[int(np.argmin(found.losses))]
    for bad, told in [({"low": 1.0, "high": 0.1}, "grow"), ({"steps": 1}, "at least 2")]:
        with pytest.raises(ValueError, match=told):
            training.find_lr(ours, (X, Y), **bad)
    with pytest.raises(ValueError, match="no batch"):
        training.find_lr(ours, (X[:0], Y[:0]))


def test_writers_of_tensorboard_are_given_arrays_for_tensors(monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder):
            self.folder = folder

        def add_scalars(self, tag, values, step=None):
            written.append((self.folder, tag, values, step))

    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    loss = ag.tensor(1.5, requires_grad=True)
    SummaryWriter("runs").add_scalars("both", {"train": loss, "test": 2.0}, step=ag.tensor(3))
    (folder, tag, values, step), = written
    assert (folder, tag, float(step)) == ("runs", "both", 3)
    assert type(values["train"]) is np.ndarray and values == {"train": 1.5, "test": 2.0}
