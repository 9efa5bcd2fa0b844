"""Native code sees every change of a container that it watches, and none where there is none."""

import ctypes
from collections import OrderedDict, deque

import numpy as np
import pytest

from agnesi.compiler.tracing.containers.contents import Contents, Elements
from agnesi.runtime.guards import Watched
from agnesi.runtime.support import still_seen


def _places(container):
    if isinstance(container, np.ndarray):
        return Elements("c", container)
    take = OrderedDict.items if isinstance(container, OrderedDict) else iter
    return Contents("c", container, take)


def _sees(place):
    """A function that tells whether native code takes the place for unchanged."""
    records = list(place.records())
    assert records
    watched = Watched()
    watched.fill(records)
    return lambda: bool(still_seen()(ctypes.addressof(watched)))


def _one(rng, ways):
    return ways[int(rng.integers(0, len(ways)))]


def _set(c, rng):
    k = int(rng.integers(0, 400))
    return _one(rng, [lambda: c.add(k), lambda: c.discard(k), lambda: c and c.pop(),
                       lambda: c.update([k, k + 0.5]), lambda: (c.clear(), c.add(k)),
                       lambda: len(c)])


def _deque(c, rng):
    k, at = object(), int(rng.integers(0, len(c) + 1))
    return _one(rng, [
        lambda: c.append(k), lambda: c.appendleft(k), lambda: c and c.pop(),
        lambda: c and c.popleft(), lambda: c.rotate(at), lambda: c.insert(at, k),
        lambda: c.extend([k] * 70), lambda: c and c.__setitem__(at % len(c), k), c.reverse,
        lambda: c and c.__delitem__(at % len(c)), c.clear, lambda: (c.append(k), c.pop()),
        lambda: list(c)])


def _ordered(c, rng):
    k = int(rng.integers(0, 12))
    return _one(rng, [
        lambda: c.__setitem__(k, object()), lambda: c.pop(k, None), lambda: c and c.popitem(),
        lambda: k in c and c.move_to_end(k), lambda: k in c and c.move_to_end(k, last=False),
        lambda: c.update({k: 1}), c.clear, lambda: dict.__setitem__(c, k, object()),
        lambda: list(c.items())])


def _bytes(c, rng):
    at, k = int(rng.integers(0, len(c) + 1)), int(rng.integers(0, 256))
    return _one(rng, [
        lambda: c.append(k), lambda: c and c.pop(), lambda: c.insert(at, k),
        lambda: c and c.__setitem__(at % len(c), k), lambda: c.__delitem__(slice(0, 3)),
        lambda: c.extend(b"0123456789"), c.clear, c.reverse, lambda: bytes(c)])


def _array(c, rng):
    at, k = int(rng.integers(0, c.size)), int(rng.integers(0, 3))
    return _one(rng, [
        lambda: c.reshape(-1).__setitem__(at, k), lambda: c.fill(k), lambda: c.setflags(write=True),
        lambda: setattr(c, "shape", (c.size,)), lambda: setattr(c, "dtype", c.dtype.newbyteorder()),
        lambda: setattr(c, "shape", (1, c.size)), lambda: c.sum()])


KINDS = {
    "set": (lambda n: set(range(n)), _set),
    "deque": (lambda n: deque(object() for _ in range(n)), _deque),
    "bounded": (lambda n: deque((object() for _ in range(n)), maxlen=n + 2), _deque),
    "ordered": (lambda n: OrderedDict((i, object()) for i in range(n)), _ordered),
    "bytes": (lambda n: bytearray(range(n % 200)), _bytes),
    "bools": (lambda n: np.zeros(n + 1, "?"), _array),
    "floats": (lambda n: np.zeros((1, n % 50 + 1), "f4"), _array),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_seen(kind):
    rng = np.random.default_rng(3)
    make, change = KINDS[kind]
    outcomes = set()
    for turn in range(150):
        container = make(int(rng.choice([0, 1, 3, 5, 8, 30, 130])))
        place = _places(container)
        if not place.records():
            assert kind == "bytes"  # few bytes may lie across a page: those are compared in Python
            continue
        same = _sees(place)
        assert same(), turn
        before = place.now()
        change(container, rng)()
        if place.now() != before:
            assert not same(), (turn, before, place.now())
        outcomes.add((place.now() != before, same()))
    assert {(True, False), (False, True)} <= outcomes


def test_another_place_of_the_same_elements_is_not_compared():
    values = deque([1.5])
    place = _places(values)
    values.append(2.5)
    assert not place.records()
