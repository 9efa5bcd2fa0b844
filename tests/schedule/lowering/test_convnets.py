"""Convolutional networks: training compiled and eagerly, and what their kernels are."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.kernels import Buffer, Callback, Convolution, Nest
from agnesi.core.ir.node import Node
from agnesi.core.target import Target
from agnesi.schedule.clustering import layout
from agnesi.schedule.passes import schedule
from agnesi.schedule.program import Request

RANDOM = np.random.default_rng(0)


class Residual(nn.Module):
    """Two convolutions with batch normalization, and what they change."""

    def __init__(self, channels):
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.other = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = ag.relu(self.norm(self.first(x)))
        return ag.relu(self.other(self.second(y)) + x)


class Inception(nn.Module):
    """Three ways side by side."""

    def __init__(self, channels):
        self.one = nn.Conv2d(channels, 4, 1)
        self.three = nn.Sequential(nn.Conv2d(channels, 6, 1), nn.ReLU(),
                                   nn.Conv2d(6, 5, 3, padding=1))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(channels, 3, 1))

    def forward(self, x):
        return ag.relu(ag.concat([self.one(x), self.three(x), self.pool(x)], axis=1))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 4 * 4, 10),
    )


def residual():
    return nn.Sequential(
        nn.Conv2d(1, 20, 3, stride=2), nn.ReLU(), Residual(20), nn.MaxPool2d(3, 2, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(20, 10),
    )


def inception():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2), nn.LocalResponseNorm(), nn.MaxPool2d(2), Inception(16),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12 * 9, 10),
    )


def strange():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, dilation=2), nn.GroupNorm(3, 12), nn.ReLU(),
        nn.Conv2d(12, 12, 3, groups=12, padding=1), nn.InstanceNorm2d(12, affine=True),
        nn.Conv2d(12, 8, (1, 3), stride=(2, 1), groups=2), nn.LPPool2d(2, 2), nn.Flatten(),
        nn.Linear(8 * 6 * 11, 10),
    )


NETS = {"lenet": lenet, "residual": residual, "inception": inception, "strange": strange}


def batch(n, dtype="float32"):
    x = RANDOM.normal(size=(n, 1, 28, 28)).astype(dtype)
    return ag.tensor(x), ag.tensor(RANDOM.integers(0, 10, n))


def twins(build, dtype="float32"):
    """Two equal models, each with an optimizer and a training step."""
    steps = []
    with ag.config(default_float=dtype):
        models = [build() for _ in range(2)]
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        b.array[...] = a.array
    for model in models:
        optimizer = ag.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)

        def step(x, y, model=model, optimizer=optimizer):
            loss = ag.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        steps.append(step)
    return models, steps


@pytest.mark.share(8)
@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("n", [1, 5])
def test_training_is_the_same_compiled_without_python(name, n):
    models, (eager, plain) = twins(NETS[name], "float64")
    compiled = ag.jit(plain)
    for _ in range(3):
        x, y = batch(n, "float64")
        np.testing.assert_allclose(compiled(x, y).array, eager(x, y).array, rtol=1e-7, atol=1e-9)
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        np.testing.assert_allclose(b.array, a.array, rtol=1e-6, atol=1e-8)
    assert "python" not in compiled.ir()


@pytest.mark.share(6)
@pytest.mark.parametrize("preset", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("name", NETS)
def test_single_precision(name, preset):
    _, (eager, plain) = twins(NETS[name])
    compiled = ag.jit(plain, optimizer=preset)
    for _ in range(2):
        x, y = batch(3)
        np.testing.assert_allclose(compiled(x, y).array, eager(x, y).array, rtol=1e-4, atol=1e-5)


def kernels(function, *shapes):
    """The kernels of a function of tensors of these shapes."""
    inputs = [Node(None, (), s, np.dtype("float32"), requires_grad=True) for s in shapes]
    outputs = function(*[ag.core.tensor.symbol(n) for n in inputs])
    graph = expanded(FunctionGraph(inputs, [o.node for o in outputs]))
    leaves = {id(n): Buffer(tuple(n.shape), n.dtype, "argument", node=n) for n in graph.inputs}
    for node in graph.nodes:
        if node.op is None and id(node) not in leaves:
            leaves[id(node)] = Buffer(tuple(node.shape), node.dtype, "constant", node=node)
    from agnesi.codegen.kernels.conv import preferred

    prefers = lambda *a, **k: preferred(*a, target=Target(512), **k)  # noqa: E731
    return schedule(Request(graph.outputs, leaves, Target(512), prefers)).kernels


def block(x, w, v, b):
    y = ag.max_pool(ag.relu(ag.conv2d(x, w, b, padding=1)), 3, stride=2, padding=1)
    return ag.relu(ag.conv2d(y, v, padding=1)).sum()


def test_a_training_step_has_no_kernels_that_only_move():
    shapes = (4, 3, 32, 32), (32, 3, 3, 3), (32, 32, 3, 3), (32,)
    made = kernels(lambda *xs: ag.grad(block, argnums=(1, 2, 3))(*xs), *shapes)
    assert not any(isinstance(k, Callback) for k in made)
    moving = [
        k for k in made
        if isinstance(k, Nest) and all(s.value.op == "load" for s in k.body) and len(k.axes) == 4
    ]
    assert not moving
    convolutions = [k for k in made if isinstance(k, Convolution)]
    assert [k.kind for k in convolutions].count("forward") == 2
    assert len(convolutions) == 5
    images = [b for k in convolutions for b in k.writes() if len(b.shape) == 4 and b.shape[0] == 4]
    assert images
    assert all(b.strides[1] == 1 for b in images)


@pytest.mark.parametrize(("taps", "copies"), [(3, 0), (7, 2)])
def test_a_filter_for_each_channel_of_the_users_images(taps, copies):
    """Maps lie as the arguments do, or, where many taps pay for it, copies have channels last."""
    def gradients(x, w):
        loss = lambda x, w: (ag.conv2d(x, w, padding=taps // 2, groups=32) ** 2).sum()  # noqa: E731
        return ag.grad(loss, argnums=(0, 1))(x, w)

    made = kernels(gradients, (4, 32, 40, 40), (32, 1, taps, taps))
    maps = [b for k in made if isinstance(k, Convolution) for b in (*k.reads(), *k.writes())
            if b.shape[-2:] == (40, 40)]
    last = {b for b in maps if b.strides[1] == 1}
    assert maps and len(last) == copies


def test_taps_are_found_with_the_greatest():
    made = kernels(
        lambda x: ag.grad(lambda x: (ag.max_pool(x, 2) ** 2).sum(), argnums=(0,))(x),
        (2, 8, 32, 32),
    )
    assert sum(any(n.op.name == "pool_taps" for n in k.nodes) for k in made) == 1
    assert len([k for k in made if isinstance(k, Nest)]) == 2


@pytest.mark.share(2)
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)],
                         ids=str)
def test_operands_in_any_mixture_of_memory_orders(turned, groups):
    """Pooling by windows of one element gives an operand memory in the compiler's order."""
    x, g = RANDOM.normal(size=(3, 8, 14, 13)), RANDOM.normal(size=(3, 12, 14, 13))
    w = RANDOM.normal(size=(12, 8 // groups, 3, 3))

    def turn(x, wanted):
        return ag.max_pool(x, 1) * 2 if wanted else x

    def gradients(x, w, g):
        def loss(x, w):
            y = ag.conv2d(turn(x, turned[0]), w, padding=1, groups=groups)
            return (y * turn(g, turned[1])).sum()

        return ag.grad(loss, argnums=(0, 1))(x, w)

    arguments = [*map(ag.tensor, (x, w, g))]
    for found, right in zip(ag.jit(gradients)(*arguments), gradients(*arguments), strict=True):
        np.testing.assert_allclose(found.array, right.array, atol=1e-10)


@pytest.mark.long
@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["residual", "lenet"])
def test_a_batch_that_changes_takes_one_more_version(name):
    _, (eager, plain) = twins(NETS[name], "float64")
    compiled = ag.jit(plain)
    for n in (5, 7, 4, 9):
        x, y = batch(n, "float64")
        np.testing.assert_allclose(compiled(x, y).array, eager(x, y).array, rtol=1e-9)
    assert len(compiled.specialisations) == 2


def test_few_filters_in_parts_of_a_batch_that_changes():
    rng = np.random.default_rng(3)
    w = ag.tensor(rng.standard_normal((6, 1, 5, 5)).astype("f"))

    def update(x, w):
        return w - 0.1 * ag.grad(lambda w: (ag.tanh(ag.conv2d(x, w, padding=1)) ** 2).mean())(w)

    compiled = ag.jit(update)
    for n in (30, 41, 23, 36):
        x = ag.tensor(rng.standard_normal((n, 1, 40, 41)).astype("f"))
        np.testing.assert_allclose(compiled(x, w).array, update(x, w).array, rtol=1e-4, atol=1e-6)
    assert len(compiled.specialisations) == 2
    assert any(step.parallel for step in compiled.plan().steps)


@pytest.mark.share(2)
@pytest.mark.parametrize("rank, groups", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_large_gradients_of_filters_are_copied_into_their_order(monkeypatch, rank, groups):
    monkeypatch.setattr(layout, "_MIN_COPIED_GRADIENT", 1)
    conv = (ag.conv1d, ag.conv2d, ag.conv3d)[rank - 1]
    x = ag.randn(2, 4, *[5] * rank, dtype="float64")
    w = ag.randn(6, 4 // groups, *[3] * rank, dtype="float64")

    def results(x, w):
        g = ag.grad(lambda w: (conv(x, w, padding=1, groups=groups) ** 2).sum())(w)
        return g, g * 2, g.reshape(-1), g.sum(0), ag.concat([g, g]), w - 0.1 * g

    compiled = ag.jit(results)
    for found, wanted in zip(compiled(x, w), results(x, w), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-12)
    only = ag.jit(lambda x, w: results(x, w)[0])
    np.testing.assert_allclose(only(x, w).numpy(), results(x, w)[0].numpy(), rtol=1e-10, atol=1e-12)
    assert "loops conv_grad_w" in str(only.plan())


def test_updates_of_filters_in_the_order_of_their_axes_are_loops_of_their_own(monkeypatch):
    monkeypatch.setattr(layout, "_MIN_COPIED_GRADIENT", 1)
    x, values = ag.randn(2, 4, 5, 5), RANDOM.standard_normal((8, 4, 3, 3))

    def trained(turned, compiled):
        w = ag.tensor(values.copy(), requires_grad=True)
        if turned:  # as layers keep large filters
            w.array = values.transpose(2, 3, 1, 0).copy().transpose(3, 2, 0, 1)
        optimizer = ag.optim.SGD([w], lr=0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()
            (ag.conv2d(x, w) ** 2).mean().backward()
            optimizer.step()

        run = ag.jit(step) if compiled else step
        for _ in range(3):
            run(x)
        return w.numpy(), str(run.plan()) if compiled else ""

    wanted, _ = trained(False, False)
    for turned in (False, True):
        found, plan = trained(turned, True)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
        assert ("conv_grad_w, " in plan) == turned
