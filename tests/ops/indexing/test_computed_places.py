"""``delete``, ``insert`` and ``trim_zeros`` by places that only the run knows, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

A = np.arange(12.0).reshape(3, 4)
PLACES = [[1], [0, 2], [2, 2, 0], [-1, 0], 1, [True, False, True], []]


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_places_that_go_and_come(axis: int | None) -> None:
    def both(library: Any, x: Any, i: Any) -> Any:
        return library.delete(x, i, axis), library.insert(x, i, 7.0, axis)

    size = A.size if axis is None else A.shape[axis]
    for place in PLACES:
        index = np.asarray(place) if np.size(place) else np.zeros(0, np.int64)
        if index.dtype == bool and len(index) != size:
            continue
        expected = both(np, A, index)
        for wrap in (lambda f: f, ag.jit):
            found = wrap(lambda x, i: both(ag, x, i))(ag.tensor(A), ag.tensor(index))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.numpy(), other)


def test_gradients_flow_to_what_stays_and_what_comes() -> None:
    places = ag.tensor([1, 2])
    deleted = ag.jit(ag.grad(lambda x, i: (ag.delete(x, i) ** 2).sum()))
    assert deleted(ag.tensor([1.0, 2.0, 3.0, 4.0]), places).tolist() == [2.0, 0.0, 0.0, 8.0]
    inserted = ag.jit(ag.grad(lambda v, i: (ag.insert(ag.ones(3), i, v) ** 2).sum()))
    assert inserted(ag.tensor([1.0, 2.0]), places).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("function", [ag.delete, lambda x, i: ag.insert(x, i, 0.0)])
def test_places_out_of_range_are_refused_when_the_code_runs(function: Any) -> None:
    with pytest.raises(IndexError, match=r"(?s)out of range.*test_computed_places"):
        ag.jit(function)(ag.tensor([1.0, 2.0]), ag.tensor([5]))


@pytest.mark.share(4)
@pytest.mark.parametrize("values", [
    [0, 0, 1, 2, 0], [0, 0], [1], [], [1, 0, 0], [[0, 0], [0, 3]], [[0, 1, 0], [0, 0, 0]],
    [[0, 0], [0, 0]]])
def test_zeros_are_trimmed(values: Any) -> None:
    x = np.array(values, float)
    for trim in ("f", "b", "fb"):
        expected = np.trim_zeros(x, trim)
        for wrap in (lambda f: f, ag.jit):
            found = wrap(lambda x, trim=trim: ag.trim_zeros(x, trim))(ag.tensor(x))
            np.testing.assert_array_equal(found.numpy(), expected)
