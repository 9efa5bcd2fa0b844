"""What code asks of arguments besides their values: each call is answered as eagerly."""

from __future__ import annotations

import dataclasses
import decimal
import functools
import operator
import threading
import warnings
import weakref
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.specialization.table import Versions
from tests.compiler.entered import entered


def one(*values: float, **options: Any) -> Any:
    return ag.tensor([float(v) for v in values], **options)


W = one(3)
TABLE = {W: 2.0}


class Some:
    pass


def _pairs(J: Any) -> Any:
    for same in (lambda x, y: x is y, lambda x, y: operator.is_(x, y),
                 lambda x, y: len({x, y}) < 2):
        f = J(lambda x, y, same=same: x + 1 if same(x, y) else x - y)
        a, b = one(1), one(5)
        yield from (f(a, b), f(a, a), f(b, b), f(b, a), f(x=a, y=a))


def _state(J: Any) -> Any:
    some = Some()
    some.w, listed = one(2), [one(7)]

    def step(x: Any) -> Any:
        known = x is some.w or x is W or any(x is t for t in listed)
        return x * TABLE.get(x, 10.0) + (1 if known else -1)

    step, x = J(step), one(4)
    for value in (some.w, x, W, listed[0]):
        yield step(value)
    some.w = x
    yield step(x)
    listed.append(y := one(9))
    yield step(y)


def _containers(J: Any) -> Any:
    def change(a: Any, b: Any) -> Any:
        a[0] = a[0] * 2
        return b[0] + 1, a is b

    change, a, b = J(change), [one(1)], [one(5)]
    for given in ((a, b), (a, a), (b, a), (b, b)):
        yield change(*given)
        yield from (a[0], b[0])


HELD = {"w": one(1)}


def _container_of_the_module(J: Any) -> Any:
    HELD["w"], other = one(1), {"w": one(7)}

    def change(d: Any, x: Any) -> Any:
        HELD["w"] = HELD["w"] + x
        return d["w"] * 1

    change = J(change)
    for given in (other, HELD, other, HELD):
        yield change(given, one(1))
        yield from (other["w"], HELD["w"])


def _names(J: Any) -> Any:
    f = J(lambda d: (d["x"] + (d["x"].name == "a"), d["x"].name))
    a, b = one(1), one(1)
    a.name = "a"
    for value in (b, a, b, a):
        yield from f({"x": value})
    b.name = "a"
    yield from f({"x": b})


def _leaves(J: Any) -> Any:
    f = J(lambda x: x * 2 if x.is_leaf else x + 1)
    a = one(2, requires_grad=True)
    for value in (a, a * 1, one(3), a * 2, a):
        yield f(value)


def _gradients(J: Any) -> Any:
    f = J(lambda x: x * 2 if x.grad is None else x + x.grad)
    a = one(2, requires_grad=True)
    yield f(a)
    (a * a).sum().backward()
    yield from (f(a), f(a))
    a.grad = one(9)
    yield f(a)
    a.grad = None
    yield f(a)


def _recorded(J: Any) -> Any:
    f, g = J(lambda x: x * 2), J(lambda x: x + (x * 2).is_leaf)
    a, b = one(1, requires_grad=True), one(1)
    for value in (a, b, a, b):
        yield from (f(value), f(value).requires_grad, g(value), g(value).requires_grad)


def _layouts(J: Any) -> Any:
    f = J(lambda x: x.sum() + x.is_contiguous())
    a = ag.ones((2, 3))
    yield from map(f, (a, a.T, a[:, ::2], a))


def _of_known_tensors(J: Any) -> Any:
    w, model = one(1), ag.nn.Linear(1, 1)
    f = J(lambda x: x * len(w.name or "") + sum(p.requires_grad for p in model.parameters()))
    for name, flag in (("ab", True), ("abc", True), ("abc", False), (None, False)):
        w.name = name
        model.bias.requires_grad_(flag)
        yield from (f(one(1)), f(one(2)))


def _tensors_as_keys(J: Any) -> Any:
    f, a, b = J(lambda d, x: d.get(x, x) * 2), one(1), one(2)
    yield from (f({a: one(9)}, a), f({a: one(9)}, b), f({b: one(8)}, b))


def _large_arrays(J: Any) -> Any:
    table, some, held = (np.zeros(10_000) for _ in range(3))
    where = Some()
    where.some, inside, index = some, [held], np.array([1, 2])
    for f in (lambda x: x + float(table[3]), lambda x: x + 1 if table[3] > 0 else x,
              lambda x: x + np.max(where.some), lambda x: x + inside[0][3],
              lambda x: x + table[index].sum(), lambda x: (x * table).sum() + table[3],
              lambda x: ag.asarray(table).sum() + len([v for v in table[:4] if v > 0])):
        g = J(f)
        for k in (0, 5, 5, 6):
            for array in (table, some, held):
                array[2:4] = k
            yield g(one(1))


