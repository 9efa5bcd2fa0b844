"""Equal segments of long graphs: what is found, and that calls of one body compute the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.tracing import trace_reuse
from agnesi.core.graph import constant_value
from agnesi.rewrite import outlining
from agnesi.schedule.clustering import clustering


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Let short graphs be searched, for short segments."""
    monkeypatch.setattr(outlining, "MIN_OPERATIONS", 30)
    monkeypatch.setattr(outlining, "SEGMENT_OPERATIONS", 6)
    monkeypatch.setattr(outlining, "_MIN_SEGMENTS", 3)
    monkeypatch.setattr(outlining, "_MIN_PAIRS", 6)
    with ag.config(cache=False, verify=True):
        yield


def values(*shape: int, seed: int = 0) -> Any:
    return ag.tensor(np.random.default_rng(seed).uniform(0.2, 0.9, shape))


def segments(compiled: Any) -> list[Any]:
    """The segments that a compiled function calls."""
    return [n.op for n in compiled.graph.nodes if n.op is not None and n.op.name == "segment"]


def compared(function: Any, *args: Any) -> Any:
    """The function compiled, after its values were compared with eager ones."""
    compiled = ag.jit(function)
    found, eager = compiled(*args), function(*args)
    many = isinstance(found, tuple)
    for a, b in zip(found if many else [found], eager if many else [eager], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)
    return compiled


def repeated(step: Any, times: int = 40) -> Any:
    def f(x):
        y = x
        for i in range(times):
            y = step(y, i)
        return y.sum()

    return f


STEPS = {
    "square": lambda y, i: y * y + 0.2,
    "tanh": lambda y, i: ag.tanh(y * 0.9 + 0.1),
    "reduction": lambda y, i: y - 0.1 * y.mean(axis=-1, keepdims=True) + ag.cos(y) * 0.01,
    "softmax": lambda y, i: ag.softmax(y * 2.0, axis=-1) * 0.5 + y * 0.5,
    "array": lambda y, i: ag.sin(y) * TABLE + 0.3,
    "moved": lambda y, i: ag.exp(-y.reshape(4, 3).T) + 0.1,
    "converted": lambda y, i: (y > 0.5).astype("float64") * 0.3 + y * 0.5,
    "chosen": lambda y, i: ag.where(y > 0.5, y * 0.5, y + 0.25) * 0.99,
}
TABLE = values(3, 4, seed=5).numpy()


@pytest.mark.share(4)
@pytest.mark.parametrize("name", STEPS)
def test_calls_compute_what_the_steps_do(name):
    step = STEPS[name]
    calls = segments(compared(repeated(step), values(3, 4)))
    assert calls, "nothing was outlined"
    assert len({op.body for op in calls}) * 2 < len(calls)
    gradient = compared(ag.grad(repeated(step)), values(3, 4))
    assert segments(gradient)


def test_steps_in_random_order_share_bodies():
    kinds = [ag.sin, ag.tanh, lambda y: y * 1.01, lambda y: y + 0.5, ag.cos, lambda y: -y]
    order = np.random.default_rng(3).integers(0, len(kinds), 200).tolist()
    function = repeated(lambda y, i: kinds[order[i]](y), 200)
    for f in (function, ag.grad(function)):
        calls = segments(compared(f, values(3, 4)))
        assert len({op.body for op in calls}) * 3 < len(calls)


def test_steps_that_read_any_earlier_value_share_bodies():
    """Bodies differ in which operands lie inside and which values are read behind them, too."""
    kinds = [lambda a, b: a * b, lambda a, b: ag.sin(a) * 0.5 + b * 0.4, ag.maximum,
             lambda a, b: (a - b) * 0.5]
    rng = np.random.default_rng(6)
    program = [(kinds[rng.integers(4)], int(rng.integers(i + 1))) for i in range(250)]

    def function(x):
        known = [x]
        for step, place in program:
            known.append(step(known[-1], known[place]))
        return known[-1]

    compiled = compared(function, values(3))
    calls = segments(compiled)
    assert len({op.body for op in calls}) * 3 < len(calls)
    assert len(compiled.graph) < 1.1 * len(calls), "few operations stay outside"


