"""Containers and keywords as arguments: taken apart without the general way, whatever they hold."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support import tree
from tests.compiler.specialization.sizes import agree, rows


@dataclass
class Batch:
    x: Any
    y: Any


Pair = namedtuple("Pair", "x y")


class Registered:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


tree.register(Registered, lambda p: ((p.x, p.y), "extra"), lambda extra, xy: Registered(*xy))


def counted(function: Any) -> Any:
    """A jitted function whose ``general`` counts the calls that went the general way."""
    f = ag.jit(function)
    dispatch, f.general = f.dispatch, 0

    def counting(*args: Any, **keywords: Any) -> Any:
        f.general += 1
        return dispatch(*args, **keywords)

    f.dispatch = counting
    f.call_directly(staticmethod(counting))
    return f


def same(got: Any, wanted: Any) -> None:
    (a, shape), (b, its_shape) = tree.flatten(got), tree.flatten(wanted)
    assert shape == its_shape
    for x, y in zip(a, b, strict=True):
        if isinstance(y, ag.Tensor):
            np.testing.assert_allclose(x.array, y.array, rtol=1e-6)
        else:
            assert x == y and type(x) is type(y)


NESTS = {
    "dict": ({"x": 0, "y": 1}, lambda p: p["x"] * p["y"]),
    "list": ([0, 1], lambda p: [p[1], p[0] + 1]),
    "tuple": ((0, 1), lambda p: (p[0] + p[1],)),
    "dataclass": (Batch(0, 1), lambda p: Batch(p.y * 2, {"old": p.x})),
    "named tuple": (Pair(0, 1), lambda p: Pair(p.x - p.y, p.y)),
    "registered": (Registered(0, 1), lambda p: Registered(p.x - p.y, (p.y, None))),
    "nested": ({"a": [0, (1, None)], 3: Batch(2, [])},
               lambda p: {"s": p["a"][0] + p["a"][1][0], 4: [p[3].x, "text", 5, (), None]}),
    "nothing": ((), lambda p: ag.ones(2)),
    "none": (None, lambda p: None),
    "single": ([[0]], lambda p: [p[0][0] * 3]),
}


@pytest.mark.parametrize("name", sorted(NESTS))
def test_nests(name):
    pattern, function = NESTS[name]
    f = counted(function)
    for seed in range(4):
        given = tree.map_leaves(lambda i, k=seed: rows(2, 3, seed=7 * k + i), pattern)
        same(f(given), function(given))
    assert f.general == 1 and len(f.specialisations) == 1


def test_keywords():
    def function(x, *, scale, shift=None):
        return x * scale if shift is None else x * scale + shift

    f = counted(function)
    for k in range(3):
        same(f(rows(3, seed=k), scale=0.5 + k), function(rows(3, seed=k), scale=0.5 + k))
    assert f.general == 1
    for _ in range(2):
        same(f(rows(3), scale=2.0, shift=rows(3, seed=1)), rows(3) * 2 + rows(3, seed=1))
        same(f(rows(3), scale=2.0), rows(3) * 2)
    same(f(x=rows(3), scale=2.0), rows(3) * 2)
    with pytest.raises(TypeError):
        f(rows(3))
    with pytest.raises(TypeError):
        f(rows(3), rows(3), scale=1.0)


def test_what_does_not_fit_goes_the_general_way():
    def function(p):
        values = list(p.values()) if isinstance(p, dict) else list(p)
        return sum(v * (i + 1) for i, v in enumerate(values))

    f = counted(function)
    a, b, c = (rows(3, seed=k) for k in range(3))
    for p in [{"x": a, "y": b}, {"y": b, "x": a}, {"x": a, "z": b}, {"x": a}, {}, [a, b], (a, b),
              [a, b, c], {"x": a, "y": rows(2)[:1]}, {"x": a, "y": b.array}, {"x": a, "y": 2.5},
              {"x": a, "y": rows(3, dtype="float64")}, [a, 3], [a, 4], {"x": a, "y": b}] * 2:
        same(ag.asarray(f(p)), ag.asarray(function(p)))


def test_static_leaves_are_known_by_value():
    f = counted(lambda p, mode: p["x"] * p["n"] if mode == "twice" else p["x"])
    for _ in range(2):
        for n in (1000, 1001):
            for mode in ("twice", "once"):
                made = int(str(n)), "".join(list(mode))
                same(f({"x": rows(3), "n": made[0]}, made[1]),
                     rows(3) * n if mode == "twice" else rows(3))
    assert len(f.specialisations) == 4
    f.general = 0
    for _ in range(3):
        f({"x": rows(3), "n": int("1001")}, "".join("once"))
    assert f.general == 0
    same(f({"x": rows(3), "n": True}, "twice"), rows(3))


def test_training_with_a_batch():
    def trained(jit):
        model = ag.nn.Linear(3, 2)
        for i, p in enumerate(model.parameters()):
            p.array[...] = rows(*p.shape, seed=i).array
        opt = ag.optim.SGD(model.parameters(), lr=0.1)

        def step(batch, model):
            opt.zero_grad()
            loss = ((model(batch["x"]) - batch["y"]) ** 2).mean()
            loss.backward()
            opt.step()
            return {"loss": loss, "size": 4}

        run = counted(step) if jit else step
        found = [run({"x": rows(4, 3, seed=k), "y": rows(4, 2, seed=k)}, model) for k in range(5)]
        return run, found, [p.array for p in model.parameters()]

    _, wanted, weights = trained(False)
    f, found, ours = trained(True)
    same(found, wanted)
    for a, b in zip(ours, weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert f.general == 1


def test_gradients_that_leave():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @counted
    def step(p):
        w.grad = None
        (w * p["x"]).sum().backward()
        return [p["x"] * 2]

    for k in range(3):
        (got,) = step({"x": rows(2, seed=k)})
        np.testing.assert_allclose(w.grad.array, rows(2, seed=k).array)
        np.testing.assert_allclose(got.array, 2 * rows(2, seed=k).array)
    assert step.general == 1
    w.grad = None
    assert step({"x": rows(2)}) and w.grad is not None


def test_arguments_changed_in_place():
    @counted
    def step(p):
        p["total"].add_(p["x"])

    total = ag.zeros(3)
    for _ in range(3):
        assert step({"total": total, "x": ag.ones(3)}) is None
    assert total.tolist() == [3, 3, 3] and step.general == 1
    both = ag.ones(6)
    step({"total": both[1:4], "x": both[:3]})  # overlapping memory
    assert both.tolist() == [1, 2, 2, 2, 1, 1]


def test_recorded_calls():
    f = ag.jit(lambda p: {"y": ag.tanh(p["x"]) * p["w"]})
    x, w = (ag.tensor(rows(3, seed=k).array, requires_grad=True) for k in range(2))
    for _ in range(2):
        x.grad = w.grad = None
        f({"x": x, "w": w})["y"].sum().backward()
        np.testing.assert_allclose(w.grad.array, np.tanh(x.array), rtol=1e-6)
        with ag.no_grad():
            assert not f({"x": x, "w": w})["y"].requires_grad
        assert not f({"x": rows(3), "w": rows(3)})["y"].requires_grad


def test_methods():
    class Model:
        @ag.jit
        def forward(self, batch):
            return batch["x"] * 2

    model = Model()
    for k in range(3):
        same(model.forward({"x": rows(2, seed=k)}), rows(2, seed=k) * 2)


def test_sizes_that_change():
    f = counted(lambda p: {"y": p["x"] @ p["w"]})
    for n in (5, 6, 9, 30, 2):
        agree(f, f.function, {"x": rows(n, 4), "w": rows(4, 3)})
    assert f.general == 2 and len(f.specialisations) == 2