def _texts(J: Any) -> Any:
    array, before = np.array([1.23456789, 2.0]), np.get_printoptions()["precision"]
    f, g = J(lambda x: (x + len(str(array)), f"{array}")), J(lambda x: (x, repr(np.ones(1) / 3)))
    try:
        for precision in (8, 2, 2, 5):
            np.set_printoptions(precision=precision)
            yield from (*f(one(1)), *g(one(1)))
    finally:
        np.set_printoptions(precision=before)


def _classes_of_classes(J: Any) -> Any:
    class Meta(type):
        number = 2.0

        def __instancecheck__(cls, other: Any) -> bool:
            return False

    class Kind(metaclass=Meta):
        pass

    some = Some()
    f = J(lambda x: x * Kind.number + 1 if isinstance(some, Kind) else x * Kind.number)
    yield f(one(1))
    Meta.number = 3.0
    yield f(one(1))
    Meta.__instancecheck__ = lambda cls, other: True  # type: ignore[method-assign]
    yield f(one(1))


def _objects_in_arrays(J: Any) -> Any:
    array = np.array([1.0, [2.0], one(3)], object)
    large, mixed = np.full(2000, 1.0, object), np.zeros(1, [("o", object), ("v", "f4")])
    mixed["o"][0] = 1.0
    f = J(lambda x: x * array[0] + array[1][0] + array[2] + large[7] + sum(mixed[0]))
    yield f(one(1))
    for held, i, value in ((array, 0, 5), (array[1], 0, 6.0), (array, 2, one(7)), (large, 7, 8.0),
                           (mixed["o"], 0, 9.0), (mixed["v"], 0, 4.0)):
        held[i] = value
        yield from (f(one(1)), f(one(2)))


def _results_that_functions_keep(J: Any) -> Any:
    for size in (None, 2):
        @functools.lru_cache(size)
        def places(n: int) -> Any:
            return ag.arange(float(n)) * 2

        f = J(lambda x, places=places: x + places(x.shape[0]))
        for n in (2, 3, 2, 5, 6, 3):
            yield f(ag.ones(n))
        yield from (places(3), places(6))
        places(3)[0] = 50.0
        yield from (f(ag.ones(3)), places(3))
        places.cache_clear()
        yield from (f(ag.ones(3)), places(3))


def _arguments_that_are_stored(J: Any) -> Any:
    some, listed = Some(), []

    def step(x: Any, y: Any) -> Any:
        some.before, some.now = getattr(some, "now", None), x
        listed.append((y, y * 2))
        return x + y

    step = J(step)
    for i in range(4):
        x, y = one(i), one(2 * i)
        yield from (step(x, y), some.now is x, listed[-1][0] is y, step(y, x), some.before is x)
        x[0] = 50.0
        yield from (some.before, listed[-1][0], listed[-1][1])
    yield step(np.ones(1), one(1))
    yield type(some.now).__name__


class Held:
    def __init__(self, v: float) -> None:
        self.v = v

    def times(self, x: Any) -> Any:
        return x * self.v


def _weak_references(J: Any) -> Any:
    for make in (weakref.ref, lambda h: weakref.WeakValueDictionary(k=h).get,
                 lambda h: weakref.WeakMethod(h.times), lambda h: weakref.WeakSet([h])):
        held = Held(2.0)
        way = make(held)

        def found(way: Any = way) -> Any:
            if isinstance(way, weakref.WeakSet):
                return next(iter(way), None)
            return way("k") if not isinstance(way, weakref.ref) else way()

        def step(x: Any, found: Any = found) -> Any:
            thing = found()
            return -x if thing is None else x * getattr(thing, "v", 1.0) * thing.__self__.v if (
                hasattr(thing, "__self__")) else x * thing.v

        f = J(step)
        yield from (f(one(1)), f(one(2)))
        held.v = 5.0
        yield f(one(1))
        del held
        yield from (f(one(1)), found() is None)


class Pair(NamedTuple):
    a: Any
    k: float = 2.0

    def product(self) -> Any:
        return self.a * self.k * HELD["k"]


def _classes_of_containers(J: Any) -> Any:
    HELD["k"], before = 1.0, Pair.product
    f = J(lambda p: p.product())
    yield f(Pair(one(1)))
    HELD["k"] = 5.0
    yield f(Pair(one(1)))
    Pair.product = lambda self: self.a  # type: ignore[method-assign]
    yield f(Pair(one(1)))
    Pair.product = before  # type: ignore[method-assign]