def test_constants_that_differ_are_operands():
    numbers = np.random.default_rng(4).uniform(0.5, 1.5, 300)

    def function(x):
        for number in numbers.tolist():
            x = ag.sin(x * number) * 0.9
        return x.sum()

    for f in (function, ag.grad(function)):
        calls = segments(compared(f, values(3, 4)))
        assert len({op.body for op in calls}) * 8 < len(calls)
        frequent = Counter([op.body for op in calls]).most_common(1)[0][0]
        inside = [n for n in frequent.graph.nodes if constant_value(n) is not None]
        assert inside, "a constant that all of them read stays inside"


def test_a_body_is_lowered_once():
    compiled = compared(ag.grad(repeated(lambda y, i: ag.sin(y) * 0.9, 200)), values(3, 4))
    functions = compiled.ir().count("\ndefine ")
    longer = compared(ag.grad(repeated(lambda y, i: ag.sin(y) * 0.9, 400)), values(3, 4))
    assert longer.ir().count("\ndefine ") <= functions + 4
    assert len({op.body for op in segments(longer)}) == len({op.body for op in segments(compiled)})


def test_small_kernels_of_a_segment_are_joined(monkeypatch):
    """And what is planned is segments, not each of their results."""
    states = [values(5, seed=i) for i in range(64)]
    opened = []
    monkeypatch.setattr(clustering, "Cluster", lambda *args, kind=clustering.Cluster: opened.append(
        args[1]) or kind(*args))

    @ag.jit
    def step(x):
        for s in states:
            s.sub_(0.25 * s)

    expected = [s.numpy() * 0.75 for s in states]
    step(ag.ones(5))
    calls = segments(step)
    assert 3 <= len(calls) <= len(step.plan().layout.kernels) < 32
    assert sum(n.op.name == "segment" for n in opened) >= len(calls)
    assert not any(n.op.name == "item" for n in opened)
    for s, e in zip(states, expected, strict=True):
        np.testing.assert_allclose(s.numpy(), e)


def test_segments_are_not_tried_for_joint_kernels(monkeypatch):
    """Thousands of them that read one value are many pairs, which would all be refused."""
    states, tried = [values(5, seed=i) for i in range(64)], []
    merge = clustering.Clustering.merge
    monkeypatch.setattr(clustering.Clustering, "merge", lambda self, users: tried.extend(
        users) or merge(self, users))

    @ag.jit
    def step(x):
        for s in states:
            s.sub_(0.25 * s * x)

    step(values(5))
    assert len(segments(step)) > 3 and not any(c.foreign for c in tried)


def test_what_rules_and_passes_treat_as_a_whole_stays_outside():
    def f(x, w):
        y = x
        for _ in range(12):
            y = ag.tanh(y @ w) * 0.5 + 0.1
        return y.sum()

    compiled = compared(f, values(4, 4), values(4, 4, seed=1))
    assert not segments(compiled)
    large = values(70, 70)
    assert not segments(compared(repeated(STEPS["tanh"]), large))


def test_updates_of_many_parameters_happen_in_place():
    def made():
        return [ag.nn.Parameter(values(5, seed=i).numpy()) for i in range(24)]

    def step_of(parameters, optimizer):
        def step(x):
            loss = 0.0
            for p in parameters:
                loss = loss + (p * p * x).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return step

    for name in ("SGD", "Adam"):
        ours, theirs = made(), made()
        compiled = ag.jit(step_of(ours, getattr(ag.optim, name)(ours, lr=0.01)))
        eager = step_of(theirs, getattr(ag.optim, name)(theirs, lr=0.01))
        for i in range(3):
            a, b = compiled(values(5, seed=50 + i)), eager(values(5, seed=50 + i))
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)
        for p, q in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-9)
        assert segments(compiled)


