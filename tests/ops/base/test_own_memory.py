"""Results of functions that move or repeat elements are no views, even where nothing moves."""

from __future__ import annotations

import pytest

import agnesi as ag

FUNCTIONS = {
    "tile": lambda x: ag.tile(x, (1, 1)),
    "tile once more": lambda x: ag.tile(x, (1, 2)),
    "repeat": lambda x: ag.repeat(x, 1, 0),
    "roll": lambda x: ag.roll(x, 0, 0),
    "pad": lambda x: ag.pad(x, 0),
    "cond": lambda x: ag.cond(True, lambda v: v, lambda v: -v, x),
    "cond, from around": lambda x: ag.cond(False, lambda: -x, lambda: x),
    "fori_loop": lambda x: ag.fori_loop(0, 0, lambda i, v: -v, x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_later_change_of_the_operand_is_not_seen(name, compiled):
    def program(x):
        y = FUNCTIONS[name](x)
        x += 1
        return y

    x = ag.tensor([[1.0]])
    y = (ag.jit(program) if compiled else program)(x)
    assert y.flatten().tolist() == [1.0] * y.size
    assert x.item() == 2.0


def test_a_single_repetition_can_be_changed_in_place():
    y = ag.tile(ag.tensor([1.0]), 2)
    y += 1
    assert y.tolist() == [2.0, 2.0]
