"""Layers of equal structure are planned once: the code is what planning each of them gives."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen import program
from agnesi.core.support.record import replace
from agnesi.schedule.lowering import cluster_dedup, kernel_templates
from agnesi.schedule.lowering.cluster_dedup import Repeats

WIDTH, ROWS, LAYERS = 24, 17, 4


def mlp(x, weights):
    for w in weights:
        x = (x @ w).tanh() * 0.5 + x
    return x


def constants(x, weights):
    for i, w in enumerate(weights):
        x = ag.maximum(x @ w, float(i)) + (-0.0 if i % 2 else 0.0)
    return x


def turned(x, weights):
    for i, w in enumerate(weights):
        y = x[::-1] if i % 2 else x
        x = ag.softmax(y @ (w.T if i > 1 else w), axis=i % 2)
    return x


def slices(x, weights):
    parts = [(x[:, i:i + 3].exp() + w[0, i]).sum(1) for i, w in enumerate(weights)]
    return ag.stack(parts, 1)


def heads(x, weights):
    for w in weights:
        y = (x @ w).reshape(ROWS, 4, WIDTH // 4).transpose(1, 0, 2)
        scores = ag.softmax(y @ y.transpose(0, 2, 1), -1)
        x = (scores @ y).transpose(1, 0, 2).reshape(ROWS, WIDTH) + x
    return x


def masked(x, weights):
    for w in weights:
        x = ag.relu(x) @ w if w is weights[0] else x @ w
    return x


PROGRAMS = [mlp, constants, turned, slices, heads, masked]


def example(kind):
    rng = np.random.default_rng(0)
    x = ag.tensor(rng.normal(size=(ROWS, WIDTH)).astype(kind))
    weights = [ag.tensor((rng.normal(size=(WIDTH, WIDTH)) / 5).astype(kind))
               for _ in range(LAYERS)]
    return x, weights


def step(function):
    def trained(x, *weights):
        loss, grads = ag.value_and_grad(
            lambda *w: (function(x, list(w)) ** 2).mean(), argnums=tuple(range(len(weights)))
        )(*weights)
        return loss, [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
    return trained


def texts(function, args, optimizer, monkeypatch):
    """The code of a function, and what it returns."""
    found = []
    emit = program.emit_program

    def noted(*args, **keywords):
        made = emit(*args, **keywords)
        found.append(made[0])
        return made

    with monkeypatch.context() as patch, ag.config(cache=False):
        patch.setattr(program, "emit_program", noted)
        result = ag.jit(function, optimizer=optimizer)(*args)
    return found, result


@pytest.mark.share(12)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_repeated_layers_get_the_code_that_each_would_get(function, optimizer, monkeypatch):
    x, weights = example("float32")
    args = (x, *weights)
    with monkeypatch.context() as patch:
        patch.setattr(Repeats, "emit", lambda self, cluster, emit: emit(cluster))
        alone, _ = texts(step(function), args, optimizer, monkeypatch)
    found, (loss, new) = texts(step(function), args, optimizer, monkeypatch)
    assert found == alone
    wanted, better = step(function)(*args)
    np.testing.assert_allclose(loss.array, wanted.array, rtol=1e-5)
    for a, b in zip(new, better, strict=True):
        np.testing.assert_allclose(a.array, b.array, rtol=1e-4, atol=1e-5)


def test_equal_layers_are_planned_once(monkeypatch):
    again = []
    made = Repeats._again

    def counted(self, *args):
        again.append(args)
        return made(self, *args)

    monkeypatch.setattr(Repeats, "_again", counted)
    x, weights = example("float32")
    texts(step(mlp), (x, *weights), "fast_run", monkeypatch)
    assert len(again) >= LAYERS - 1


def test_what_equal_layers_store_is_made_when_somebody_asks(monkeypatch):
    made, asked = [], []
    again, stores = kernel_templates.again, kernel_templates._Values.stores

    def kept(*args):
        made.extend(kernels := again(*args))
        return kernels

    def noted(self, body):
        asked.append(body)
        return stores(self, body)

    monkeypatch.setattr(cluster_dedup, "again", kept)
    monkeypatch.setattr(kernel_templates._Values, "stores", noted)
    x, weights = example("float32")
    with ag.config(verify=False):  # who asks for all of it
        texts(step(heads), (x, *weights), "fast_run", monkeypatch)
    assert len(made) > 20 * len(asked)
    for kernel in made:
        assert kernel.body is kernel.body
        plain = replace(kernel)
        assert {*kernel.writes()} == {*plain.writes()} and {*kernel.reads()} == {*plain.reads()}
    assert len(asked) == len(made)
