"""``x.data``: read, changed in place and assigned, eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import TraceError

CHANGES: dict[str, Any] = {
    "zero_": lambda p: p.data.zero_(),
    "copy_": lambda p: p.data.copy_(ag.arange(3.0)),
    "-=": lambda p: exec("p.data -= 0.5 * p.grad", {"p": p}),
    "add_": lambda p: p.data.add_(p.grad.data, alpha=-0.5),
    "=": lambda p: setattr(p, "data", p.data * 2),
    "[]=": lambda p: p.data.__setitem__(slice(0, 2), 7.0),
    "clamp_": lambda p: p.data.clamp_(-0.5, 0.5),
    "grad": lambda p: p.grad.data.zero_(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_values_change_without_a_record(name: str) -> None:
    found = []
    for wrap in (lambda f: f, ag.jit):
        p = ag.tensor([1.0, -2.0, 3.0], requires_grad=True)
        p.grad = ag.tensor([4.0, 2.0, -1.0])

        def change(p: Any = p) -> Any:
            CHANGES[name](p)
            return (p * p.grad).sum()

        cost = wrap(change)()
        assert p.requires_grad and p.is_leaf
        found.append([*p.tolist(), *p.grad.tolist(), cost.item()])
    assert found[0] == found[1] != [1.0, -2.0, 3.0, 4.0, 2.0, -1.0, -3.0]


def test_values_of_another_type_take_the_place() -> None:
    p = ag.tensor([1.0, 2.0], requires_grad=True)
    p.data = p.data.to(ag.float64)[:1]
    assert (p.shape, p.dtype) == ((1,), np.float64) and p.requires_grad
    (p * 3).sum().backward()
    assert p.grad.tolist() == [3.0]

    @ag.jit
    def longer() -> None:
        p.data = ag.ones(4)

    with pytest.raises(TraceError, match=r"float64\[1\] cannot become float32\[4\]"):
        longer()


def test_computed_values_have_no_history_and_old_records_notice() -> None:
    x = ag.tensor([2.0], requires_grad=True)
    y = x * x
    assert not y.data.requires_grad and y.data.array is y.array
    x.data.zero_()
    with pytest.raises(Exception, match="changed in place"):
        y.sum().backward()


def test_what_was_the_value_stays_and_can_be_assigned_again() -> None:
    """As moving averages of weights take their place for a while."""
    p = ag.tensor([1.0, 2.0], requires_grad=True)
    optimizer = ag.optim.SGD([p], lr=1.0)

    @ag.jit
    def step() -> Any:
        optimizer.zero_grad()
        (p * 3).sum().backward()
        optimizer.step()
        return p * 1

    average, kept = ag.tensor([5.0, 6.0]), p.data
    p.data = average
    assert kept.tolist() == [1.0, 2.0] and p.tolist() == [5.0, 6.0]
    assert step().tolist() == [2.0, 3.0] and average.tolist() == [5.0, 6.0]
    p.data = kept
    assert p.tolist() == [1.0, 2.0] and step().tolist() == p.tolist() == [-2.0, -1.0]


def _swap(p: Any, x: Any) -> Any:
    old = p.data
    p.data = x
    y = (p * 2).sum()
    p.data = old
    return y


def _twice(p: Any, x: Any) -> Any:
    p.data.add_(1.0)
    first, part = p.data, p[:1]
    p.data = x
    second = p.data
    p.data = second * 2
    first.mul_(3.0)
    return first.sum() + 10 * second.sum() + part.detach().sum()


def _of_a_view(p: Any, x: Any) -> Any:
    rows = p[:1]
    rows.data = x[1:]
    return rows.detach().sum() + p.detach().sum()


def _of_a_copy_that_changes(p: Any, x: Any) -> Any:
    p.data = x
    x.add_(1.0)
    return p.detach().sum()


@pytest.mark.parametrize("change", [_swap, _twice, _of_a_view, _of_a_copy_that_changes])
@pytest.mark.parametrize("kind", ["parameter", "buffer", "argument"])
def test_a_compiled_function_leaves_what_was_the_value_as_an_eager_one_does(
        change: Any, kind: str) -> None:
    found = []
    for wrap in (lambda f: f, ag.jit):
        layer = ag.nn.Linear(2, 1)
        layer.register_buffer("kept", ag.tensor([1.0, 2.0]))
        p = ag.tensor([1.0, 2.0], requires_grad=True) if kind == "parameter" else layer.kept
        step = wrap(change) if kind == "argument" else wrap(lambda x, p=p: change(p, x))
        x, before, seen = ag.tensor([5.0, 7.0]), [p.detach()], []
        for _ in range(3):
            with ag.no_grad():
                seen.append(float(step(p, x) if kind == "argument" else step(x)))
            before.append(p.detach())
        found.append((seen, [v.tolist() for v in (*before, p, x)]))
    assert found[0] == found[1]


def test_averages_take_the_place_of_all_parameters_in_a_compiled_step() -> None:
    found = []
    for wrap in (lambda f: f, ag.jit):
        ag.manual_seed(0)
        model = ag.nn.Sequential(ag.nn.Linear(2, 3), ag.nn.Linear(3, 1))
        averages = [ag.full_like(p.detach(), 0.5) for p in model.parameters()]
        before = [p.detach() for p in model.parameters()]

        def evaluate(x: Any, model: Any = model, averages: Any = averages) -> Any:
            olds = [p.data for p in model.parameters()]
            for p, average in zip(model.parameters(), averages, strict=True):
                p.data = average
            with ag.no_grad():
                y = model(x).sum()
            for p, old in zip(model.parameters(), olds, strict=True):
                p.data = old
            for p, average in zip(model.parameters(), averages, strict=True):
                average.data = average.data * 0.5 + p.data * 0.5
            return y

        step = wrap(evaluate)
        seen = [float(step(ag.ones(2, 2))) for _ in range(3)]
        found.append([*seen, *(float(v.detach().sum())
                               for v in (*before, *model.parameters(), *averages))])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
