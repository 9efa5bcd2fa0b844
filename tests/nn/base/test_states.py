"""What modules of the user's do to states that are saved and loaded."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn


class Renamed(nn.Module):
    """A later form of a module whose weight was called ``w``."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(ag.zeros(2))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        if prefix + "w" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class Counted(nn.Module):
    """A module with a state that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.calls = nn.Linear(2, 1), 0

    def get_extra_state(self) -> dict[str, int]:
        return {"calls": self.calls}

    def set_extra_state(self, state: dict[str, int]) -> None:
        self.calls = state["calls"]


def test_a_module_loads_an_older_state() -> None:
    old = {"0.w": ag.ones(2)}
    model = nn.Sequential(Renamed())
    model.load_state_dict(old)
    assert model[0].weight.tolist() == [1, 1] and list(old) == ["0.w"]
    with pytest.raises(KeyError, match=r"missing \['0.weight'\], unknown \['0.v'\]"):
        model.load_state_dict({"0.v": ag.ones(2)})


def test_a_module_may_load_by_itself_or_report() -> None:
    class Own(Renamed):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            self.weight.data.copy_(state_dict[prefix + "all"][:2])

    model = nn.ModuleList([Own(), nn.Linear(1, 1)])
    state = {"0.all": ag.arange(3.0), "1.weight": ag.ones((1, 1)), "1.bias": ag.ones(1)}
    assert model.load_state_dict(state) == ([], []) and model[0].weight.tolist() == [0, 1]

    class Refusing(Renamed):
        def _load_from_state_dict(self, *args: Any) -> None:
            args[-1].append("too old")

    with pytest.raises(KeyError, match="state for Sequential: too old"):
        nn.Sequential(Refusing()).load_state_dict({"0.weight": ag.ones(2)})


def test_extra_state_goes_along_and_only_a_load_that_succeeds_sets_it() -> None:
    model, other = nn.Sequential(Counted()), nn.Sequential(Counted())
    model[0].calls = 3
    state = model.state_dict()
    assert state["0._extra_state"] == {"calls": 3}
    with pytest.raises(KeyError):
        other.load_state_dict({**state, "more": ag.ones(1)})
    assert other[0].calls == 0
    other.load_state_dict(state)
    assert other[0].calls == 3
    np.testing.assert_array_equal(other[0].linear.weight, model[0].linear.weight)


def test_a_module_saves_more() -> None:
    class Saving(nn.Linear):
        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "scale"] = destination.pop(prefix + "bias") * 2

    assert list(nn.Sequential(Saving(2, 1)).state_dict()) == ["0.weight", "0.scale"]


def test_hooks_see_states() -> None:
    model, seen = nn.Sequential(nn.Linear(2, 1)), []
    model[0]._register_state_dict_hook(lambda m, state, prefix, about: {
        name.replace("weight", "kernel"): v for name, v in state.items()})
    state = model.state_dict()
    assert list(state) == ["0.kernel", "0.bias"]

    def back(state: Any, prefix: str, about: Any, strict: bool, *rest: Any) -> None:
        seen.append(strict)
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    handle = model[0]._register_load_state_dict_pre_hook(back)
    model.register_load_state_dict_post_hook(lambda m, keys: seen.append(tuple(keys)))
    model.load_state_dict(state)
    model.load_state_dict({**state, "x": ag.ones(1)}, strict=False)
    assert seen == [True, ([], []), False, ([], ["x"])]
    model.register_load_state_dict_post_hook(lambda m, keys: seen.append(m[0].bias.tolist()))
    model.load_state_dict({**state, "0.bias": ag.full(1, 7.0)})
    assert seen[-1] == [7.0]  # it is called behind the loading
    handle.remove()
    with pytest.raises(KeyError, match="kernel"):
        model.load_state_dict(state)
    assert model(ag.ones((1, 2))).shape == (1, 1)


def test_parameters_come_before_buffers() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", ag.zeros(1))
            self.weight = nn.Parameter(ag.zeros(1))

    assert list(nn.Sequential(Both(), nn.Tanh(), Both()).state_dict()) == [
        "0.weight", "0.count", "2.weight", "2.count"]


def test_an_optimizer_goes_on_with_a_parameter_that_is_no_longer_parametrized() -> None:
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    optimizer = ag.optim.SGD(layer.parameters(), 0.1)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    before = layer.weight.numpy().copy()
    layer.weight.sum().backward()
    optimizer.step()
    np.testing.assert_allclose(layer.weight, before - 0.1, rtol=1e-5)


class Assigned(nn.Module):
    """A module with a constant that PyTorch would not save."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = ag.ones(2)
        self.register_buffer("mean", ag.zeros(2))
        self.norm = nn.BatchNorm1d(2)


def test_a_state_may_lack_what_was_merely_assigned() -> None:
    net = Assigned()
    state = net.state_dict()
    assert "positions" in state
    del state["positions"]
    assert net.load_state_dict(state) == ([], [])
    for name in ("mean", "norm.running_var"):
        with pytest.raises(KeyError, match=rf"missing \['{name}'\]"):
            net.load_state_dict({k: v for k, v in state.items() if k != name})


def test_attributes_by_getattr_are_found_and_followed() -> None:
    net = Assigned()
    net.scale = 2.0
    fn = ag.jit(lambda x: x * net.__getattr__("scale"))
    assert float(fn(ag.tensor(1.0))) == 2.0
    net.scale = 3.0
    assert float(fn(ag.tensor(1.0))) == 3.0
    with pytest.raises(AttributeError, match="'Assigned' object has no attribute 'other'"):
        net.__getattr__("other")


@pytest.mark.parametrize("jit", [False, True])
def test_values_that_were_computed_are_loaded_without_their_gradients(jit):
    slow, fast = nn.Linear(2, 2), nn.Linear(2, 2)
    before = {n: p.array.copy() for n, p in slow.named_parameters()}

    def follow():
        mine = dict(slow.named_parameters())
        slow.load_state_dict({n: 0.75 * mine[n] + 0.25 * p for n, p in fast.named_parameters()})

    (ag.jit(follow) if jit else follow)()
    for name, p in slow.named_parameters():
        assert p.is_leaf and p.requires_grad
        new = 0.75 * before[name] + 0.25 * fast.get_parameter(name).array
        np.testing.assert_allclose(p.array, new, rtol=1e-6)


def _rename(state, prefix, *rest):
    state[prefix + "weight"] = state.pop(prefix + "w")


def test_modules_with_hooks_of_the_older_form_are_copied_and_pickled():
    layer = nn.Linear(2, 1, bias=False)
    layer._register_load_state_dict_pre_hook(_rename)
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        other.load_state_dict({"w": ag.ones((1, 2)) * 3})
        assert other.weight.tolist() == [[3, 3]] != layer.weight.tolist()