def _attributes_as_a_whole(J: Any) -> Any:
    class Named:
        pass

    some = Named()
    some.k = 1.0
    f = J(lambda x: x * sum(vars(some).values()) + len(type(some).__name__))
    yield f(one(1))
    some.__dict__ = {"z": 5.0}
    yield f(one(1))
    Named.__name__ = "AnotherName"
    yield f(one(1))


def _hooks_of_parameters(J: Any) -> Any:
    w, factors = one(1, requires_grad=True), [2.0]
    handle = w.register_hook(lambda g: g * factors[0])

    def step() -> Any:
        w.grad = None
        (w * w).sum().backward()
        return w.grad * 1

    step = J(step)
    yield step()
    factors[0] = 3.0
    yield step()
    other = w.register_hook(lambda g: g + 1)
    yield step()
    handle.remove()
    yield step()
    other.remove()
    yield step()


def _rates_that_steps_read(J: Any) -> Any:
    w = one(1, requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=0.5)
    schedule = ag.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step() -> Any:
        w.grad = None
        (w * w).sum().backward()
        optimizer.step()
        return optimizer.lr, [g["lr"] * 2 for g in optimizer.param_groups], schedule.get_last_lr()

    step = J(step)
    for _ in range(3):
        yield from step()
        schedule.step()


