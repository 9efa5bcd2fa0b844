"""Backward passes over records that come again: compiled, they give what their rules give."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.compiler import tapes
from agnesi.core.support.config import HOOKS


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every pass pays to be compiled, and none is known yet."""
    monkeypatch.setattr(tapes, "_PRICE", 0)
    monkeypatch.setattr(tapes, "_MIN_OPERATIONS", 1)
    monkeypatch.setattr(tapes, "_found", {})
    monkeypatch.setattr(tapes, "_spent", {})
    monkeypatch.setattr(HOOKS, "taped", tapes.taped)
    yield


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def parameters() -> list[Any]:
    return [ag.tensor(array(*s, seed=i), requires_grad=True)
            for i, s in enumerate([(3, 4), (4, 4), (4,)])]


def recurrent(w: Any, u: Any, b: Any) -> Any:
    h = ag.zeros((2, 4), dtype="float64")
    for t in range(3):
        z = (ag.tensor(array(2, 3, seed=t)) @ w + h @ u + b).tanh()
        a, c = z.chunk(2, 1)
        h = ag.cat([c * ag.sigmoid(a), a], 1)
    return h


def attending(w: Any, u: Any, b: Any) -> Any:
    e = w @ u.T + b
    e = ag.where(e > 0, e, -9e15 * ag.ones_like(e)).softmax(-1)
    return (e @ u)[ag.tensor([2, 0, 2])].permute(1, 0)


def several(w: Any, u: Any, b: Any) -> Any:
    _, logabs = ag.linalg.slogdet(u)
    top, _ = ag.max(w, dim=1)
    return (ag.linalg.qr(u)[1] * logabs).sum() + top * w.norm()


PROGRAMS: list[Callable[..., Any]] = [recurrent, attending, several]


def gradients(program: Callable[..., Any], xs: Any) -> list[np.ndarray]:
    for x in xs:
        x.grad = None
    y = program(*xs)
    (y * y).sum().backward()
    return [np.array(x.grad) for x in xs if x.grad is not None]


def compiled() -> int:
    """How many passes are compiled."""
    return sum(tape is not None for tape in tapes._found.values())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_are_those_of_the_rules(program: Callable[..., Any]) -> None:
    xs = parameters()
    with ag.config(compile=False):
        expected = gradients(program, xs)
    assert not tapes._found
    for _ in range(2):
        for got, want in zip(gradients(program, xs), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert compiled() == 1
    for x in xs:  # other values of the same types
        x.data.mul_(0.5)
    found = gradients(program, xs)
    with ag.config(compile=False):
        expected = gradients(program, xs)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert compiled() == 1


def test_who_reads_whom_and_constants_tell_passes_apart() -> None:
    x, a, b = (ag.tensor(array(3, seed=i), requires_grad=i == 0) for i in range(3))
    for one, other in ((a, b), (a, a), (b, b), (b, a)):
        x.grad = None
        ((x * one).sin() * other * x).sum().backward()
        p, q, v = one.numpy(), other.numpy(), x.numpy()
        want = q * (np.cos(v * p) * p * v + np.sin(v * p))
        np.testing.assert_allclose(x.grad.numpy(), want)
    assert compiled() == 2  # with two constants, with one
    for axis in (0, 1):
        y = ag.tensor(array(2, 2), requires_grad=True)
        (ag.cumsum(y, axis) ** 2).sum().backward()
        with ag.config(compile=False):
            z = ag.tensor(array(2, 2), requires_grad=True)
            (ag.cumsum(z, axis) ** 2).sum().backward()
        np.testing.assert_allclose(y.grad.numpy(), z.grad.numpy())


def test_results_are_memory_of_their_own() -> None:
    x, y = (ag.tensor(array(3, seed=i), requires_grad=True) for i in range(2))
    kept = []
    for _ in range(3):
        x.grad = y.grad = None
        h = x + y
        h.retain_grad()
        g = ag.tensor(array(3, seed=9))
        h.backward(g)
        arrays = [x.grad.numpy(), y.grad.numpy(), h.grad.numpy(), g.numpy()]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
        for held, value in kept:
            np.testing.assert_array_equal(held, value)
        kept += [(a, a.copy()) for a in arrays]
        x.grad.add_(1.0)  # nobody else sees it
        kept[-4] = kept[-4][0], kept[-4][0].copy()
    x.grad.add_(1.0)
    h = x + y
    h.backward(g)  # is added to what is there
    np.testing.assert_allclose(x.grad.numpy(), array(3, seed=9) * 2 + 2)


def test_changes_in_place_are_noticed() -> None:
    x = ag.tensor(array(3), requires_grad=True)

    def run(change: bool, data: bool = False) -> None:
        x.grad = None
        h = x.exp()
        y = (h * h).sum()
        if change:
            with ag.no_grad():
                h.mul_(2.0)
        y.backward()

    run(False)
    assert compiled() == 1
    with pytest.raises(ag.GradientError, match="changed in place"):
        run(True)
    run(False)
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * x.numpy()))
    for _ in range(2):  # what only looks changed is the record's own
        x.grad = None
        h = x * 2.0
        h *= x
        (h * x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy() ** 2)


