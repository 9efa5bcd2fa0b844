"""Records and structs: construction, defaults, equality, hashing, pickles."""

import pickle

import pytest

from agnesi.core.support.record import field, put_off, record, replace, struct


@record
class Slice:
    start: int
    stop: int = 3
    name = "slice"


@record
class Nothing:
    pass


@record
class Checked:
    x: int

    def __post_init__(self):
        object.__setattr__(self, "twice", 2 * self.x)


def test_construction():
    assert (Slice(1).stop, Slice(1, 2).stop, Slice(start=1, stop=5).stop) == (3, 2, 5)
    assert repr(Slice(1)) == "Slice(start=1, stop=3)" and Checked(4).twice == 8
    with pytest.raises(TypeError, match="start"):
        Slice()


def test_values_are_compared():
    assert Slice(1) == Slice(1, 3) != Slice(2) and hash(Slice(1)) == hash(Slice(1, 3))
    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing())
    assert Slice(1) != Nothing() and len({Slice(1), Slice(1), Slice(2)}) == 2


def test_records_do_not_change():
    with pytest.raises(AttributeError, match="immutable"):
        Slice(1).start = 2
    assert replace(Slice(1), stop=9) == Slice(1, 9)
    assert pickle.loads(pickle.dumps(Slice(1, 7))) == Slice(1, 7)


@struct
class Basket:
    owner: str
    apples: list = field(default_factory=list)
    marks: list = field(default_factory=list, kw_only=True)


@struct
class Full(Basket):
    weight: int = 0


def test_structs_change_and_have_defaults_of_their_own():
    one, other = Full("a"), Full("a", weight=0)
    assert one == other and one.apples is not other.apples
    one.apples.append(1)
    one.weight = 7
    assert one != other and (one.weight, other.apples) == (7, [])
    assert replace(one, owner="b") == Full("b", [1], 7)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_fields_by_keyword_only_come_last():
    assert Full("a", [1], 2, marks=[3]).marks == [3]
    with pytest.raises(TypeError, match="positional"):
        Full("a", [1], 2, [3])


@pytest.mark.parametrize("before", [0, 300])
def test_first_and_later_objects_are_made_alike(before):
    @struct
    class Basket:
        owner: str
        apples: list[int] = field(default_factory=list)
        notes: list[str] = field(default_factory=list, kw_only=True)
        size: int = 3

    for _ in range(before):
        Basket("Ada")
    full = Basket("Eve", [1], 5, notes=["red"])
    assert vars(full) == {"owner": "Eve", "apples": [1], "notes": ["red"], "size": 5}
    assert list(vars(full)) == ["owner", "apples", "size", "notes"]
    one, other = Basket(owner="Ada"), Basket("Ada")
    assert one == other and one.apples is not other.apples and one.size == 3
    for args, names in (((), {}), ((1, 2, 3, 4), {}), ((1,), {"owner": 2}), ((1,), {"other": 2})):
        with pytest.raises(TypeError, match="__init__"):
            Basket(*args, **names)
        Basket("Ada")


def test_a_field_is_made_when_it_is_first_asked_for():
    calls = []
    one, other = Full("a"), Full("a", [1])
    put_off(one, "apples", lambda: calls.append(1) or [1])
    assert not calls
    assert one == other and one.apples is one.apples
    assert calls == [1] and vars(one) == vars(other)
    put_off(one, "apples", lambda: [2])
    one.apples = [3]
    assert one.apples == [3] and replace(one, owner="b") == Full("b", [3])
