"""Random functions over Python's objects, with random changes between their calls: jitted as eager.

Attributes of tensors, subclasses of dict and list, slots, properties with setters, dataclasses,
weak references, context managers, mixins, kept results, generators, functions replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import agnesi as ag

Body = Callable[[Any, Any], Any]
#: What functions have by weak references only.
ALIVE: list[Any] = []


class Held:
    """What the functions read: one attribute at a time, so that each has guards of its own."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


def make() -> Any:
    class Table(dict[str, float]):
        reads = 0

        def __getitem__(self, key: str) -> float:
            self.reads += 1
            return super().__getitem__(key)

        def __missing__(self, key: str) -> float:
            return 3.0

    class Items(list[float]):
        factor = 2.0

    class Slots:
        __slots__ = ("__weakref__", "extra", "v")

    class Bounded:
        _k, sets = 1.0, 0

        @property
        def k(self) -> float:
            return self._k

        @k.setter
        def k(self, value: float) -> None:
            self.sets += 1
            self._k = max(value, 0.5)

        @k.deleter
        def k(self) -> None:
            self._k = 9.0

        @functools.cached_property
        def kept(self) -> float:
            return self._k * 3

    @dataclasses.dataclass
    class Record:
        v: float = 1.0
        items: list[float] = dataclasses.field(default_factory=lambda: [1.0, 2.0])

    class Base:
        gain = 1.5

        def apply(self, h: Any) -> Any:
            return h * self.gain

    class Shifted(Base):
        def apply(self, h: Any) -> Any:
            return super().apply(h) + 1

    class Doubled(Base):
        def apply(self, h: Any) -> Any:
            return super().apply(h) * 2

    class Mixed(Shifted, Doubled):
        pass

    @functools.singledispatch
    def scaled(v: Any, h: Any) -> Any:
        return h

    scaled.register(int, lambda v, h: h * v)

    def numbers() -> Iterator[float]:
        k = 0.0
        while True:
            k += 1.0
            yield k

    e = Held(
        w=ag.tensor([0.5, 1.5], requires_grad=True), b=ag.tensor([1.0, 2.0]), table=Table(a=1.0),
        items=Items([1.0, 2.0]), slots=Slots(), bounded=Bounded(), record=Record(), mixed=Mixed(),
        scaled=scaled, given=2, stack=[1.0], numbers=numbers(), function=ag.sin, level=0,
        Base=Base, Doubled=Doubled, Record=Record, Slots=Slots, Items=Items)
    e.slots.v = 2.0
    ALIVE[:] = [Slots()]
    ALIVE[0].v = 2.0
    e.weak = weakref.ref(ALIVE[0])
    return e


@contextlib.contextmanager
def pushed(stack: list[float], value: float) -> Iterator[None]:
    stack.append(value)
    try:
        yield
    finally:
        stack.pop()


def counts_at_tensor(e: Any, h: Any) -> Any:
    e.w.count = getattr(e.w, "count", 0) + 1
    return h * e.w.count


def keeps_at_tensor(e: Any, h: Any) -> Any:
    e.b.last = h.detach().sum()
    if hasattr(e.b, "mark"):
        del e.b.mark
    return h + e.b.last


def in_scope(e: Any, h: Any) -> Any:
    with pushed(e.stack, 3.0):
        return h * sum(e.stack)


def sets_slot(e: Any, h: Any) -> Any:
    e.slots.extra = getattr(e.slots, "extra", 0.0) + 1.0
    return h + e.slots.extra


def sets_property(e: Any, h: Any) -> Any:
    e.bounded.k = e.bounded.k - 0.25
    return h * e.bounded.sets


def makes_record(e: Any, h: Any) -> Any:
    made = e.Record(2.0)
    made.items.append(e.record.v)
    e.record.items.append(e.record.items.pop(0))
    return h * sum(made.items) + e.record.items[0]


def catches(e: Any, h: Any) -> Any:
    try:
        return h * e.w.scale * e.nothing
    except AttributeError:
        e.level += 1
        return h + e.level


