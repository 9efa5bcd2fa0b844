"""Keys of lists and tensors of indices that NumPy takes at once: as NumPy, and as without that."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import agnesi as ag


def entry(draw: random.Random, n: int) -> Any:
    """One entry of a key for an axis of a size; it may be out of range."""
    some = [draw.randint(-n, n - 1 + (draw.random() < 0.05)) for _ in range(draw.randint(1, 3))]
    return draw.choice([
        draw.randint(-n, n - 1), slice(None), slice(-1, None, -1), slice(0, n, 2), some,
        np.array(some, draw.choice([np.int8, np.int64])), np.array([some, some]), None, ...])


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives, or that the key or value does not fit."""
    try:
        return function(*args)
    except (IndexError, ValueError):
        return "refused"


@pytest.mark.parametrize("seed", range(4))
def test_keys_mean_what_they_mean_in_numpy(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        shape = tuple([draw.randint(1, 4) for _ in range(draw.randint(1, 3))])
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        n = draw.randint(1, len(shape))
        key: Any = tuple([entry(draw, shape[i]) for i in range(n)])
        ours: Any = tuple([ag.tensor(e) if isinstance(e, np.ndarray) else e for e in key])
        found = outcome(lambda x, k: x[k].numpy(), ag.tensor(data), ours)
        assert np.array_equal(found, outcome(lambda x, k: x[k], data, key)), (shape, key)
        if isinstance(found, np.ndarray) and any(isinstance(e, (list, np.ndarray)) for e in key):
            assert found.flags.c_contiguous, (shape, key)
        mine, theirs = ag.tensor(data), data.copy()
        assert outcome(write, mine, ours) == outcome(write, theirs, key)
        assert np.array_equal(mine.numpy(), theirs), (shape, key)


def write(x: Any, key: Any) -> None:
    """Put a number where a key says."""
    x[key] = 7.0


def test_values_at_a_tensor_of_indices_are_counted_and_fit() -> None:
    x, places = ag.zeros(4, 2), ag.tensor([3, 1, 3])
    y = x[2:]
    x[places] = ag.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert x.tolist() == [[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [5.0, 6.0]]
    assert y.tolist() == [[0.0, 0.0], [5.0, 6.0]]
    with pytest.raises(ValueError, match="shape"):
        x[places] = ag.ones(4, 2)
    with pytest.raises(IndexError):
        x[ag.tensor([4])] = ag.ones(1, 2)
    w = ag.ones(4, 2, requires_grad=True)
    kept = (w * w)
    z = kept * kept
    with ag.no_grad():
        kept[places] = ag.ones(3, 2)
    with pytest.raises(Exception, match="changed"):
        z.sum().backward()


def test_a_tensor_that_stays_its_own_view_keeps_one_place_in_its_family() -> None:
    x = ag.ones(3)[:]
    for _ in range(50):
        x.squeeze_()
    assert len(x._version or []) < 5
    for _ in range(5):
        x.unsqueeze_(0).squeeze_(0)
    assert x.tolist() == [1.0, 1.0, 1.0]
