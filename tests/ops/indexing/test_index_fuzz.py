"""Keys of indexing, made up, beside NumPy: reading, writing, gradients, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from tests.fuzz.steps.keys import key_of
from tests.fuzz.values import Draw

COUNT = 150


def cases(count: int = COUNT) -> Iterator[tuple[np.ndarray, str, Any]]:
    """Arrays, keys as text, and what NumPy reads: the class of its error where it takes none."""
    for seed in range(count):
        d = Draw(np.random.default_rng((seed, 6)))
        shape = tuple(d.one([0, 1, 2, 3, 4]) for _ in range(d.below(5)))
        x = np.arange(1.0, 1 + int(np.prod(shape))).reshape(shape)
        if len(shape) > 1 and d.chance(0.5):
            x = x.swapaxes(0, -1)  # not in C order
        text = key_of(d, x.shape)
        yield x, text, _expected(x, eval(f"np.s_[{text}]"))


def _expected(x: np.ndarray, key: Any) -> Any:
    """What NumPy reads, or the class of its error."""
    try:
        return x[key]
    except (IndexError, ValueError) as error:
        return type(error)


def valid(count: int = COUNT) -> Iterator[tuple[np.ndarray, str, Any, Any]]:
    """Arrays, keys that NumPy takes, as text and as they are, and what it reads."""
    for x, text, expected in cases(count):
        if not isinstance(expected, type):
            yield x, text, eval(f"np.s_[{text}]"), expected


def test_reading():
    refused = 0
    for x, text, expected in cases():
        key = eval(f"np.s_[{text}]")
        if isinstance(expected, type):
            refused += 1
            with pytest.raises((IndexError, ValueError)):
                ag.tensor(x)[key]
            continue
        found = ag.tensor(x)[key]
        assert found.shape == expected.shape, (x.shape, text)
        np.testing.assert_array_equal(found.numpy(), expected, text)
    assert 0 < refused < COUNT / 2


@pytest.mark.parametrize("kind", ["number", "whole", "row"])
@pytest.mark.parametrize("sign", ["=", "+=", "*="])
def test_writing(kind, sign):
    for x, text, key, expected in valid(COUNT // 3):
        value = {
            "number": np.array(7.0),
            "whole": np.arange(float(np.size(expected))).reshape(np.shape(expected)),
            "row": np.arange(float(expected.shape[-1])) if np.ndim(expected) else np.array(2.0),
        }[kind]
        changed, y = x.copy(), ag.tensor(x)
        for target in (changed, y):
            exec(f"target[key] {sign} value", {"target": target, "key": key, "value": value})
        np.testing.assert_array_equal(y.numpy(), changed, text)
        added = x.copy()
        np.add.at(added, key, np.broadcast_to(value, np.shape(expected)))  # NumPy 2.4 reads too few
        summed = ag.index_put(ag.tensor(x), key, value, accumulate=True)
        np.testing.assert_array_equal(summed.numpy(), added, text)


def test_gradients():
    for x, text, key, expected in valid():
        weights = np.arange(1.0, 1 + np.size(expected)).reshape(np.shape(expected))
        slope = ag.grad(lambda t, key=key, w=weights: ag.sum(t[key] * w))(ag.tensor(x))
        summed = np.zeros_like(x)
        np.add.at(summed, key, weights)
        np.testing.assert_array_equal(slope.numpy(), summed, text)

        def written(t: ag.Tensor, v: ag.Tensor, key: Any = key, x: Any = x) -> ag.Tensor:
            return ag.sum(ag.index_put(t, key, v) * (x + 1))

        slopes = ag.grad(written, (0, 1))(ag.tensor(x), ag.tensor(weights))
        kept, last = np.asarray(x + 1), np.zeros(x.shape, np.int64)
        kept[key] = 0
        np.testing.assert_array_equal(slopes[0].numpy(), kept, text)
        last[key] = weights  # of elements that go to one place, which is there in the end
        wins = last[key] == weights
        np.testing.assert_array_equal(slopes[1].numpy(), np.where(wins, (x + 1)[key], 0), text)


def test_compiled():
    for x, text, key, expected in valid(30):
        @ag.jit
        def both(t: ag.Tensor, key: Any = key) -> Any:
            u = t + 0.0
            u[key] = u[key] * 3
            return t[key], u

        changed = x.copy()
        changed[key] = changed[key] * 3
        for found, wanted in zip(both(ag.tensor(x)), (expected, changed), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted, text)
