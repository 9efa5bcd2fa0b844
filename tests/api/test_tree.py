"""Nests of tensors, taken apart and put together."""

from collections import namedtuple
from dataclasses import dataclass, field

import pytest

from agnesi.core.support import tree

Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Record:
    x: object
    y: object = None
    z: list = field(default_factory=list)


@pytest.mark.parametrize(
    "nest",
    [3, None, [], (), {}, [1, (2, None)], {"b": 1, "a": [2]}, Pair(1, [2]), Record(1, z=[2, 3]),
     {"deep": [Record(Pair(1, 2), {"k": (3,)})]}],
)
def test_round_trip(nest):
    leaves, shape = tree.flatten(nest)
    assert shape.build(leaves) == nest and shape.leaves == len(leaves)
    again = tree.flatten(nest)[1]
    assert shape == again and hash(shape) == hash(again)


def test_shapes_tell_nests_apart():
    shapes = [tree.flatten(n)[1] for n in ([1, 2], (1, 2), {"a": 1, "b": 2}, {"a": 1, "c": 2},
                                           Pair(1, 2), [1, [2]])]
    assert len(set(shapes)) == len(shapes)


def test_map():
    assert tree.map_leaves(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]}) == {"x": [11, 22]}
    with pytest.raises(ValueError, match="the nests differ"):
        tree.map_leaves(lambda a, b: a, [1], (1,))


def test_leaves_are_what_flattening_gives():
    nest = {"w": 1, "b": (2, [3], Pair(4, None))}
    assert tree.leaves(nest) == tree.flatten(nest)[0] == [1, 2, 3, 4]