PROGRAMS = {f.__name__.strip("_"): f for f in (
    _pairs, _state, _containers, _container_of_the_module, _names, _leaves, _gradients,
    _recorded, _layouts, _of_known_tensors, _tensors_as_keys, _large_arrays, _texts,
    _classes_of_classes, _objects_in_arrays, _classes_of_containers, _attributes_as_a_whole,
    _hooks_of_parameters, _rates_that_steps_read, _results_that_functions_keep,
    _arguments_that_are_stored, _weak_references)}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eagerly(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs eagerly")
        eager, compiled = ([v.tolist() if isinstance(v, ag.Tensor) else v for v in
                            list(PROGRAMS[name](J))] for J in (lambda f: f, ag.jit))
    assert len(eager) > 1
    assert compiled == eager


def test_calls_that_are_not_asked_go_to_native_code_at_once() -> None:
    for f, flat in ((lambda x: x + 1, True), (lambda x: x if x is None else x + 1, True),
                    (lambda x: x if type(x) is int else x + 1, True),
                    (lambda x: x if x is W else x + 1, False)):
        compiled = ag.jit(f)
        compiled(one(1))
        assert compiled.versions.ready[0].flat is flat


def test_a_name_given_to_an_argument_is_given_by_each_call() -> None:
    def step(x: Any) -> Any:
        x.name = "inner"
        return x + 1

    compiled = ag.jit(step)
    for _ in range(2):
        x = one(1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*changes the name of an argument")
            compiled(x)
        assert x.name == "inner"


@pytest.mark.parametrize("flag", [True, False])
def test_an_argument_that_is_told_to_require_a_gradient_does(flag: bool) -> None:
    def step(x: Any) -> Any:
        y = (x.requires_grad_(flag) * 2).sum()
        if flag:
            y.backward()
        return y

    compiled = ag.jit(step)
    with nullcontext() if flag else pytest.warns(
            RuntimeWarning, match="changes requires_grad of an argument"):
        for _ in range(2):
            x = one(1, requires_grad=not flag)
            assert compiled(x).requires_grad is x.requires_grad is flag
            assert (x.grad is not None) is flag


def test_arrays_too_large_to_compare_make_it_run_eagerly() -> None:
    table = np.zeros(200_000)
    f = ag.jit(lambda x: x + float(table[3]))
    with pytest.warns(RuntimeWarning, match=r"elements of table, an array of 1600000 bytes"):
        f(one(1))
    table[3] = 5
    assert f(one(1)).tolist() == [6.0]


@pytest.fixture
def traces(monkeypatch):
    """The versions that are made, and None for traces that were made in vain."""
    found: list[Any] = []
    make = Versions._version

    def noted(*args: Any) -> Any:
        found.append(None)
        found[-1] = make(*args)
        return found[-1]

    monkeypatch.setattr(Versions, "_version", noted)
    return found


@pytest.mark.parametrize("fact", [
    lambda x, y: x is y, lambda x, y: x.grad is None, lambda x, y: x.name is None,
    lambda x, y: x.is_leaf])
def test_what_code_asks_is_traced_once(traces, fact):
    f = ag.jit(lambda x, y: x + 1 if fact(x, y) else x - y)
    x = one(4)
    f(x, one(1))
    assert len(traces) == 1 and traces[0].assumed
    assert f(x, x).item() == (5.0 if fact(x, x) else 0.0)


def test_methods_of_dataclasses_compare_no_identities(traces):
    @dataclasses.dataclass
    class Sizes:
        rows: int

    sizes = Sizes(2)
    f = ag.jit(lambda x: x * sizes.rows if sizes == Sizes(2) else x)
    assert f(one(4)).item() == 8.0
    assert len(traces) == 1 and not traces[0].assumed
    sizes.rows = 3
    assert f(one(4)).item() == 4.0


@functools.lru_cache
def kept(n: int) -> float:
    return n * 2.0


LOCAL, OBJECTS = threading.local(), np.array([2.0], object)
LOCAL.k = 2.0
#: Functions that ask for something, and how many functions of Python's a call enters.
ASKING: list[tuple[Any, int]] = [
    (lambda x, y: x if x is y else x + y, 1), (lambda x, y: x if x.name else x + y, 1),
    (lambda x, y: x + y if x.is_leaf else x, 1), (lambda x, y: x + y if x.grad is None else x, 1),
    (lambda x, y: x + y if x.is_contiguous() else x, 1),
    (lambda x, y: x + y if ag.is_grad_enabled() else x, 1), (lambda x, y: x + y * LOCAL.k, 1),
    (lambda x, y: x + y * float(1 / decimal.Decimal(3)), 1),
    (lambda x, y: x if W.requires_grad else x + y, 0), (lambda x, y: x if W.name else x + y, 0),
    (lambda x, y: x + y * kept(3), 0), (lambda x, y: x + y * OBJECTS[0], 0)]


@pytest.mark.parametrize(("function", "most"), ASKING, ids=[str(i) for i in range(len(ASKING))])
def test_calls_are_asked_without_functions_of_python(function: Any, most: int) -> None:
    compiled, x, y = ag.jit(function), one(1), one(2)
    compiled(x, y)
    compiled(x, y)
    assert entered(compiled, x, y) == ["call"] * most


def test_containers_are_told_apart_without_functions_of_python() -> None:
    compiled, a, b = ag.jit(lambda a, b: (a[0] + b[0], a is b)), [one(1)], [one(2)]
    assert not compiled(a, b)[1]
    assert len(entered(compiled, a, b)) == 1
    assert compiled(a, a)[1] and not compiled(a, b)[1]


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


@pytest.mark.parametrize("same", [
    lambda a, b: (a, 1) == (b, 1), lambda a, b: [b, a].count(a), lambda a, b: [b, a].index(a),
    lambda a, b: {"k": a} == {"k": b}, lambda a, b: a in [b], lambda a, b: [W, a].index(a),
    lambda a, b: Frozen(a, b) == Frozen(b, a), lambda a, b: (a, 2) < (b, 1),
])
def test_containers_take_one_object_for_equal(same: Any) -> None:
    """Whatever its elements are: several, or NaN, which is equal to nothing."""
    def outcome(f: Any, *args: Any) -> Any:
        try:
            return f(*args).tolist()
        except ValueError as error:
            return str(error).partition("\n")[0]

    def step(a: Any, b: Any) -> Any:
        return a * 0 + same(a, b)

    for a, b in ((one(1, 2), one(1, 2)), (ag.array(float("nan")), ag.array(float("nan"))),
                 (ag.array(2.0), ag.array(2.0))):
        f = ag.jit(step)
        for given in ((a, b), (a, a), (W, a), (b, b), (a, b)):
            np.testing.assert_equal(outcome(f, *given), outcome(step, *given))


def test_what_keeps_being_in_two_places_is_said_once() -> None:
    f, x = ag.jit(lambda a, b: a + ((a, 1) == (b, 1))), one(1, 2)
    with pytest.warns(RuntimeWarning, match="one tensor in two places, and compares them"):
        for _ in range(66):
            assert f(x, x).tolist() == [2, 3]
    with pytest.raises(ag.TraceError, match="give different ones"):
        ag.jit(lambda a, b: a + ((a, 1) == (b, 1))).c_function(x, x)


def test_classes_are_no_objects_among_arguments() -> None:
    """A frozen dataclass compares classes in what it has for assignments: calls ask for no more."""
    for kind in (Frozen, dataclasses.make_dataclass("Plain", ["a", "b"])):
        f = ag.jit(lambda p: p.a + 1)
        assert [f(kind(one(v), 2)).tolist() for v in (1, 2, 3)] == [[2], [3], [4]]
        assert not f.versions.ready[0].assumed
