"""Short ways of calls on few numbers: the same answers as the long ways, by fewer steps."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import agnesi as ag

NESTED = [[[1, 2], [3, 4]], [(1, 2), (3, 4)], [[1.5], [2.5]], [[True], [False]], [[1], [2.0]],
          [[1, 2], [3.5, 4]], [[], []], [[[1], [2]]], [[1, 2], np.array([3, 4])], [[10**19], [1]]]


def calls_of(run: Any) -> int:
    """How many functions of Python's a call enters."""
    entered = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal entered
        entered += event == "call"

    run()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize("data", NESTED, ids=str)
def test_nested_lists_are_as_the_long_way_makes_them(data: Any) -> None:
    short, long = ag.tensor(data), ag.tensor(data, name="x")
    assert (short.dtype, short.shape) == (long.dtype, long.shape)
    assert short.numpy().tobytes() == long.numpy().tobytes()
    assert short.numpy().flags.owndata


def test_rows_of_other_lengths_are_refused_in_the_users_words() -> None:
    with pytest.raises(ag.ShapeError, match="tensor"):
        ag.tensor([[1, 2], [3]])


def test_nested_lists_of_numbers_take_few_steps() -> None:
    assert calls_of(lambda: ag.tensor([[1, 2], [3, 4]])) < 12


@pytest.mark.parametrize("x", [[0.0, 2.0, 0.0, 3.0], [[0, 1], [2, 0]], [0.0], [True, False]])
def test_nonzero_by_pytorchs_keyword(x: Any) -> None:
    t = ag.tensor(x)
    rows, expected = ag.nonzero(t, as_tuple=False), np.argwhere(np.array(x))
    assert rows.dtype == ag.int64 and rows.numpy().flags.c_contiguous
    assert rows.tolist() == expected.tolist() == ag.nonzero(t, as_tuple=0).tolist()
    for given in (True, 1):
        found = ag.nonzero(t, as_tuple=given)
        assert [i.tolist() for i in found] == [i.tolist() for i in np.nonzero(np.array(x))]
    assert calls_of(lambda: ag.nonzero(t, as_tuple=False)) < 14


def test_sizes_are_asked_without_a_new_object() -> None:
    x = ag.ones((2, 3))
    assert x.size is x.size and x.size == 6 and x.size() == (2, 3) and x.size(-1) == x.size(1) == 3
    assert type(x.size()) is type(x.shape) and type(x.size(0)) is int
    for k in range(3000):
        assert ag.zeros(k).size == k
    for wrong in (2, -3, True, "1"):
        with pytest.raises((IndexError, TypeError), match="size"):
            x.size(wrong)
