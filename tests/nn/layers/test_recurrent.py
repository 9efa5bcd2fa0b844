"""Recurrent layers: against formulae in NumPy, unrolled code, differences, and compiled."""

from __future__ import annotations

import re

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.ir.kernels import Callback, Nest, Product, nested
from agnesi.nn.functional import cross_entropy, lstm
from agnesi.optim import SGD
from agnesi.testing import check_grads

RANDOM = np.random.default_rng(0)
KINDS = ["RNN", "LSTM", "GRU"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, state, w, function=np.tanh):
    """One step in NumPy, as PyTorch's documentation writes it."""
    given = x @ w["weight_ih"].T + w.get("bias_ih", 0)
    own = state[0] @ w["weight_hh"].T + w.get("bias_hh", 0)
    if kind == "RNN":
        return (function(given + own),)
    if kind == "LSTM":
        i, f, g, o = np.split(given + own, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return h @ w["weight_hr"].T if "weight_hr" in w else h, c
    x_r, x_z, x_n = np.split(given, 3, -1)
    h_r, h_z, h_n = np.split(own, 3, -1)
    z = sigmoid(x_z + h_z)
    n = np.tanh(x_n + sigmoid(x_r + h_r) * h_n)
    return ((1 - z) * n + z * state[0],)


def weights(module, suffix):
    named = dict(module.named_parameters())
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    return {n: named[n + suffix].numpy() for n in names if n + suffix in named}


def reference(kind, module, x, state):
    """Outputs and last states of a layer for (length, batch, features)."""
    last, number = [], 0
    for layer in range(module.num_layers):
        sides = []
        for suffix in [f"_l{layer}", f"_l{layer}_reverse"][: 1 + module.bidirectional]:
            now = tuple(s[number] for s in state)
            rows = range(len(x))
            outputs = [None] * len(x)
            for t in reversed(rows) if suffix.endswith("reverse") else rows:
                now = step(kind, x[t], now, weights(module, suffix))
                outputs[t] = now[0]
            sides.append(np.stack(outputs))
            last.append(now)
            number += 1
        x = np.concatenate(sides, -1)
    return x, tuple(map(np.stack, zip(*last, strict=True)))


OPTIONS = [
    {}, {"num_layers": 2}, {"bidirectional": True, "num_layers": 2}, {"bias": False},
    {"batch_first": True},
]


@pytest.mark.share(12)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [False, True])
def test_layers(kind, options, given):
    module = getattr(nn, kind)(3, 4, **options, dtype="float64")
    x = RANDOM.normal(size=(5, 2, 3))
    count = module.num_layers * (1 + module.bidirectional)
    start = [RANDOM.normal(size=(count, 2, 4)) * given for _ in range(1 + (kind == "LSTM"))]
    expected, last = reference(kind, module, x, start)
    ours = x.swapaxes(0, 1) if module.batch_first else x
    state = None if not given else tuple(start) if kind == "LSTM" else start[0]
    for f in (module, ag.jit(module)):
        outputs, after = f(ag.tensor(ours), state)
        found = outputs.numpy().swapaxes(0, 1) if module.batch_first else outputs.numpy()
        np.testing.assert_allclose(found, expected, 1e-12, 1e-14)
        after = after if kind == "LSTM" else (after,)
        for a, b in zip(after, last, strict=True):
            np.testing.assert_allclose(a.numpy(), b, 1e-12, 1e-14)
    alone, _ = module(ag.tensor(x[:, 0]), None)
    np.testing.assert_allclose(alone.numpy(), reference(kind, module, x[:, :1],
                                                        [s[:, :1] * 0 for s in start])[0][:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_cells(kind):
    cell = getattr(nn, kind + "Cell")(3, 4, dtype="float64")
    x, states = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(1 + (kind == "LSTM"), 2, 4))
    expected = step(kind, x, tuple(states), weights(cell, ""))
    for f in (cell, ag.jit(cell)):
        found = f(x, tuple(states) if kind == "LSTM" else states[0])
        for a, b in zip(found if kind == "LSTM" else (found,), expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b, 1e-12, 1e-14)
        first = f(x[0])
        first = first[0] if kind == "LSTM" else first
        zero = step(kind, x, tuple(states * 0), weights(cell, ""))
        np.testing.assert_allclose(first.numpy(), zero[0][0], 1e-12, 1e-14)


def test_relu_and_wrong_settings():
    cell = nn.RNNCell(3, 4, nonlinearity="relu", bias=False, dtype="float64")
    x, h = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(2, 4))
    expected = step("RNN", x, (h,), weights(cell, ""), lambda v: np.maximum(v, 0))
    np.testing.assert_allclose(cell(x, h).numpy(), expected[0], 1e-12)
    assert repr(cell).startswith("RNNCell(3, 4, bias=False)")
    assert "num_layers=2, bidirectional=True" in repr(nn.GRU(3, 4, 2, bidirectional=True))
    with pytest.raises(ValueError, match="nonlinearity must be"):
        nn.RNN(3, 4, nonlinearity="sigmoid")
    with pytest.raises(ValueError, match="num_layers must be at least 1"):
        nn.LSTM(3, 4, 0)
    with pytest.raises(ValueError, match="dropout must be in"):
        nn.LSTM(3, 4, dropout=2)
    with pytest.raises(ag.ShapeError, match=r"LSTM: the input must be \(length, batch, 3\)"):
        nn.LSTM(3, 4)(ag.ones((5, 2, 4)))
    with pytest.raises(ag.ShapeError, match=r"GRUCell: the input must be \(batch, 3\)"):
        nn.GRUCell(3, 4)(ag.ones((2, 4)))
    with pytest.raises(ag.ShapeError, match=r"a first state must be \(1, 2, 4\)"):
        nn.GRU(3, 4)(ag.ones((5, 2, 3)), ag.ones((2, 2, 4)))
    with pytest.raises(ValueError, match=r"^LSTM: the state must be \(hidden, cell\), two"):
        nn.LSTM(3, 4)(ag.ones((5, 2, 3)), ag.ones((3, 1, 2, 4)))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    module = getattr(nn, kind)(2, 3, bidirectional=True, dtype="float64")
    names = [n for n, _ in module.named_parameters()]
    x = RANDOM.normal(size=(3, 2, 2))

    def loss(x, *values):
        for name, value in zip(names, values, strict=True):
            module.__dict__[name] = value
        return (module(x)[0] ** 2).sum()

    values = [p.numpy() for p in module.parameters()]
    check_grads(loss, [x, *values])
    eager = ag.grad(loss, argnums=tuple(range(len(values) + 1)))
    arguments = [ag.tensor(v) for v in (x, *values)]
    for a, b in zip(eager(*arguments), ag.jit(eager)(*arguments), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-10, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_unrolled_code_gives_the_same(kind):
    module = getattr(nn, kind)(3, 4, dtype="float64")
    cell = getattr(nn, kind + "Cell")(3, 4, dtype="float64")
    cell.load_state_dict({n[:-3]: v for n, v in module.state_dict().items()})
    x = RANDOM.normal(size=(6, 2, 3))

    def unrolled(x):
        state, outputs = None, []
        for row in x:
            state = cell(row, state)
            outputs.append(state[0] if kind == "LSTM" else state)
        return (ag.stack(outputs) ** 2).sum()

    scanned = ag.jit(ag.value_and_grad(lambda x: (module(x)[0] ** 2).sum()))
    value, slope = ag.jit(ag.value_and_grad(unrolled))(ag.tensor(x))
    again, other = scanned(ag.tensor(x))
    np.testing.assert_allclose(value.numpy(), again.numpy(), 1e-12)
    np.testing.assert_allclose(slope.numpy(), other.numpy(), 1e-10)


def test_dropout_between_layers_only_in_training():
    module = nn.LSTM(3, 4, num_layers=2, dropout=0.5)
    x = ag.ones((5, 2, 3))
    run = ag.jit(lambda x: module(x)[0])
    assert (run(x).numpy() != run(x).numpy()).any()
    module.eval()
    np.testing.assert_array_equal(run(x).numpy(), run(x).numpy())


# -- sequences of unequal lengths, and projections ------------------------------------------------
LENGTHS = [4, 0, 6, 1, 3]


def one_by_one(kind, module, x, state, lengths=LENGTHS):
    """The reference for each sequence alone, filled up with zeros."""
    outputs, states = [], []
    for i, n in enumerate(lengths):
        last = tuple(s[:, i: i + 1] for s in state)
        y = np.zeros((0, 1, 1))
        if n:
            y, last = reference(kind, module, x[:n, i: i + 1], last)
        outputs.append(y[:, 0])
        states.append(last)
    wide = max(y.shape[-1] for y in outputs)
    filled = [np.zeros((len(x), wide)) for _ in lengths]
    for y, whole, n in zip(outputs, filled, lengths, strict=True):
        whole[:n] = y if n else 0
    return np.stack(filled, 1), tuple(np.concatenate(s, 1) for s in zip(*states, strict=True))


@pytest.mark.share(6)
@pytest.mark.parametrize("options", [
    {"bidirectional": True, "num_layers": 2}, {"batch_first": True}, {"proj_size": 2},
    {"proj_size": 3, "bias": False, "bidirectional": True, "num_layers": 2},
], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_sequences_of_unequal_lengths(kind, options):
    if "proj_size" in options and kind != "LSTM":
        options = {"num_layers": 2}
    module = getattr(nn, kind)(3, 4, **options, dtype="float64")
    x = RANDOM.normal(size=(6, 5, 3))
    count = module.num_layers * (1 + module.bidirectional)
    sizes = [module.proj_size or 4, 4][: 1 + (kind == "LSTM")]
    start = [RANDOM.normal(size=(count, 5, n)) for n in sizes]
    for i, n in enumerate(LENGTHS):
        x[n:, i] = np.nan
    ours = ag.tensor(x.swapaxes(0, 1) if module.batch_first else x)
    state = tuple(map(ag.tensor, start)) if kind == "LSTM" else ag.tensor(start[0])
    compiled = ag.jit(lambda x, state, lengths: module(x, state, lengths))
    for lengths in (LENGTHS, [6, 6, 6, 6, 6], [1, 2, 3, 4, 5]):
        clean = [min(n, m) for n, m in zip(lengths, LENGTHS, strict=True)]
        expected, last = one_by_one(kind, module, x, start, clean)
        for f in (module, compiled):
            outputs, after = f(ours, state, ag.tensor(clean))
            found = outputs.numpy().swapaxes(0, 1) if module.batch_first else outputs.numpy()
            np.testing.assert_allclose(found, expected, 1e-12, 1e-14)
            for a, b in zip(after if kind == "LSTM" else (after,), last, strict=True):
                np.testing.assert_allclose(a.numpy(), b, 1e-12, 1e-14)
    assert len(compiled.specialisations) == 1


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_unequal_lengths(kind):
    module = getattr(nn, kind)(2, 3, 2, bidirectional=True, dtype="float64",
                               **{"proj_size": 2} if kind == "LSTM" else {})
    x = RANDOM.normal(size=(4, 3, 2))
    x[2:, 1] = np.nan
    names = [n for n, _ in module.named_parameters()]

    def loss(x, *values):
        net = module.with_parameters(dict(zip(names, values, strict=False)))
        outputs, last = net(x, lengths=ag.tensor([4, 2, 3]))
        h = last[0] + last[1].sum() if kind == "LSTM" else last
        return (outputs ** 2).sum() + (h ** 3).sum()

    values = [p.numpy() for p in module.parameters()]
    clean = np.nan_to_num(x)
    check_grads(lambda *values: loss(ag.tensor(clean), *values), values[:4])
    check_grads(lambda x: loss(x, *values), [clean])
    eager = ag.grad(loss, argnums=tuple(range(len(values) + 1)))
    arguments = [ag.tensor(v) for v in (x, *values)]
    wanted = eager(ag.tensor(clean), *arguments[1:])
    for run in (eager, ag.jit(eager)):
        for a, b in zip(wanted, run(*arguments), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-10, 1e-13)
    assert (wanted[0].numpy()[2:, 1] == 0).all()


def test_one_sequence_may_end_early():
    module = nn.GRU(3, 4)
    x = ag.rand(5, 3)
    outputs, last = module(x, lengths=3)
    np.testing.assert_array_equal(last.numpy()[0], outputs.numpy()[2])
    assert (outputs.numpy()[3:] == 0).all()
    empty, last = module(ag.ones((0, 2, 3)), lengths=[0, 0])
    assert empty.shape == (0, 2, 4) and (last.numpy() == 0).all()


def test_a_step_over_unequal_lengths_is_all_native():
    model, ids = Model(20, 8), RANDOM.integers(0, 20, size=(6, 4))
    optimizer = SGD(model.parameters(), lr=0.5)

    @ag.jit
    def train(ids, lengths):
        optimizer.zero_grad()
        hidden, _ = model.memory(model.embedding(ids), lengths=lengths)
        loss = (model.scores(hidden) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [train(ids, RANDOM.integers(1, 7, 4)).item() for _ in range(60)]
    assert losses[-1] < losses[0] / 2 and len(train.specialisations) == 1
    assert not any(isinstance(k, Callback) for k in nested(train.plan().layout.kernels))
    with pytest.raises(ValueError, match=r"LSTM\(int64\[4\]\): lengths must be at least 0 and at "
                                         r"most 6\n.*test_recurrent.py"):
        train(ids, np.array([7, 1, 1, 1]))


# -- Chainer's gates ------------------------------------------------------------------------------
def test_lstm_gates_of_chainer():
    c_prev, x = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(2, 12))
    a, i, f, o = np.split(x, 4, 1)
    c = np.tanh(a) * sigmoid(i) + c_prev * sigmoid(f)
    for function in (lstm, ag.jit(lstm)):
        found = function(c_prev, x)
        np.testing.assert_allclose(found[0].numpy(), c, 1e-12)
        np.testing.assert_allclose(found[1].numpy(), np.tanh(c) * sigmoid(o), 1e-12)
    check_grads(lambda c, x: (lstm(c, x)[0] ** 2).sum(), [c_prev, x])
    check_grads(lambda c, x: (lstm(c, x)[1] ** 2).sum(), [c_prev, x])
    image = lstm(np.ones((2, 3, 4, 5)), np.zeros((2, 12, 4, 5)))[0]
    assert image.shape == (2, 3, 4, 5)
    with pytest.raises(ag.ShapeError, match="four times as long"):
        lstm(c_prev, x[:, :6])


# -- compiled -------------------------------------------------------------------------------------
class Model(nn.Module):
    def __init__(self, words, width):
        self.embedding = nn.Embedding(words, width)
        self.drop = nn.Dropout(0.3)
        self.memory = nn.LSTM(width, width)
        self.scores = nn.Linear(width, words)

    def forward(self, ids):
        hidden, _ = self.memory(self.drop(self.embedding(ids)))
        return self.scores(self.drop(hidden))


@pytest.mark.native_plans
def test_a_language_models_step_is_all_native():
    words = 30
    model = Model(words, 8)
    optimizer = SGD(model.parameters(), lr=0.5)

    @ag.jit
    def train(ids, labels):
        optimizer.zero_grad()
        loss = cross_entropy(model(ids), labels, axis=-1)
        loss.backward()
        optimizer.step()
        return loss

    ids = RANDOM.integers(0, words, size=(6, 4))
    losses = [train(ids, ids).item() for _ in range(150)]
    assert losses[-1] < losses[0] / 2
    kernels = list(nested(train.plan().layout.kernels))
    assert not any(isinstance(k, Callback) for k in kernels)
    loops = [k for k in train.plan().layout.kernels if k.blocks()]
    assert len(loops) == 2
    for loop in loops:  # one product for all gates, and what follows element by element
        inside = [k for k in loop.block.kernels if not copies(k)]
        assert sum(isinstance(k, Product) for k in inside) == 1
        assert len(inside) <= 3
    with pytest.raises(IndexError, match=r"out of range.*\n.*test_recurrent.py"):
        train(ids + words, ids)
    plan = str(train.plan())
    assert len(re.findall(r"scatter_add", plan)) and "python" not in plan


def copies(kernel):
    return isinstance(kernel, Nest) and all(s.value.op == "load" for s in kernel.body)


def test_weights_by_layer_and_direction():
    lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    assert [[w.shape for w in weights] for weights in lstm.all_weights[1:3]] == [
        [(12, 2), (12, 3), (12,), (12,)], [(12, 6), (12, 3), (12,), (12,)]]
    assert lstm._flat_weights_names == [n for n, _ in lstm.named_parameters()]
