"""The trainer beside a loop by hand; going on after a stop; precision, accumulation, evaluation."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import data, metrics, nn, optim, training
from agnesi.training import Trainer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 6)).astype(np.float32)
Y = (X @ RNG.standard_normal((6, 3))).argmax(1)


def net(dropout=0.0):
    ag.manual_seed(1)
    return nn.Sequential(
        nn.Linear(6, 8, bias=False),
        nn.BatchNorm1d(8),
        nn.Tanh(),
        nn.Dropout(dropout),
        nn.Linear(8, 3),
    )


def trainer(dropout=0.0, **keywords):
    model = net(dropout)
    kind = keywords.pop("kind", Trainer)
    optimizer = optim.Adam(model.parameters(), lr=keywords.pop("lr", 0.02))
    if "schedule" in keywords:
        keywords["schedule"] = keywords["schedule"](optimizer)
    return kind(
        model,
        optimizer,
        nn.CrossEntropyLoss(),
        metrics={"accuracy": metrics.Accuracy()},
        **keywords,
    )


def loader(shuffle=True, **keywords):
    return data.DataLoader(data.TensorDataset(X, Y), 16, shuffle=shuffle, generator=3, **keywords)


def weights(model):
    return {name: t.numpy().copy() for name, t in model.state_dict().items()}


def assert_same(a, b):
    assert all((a[name] == b[name]).all() for name in a) and a.keys() == b.keys()


@pytest.mark.parametrize("jit", [False, True])
def test_it_is_the_loop_by_hand(jit):
    ours = trainer(jit=jit)
    model = net()
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    history = ours.fit(loader(), epochs=2, validation=(X, Y))

    def one(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = ag.jit(one) if jit else one
    batches = loader()
    losses = [[float(step(x, y)) for x, y in batches] for _ in range(2)]
    for name, value in weights(model).items():
        np.testing.assert_allclose(weights(ours.model)[name], value, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(history.column("loss"), np.mean(losses, 1), rtol=1e-5)
    model.eval()
    right = (model(ag.tensor(X)).numpy().argmax(1) == Y).mean()
    assert history[-1]["val_accuracy"] == pytest.approx(right)
    assert ours.evaluate(loader(shuffle=False)) == pytest.approx(
        {"loss": history[-1]["val_loss"], "accuracy": right}, rel=1e-4
    )
    np.testing.assert_allclose(ours.predict(X).numpy(), model(ag.tensor(X)).numpy(), atol=1e-5)
    assert ours.predict(loader(shuffle=False)).shape == (50, 3)
    assert ours.model.training and ours.step == 8 and ours.epoch == 2
    assert ours.history is history and [r["epoch"] for r in history] == [1, 2]


class StopAt(training.Callback):
    """Ends a training after some batches."""

    def __init__(self, step):
        self.at = step

    def on_batch_end(self, trainer):
        if trainer.step == self.at:
            trainer.stop = "enough"


@pytest.mark.share(2)
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_it_goes_on_bit_by_bit(jit, own, tmp_path):
    def make(stop):
        ag.manual_seed(7)
        return trainer(
            0.2,
            jit=jit,
            accumulate=2,
            clip_norm=1.0,
            callbacks=[StopAt(stop)],
            schedule=lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
        )

    def batches():
        dataset = data.TensorDataset(X, Y)
        return data.DataLoader(dataset, 16, shuffle=True, generator=5 if own else None)

    ag.set_num_threads(1)
    whole = make(-1)
    whole.fit(batches(), epochs=4)
    first = make(7)  # in the second of four batches of an epoch, in the middle of an accumulation
    first.fit(batches(), epochs=4)
    assert first.stop == "enough" and first.epoch == 1 and first.step == 7
    first.save(tmp_path / "c")
    ag.set_num_threads(2)
    ag.manual_seed(99)
    second = make(-1)
    second.fit(batches(), epochs=4, resume=tmp_path / "c")
    assert_same(weights(second.model), weights(whole.model))
    assert second.step == whole.step == 16 and second.epoch == 4
    assert second.optimizer.lr == whole.optimizer.lr
    fresh = make(-1)
    fresh.fit(batches(), epochs=4, resume=tmp_path / "nothing there")
    assert_same(weights(fresh.model), weights(whole.model))


def test_it_goes_on_before_a_batch_that_is_not_full_of_a_batch_sampler(tmp_path):
    def made(stop):
        ag.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 3))
        optimizer = optim.RMSprop(model.parameters(), lr=0.01)
        return Trainer(model, optimizer, nn.CrossEntropyLoss(), callbacks=[StopAt(stop)])

    def batches():
        dataset = data.TensorDataset(X[:37], Y[:37])
        return data.DataLoader(dataset, batch_sampler=data.BatchSampler(
            data.RandomSampler(dataset), 16))

    whole = made(-1)
    whole.fit(batches(), epochs=3)
    first = made(2)
    first.fit(batches(), epochs=3)
    first.save(tmp_path / "c")
    second = made(-1)
    second.fit(batches(), epochs=3, resume=tmp_path / "c")
    assert_same(weights(second.model), weights(whole.model))


def test_accumulated_batches_are_one_large_batch():
    model = nn.Linear(6, 3)
    other = nn.Linear(6, 3)
    other.load_state_dict(model.state_dict())
    small = Trainer(
        model, optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), accumulate=5
    )
    small.fit(data.DataLoader(data.TensorDataset(X, Y), 10), epochs=2)
    large = Trainer(other, optim.SGD(other.parameters(), lr=0.1), nn.CrossEntropyLoss())
    large.fit(data.DataLoader(data.TensorDataset(X, Y), 50), epochs=2)
    np.testing.assert_allclose(model.weight.numpy(), other.weight.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(KeyError, match="accumulate"):
        large.load_state_dict(small.state_dict())


def test_long_gradients_are_clipped():
    model = nn.Linear(6, 3)
    before = weights(model)
    clipped = Trainer(
        model, optim.SGD(model.parameters(), lr=1.0), nn.CrossEntropyLoss(), clip_norm=0.01
    )
    clipped.fit(data.DataLoader(data.TensorDataset(X, Y), 50), epochs=1)
    moved = np.concatenate([(weights(model)[n] - before[n]).ravel() for n in before])
    assert np.linalg.norm(moved) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("jit", [False, True])
def test_half_precision_trains_wide_parameters(jit):
    kinds = []

    class Watched(Trainer):
        def loss_of(self, model, *batch):
            loss, output = super().loss_of(model, *batch)
            kinds.append((model.model[0].weight.dtype.name, output.dtype.name))
            return loss, output

    half, full = trainer(precision="bfloat16", kind=Watched, jit=jit), trainer(jit=jit)
    for one in (half, full):
        one.fit(loader(), epochs=6)
    assert set(kinds) == {("bfloat16", "float32")}
    assert {t.dtype.name for t in half.model.parameters()} == {"float32"}
    assert half.predict(X).dtype == ag.float32
    moved = half.model[1].running_mean.numpy()
    np.testing.assert_allclose(moved, full.model[1].running_mean.numpy(), atol=0.2)
    assert np.abs(moved).max() > 0
    assert half.history[-1]["loss"] == pytest.approx(full.history[-1]["loss"], abs=0.05)


def test_losses_and_batches_of_ones_own():
    class Autoencoder(Trainer):
        def loss_of(self, model, x, *rest):
            output = model(x)
            return ((output - x) ** 2).mean(), output

    model = nn.Linear(6, 6)
    own = Autoencoder(model, optim.Adam(model.parameters(), lr=0.05), nn.MSELoss())
    history = own.fit(X, epochs=8)
    assert history[-1]["loss"] < history[0]["loss"] / 2
    two = nn.Bilinear(3, 3, 3)
    pair = Trainer(two, optim.SGD(two.parameters(), lr=0.1), nn.CrossEntropyLoss())
    pair.fit((X[:, :3], X[:, 3:], Y), epochs=1)
    assert pair.predict(data.TensorDataset(X[:, :3], X[:, 3:], Y)).shape == (50, 3)
    stream = [(ag.tensor(X[:5]), ag.tensor(Y[:5]))] * 3
    assert trainer().fit(stream, epochs=2)[-1]["step"] == 6


def test_schedules_step_after_epochs_or_updates():
    rates = []

    class Watch(training.Callback):
        def on_batch_end(self, trainer):
            rates.append(trainer.optimizer.lr)

    trainer(
        callbacks=[Watch()], lr=1.0, schedule=lambda o: optim.lr_scheduler.StepLR(o, 1, 0.5)
    ).fit(loader(), epochs=2)
    assert rates == [1.0] * 4 + [0.5] * 4
    rates.clear()
    trainer(
        callbacks=[Watch()],
        lr=1.0,
        schedule_every="step",
        accumulate=2,
        schedule=lambda o: optim.lr_scheduler.StepLR(o, 1, 0.5),
    ).fit(loader(), epochs=2)
    assert rates == [1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625]
    flat = trainer(lr=1e-7, schedule=lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, patience=0))
    flat.fit(loader(shuffle=False), epochs=3, validation=(X, Y))
    assert flat.optimizer.lr < 1e-7


def test_wrong_arguments_are_named():
    model = nn.Linear(6, 3)
    sgd = optim.SGD(model.parameters(), lr=0.1)
    for args, keywords, error, told in [
        ((sgd, sgd, len), {}, TypeError, "model must be a Module"),
        ((model, model, len), {}, TypeError, "optimizer must be an? Optimizer"),
        ((model, sgd, 3), {}, TypeError, "loss must be a function"),
        ((model, sgd, len), {"precision": "float16"}, ValueError, "precision"),
        ((model, sgd, len), {"accumulate": 0}, ValueError, "accumulate"),
        ((model, sgd, len), {"clip_norm": 0}, ValueError, "clip_norm"),
        ((model, sgd, len), {"schedule_every": "day"}, ValueError, "schedule_every"),
    ]:
        with pytest.raises(error, match=told):
            Trainer(*args, **keywords)
    with pytest.raises(TypeError, match="data must be a DataLoader"):
        trainer().fit(3, epochs=1)
    with pytest.raises(ValueError, match="no samples"):
        trainer().predict(X[:0])
    stops = training.EarlyStopping("loss")
    with pytest.raises(ValueError, match="with 1 callbacks that keep a state; here are 0"):
        trainer().load_state_dict(trainer(callbacks=[stops]).state_dict())


def test_callbacks_without_a_state_may_come_and_go() -> None:
    first = training.EarlyStopping("loss")
    state = trainer(callbacks=[training.Callback(), first]).state_dict()
    state["callbacks"][1]["waited"] = 3
    again = training.EarlyStopping("loss")
    trainer(callbacks=[again, training.Callback(), training.Callback()]).load_state_dict(state)
    assert again.waited == 3


@pytest.mark.parametrize("jit", [True, False])
def test_an_optimizer_that_calls_for_gradients_trains(jit):
    x = np.random.default_rng(0).standard_normal((60, 3)).astype("float32")
    y = x @ np.float32([[1], [2], [3]])
    ag.manual_seed(0)
    model = nn.Linear(3, 1)
    trainer = Trainer(model, optim.LBFGS(model.parameters()), nn.MSELoss(), jit=jit)
    rows = trainer.fit((x, y), epochs=3, batch_size=60)
    assert rows[0]["loss"] > 1 and rows[-1]["loss"] < 1e-6
    with pytest.raises(ValueError, match=r"LBFGS calls for the gradients.*accumulate=1"):
        Trainer(model, optim.LBFGS(model.parameters()), nn.MSELoss(), accumulate=2)
