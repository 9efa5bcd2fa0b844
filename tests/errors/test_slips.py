"""Slips: calls left out or too early, arguments in another order, states of other objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.core.support.errors import DTypeError, GradientError, ShapeError, StateError
from agnesi.nn import functional as F

V, M = ag.ones(3), ag.ones((2, 3))
IDS = ag.tensor([0, 1])


class _Compiled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    @ag.jit
    def forward(self, x: Any) -> Any:
        return self.inner(x, x)


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kind = nn.Linear  # of which no layer was made

    def forward(self, x: Any) -> Any:
        return self.kind(x)


def _read_before() -> Any:
    parameters = nn.Linear(3, 2).parameters()
    assert len([*parameters]) == 2
    return optim.SGD(parameters, lr=0.1)


def _states() -> Any:
    adam = optim.Adam(nn.Linear(3, 2).parameters())
    adam.load_state_dict(optim.SGD(nn.Linear(3, 2).parameters(), lr=0.5).state_dict())


def _symbol() -> Any:
    ag.symbolic.matrix("x").sum().backward()


SLIPS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: _Model()(M), TypeError, "Linear() needs out_features, too; make it first"),
    (lambda: _Compiled()(M), TypeError, "forward() takes 2 positional arguments but 3 were given; "
     "it is called as Linear()(x)"),
    (lambda: _Model(M), TypeError, "no arguments, not 1; make it first, and then call it: _Model("),
    (lambda: _Model.parameters(), TypeError, "on an object, Module(...).parameters()"),
    (_read_before, ValueError, "an iterator gives its elements once: call parameters() again"),
    (lambda: ag.stack(map(ag.ones, ())), ValueError, "an iterator gives its elements once"),
    (_states, StateError, "group 0 of the state lacks ['betas', 'eps']"),
    (_symbol, GradientError, "symbols of a declared graph, which keep no grad"),
    (lambda: ag.grad(lambda x: None)(V), TypeError, "a function without return gives it"),
    (lambda: ag.fori_loop(3, lambda i, c: c, V), TypeError,
     "the order is fori_loop(lower, upper, body, init)"),
    (lambda: ag.gather(M, IDS, 1), TypeError, "the order is gather(x, axis, index)"),
    (lambda: ag.max(V, V, V), TypeError, "the order is max(x, axis, "),
    (lambda: ag.max(V, "0"), TypeError, "axis must be an integer, not '0'"),
    (lambda: ag.take_along_axis(M, IDS, 1), ValueError, "expand_dims gives it more"),
    (lambda: ag.split(ag.ones(5), 2), ValueError, "split(x, size, dim=0) PyTorch's of a size"),
    (lambda: ag.array(1, 2), DTypeError, "several sizes, or numbers, are one list"),
    (lambda: ag.tensor(1, 2, 3), TypeError, "with the numbers in one list"),
    (lambda: V[ag.tensor([0.0])], IndexError, "convert them with .astype('int64')"),
    (lambda: F.nll_loss(M, M), DTypeError, "convert them with .astype('int64')"),
    (lambda: F.embedding(M, IDS), DTypeError, "the ids come first, and then the table"),
    (lambda: nn.Conv2d(3, 8, 3)(ag.ones((1, 8, 8, 3))), ShapeError,
     "moveaxis(x, -1, 1) of one whose channels come last fits"),
    (lambda: nn.Sequential(nn.ReLU())["0"], TypeError, "by number, and by name in a ModuleDict"),
    (lambda: F.group_norm(ag.ones((1, 4)), 4), ValueError,
     "one value for each group of float32[1, 4]"),
]


@pytest.mark.parametrize(("slip", "error", "said"), SLIPS)
def test_slips_are_told(slip: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=re.escape(said)) as found:
        slip()
    assert f"at {__file__}:" in str(found.value)
    assert ("the order is" in str(found.value)) == ("the order is" in said)


def test_states_with_labels_of_programs_are_taken() -> None:
    adam = optim.Adam(nn.Linear(3, 2).parameters())
    state = adam.state_dict()
    state["param_groups"][0] |= {"name": "all", "foreach": None, "lr": 0.5}
    adam.load_state_dict(state)
    assert adam.param_groups[0]["lr"] == 0.5 and adam.param_groups[0]["name"] == "all"


def test_groups_of_one_number_are_taken_of_several_examples() -> None:
    assert F.group_norm(ag.ones((2, 4)), 4).shape == (2, 4)
