"""Nests of tensors, taken apart and put together."""

from collections import namedtuple
from dataclasses import dataclass, field

import pytest

import agnesi as ag
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


def test_paths_lead_to_the_leaves():
    nest = {"deep": [Record(Pair(1, 2), {"k": (3,)})], "n": None}
    texts = [ag.tree.keystr(path) for path, _ in ag.tree.leaves_with_path(nest)]
    assert texts == ["['deep'][0].x.a", "['deep'][0].x.b", "['deep'][0].y['k'][0]"]
    assert [eval(f"nest{text}", {"nest": nest}) for text in texts] == ag.tree.leaves(nest)
    assert texts == ag.tree.structure(nest).paths()


def test_map_with_path_sees_each_path_once():
    nest, seen = {"a": [1, 2], "b": (3,)}, []
    mapped = ag.tree.map_with_path(lambda path, x, y: seen.append(path) or x * y, nest, nest)
    assert mapped == {"a": [1, 4], "b": (9,)}
    assert [ag.tree.keystr(path, simple=True, separator=".") for path in seen] == [
        "a.0", "a.1", "b.0"]


def test_a_nest_of_nests_is_turned_inside_out():
    nest = {"x": [(1, 2), (3, 4)], "y": (5, 6)}
    outer = ag.tree.structure({"x": [0, 0], "y": 0})
    turned = ag.tree.transpose(outer, ag.tree.structure((0, 0)), nest)
    assert turned == ({"x": [1, 3], "y": 5}, {"x": [2, 4], "y": 6})
    assert ag.tree.transpose(ag.tree.structure((0, 0)), None, turned) == nest
    assert ag.tree.transpose(ag.tree.structure([]), ag.tree.structure({"a": 0}), []) == {"a": []}
    for wrong in ({"x": [(1, 2)], "y": (5, 6)}, {"x": [(1, 2), (3,)], "y": (5, 6)}, [1]):
        with pytest.raises(ValueError, match="transpose"):
            ag.tree.transpose(outer, None, wrong)


def test_folds_and_shapes():
    nest = {"a": [1, 2], "b": (3,)}
    assert ag.tree.reduce(lambda a, b: a * 10 + b, nest) == 123
    assert ag.tree.reduce(lambda a, b: a + b, (), 5) == 5
    assert ag.tree.all(nest) and not ag.tree.all([nest, 0]) and ag.tree.all([])
    with pytest.raises(TypeError, match="needs an initializer"):
        ag.tree.reduce(lambda a, b: a, [])
    with pytest.raises(ValueError, match="3 leaves, but 2"):
        ag.tree.unflatten(ag.tree.structure(nest), [1, 2])
    with pytest.raises(TypeError, match="treedef must be"):
        ag.tree.unflatten([1, 2], [1, 2])


def test_fields_apart_from_the_leaves_are_static():
    @dataclass
    class Net:
        weights: list
        name: str = field(default="net", metadata={"static": True})

    ag.tree.register_dataclass(Net)
    net = Net([ag.ones(2), ag.zeros(1)], "tanh")

    @ag.jit
    def step(net):
        loss, g = ag.value_and_grad(lambda n: (getattr(ag, n.name)(n.weights[0]) ** 2).sum())(net)
        return ag.tree.map(lambda p, g: p - g, net, g), loss

    new, _ = step(net)
    assert new.name == "tanh" and ag.tree.structure(new) == ag.tree.structure(net)
    assert float(new.weights[0][0]) == pytest.approx(1 - 2 * 0.7615942 * 0.4199743)
    assert float(step(Net(net.weights, "sin"))[1]) == pytest.approx(2 * 0.8414710**2)


def test_fields_of_registered_dataclasses_are_data_or_not_and_none_is_lost():
    def made(*lists, **named):
        @dataclass
        class Layer:
            weight: float
            name: str
            size: int = field(init=False)

            def __post_init__(self):
                self.size = len(self.name)

        return ag.tree.register_dataclass(Layer, *lists, **named)

    for kind in (made(["weight"], ["name"]), made(["weight"]), made(meta_fields=["name"])):
        found = ag.tree.map(lambda w: 2 * w, kind(1.5, "dense"))
        assert (found.weight, found.name, found.size) == (3.0, "dense", 5)
    for lists in ((["weights"], ["name"]), (["weight"], []), (["weight", "name"], ["name"])):
        with pytest.raises(ValueError, match=r"each of \['weight', 'name'\] once"):
            made(*lists)
