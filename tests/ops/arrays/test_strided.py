"""Elements at steps of memory: what ``as_strided`` reads, and what it refuses."""

import numpy as np
import pytest

import agnesi as ag


@pytest.mark.parametrize("size, stride, start", [
    ((3, 4), (2, 1), 0), ((2, 2), (0, 3), 4), ((), (), 5), ((0, 3), (9, 9), 0),
    ((2, 2, 2), (1, 1, 1), 0),
])
def test_elements_and_gradients_are_those_at_the_steps(size, stride, start):
    data = np.arange(12.0)
    places = start + sum(
        (i * s for i, s in zip(np.indices(size), stride, strict=True)), np.zeros(size, int))

    def total(x):
        y = x.as_strided(size, stride, start)
        return (y * y).sum(), y

    for call in (total, ag.jit(total)):
        x = ag.tensor(data.reshape(3, 4), requires_grad=True)
        loss, y = call(x)
        np.testing.assert_array_equal(y.detach().numpy(), data[places])
        loss.backward()
        expected = np.bincount(places.ravel(), minlength=12) * 2 * data
        np.testing.assert_array_equal(x.grad.numpy().ravel(), expected)


def test_it_sees_later_changes_and_is_not_written_to():
    x = ag.arange(4.0)
    y = x.as_strided((2, 2), (1, 1))
    x[1] = 7
    assert y.tolist() == [[0, 7], [7, 2]]
    with pytest.raises(ValueError, match="read-only"):
        y.mul_(2)


@pytest.mark.parametrize("compiled", [False, True])
def test_nothing_is_read_behind_the_end(compiled):
    def read(x):
        return ag.as_strided(x, (2, 3), (2, 1), 2)

    with pytest.raises(ag.ShapeError, match="at 6 of 6 elements"):
        (ag.jit(read) if compiled else read)(ag.arange(6.0))


def test_other_orders_of_memory_and_negative_steps_are_refused():
    with pytest.raises(ValueError, match=r"use x.contiguous\(\)"):
        ag.as_strided(ag.ones((3, 2)).T, (2,), (1,))
    assert ag.as_strided(ag.ones((3, 2)).T, (), ()).shape == ()
    with pytest.raises(ValueError, match="stride must be at least 0"):
        ag.as_strided(ag.ones(3), (2,), (-1,))
    with pytest.raises(ValueError, match="1 steps for 2 sizes"):
        ag.as_strided(ag.ones(3), (2, 1), (1,))
