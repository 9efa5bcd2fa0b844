"""Pullbacks that a trace makes once for operands of a kind: those of each operation by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.nn
import agnesi.testing.samples
from agnesi.autodiff import pullbacks
from agnesi.core.dispatch import apply
from agnesi.ops.base.elementwise import TABLE
from agnesi.ops.base.reduce import Reduce

ROWS = sorted(name for name, op in TABLE.items() if op.differentiable and op.kinds.count("f")
              and not op.whole and op.arity < 3)


def values(seed: int) -> Any:
    return ag.tensor(np.random.default_rng(seed).uniform(0.3, 0.8, (2, 3)))


def nodes(graph: Any) -> list[tuple[str, ...]]:
    """The operations of a graph with those of their operands."""
    return [(n.op.name, *[i.op.name if i.op else "" for i in n.inputs])
            for n in graph.nodes if n.op is not None]


@pytest.mark.share(16)
@pytest.mark.parametrize("name", ROWS)
def test_nodes_are_those_of_the_rule(name, monkeypatch):
    op = TABLE[name]

    def f(a: Any, b: Any) -> Any:
        total = (a * b).sum()
        for pair in ((a, b), (b, a), (a * b, a), (a, a)):
            total = total + apply(op, *pair[:op.arity]).sum()
        return total

    def second(a: Any, b: Any) -> Any:
        return ag.grad(lambda a, b: (ag.grad(f)(a, b) * b).sum(), (0, 1))(a, b)

    found = []
    for made_once in (True, False):
        if not made_once:
            monkeypatch.setattr(pullbacks, "_made", lambda *args: None)
        compiled = ag.jit(second, optimizer="fast_compile")
        try:
            found.append((compiled(values(1), values(2)), nodes(compiled.graph)))
        except ag.GradientError as error:  # of parameters that no formula is known for
            found.append((str(error), str(error)))
    (results, graph), (expected, rules) = found
    assert graph == rules
    if isinstance(results, str):
        assert results == expected
        return
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_other_types_and_numbers_have_their_own():
    def f(x: Any) -> Any:
        a, b = x.astype("float32"), x.astype("float64")
        y = ag.sin(a).sum() + ag.sin(b).sum() + ag.sin(b[:1]).sum()
        return y + (a * 2.0).sum() + (b * 2.0).sum() + (b * 3.0 * b).sum() + (b / 2.0).sum()

    x = values(3)
    np.testing.assert_allclose(ag.jit(ag.grad(f))(x), ag.grad(f)(x), rtol=1e-6)


def test_a_rule_that_reads_no_values_is_asked_once_for_a_cotangent(monkeypatch):
    """The parts of one repeated number are that number repeated; equal sums have one cotangent."""
    asked = []
    rule = Reduce.vjp
    monkeypatch.setattr(Reduce, "vjp", lambda self, *args: asked.append(self) or rule(self, *args))

    def f(x: Any) -> Any:
        return ag.stack([ag.sin(x * (i + 1.0)).sum() for i in range(20)]).sum()

    def joined(x: Any) -> Any:
        return (ag.concat([x * x, x[:1], x * 3.0]).mean() ** 2).sum()

    compiled = ag.jit(ag.grad(f), optimizer="None")
    found = compiled(values(4))
    assert len(asked) == 2
    assert not any(name == "getitem" for name, *_ in nodes(compiled.graph))
    np.testing.assert_allclose(found, ag.grad(f)(values(4)), rtol=1e-12)
    for g in (f, joined):
        second = ag.grad(lambda x, g=g: (ag.grad(g)(x) ** 2).sum())
        np.testing.assert_allclose(ag.jit(second)(values(5)), second(values(5)), rtol=1e-12)


@pytest.mark.parametrize("change", range(3))
def test_gradients_of_one_number_have_memory_of_their_own(change):
    def made() -> Any:
        return [ag.tensor([1.5, 2.5], requires_grad=True) for _ in range(3)]

    def step(ps: Any) -> Any:
        loss = ag.stack(ps).sum() + ag.concat([ps[0], ps[1]]).sum()
        loss.backward()
        if change == 0:
            ps[0].grad *= 2.0
        elif change == 1:
            ps[1].grad[1] = 7.0
            ps[0].grad.add_(ps[1].grad)
        else:
            ps[2].grad = ps[1].grad
            ps[2].grad[0] = 5.0
        return loss.detach()

    ours, theirs = made(), made()
    compiled = ag.jit(lambda: step(ours), keep_grads=True)
    np.testing.assert_array_equal(compiled(), step(theirs))
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(p.grad, q.grad)


def test_values_that_were_changed_in_place_are_refused_as_before():
    def f(x: Any) -> Any:
        y = ag.sin(x)
        z = ag.sin(y) + y * y
        with ag.no_grad():
            y.mul_(2.0)
        return z.sum()

    with pytest.raises(ag.GradientError, match="changed in place"):
        ag.jit(ag.grad(f))(values(4))