BODIES: list[Body] = [
    counts_at_tensor, keeps_at_tensor, in_scope, sets_slot, sets_property, makes_record, catches,
    lambda e, h: h * e.w * getattr(e.w, "scale", 1.0) * (2.0 if hasattr(e.b, "mark") else 1.0),
    lambda e, h: h * len(vars(e.w)) + e.w.__dict__.get("scale", 2.0),
    lambda e, h: h * e.table["a"] + e.table["none"] * e.table.reads,
    lambda e, h: h * sum(e.items) * e.items.factor,
    lambda e, h: h * e.bounded.kept * e.bounded.k,
    lambda e, h: e.scaled(e.given, e.mixed.apply(h)),
    lambda e, h: e.function(h) * next(e.numbers),
    lambda e, h: h * (e.weak().v if e.weak() is not None else -1.0),
]


def change(e: Any, x: Any, r: random.Random) -> None:
    number = r.choice([1.0, 2.0, -0.0, 3, True])
    kinds: list[Callable[[], Any]] = [
        lambda: setattr(e.w, "scale", number), lambda: e.w.__dict__.clear(),
        lambda: setattr(e.b, "mark", number), lambda: setattr(e.w, "__dict__", {"scale": number}),
        lambda: setattr(e, "w", ag.tensor([1.0, 2.0], requires_grad=r.random() < 0.5)),
        lambda: e.table.update(a=number), lambda: e.table.update(none=number),
        lambda: e.items.append(number), lambda: setattr(e.items, "factor", number),
        lambda: setattr(e.Items, "factor", number), lambda: setattr(e.slots, "v", number),
        lambda: setattr(e, "slots", e.Slots()), lambda: setattr(e.bounded, "k", number),
        lambda: delattr(e.bounded, "k"), lambda: e.bounded.__dict__.pop("kept", None),
        lambda: setattr(e.record, "v", number), lambda: setattr(e.Base, "gain", number),
        lambda: setattr(e.mixed, "gain", number),
        lambda: setattr(e.Doubled, "apply", lambda self, h: h - number),
        lambda: setattr(e.mixed, "__class__", e.Doubled), lambda: setattr(e, "given", number),
        lambda: e.scaled.register(float, lambda v, h: h * v * number),
        lambda: setattr(e, "function", r.choice([ag.cos, lambda h: h * number])),
        lambda: setattr(e, "nothing", number), lambda: vars(e).pop("nothing", None),
        lambda: setattr(ALIVE[0], "v", number) if ALIVE else None, ALIVE.clear,
        lambda: e.stack.append(number), lambda: next(e.numbers),
    ]
    r.choice(kinds)()


def state_of(e: Any) -> list[Any]:
    tensors = [e.w, e.b, *vars(e.b).values()]
    return [*(t.tolist() if isinstance(t, ag.Tensor) else t for t in tensors), dict(e.table),
            list(vars(e.w).items()), e.table.reads, list(e.items), getattr(e.slots, "extra", None),
            dict(vars(e.bounded)), e.record.items, e.stack, e.level]


def run(seed: int, jit: Any) -> list[Any]:
    r, e, found = random.Random(seed), make(), []
    bodies = r.sample(BODIES, r.choice([1, 2, 3]))

    def function(x: Any) -> Any:
        for body in bodies:
            x = body(e, x)
        return x

    f, x = jit(function), ag.tensor([1.0, 2.0])
    for _ in range(5):
        try:
            found.append((f(x).tolist(), state_of(e)))
        except AttributeError:  # what was done before it is eager code's alone
            return [*found, "AttributeError"]
        for _ in range(r.choice([0, 1, 2])):
            change(e, x, r)
    return found


def close(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(close(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-4 * max(1.0, abs(a))
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sequences_of_calls(seed: int) -> None:
    with ag.config(optimizer="None"):
        eager, jitted = run(seed, lambda f: f), run(seed, ag.jit)
    assert close(eager, jitted)


@pytest.mark.parametrize("body", [keeps_at_tensor, in_scope, makes_record, catches])
def test_the_functions_are_compiled(body: Body) -> None:
    e = make()
    f = ag.jit(lambda x: body(e, x))
    f(ag.ones(2))
    assert f.specialisations