def test_updates_that_read_other_results_of_segments_share_a_body(monkeypatch):
    """Segments are read as a whole: no update has an operand that is one of their results."""
    monkeypatch.setattr(trace_reuse, "MIN_OPERATIONS", 30)
    monkeypatch.setattr(trace_reuse, "SEGMENT_OPERATIONS", 40)
    parameters = [ag.nn.Parameter(values(5, seed=i).numpy()) for i in range(48)]
    optimizer = ag.optim.Adam(parameters, lr=0.01)

    @ag.jit
    def step(x):
        optimizer.zero_grad()
        loss = ag.stack([((p - x) ** 2).sum() for p in parameters]).sum()
        loss.backward()
        optimizer.step()
        return loss

    step(values(5))
    found = [n for n in step.graph.nodes if n.op is not None and n.op.name == "segment"]
    updates = [n for n in found if len(n.op.body.graph) > 20]
    assert len(updates) == 24 and len({n.op.reads for n in updates}) > 1
    assert len({id(n.op.body) for n in updates}) == 1
    assert not any(n.op is not None and n.op.name == "item" for u in updates for n in u.inputs)


def test_states_that_lie_anyhow_and_results_that_are_several():
    states = [ag.tensor(np.asarray(values(4, 3, seed=i).numpy(), order="F")) for i in range(30)]

    @ag.jit
    def step(x):
        for s in states:
            s *= 0.5
            s += ag.sin(x) * 0.1
        return states[0] * 2.0, states[-1] + 0.0

    x = values(4, 3)
    expected = [s.numpy() * 0.5 + np.sin(x.numpy()) * 0.1 for s in states]
    first, last = step(x)
    assert segments(step)
    for s, e in zip(states, expected, strict=True):
        np.testing.assert_allclose(s.numpy(), e, rtol=1e-9)
    np.testing.assert_allclose(first.numpy(), expected[0] * 2, rtol=1e-9)
    np.testing.assert_allclose(last.numpy(), expected[-1], rtol=1e-9)


def test_bodies_that_are_more_than_loops_are_lowered_for_each_call(monkeypatch):
    from agnesi.schedule.lowering import segments as lowering

    monkeypatch.setattr(lowering, "pattern", lambda *args: None)
    assert segments(compared(ag.grad(repeated(STEPS["reduction"])), values(3, 4)))


def test_declared_programs_and_the_interpreter():
    from agnesi import symbolic as T

    x = T.vector("x", dtype="float64")
    y = x
    for _ in range(40):
        y = T.tanh(y * 0.9 + 0.1)
    f = ag.function([x], [y, ag.grad(y.sum(), x)])
    a = values(4)
    expected = ag.value_and_grad(repeated(STEPS["tanh"]))(a)[1]
    np.testing.assert_allclose(f(a.numpy())[1], expected.numpy(), rtol=1e-9)
    from agnesi.core.interpret import interpret

    graph = f.graph
    assert any(n.op is not None and n.op.name == "segment" for n in graph.nodes)
    found = interpret(graph, [a.numpy()])
    np.testing.assert_allclose(found[1], expected.numpy(), rtol=1e-9)


def test_short_sums_of_a_segment_are_joined():
    """And long ones are not: a loop each is as quick."""
    def kernels(size: int) -> int:
        states = [values(size, seed=i) for i in range(64)]
        function = lambda x: ag.stack([((s - x) ** 2).sum() for s in states])  # noqa: E731
        compiled = compared(function, values(size))
        assert segments(compiled)
        return len(compiled.plan().layout.kernels)

    assert kernels(5) <= 40
    assert kernels(100) > 64


def test_graphs_that_could_be_one_kernel_of_arrays_are_searched_when_shorter(monkeypatch):
    """Not those of a few numbers, which registers hold, nor those around products."""
    monkeypatch.setattr(outlining, "MIN_OPERATIONS", 3000)
    monkeypatch.setattr(outlining, "_MIN_OF_ONE_KERNEL", 30)
    step = STEPS["tanh"]
    assert segments(compared(repeated(step), values(64)))
    assert not segments(compared(repeated(step), values(63)))
    assert not segments(compared(repeated(step, 9), values(64)))
    assert not segments(compared(lambda x: repeated(step)(x @ x), values(8, 8)))
