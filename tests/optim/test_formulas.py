"""Every optimizer beside its formula in NumPy: eagerly, compiled, and from a saved state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import optim

STEPS = 12


def rate(t: int) -> float:
    """A learning rate that changes."""
    return 0.1 / t


def sgd(w: Any, momentum: float, dampening: float) -> Iterator[Any]:
    v = None
    for t in range(1, STEPS + 1):
        g = yield w
        v = g if v is None else momentum * v + (1 - dampening) * g
        w = w - rate(t) * v


def amsgrad(w: Any) -> Iterator[Any]:
    m = v = most = 0.0
    for t in range(1, STEPS + 1):
        g = -(yield w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        most = np.maximum(most, v)
        w = w - rate(t) / (1 - 0.9**t) * m / (np.sqrt(most / (1 - 0.999**t)) + 1e-8)


def adagrad(w: Any) -> Iterator[Any]:
    total = 0.2
    for t in range(1, STEPS + 1):
        g = (yield w) + 0.1 * w
        total = total + g * g
        w = w - rate(t) / (1 + (t - 1) * 0.5) * g / (np.sqrt(total) + 1e-10)


def adadelta(w: Any) -> Iterator[Any]:
    square = steps = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        square = 0.9 * square + 0.1 * g * g
        d = np.sqrt(steps + 1e-6) / np.sqrt(square + 1e-6) * g
        steps = 0.9 * steps + 0.1 * d * d
        w = w - rate(t) * d


def rmsprop(w: Any, momentum: float, centered: bool) -> Iterator[Any]:
    square = mean = v = 0.0
    for t in range(1, STEPS + 1):
        g = (yield w) + 0.1 * w
        square, mean = 0.99 * square + 0.01 * g * g, 0.99 * mean + 0.01 * g
        v = momentum * v + g / (np.sqrt(square - centered * mean**2) + 1e-8)
        w = w - rate(t) * v


def rprop(w: Any) -> Iterator[Any]:
    size, before = np.full_like(w, rate(1)), np.zeros_like(w)  # the rate of the first step
    for _ in range(STEPS):
        g = yield w
        turned = np.sign(g * before)
        size = np.clip(size * np.select([turned > 0, turned < 0], [1.2, 0.5], 1.0), 1e-6, 50)
        before = np.where(turned < 0, 0, g)
        w = w - np.sign(before) * size


def adamax(w: Any) -> Iterator[Any]:
    m = most = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        m, most = 0.9 * m + 0.1 * g, np.maximum(0.999 * most, np.abs(g) + 1e-8)
        w = w - rate(t) / (1 - 0.9**t) * m / most


def nadam(w: Any) -> Iterator[Any]:
    m = v = 0.0
    past = 1.0
    for t in range(1, STEPS + 1):
        g = yield w
        w = w * (1 - rate(t) * 0.1)
        now, then = (0.9 * (1 - 0.5 * 0.96 ** (k * 4e-3)) for k in (t, t + 1))
        past *= now
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        root = np.sqrt(v / (1 - 0.999**t)) + 1e-8
        w = w - rate(t) * ((1 - now) / (1 - past) * g + then / (1 - past * then) * m) / root


def radam(w: Any) -> Iterator[Any]:
    m = v = 0.0
    most = 2 / 0.001 - 1
    for t in range(1, STEPS + 1):
        g = yield w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        now = most - 2 * t * 0.999**t / (1 - 0.999**t)
        factor = 1.0
        if now > 5:
            factor = np.sqrt((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now))
            factor = factor * np.sqrt(1 - 0.999**t) / (np.sqrt(v) + 1e-8)
        w = w - rate(t) * m / (1 - 0.9**t) * factor


def lamb(w: Any) -> Iterator[Any]:
    m = v = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        d = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.1 * w
        w = w - rate(t) * np.linalg.norm(w) / np.linalg.norm(d) * d


def lion(w: Any) -> Iterator[Any]:
    m = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        w = w * (1 - rate(t) * 0.1) - rate(t) * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g


def asgd(w: Any) -> Iterator[Any]:
    r = rate(1)
    for t in range(1, STEPS + 1):
        g = yield w
        w = w * (1 - 0.3 * r) - r * g
        r = rate(t) / (1 + 0.3 * rate(t) * t) ** 0.75  # for the next step, as PyTorch's


def adafactor(w: Any) -> Iterator[Any]:
    rows = columns = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        size = max(np.sqrt(np.mean(w * w)), 1e-3) * min(rate(t), t**-0.5)
        w = w * (1 - 0.1 * rate(t))
        rows = rows + t**-0.8 * (np.mean(g * g, 1, keepdims=True) - rows)
        columns = columns + t**-0.8 * (np.mean(g * g, 0, keepdims=True) - columns)
        step = g / np.sqrt(rows @ columns / np.mean(rows))
        w = w - size / max(1.0, np.sqrt(np.mean(step * step))) * step


def muon(w: Any) -> Iterator[Any]:
    v = 0.0
    for t in range(1, STEPS + 1):
        g = yield w
        v = v + 0.05 * (g - v)
        left, values, right = np.linalg.svd(g + 0.95 * (v - g), full_matrices=False)
        values = values / np.linalg.norm(values)
        for _ in range(5):
            values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
        w = w * (1 - 0.1 * rate(t)) - rate(t) * (left * values) @ right


Way = tuple[Callable[..., Any], Callable[[Any], Iterator[Any]]]
WAYS: dict[str, Way] = {
    "sgd": (lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda w: sgd(w, 0.9, 0.0)),
    "dampened": (lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.3),
                 lambda w: sgd(w, 0.9, 0.3)),
    "amsgrad": (lambda p: optim.Adam(p, 0.1, amsgrad=True, maximize=True), amsgrad),
    "adagrad": (lambda p: optim.Adagrad(p, 0.1, 0.5, 0.1, 0.2), adagrad),
    "adadelta": (optim.Adadelta, adadelta),
    "rmsprop": (lambda p: optim.RMSprop(p, weight_decay=0.1), lambda w: rmsprop(w, 0.0, False)),
    "centered": (lambda p: optim.RMSprop(p, weight_decay=0.1, momentum=0.9, centered=True),
                 lambda w: rmsprop(w, 0.9, True)),
    "rprop": (lambda p: optim.Rprop(p, 0.5), rprop),
    "adamax": (optim.Adamax, adamax),
    "nadam": (lambda p: optim.NAdam(p, weight_decay=0.1, decoupled_weight_decay=True), nadam),
    "radam": (optim.RAdam, radam),
    "lamb": (lambda p: optim.Lamb(p, weight_decay=0.1), lamb),
    "lion": (lambda p: optim.Lion(p, weight_decay=0.1), lion),
    "asgd": (lambda p: optim.ASGD(p, lambd=0.3), asgd),
    "adafactor": (lambda p: optim.Adafactor(p, weight_decay=0.1), adafactor),
    "muon": (optim.Muon, muon),
}


def started(make: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """A parameter, its optimizer, and a training step."""
    w = ag.tensor(np.random.default_rng(1).normal(size=(2, 3)), requires_grad=True)
    tool = make([w])

    def step() -> Any:
        tool.zero_grad()
        loss = (ag.sin(3 * w) * w).sum()
        loss.backward()
        tool.step()
        return loss

    return w, tool, step


def gradient(w: Any) -> Any:
    return np.sin(3 * w) + 3 * w * np.cos(3 * w)


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", WAYS)
def test_steps_are_those_of_the_formula(kind: str) -> None:
    make, formula = WAYS[kind]
    w, tool, step = started(make)
    native, fast_tool, native_step = started(make)
    fast = ag.jit(native_step)
    steps = formula(w.numpy().copy())
    expected = next(steps)
    for t in range(1, STEPS):
        expected = steps.send(gradient(expected))
        tool.lr = fast_tool.lr = rate(t)
        step()
        fast()
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(native.numpy(), expected, rtol=1e-9, atol=1e-12)
        if t == STEPS // 2:  # go on from what was saved
            other, again, step = started(make)
            other.array[...] = w.array
            again.load_state_dict(tool.state_dict())
            w, tool = other, again
    assert len(fast.specialisations) == 1


def test_averages_begin_at_their_time() -> None:
    w, tool, step = started(lambda p: optim.ASGD(p, 0.01, t0=2))
    seen = []
    for _ in range(6):
        step()
        seen.append(w.numpy().copy())
    np.testing.assert_allclose(tool.slots["average"][0].numpy(),
                               np.mean(seen[2 + 1:], axis=0), rtol=1e-12)


@pytest.mark.parametrize(("make", "text"), [
    (lambda p: optim.Rprop(p, etas=(1.1, 1.2)), "etas"),
    (lambda p: optim.SGD(p, momentum=0.9, dampening=0.1, nesterov=True), "dampening"),
    (lambda p: optim.Adagrad(p, initial_accumulator_value=-1.0), "initial_accumulator_value"),
    (lambda p: optim.Adamax(p, betas=0.9), "betas"),
    (lambda p: optim.RMSprop(p, alpha=1.5), "alpha"),
    (lambda p: optim.Adafactor(p, d=0.5), "d must be at least 1"),
    (optim.Muon, "matrices"),
    (lambda p: optim.LBFGS(p, line_search_fn="armijo"), "line_search_fn"),
    (lambda p: optim.LBFGS(p).add_param_group({"params": p}), "one group"),
])
def test_numbers_out_of_their_range_are_refused(make: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        make([ag.zeros(1, requires_grad=True)])


def test_rows_without_a_gradient_stay_in_sparse_steps() -> None:
    """The rows that are touched get Adam's steps; the rest, means included, do not move."""
    table = ag.tensor(np.ones((4, 2)), requires_grad=True)
    rows = ag.tensor(np.ones((2, 2)), requires_grad=True)
    sparse, dense = optim.SparseAdam([table], 0.1), optim.Adam([rows], 0.1, eps=0.0)
    sparse.eps = 0.0

    def step() -> None:
        sparse.zero_grad()
        dense.zero_grad()
        (ag.nn.functional.embedding([3, 1, 3], table) ** 2).sum().backward()
        ((rows**2).sum(1) * ag.tensor([1.0, 2.0])).sum().backward()
        sparse.step()
        dense.step()

    for run in (step, ag.jit(step)):
        run()
        np.testing.assert_allclose(table.numpy()[[1, 3]], rows.numpy(), rtol=1e-12)
        assert (table.numpy()[[0, 2]] == 1).all()
        assert not sparse.slots["mean"][0].numpy()[[0, 2]].any()
