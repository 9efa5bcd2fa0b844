"""Whether a tensor requires a gradient is followed, whatever holds it and whatever code asks."""

import operator
from types import SimpleNamespace

import pytest

import agnesi as ag


def ask(w, x):
    return x * 2 if w.requires_grad else x * 5


def ask_for_leaves(w, x):
    return x * 2 if w.is_leaf and w.requires_grad else x * 5


class Asker:
    def ask(self, w, x):
        return ask(w, x)


ASKER, TABLE = Asker(), {"ask": ask}


def inner(get):
    def function(x):
        def asked(w):
            return w.requires_grad

        return x * 2 if asked(get()) else x * 5

    return function


WAYS = {
    "global": lambda get: lambda x: ask(get(), x),
    "method": lambda get: lambda x: ASKER.ask(get(), x),
    "table": lambda get: lambda x: TABLE["ask"](get(), x),
    "leaf": lambda get: lambda x: ask_for_leaves(get(), x),
    "inner": inner,
    "getter": lambda get: lambda x: x * 2 if operator.attrgetter("requires_grad")(get()) else x * 5,
    "name": lambda get: lambda x: x * 2 if getattr(get(), "requires_" + "grad") else x * 5,
    "map": lambda get: lambda x: x * 2 if any(w.requires_grad for w in [get()]) else x * 5,
}


def holders():
    w = ag.ones(2, requires_grad=True)
    a = SimpleNamespace(w=w)
    module = ag.nn.Module()
    module.w = ag.nn.Parameter(ag.ones(2))
    deep = {"a": [(w,)]}
    return [(w, lambda: w), (w, lambda: a.w), (w, lambda: deep["a"][0][0]),
            (module.w, lambda: module.w)]


@pytest.mark.parametrize("way", WAYS)
def test_frozen_and_thawed_tensors_are_seen(way):
    for w, get in holders():
        function = WAYS[way](get)
        jitted = ag.jit(function)
        for i in range(4):
            w.requires_grad_(i % 2 == 0)
            assert jitted(ag.ones(2)).tolist() == function(ag.ones(2)).tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_function_that_freezes_sees_what_was_before():
    w = ag.ones(2, requires_grad=True)

    def function(x):
        w.requires_grad_(False)
        y = x * w
        w.requires_grad_(True)
        return y + ask(w, x)

    jitted = ag.jit(function)
    for flag in (True, True, False, True):
        results = []
        for f in (function, jitted):
            w.requires_grad_(flag)
            results.append((f(ag.ones(2)).tolist(), w.requires_grad))
        assert results[0] == results[1]
