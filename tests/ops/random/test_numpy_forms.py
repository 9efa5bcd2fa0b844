"""Draws called as NumPy's are: several bounds, choices by position, orders along an axis and of
lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import random


def near(low: Any, high: Any, **keywords: Any) -> Any:
    return random.integers(low, high, **keywords)


@pytest.mark.parametrize("call", [
    lambda: near([0, 100], [3, 103]), lambda: near(np.array([0, 100]), 200) % 100,
    lambda: random.randint([0, 100], ag.tensor([3, 103])),
    lambda: ag.jit(near)(ag.tensor([0, 100]), ag.tensor([3, 103])),
    lambda: random.default_rng(0).integers([0, 100], [3, 103]),
])
def test_each_draw_is_within_bounds_of_its_own(call: Any) -> None:
    drawn = call()
    assert drawn.shape == (2,)
    assert 0 <= drawn[0] < 103


def test_draws_within_bounds_are_independent() -> None:
    drawn = near(ag.zeros(4, dtype="int64"), [1000] * 4).tolist()
    assert len({*drawn}) > 1
    many = near([[0], [10]], [10, 20, 30], size=(500, 2, 3), endpoint=True).numpy()
    assert many.shape == (500, 2, 3)
    assert (many.max((0,)) == [[10, 20, 30], [10, 20, 30]]).all()
    assert (many.min((0,)) == [[0, 0, 0], [10, 10, 10]]).all()


@pytest.mark.parametrize(("wrong", "kind", "text"), [
    (lambda: near([0, 1], [3, 4], size=3), ag.ShapeError, r"shapes \(2,\) and \(3,\)"),
    (lambda: near([0, 1], [3, 4], size=1), ag.ShapeError,
     r"shape \(2,\) does not broadcast to \(1,\)"),
    (lambda: near([0, 1], [3, 1]), ValueError, "not low = 1, high = 1"),
    (lambda: random.randint(0, [3, 4]), ValueError, r"\[3, 4\] is the shape, as in PyTorch"),
    (lambda: random.choice(["a", "b"]), ag.DTypeError, r"draw indices: \[x\[i\] for i in"),
    (lambda: random.shuffle((1, 2)), TypeError, r"not \(1, 2\); ag.random.permutation"),
    (lambda: ag.jit(lambda x: random.shuffle([x, 2]))(1.0), ag.TraceError, "moves no items"),
    (lambda: random.permutation(ag.ones((2, 3)), axis=2), IndexError, "axis 2 is out of range"),
    (lambda: random.default_rng(0).randint(3), AttributeError, "`generator.integers"),
    (lambda: random.default_rng(0).spawn(3), AttributeError, "of another seed"),
])
def test_what_cannot_be_drawn_is_told(wrong: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        wrong()


def test_choices_by_position() -> None:
    assert sorted(random.choice(5, 5, False).tolist()) == [0, 1, 2, 3, 4]
    assert random.choice(3, 4, True, [0.0, 1.0, 0.0]).tolist() == [1, 1, 1, 1]
    assert random.choice(5, None, False).shape == ()
    x = ag.arange(6).reshape(2, 3)
    columns = random.choice(x, 3, False, axis=1)
    assert sorted(columns[0].tolist()) == [0, 1, 2]
    assert (columns[1] - columns[0]).tolist() == [3, 3, 3]


@pytest.mark.parametrize("shuffle", [random.shuffle, random.default_rng(0).shuffle])
def test_whatever_has_items_is_shuffled_in_place(shuffle: Any) -> None:
    things: list[Any] = [*range(50), "a"]
    shuffle(things)
    assert things != [*range(50), "a"]
    assert {*things} == {*range(50), "a"}
    for make in (np.arange, ag.arange):
        x = make(100).reshape(2, 50)
        shuffle(x, axis=1)
        assert x[0].tolist() != [*range(50)]
        assert sorted(x[0].tolist()) == [*range(50)]
        assert (x[1] - x[0]).tolist() == [50] * 50
    y = random.permutation(ag.arange(100).reshape(2, 50), axis=1)
    assert (y[1] - y[0]).tolist() == [50] * 50
