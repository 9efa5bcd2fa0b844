"""Layers that eager programs call often: as compiled regions they do what they do step by step."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.compiler import regions
from agnesi.core.ir.node import toposort

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Linear(5, 2)), (4, 3)),
    "normalized": (lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(12, 3)), (2, 1, 4, 4)),
    "transposed": (lambda: nn.Sequential(
        nn.ConvTranspose2d(2, 3, 4, stride=2, padding=1), nn.Sigmoid()), (2, 2, 3, 3)),
    "LSTM": (lambda: nn.LSTM(3, 4, 2, batch_first=True), (2, 5, 3)),
    "GRU": (lambda: nn.GRU(3, 4, bidirectional=True), (5, 2, 3)),
    "dropout": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3), (5, 2, 8)),
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every function pays to be compiled."""
    monkeypatch.setattr(regions, "PRICE", 0)
    monkeypatch.setattr(regions, "BEFORE", 0)
    monkeypatch.setattr(regions, "GAIN", -1e9)
    yield


def kinds(y: ag.Tensor) -> set[str]:
    """The operations behind a result."""
    assert y.node is not None
    return {n.op.name for n in toposort([y.node]) if n.op is not None}


def trained(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> tuple[Any, list[np.ndarray]]:
    """Operations behind the last result; all results, gradients and buffers of three calls."""
    ag.manual_seed(0)
    net = make()
    x = ag.tensor(np.random.default_rng(1).standard_normal(shape), requires_grad=True)
    net.to("float64")
    found: list[np.ndarray] = []
    for _ in range(3):
        net.zero_grad()
        x.grad = None
        outputs = ag.tree.flatten(net(x))[0]
        for y in outputs:
            y.retain_grad()
        loss = sum((y * y * ag.linspace(0, 1, y.numel(), dtype="float64").reshape(y.shape)).sum()
                   for y in outputs)
        names = kinds(outputs[0])
        loss.backward()
        found += [t.numpy().copy() for t in (*outputs, x.grad, *net.buffers())]
        found += [p.grad.numpy().copy() for p in net.parameters()]
    return names, found


@pytest.mark.share(6)
@pytest.mark.parametrize("name", LAYERS)
def test_results_gradients_and_state_are_those_of_single_operations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, ours = trained(*LAYERS[name])
    assert "region" in names
    monkeypatch.setattr(regions, "GAIN", float("inf"))
    names, plain = trained(*LAYERS[name])
    assert "region" not in names
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_gradients_of_gradients() -> None:
    net = LAYERS["mlp"][0]().to("float64")
    x = ag.tensor(np.linspace(-1, 1, 12).reshape(4, 3), requires_grad=True)

    def penalty(forward: Callable[[ag.Tensor], ag.Tensor]) -> list[np.ndarray]:
        slope = ag.grad(forward(x).square().sum(), x, create_graph=True)
        net.zero_grad()
        x.grad = None
        (slope * slope).sum().backward()
        return [t.grad.numpy() for t in (x, *net.parameters()) if t.grad is not None]

    assert "region" in kinds(net(x))
    ours, plain = penalty(net), penalty(net.forward)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    ag.testing.check_grads(net, [x.detach()], modes=("rev",))


def test_what_a_layer_is_may_change() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Tanh(), nn.Dropout(0.5))
    x = ag.tensor(np.linspace(-1, 1, 12).reshape(4, 3))

    def agree() -> None:
        ag.manual_seed(1)
        before = {n: v.clone() for n, v in net.state_dict().items()}
        ours = net(x)
        assert "region" in kinds(ours)
        ag.manual_seed(1)
        net.load_state_dict(before)
        np.testing.assert_allclose(ours.numpy(), net.forward_as_written(x).numpy(), rtol=1e-5)

    net.forward_as_written = lambda x: net.layers[2].forward(  # type: ignore[attr-defined]
        net.layers[1].forward(net.layers[0].forward(x)))
    agree()
    net.eval()
    agree()
    net.train()
    net[2].p = 0.25
    agree()
    net[1] = nn.Sigmoid()
    agree()
    net[0].weight.array[...] = 3
    agree()
    net[0].weight.requires_grad_(False)
    agree()
    handle = net[1].register_forward_hook(lambda module, args, output: output * 0)
    assert float(net(x).abs().sum()) == 0
    handle.remove()
    agree()
    for other in (copy.deepcopy(net[:2]), pickle.loads(pickle.dumps(net[:2]))):
        assert "region" in kinds(other(x))


def test_values_that_gradients_need_must_not_be_changed() -> None:
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    x = ag.ones((4, 3))
    y = net(x)
    x += 1
    with pytest.raises(ag.GradientError, match="changed in place afterwards"):
        y.sum().backward()
    y = net(x)
    with ag.no_grad():
        net[2].bias.add_(1)  # nobody reads it
    y.sum().backward()
    assert net[0].weight.grad is not None


CHANGED: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "normalized": (lambda: nn.LayerNorm(4), (3, 4)),
    "batches": (lambda: nn.BatchNorm1d(4), (3, 4)),
    "pooled": (lambda: nn.MaxPool2d(2), (1, 1, 4, 4)),
    "masked": (lambda: nn.ELU(), (3, 4)),
    "leaky": (lambda: nn.LeakyReLU(), (30, 40)),
    "shrunk": (lambda: nn.Tanhshrink(), (3, 4)),
    "deep": (lambda: nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 2)), (30, 4)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 9, 4)),
}