def test_passes_that_hooks_see_go_by_the_rules_and_others_are_compiled() -> None:
    x, other = (ag.tensor(array(3), requires_grad=True) for _ in range(2))
    kept = other.register_hook(lambda g: g * 10)

    def run(hooked: str = "") -> Any:
        x.grad = None
        y = x * 2
        handle = {"x": x, "y": y}.get(hooked, other).register_hook(lambda g: g * 10)
        (y * x).sum().backward()
        handle.remove()
        return (x.grad / x).numpy()

    for hooked, expected in (("", 4), ("x", 40), ("y", 22), ("", 4)):
        for _ in range(3):
            np.testing.assert_allclose(run(hooked), np.full(3, expected))
        assert compiled() == 1
    kept.remove()


def test_users_operations_and_second_derivatives_go_by_the_rules() -> None:
    x = ag.tensor(array(3), requires_grad=True)

    class Doubled(ag.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Doubled.calls += 1
            return g * 2

    for _ in range(3):
        x.grad = None
        (Doubled.apply(x) * x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 4 * x.numpy())
    assert Doubled.calls == 3 and not tapes._found
    for _ in range(2):
        y = (x ** 4).sum()
        (g,) = ag.autograd.grad(y, x, create_graph=True)
        (h,) = ag.autograd.grad((g * g).sum(), x)
        np.testing.assert_allclose(h.numpy(), 96 * x.numpy() ** 5)
    assert compiled() == 1


def test_layers_in_a_record_give_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    from agnesi.compiler import regions

    for name, value in (("PRICE", 0), ("BEFORE", 0), ("GAIN", -1e9)):
        monkeypatch.setattr(regions, name, value)

    def steps() -> list[np.ndarray]:
        ag.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
        net.to("float64")
        out = []
        for i in range(4):
            net.zero_grad()
            x = ag.tensor(array(5, 3, seed=i), requires_grad=True)
            ((net(x * 2) - net(x)) ** 2).sum().backward()
            out += [np.array(p.grad) for p in (*net.parameters(), x)]
            with ag.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
        return out

    with ag.config(compile=False):
        expected = steps()
    found = steps()
    assert compiled()
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


def test_passes_keep_no_values_alive() -> None:
    for _ in range(2):
        w = ag.tensor(array(4, 4), requires_grad=True)
        h = (w @ w).tanh()
        (h * w).sum().backward()
    assert compiled() == 1
    gone = [weakref.ref(t.array) for t in (w, h)]
    del w, h
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_threads_share_a_pass() -> None:
    found: list[np.ndarray] = []

    def work(seed: int) -> None:
        xs = [ag.tensor(array(*x.shape, seed=seed), requires_grad=True) for x in parameters()]
        for _ in range(5):
            got = gradients(recurrent, xs)
        with ag.config(compile=False):
            want = gradients(recurrent, xs)
        found.append(max(np.abs(a - b).max() for a, b in zip(got, want, strict=True)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and max(found) < 1e-12


def test_a_pass_is_compiled_when_it_came_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "_PRICE", 100_000)
    x = ag.tensor(array(3), requires_grad=True)
    for n in range(8):
        (x.exp() * x).sin().sum().backward()
        assert compiled() == (n >= 4)
    assert not tapes._spent
