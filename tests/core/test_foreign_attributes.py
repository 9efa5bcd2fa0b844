"""Objects whose ``__getattr__`` raises another error than AttributeError: settings of programs."""

from __future__ import annotations

import pytest

import agnesi as ag


class Config(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def config():
    return Config(rate=2.0, weight=ag.ones(2))


def test_settings_are_arguments_and_are_around():
    x, settings = ag.tensor([1.0, 2.0]), config()
    assert ag.jit(lambda c, x: c.rate * x * c.weight)(settings, x).tolist() == [2.0, 4.0]
    assert ag.jit(lambda x: settings.rate * x)(x).tolist() == [2.0, 4.0]
    assert ag.vmap(lambda v: v * settings.rate)(x).tolist() == [2.0, 4.0]
    assert ag.grad(lambda x: (x * settings.rate).sum())(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("wrong", [
    lambda x, c: ag.tensor(c), lambda x, c: x + c, lambda x, c: ag.sum(c),
    lambda x, c: x[c], lambda x, c: ag.zeros(c), lambda x, c: ag.stack(c),
    lambda x, c: ag.optim.SGD(c), lambda x, c: ag.nn.Linear(2, 2)(c),
    lambda x, c: ag.grad(lambda c: c.weight.sum())(c), lambda x, c: ag.jit(ag.sum)(c)])
def test_settings_in_the_place_of_a_tensor_are_told(wrong):
    with pytest.raises((TypeError, IndexError), match=r"rate|elements have dtype <U1"):
        wrong(ag.ones(2), config())