def changed_between(make: Callable[[], nn.Module], shape: tuple[int, ...], place: int) -> Any:
    """Gradients, where an operand or a parameter was changed behind the forward pass."""
    ag.manual_seed(0)
    net = make()
    x = ag.tensor(np.random.default_rng(1).standard_normal(shape).astype("f4"), requires_grad=True)
    y = net(x)
    with ag.no_grad():
        [x, *net.parameters()][place].add_(1)
    try:
        y.sum().backward()
    except ag.GradientError as error:
        assert "changed in place afterwards" in str(error)
        return None
    return [t.grad.numpy() for t in (x, *net.parameters())]


@pytest.mark.parametrize("name", CHANGED)
def test_changes_behind_a_layer_are_those_that_single_operations_notice(name: str) -> None:
    make, shape = CHANGED[name]
    for place in range(1 + len(list(make().parameters()))):
        with ag.config(compile=False):
            wanted = changed_between(make, shape, place)
        found = changed_between(make, shape, place)
        assert (found is None) == (wanted is None), place
        for a, b in zip(found or (), wanted or (), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients_are_no_symbols_where_an_operand_was_changed() -> None:
    x = ag.tensor(np.random.default_rng(1).standard_normal((5, 4)).astype("f4"), requires_grad=True)
    weight, bias = (ag.ones(4, requires_grad=True) for _ in range(2))
    for _ in range(500):
        y = ag.nn.functional.layer_norm(x, (4,), weight, bias)
        if "region" in kinds(y):
            break
    assert "region" in kinds(y)
    with ag.no_grad():
        bias.add_(1)
    with pytest.raises(ag.GradientError, match="changed in place afterwards"):
        ag.autograd.grad((y * y).sum(), [x], create_graph=True)
    ag.autograd.grad(y.sum(), [x])


def test_types_that_come_once_are_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "BEFORE", 2)
    net = LAYERS["mlp"][0]()
    for n in (*range(1, 100), 1, 1):  # a type that is forgotten among many begins anew
        assert "region" not in kinds(net(ag.ones((n, 3))))
    assert "region" in kinds(net(ag.ones((1, 3))))


def test_errors_are_those_of_single_operations() -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(3, 5), nn.Tanh()), nn.Linear(4, 2))
    with pytest.raises(ag.ShapeError, match=r"^1, Linear"):
        net(ag.ones((4, 3)))
    single = nn.Sequential(nn.BatchNorm1d(3), nn.Tanh())
    with pytest.raises(ValueError, match="while training"):
        single(ag.ones((1, 3)))


def test_functions_of_users_stay_python() -> None:
    seen: list[int] = []

    class Mine(nn.Linear):
        def forward(self, x: ag.Tensor) -> ag.Tensor:
            seen.append(len(x))
            return super().forward(x)

    net = nn.Sequential(nn.Tanh(), Mine(3, 2), nn.Sigmoid())
    for _ in range(3):
        net(ag.ones((4, 3)))
    assert seen == [4, 4, 4]


def test_inside_of_jit_grad_and_vmap_nothing_changes() -> None:
    net = LAYERS["mlp"][0]()
    x = ag.ones((4, 3))
    want = net.forward(x).numpy()
    np.testing.assert_allclose(ag.jit(net)(x).numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(ag.vmap(net)(x).numpy(), want, rtol=1e-5)
    ours, plain = (ag.jvp(f, (x,), (x * 2,))[1].numpy() for f in (net, net.forward))
    np.testing.assert_allclose(ours, plain, rtol=1e-5)


def test_another_forward_of_a_class_inside_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), ag.ones((1, 2))
    before = [model(x).tolist() for _ in range(3)][-1]
    with monkeypatch.context() as m:
        m.setattr(nn.Linear, "forward", lambda self, x: x * 9)
        assert [model(x).tolist() for _ in range(3)] == [[[9.0, 9.0]]] * 3
    assert [model(x).tolist() for _ in range(3)] == [before] * 3


def test_work_that_takes_long_is_compiled_at_the_first_call() -> None:
    """Without the large values in between that eager code would make."""
    runs = []

    def distances(a: ag.Tensor, b: ag.Tensor) -> ag.Tensor:
        runs.append(a.shape)
        return ag.norm(a[:, None] - b[None], axis=-1)

    region = regions.Regions(distances)
    a = ag.tensor(np.random.default_rng(0).normal(size=(300, 800)))
    for _ in range(2):
        found = region((a, a + 1), {})
    assert len(runs) == 1  # the trace
    np.testing.assert_allclose(found[3, 4], np.linalg.norm(a.numpy()[3] - a.numpy()[4] - 1))


def test_higher_derivatives_through_a_layer_are_the_same_compiled_and_not() -> None:
    ag.random.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    net = net.to("float64")
    x = ag.randn(64, 2, dtype="float64").requires_grad_()

    def residual() -> list[Any]:
        net.zero_grad()
        u = net(x)
        (first,) = ag.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = ag.autograd.grad(first[:, 0].sum(), x, create_graph=True)
        ((second[:, 0] + u[:, 0]) ** 2).mean().backward()
        return [p.grad.numpy().copy() for p in net.parameters()]

    early = residual()
    for _ in range(40):
        late = residual()
    for a, b in zip(early, late, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layer", [nn.LeakyReLU, nn.SiLU])
def test_a_layer_overwrites_what_it_read(layer: Callable[..., nn.Module]) -> None:
    found = []
    for inplace in (False, True):
        body = nn.Sequential(layer(inplace=inplace), nn.BatchNorm1d(3))
        x = ag.linspace(-2.0, 3.0, 12).reshape(4, 3).requires_grad_()
        for _ in range(3):
            (g,) = ag.autograd.grad((body(x * 2)[0] ** 2).sum(), x, create_graph=True)
        (g**2).sum().backward()
        found.append((g.tolist(), x.grad.tolist()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)
