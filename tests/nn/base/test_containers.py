"""Modules and parameters in lists and dicts."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import pytest

import agnesi as ag
from agnesi import nn


def names(module: nn.Module) -> list[str]:
    return [name for name, _ in module.named_parameters()]


class Stack(nn.Module):
    def __init__(self, depth: int) -> None:
        self.layers = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(depth))
        self.gains = nn.ParameterList([nn.Parameter(ag.ones(2)) for _ in range(depth)])

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        for layer, gain in zip(self.layers, self.gains, strict=True):
            x = layer(x) * gain
        return x


def test_lists_are_lists() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(3)])
    first, last = layers[0], layers[-1]
    layers.append(nn.Tanh()).extend([nn.ReLU()])
    layers.insert(0, nn.Sigmoid())
    assert [type(m).__name__ for m in layers] == [
        "Sigmoid", "Linear", "Linear", "Linear", "Tanh", "ReLU"]
    assert layers[1] is first
    assert names(layers) == ["1.weight", "2.weight", "3.weight"]
    assert isinstance(layers[1:3], nn.ModuleList)
    assert type(layers.pop()).__name__ == "ReLU"
    del layers[0]
    layers[0] = nn.Tanh()
    assert len(layers + [last]) == 5  # noqa: RUF005 - the operator is what is tested
    with pytest.raises(TypeError, match="ModuleList holds modules, not float32"):
        layers.append(ag.ones(2))


def test_dicts_are_dicts() -> None:
    parts = nn.ModuleDict({"a": nn.Linear(1, 1, bias=False)})
    parts.update({"b": nn.Tanh()})
    parts["c"] = nn.Linear(1, 1, bias=False)
    assert list(parts) == list(parts.keys()) == ["a", "b", "c"]
    assert "b" in parts
    assert names(parts) == ["a.weight", "c.weight"]
    assert parts.pop("a") not in parts.values()
    assert names(parts) == ["c.weight"]
    with pytest.raises(KeyError):
        del parts["a"]
    parts.clear()
    assert len(parts) == 0


def test_they_are_parts_of_models() -> None:
    model = Stack(2)
    assert names(model) == ["layers.0.weight", "layers.1.weight", "gains.0", "gains.1"]
    x = ag.ones((3, 2))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert ag.allclose(other(x), model(x))
    fast = ag.jit(model)
    assert ag.allclose(fast(x), model(x))
    model.layers.append(nn.Linear(2, 2, bias=False))
    model.gains.append(nn.Parameter(ag.zeros(2)))
    assert ag.allclose(fast(x), ag.zeros((3, 2)))
    other = Stack(3)
    other.load_state_dict(model.state_dict())
    assert ag.allclose(other(x), model(x))


def test_parameters_are_leaves() -> None:
    p = nn.Parameter(ag.ones(2) * 2)
    assert p.requires_grad
    (p * p).sum().backward()
    assert p.grad.tolist() == [4.0, 4.0]
    assert not nn.Parameter([1.0], requires_grad=False).requires_grad
    assert isinstance(p, nn.Parameter) and type(p) is ag.Tensor
    assert not any(isinstance(t, nn.Parameter) for t in (p * 2, ag.ones(2), 3.0))
    assert ag.jit(lambda x: isinstance(x, nn.Parameter))(p)
    with pytest.raises(TypeError, match="did you mean `requires_grad`"):
        nn.Parameter([1.0], requires_gard=True)
    weights = nn.ParameterDict({"a": [1.0, 2.0], "b": ag.ones(2, dtype="bfloat16")})
    assert weights["a"].requires_grad and weights["b"].requires_grad


def test_places_stay_empty_and_lists_of_parameters_nest() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2), None])
    assert layers[1] is None and [n for n, _ in layers.named_parameters()] == [
        "0.weight", "0.bias"]
    assert "(1): None" in repr(layers)
    nested = nn.ParameterList([nn.ParameterList([nn.Parameter(ag.ones(2))])])
    assert list(nested.state_dict()) == ["0.0"]


def test_entries_are_exchanged_by_their_names() -> None:
    # As programs do that put adapters into a model: by setattr, _modules, and set_submodule.
    for make in (lambda *m: nn.ModuleList(m), nn.Sequential,
                 lambda *m: nn.ModuleDict({str(i): v for i, v in enumerate(m)})):
        for put in (setattr, lambda m, n, v: m._modules.__setitem__(n, v),
                    lambda m, n, v: m.set_submodule(n, v), lambda m, n, v: m.add_module(n, v)):
            layers = make(nn.ReLU(), nn.Linear(2, 2))
            put(layers, "1", nn.Sigmoid())
            assert [type(m).__name__ for m in layers.children()] == ["ReLU", "Sigmoid"]
            (layers.add_module if put is setattr else partial(put, layers))("2", nn.Tanh())
            assert [n for n, _ in layers.named_children()] == ["0", "1", "2"]
            assert type(layers._modules["2"]) is nn.Tanh
            assert names(layers) == []
            delattr(layers, "0")
            assert len(layers) == 2
    outer = nn.Sequential(nn.ModuleList([nn.ReLU()]))
    outer.set_submodule("0.0", nn.Tanh())
    assert type(outer[0][0]) is nn.Tanh
    with pytest.raises(KeyError, match="has no module 'a'"):
        outer.set_submodule("a.b", nn.Tanh())
    with pytest.raises(ValueError, match="names no module inside"):
        outer.set_submodule("", nn.Tanh())
    gains = nn.ParameterList([ag.ones(2)])
    setattr(gains, "0", nn.Parameter(ag.ones(3)))
    assert gains[0].shape == (3,)


def test_entries_are_written_through_mappings() -> None:
    layer = nn.BatchNorm1d(2)
    layer._buffers["running_mean"] = ag.ones(2)
    assert layer.running_mean.tolist() == [1.0, 1.0]
    assert list(layer._buffers) == ["running_mean", "running_var", "num_batches_tracked"]
    weight = layer._parameters.pop("weight")
    layer.register_parameter("weight_raw", nn.Parameter(weight.detach()))
    layer.weight = layer.weight_raw * 2.0
    assert sorted(layer._parameters) == ["bias", "weight_raw"]
    layer(ag.tensor([[1.0, 2.0], [3.0, 5.0]])).square().sum().backward()
    assert layer.weight_raw.grad is not None
    with pytest.raises(KeyError):
        del layer._parameters["weight"]
    assert len(layer._parameters) == 2
    assert "weight_raw" in repr(layer._parameters)


def test_subclasses_of_containers_have_entries_of_their_own() -> None:
    # They were neither trained nor saved.
    class Layers(nn.ModuleList):
        def __init__(self) -> None:
            super().__init__([nn.Linear(2, 2, bias=False)])
            self.gain = nn.Parameter(ag.ones(2))
            self.head = nn.Linear(2, 1, bias=False)
            self.register_buffer("shift", ag.zeros(2))

        def forward(self, x: ag.Tensor) -> ag.Tensor:
            for layer in self:
                x = layer(x) * self.gain + self.shift
            return self.head(x)

    class Parts(nn.ModuleDict):
        def __init__(self) -> None:
            super().__init__({"a": nn.Linear(2, 2, bias=False)})
            self.gain = nn.Parameter(ag.ones(2))

    class Chain(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(nn.Linear(2, 2, bias=False))
            self.gain = nn.Parameter(ag.ones(2))

        def forward(self, x: ag.Tensor) -> ag.Tensor:
            return super().forward(x) * self.gain

    class Gains(nn.ParameterList):
        def __init__(self) -> None:
            super().__init__([ag.ones(2)])
            self.last = nn.Parameter(ag.ones(3))

    assert sorted(names(Layers())) == ["0.weight", "gain", "head.weight"]
    assert sorted(Layers().state_dict()) == ["0.weight", "gain", "head.weight", "shift"]
    assert sorted(names(Parts())) == ["a.weight", "gain"]
    assert sorted(names(Chain())) == ["0.weight", "gain"]
    assert names(Gains()) == ["0", "last"]
    assert (len(Layers()), len(Parts()), len(Chain()), len(Gains())) == (1, 1, 1, 1)
    model = Layers()
    step = ag.jit(lambda m, x: m(x).sum())
    value = step(model, ag.ones((3, 2)))
    value.backward()
    assert model.gain.grad is not None
    other = copy.deepcopy(model)
    model.gain.data = model.gain.data * 3.0
    assert step(model, ag.ones((3, 2))).item() != value.item()
    assert step(other, ag.ones((3, 2))).item() == value.item()
    assert model.double().gain.dtype == model.head.weight.dtype == ag.float64


class Gaps(nn.Module):
    def __init__(self) -> None:
        self.scales = nn.ParameterList([None, ag.ones(2)])
        self.shifts = nn.ParameterDict({"a": None, "b": ag.ones(2)})
        self.parts = nn.ModuleList([None, nn.Linear(2, 2)])
        self.scales.append(None)

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        for given in (*self.scales, self.shifts["a"], *self.parts):
            x = x if given is None else given(x) if isinstance(given, nn.Module) else x * given
        return x + self.shifts["b"]


def test_none_in_the_place_of_a_parameter_or_module() -> None:
    net = Gaps()
    wanted = ["scales.1", "shifts.b", "parts.1.weight", "parts.1.bias"]
    assert list(net.state_dict()) == names(net) == wanted
    assert [p is None for p in net.scales] == [True, False, True] and len(net.parts) == 2
    assert [*net.parts._modules] == ["0", "1"] and len(list(net.parts.children())) == 1
    again = pickle.loads(pickle.dumps(copy.deepcopy(net)))
    seen: list[str] = []
    again.apply(lambda m: seen.append(type(m).__name__)).to("float64").float().eval()
    assert seen.count("Linear") == 1
    x = ag.ones(2)
    wide = again(x)
    assert ag.allclose(wide, net(x)) and ag.allclose(ag.jit(again)(x), wide)
