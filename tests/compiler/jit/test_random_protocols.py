"""Random functions over the standard library's holders and Python's protocols, with random changes
between their calls: jitted as eager.

Frozen records, named tuples, enums, views of mappings, arrays and bytes, numbers that are no
floats, iterators that go on, context variables, coroutines, descriptors, metaclasses.
"""

from __future__ import annotations

import array
import asyncio
import bisect
import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import operator
import pathlib
import random
import re
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import agnesi as ag

Body = Callable[[Any, Any], Any]
CURRENT: contextvars.ContextVar[Any] = contextvars.ContextVar("CURRENT", default=1.0)


class Held:
    """What the functions read: one attribute at a time, so that each has guards of its own."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


def make() -> Any:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        scale: Any
        bias: Any = 0.5

    class Pair(typing.NamedTuple):
        first: Any
        second: float = 2.0

    class Mode(enum.Enum):
        LOW = 1.0
        HIGH = 3.0

        @property
        def gain(self) -> float:
            return self.value * 2

    class Flags(enum.Flag):
        A = 1
        B = 2

    class Checked:
        """A descriptor that counts what is assigned."""

        def __set_name__(self, owner: Any, name: str) -> None:
            self.name = "_" + name

        def __get__(self, obj: Any, owner: Any = None) -> Any:
            return self if obj is None else getattr(obj, self.name, 1.0)

        def __set__(self, obj: Any, value: Any) -> None:
            obj.changes = getattr(obj, "changes", 0) + 1
            setattr(obj, self.name, value)

    class Meta(type):
        boost = 1.0
        made = 0

        def __call__(cls, *args: Any) -> Any:
            cls.made += 1
            return super().__call__(*args)

        def __contains__(cls, x: Any) -> bool:
            return bool(x == cls.boost)

    class Layer(metaclass=Meta):
        k = Checked()
        suffix = ""

        def __init__(self, k: float = 2.0) -> None:
            self.k = k

        def __call__(self, h: Any) -> Any:
            return h * self.k

        def scaled(self, h: Any, by: float = 2.0, *, shift: float = 0.5) -> Any:
            return h * by + shift

        twice = functools.partialmethod(scaled, by=4.0)

    class Sub(Layer):
        def __call__(self, h: Any) -> Any:
            return super().__call__(h) + 1

    class Seen:
        """Counts reads of attributes."""

        def __init__(self) -> None:
            self.v, self.reads = 2.0, 0

        def __getattribute__(self, name: str) -> Any:
            if name == "v":
                self.reads += 1
            return super().__getattribute__(name)

    class Ring:
        def __init__(self) -> None:
            self.items = [1.0, 2.0, 3.0]

        def __len__(self) -> int:
            return len(self.items)

        def __bool__(self) -> bool:
            return self.items[0] > 0

        def __iter__(self) -> Iterator[float]:
            return iter(self.items)

        def __reversed__(self) -> Iterator[float]:
            return iter(self.items[::-1])

        def __contains__(self, x: Any) -> bool:
            return x in self.items

        def __getitem__(self, i: Any) -> Any:
            return self.items[i % len(self.items)]

        def __index__(self) -> int:
            return len(self.items) - 1

    class Key:
        def __init__(self, n: int) -> None:
            self.n = n

        def __hash__(self) -> int:
            return hash(self.n)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.n == other.n

    def running() -> Any:
        total = 0.0
        while True:
            total += yield total

    def counter() -> tuple[Callable[[], float], Callable[[float], None]]:
        n = 0.0

        def up() -> float:
            nonlocal n
            n += 1
            return n

        def put(value: float) -> None:
            nonlocal n
            n = value
        return up, put

    def power(h: Any, n: int) -> Any:
        return h if n == 0 else power(h, n - 1) * 1.5

    def spread(h: Any, *more: float, by: float = 1.0, **rest: float) -> Any:
        return h * by + sum(more) + sum(rest.values())

    table = {"a": 1.0, "b": 2.0}
    up, put = counter()
    sender = running()
    next(sender)
    keys = [Key(1), Key(2)]
    e = Held(
        frozen=Frozen(ag.tensor([1.0, 2.0])), pair=Pair(ag.tensor([0.5, 1.5])), Mode=Mode,
        mode=Mode.LOW, flags=Flags.A, Flags=Flags, table=table, view=types.MappingProxyType(table),
        chain=collections.ChainMap({"a": 5.0}, table), order=collections.OrderedDict(x=1.0, y=2.0),
        lists=collections.defaultdict(lambda: 2.0), count=collections.Counter("aab"),
        raw=array.array("d", [1.0, 2.0]), data=bytearray(b"\x01\x02"), named={b"k": 2.0},
        ratio=fractions.Fraction(1, 2), cost=decimal.Decimal("1.5"), turn=complex(1, 2),
        path=pathlib.PurePosixPath("runs/3"), day=datetime.date(2020, 1, 3),
        pattern=re.compile(r"\d+"), text="lr 3", partial=functools.partial(spread, by=2.0),
        get=operator.itemgetter("a"), attr=operator.attrgetter("mode.value"),
        cycle=itertools.cycle([1.0, 2.0]), steps=itertools.count(1),
        rows=iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), layer=Layer(), sub=Sub(), Layer=Layer, Sub=Sub,
        Meta=Meta, seen=Seen(), ring=Ring(), up=up, put=put, sender=sender, power=power, depth=2,
        spread=spread, args=(1.0,), keywords={"u": 1.0}, keys=keys,
        weak=weakref.WeakKeyDictionary({keys[0]: 2.0, keys[1]: 3.0}), heap=[3.0, 1.0, 2.0],
        command=("scale", 2.0), Key=Key, Pair=Pair, Frozen=Frozen, level=0, log=[],
        typed={"lr": 0.5, "step": ag.tensor([1.0, 1.0])}, span=slice(0, 1), grid=range(3))
    heapq.heapify(e.heap)
    return e


def matches(e: Any, h: Any) -> Any:
    match e.command:
        case ("scale", float(by)) if by > 0:
            return h * by
        case ("shift", by):
            return h + by
        case {"both": [a, *rest]}:
            return h * a + len(rest)
        case _:
            e.level += 1
            return h


async def _doubled(e: Any, h: Any) -> Any:
    await asyncio.sleep(0)
    return h * e.depth


def runs_coroutines(e: Any, h: Any) -> Any:
    async def both() -> Any:
        return sum(await asyncio.gather(_doubled(e, h), _doubled(e, h + 1)))
    return asyncio.run(both())


def sets_variable(e: Any, h: Any) -> Any:
    token = CURRENT.set(CURRENT.get() + 1)
    h = h * CURRENT.get()
    if e.level % 2:
        CURRENT.reset(token)
    return h


def moves_entries(e: Any, h: Any) -> Any:
    e.order.move_to_end(next(iter(e.order)))
    key, value = e.order.popitem(last=False)
    e.order[key] = value + 1
    return h * value


def counts(e: Any, h: Any) -> Any:
    e.count.update("b")
    return h * e.count["b"] + e.count.most_common(1)[0][1]


def replaces_record(e: Any, h: Any) -> Any:
    e.frozen = dataclasses.replace(e.frozen, bias=e.frozen.bias + 1)
    return h * e.frozen.scale + e.frozen.bias


def replaces_pair(e: Any, h: Any) -> Any:
    e.pair = e.pair._replace(second=e.pair.second + 0.5)
    return h + e.pair.first * e.pair.second


def keeps_tensor(e: Any, h: Any) -> Any:
    e.typed["step"] = e.typed["step"] + 1
    return h * e.typed["step"] * e.typed["lr"]


def pushes(e: Any, h: Any) -> Any:
    return h + heapq.heapreplace(e.heap, e.heap[0] + 2.5)


def writes_bytes(e: Any, h: Any) -> Any:
    view = memoryview(e.data)
    view[0] = (view[0] + 1) % 250
    return h * view[0] + e.data[1]


def finds_text(e: Any, h: Any) -> Any:
    if (found := e.pattern.search(e.text)) is not None:
        return h * int(found[0])
    return h + len(e.text)


def catches(e: Any, h: Any) -> Any:
    try:
        return h * e.view["c"]
    except KeyError as error:
        e.log.append(str(error))
        return h + len(e.log)


BODIES: list[Body] = [
    matches, runs_coroutines, sets_variable, moves_entries, counts, replaces_record, replaces_pair,
    keeps_tensor, pushes, writes_bytes, finds_text, catches,
    lambda e, h: h * e.mode.gain + (e.mode is e.Mode.HIGH),
    lambda e, h: h * (2.0 if e.Flags.B in e.flags else 1.0),
    lambda e, h: h * e.view["a"] + sum(e.view.values()),
    lambda e, h: h * e.chain["a"] + len(e.chain),
    lambda e, h: h * e.lists["new"] + len(e.lists),
    lambda e, h: h * e.raw[0] + sum(e.raw),
    lambda e, h: h * e.named[b"k"],
    lambda e, h: h * float(e.ratio) + float(e.cost),
    lambda e, h: h * e.turn.imag + abs(e.turn),
    lambda e, h: h * int(e.path.name) + e.day.weekday(),
    lambda e, h: e.partial(h, *e.args, **e.keywords),
    lambda e, h: h * e.get(e.table) + e.attr(e),
    lambda e, h: h * next(e.cycle) + next(e.steps),
    lambda e, h: h * sum(itertools.islice(e.rows, 1)),
    lambda e, h: e.layer(h) + getattr(e.layer, "changes", 0),
    lambda e, h: e.sub(e.sub.twice(h)),
    lambda e, h: e.Layer(3.0)(h) * e.Layer.made,
    lambda e, h: h * e.Layer.boost + (2.0 in e.Layer),
    lambda e, h: h * e.seen.v + e.seen.reads,
    lambda e, h: h * sum(e.ring) + (len(e.ring) if e.ring else 0.0) + next(reversed(e.ring)),
    lambda e, h: h * e.ring[4] + (3.0 in e.ring) + [1.0, 2.0, 3.0, 4.0, 5.0][e.ring],
    lambda e, h: h * e.up(),
    lambda e, h: h + e.sender.send(1.0),
    lambda e, h: e.power(h, e.depth),
    lambda e, h: e.spread(h, *e.args, **e.keywords),
    lambda e, h: h * sum(e.weak.values()) + e.weak.get(e.Key(2), -1.0),
    lambda e, h: h * bisect.bisect(sorted(e.heap), 2.0),
    lambda e, h: h * functools.reduce(operator.add, e.heap, 0.5),
    lambda e, h: h * len(e.grid[e.span]) + h[e.span].sum(),
    lambda e, h: h * CURRENT.get(),
]


def change(e: Any, x: Any, r: random.Random) -> None:
    number = r.choice([1.0, 2.0, 0.5, 3, True])
    kinds: list[Callable[[], Any]] = [
        lambda: setattr(e, "frozen", e.Frozen(ag.tensor([number * 1.0, 2.0]))),
        lambda: object.__setattr__(e.frozen, "bias", number),
        lambda: setattr(e, "pair", e.Pair(ag.ones(2), number)),
        lambda: e.pair.first.add_(1.0), lambda: setattr(e, "mode", r.choice(list(e.Mode))),
        lambda: setattr(e, "flags", e.flags ^ e.Flags.B), lambda: e.table.update(a=number),
        lambda: e.table.update(c=number), lambda: e.table.pop("c", None),
        lambda: e.chain.maps[0].clear(), lambda: e.chain.maps.reverse(),
        lambda: e.chain.update(a=number), lambda: e.order.move_to_end(next(iter(e.order))),
        lambda: setattr(e.lists, "default_factory", lambda: number), e.lists.clear,
        lambda: e.count.subtract("a"), lambda: e.raw.append(number), lambda: e.raw.__setitem__(
            0, number), lambda: e.data.__setitem__(1, 7), lambda: e.named.update({b"k": number}),
        lambda: setattr(e, "ratio", e.ratio + 1), lambda: setattr(e, "cost", e.cost * 2),
        lambda: setattr(e, "turn", complex(number, 1)), lambda: setattr(e, "path", e.path / "5"),
        lambda: setattr(e, "day", e.day + datetime.timedelta(1)),
        lambda: setattr(e, "pattern", re.compile(r.choice([r"\d+", "[a-z]+x"]))),
        lambda: setattr(e, "text", f"lr {number:.0f}"),
        lambda: e.partial.keywords.update(by=number),
        lambda: setattr(e, "get", operator.itemgetter("b")), lambda: next(e.cycle),
        lambda: next(e.steps), lambda: next(e.rows, None), lambda: setattr(e.layer, "k", number),
        lambda: setattr(e.Layer, "scaled", lambda self, h, by=number, shift=1.0: h * by + shift),
        lambda: setattr(e.Sub, "__call__", lambda self, h: h * number),
        lambda: setattr(e.Layer, "__call__", lambda self, h: h - number),
        lambda: setattr(e.Meta, "boost", number), lambda: setattr(e.Layer, "boost", number),
        lambda: setattr(e.seen, "v", number), lambda: e.ring.items.append(number),
        lambda: e.ring.items.__setitem__(0, -1.0), lambda: e.put(number),
        lambda: e.sender.send(number), lambda: setattr(e, "depth", r.choice([0, 1, 3])),
        lambda: e.spread.__kwdefaults__.update(by=number),
        lambda: setattr(e, "args", (number, 2.0)),
        lambda: e.keywords.update(v=number), lambda: e.weak.update({e.keys[0]: number}),
        lambda: e.keys.pop() if len(e.keys) > 1 else None, lambda: heapq.heappush(e.heap, number),
        lambda: setattr(e, "command", r.choice([("shift", number), {"both": [2.0, 1, 2]}, None])),
        lambda: setattr(e, "level", e.level + 1), lambda: CURRENT.set(number),
        lambda: e.typed.update(lr=number), lambda: setattr(e, "span", slice(0, r.choice([1, 2]))),
        lambda: setattr(e.layer, "__class__", e.Sub), lambda: delattr(e.Sub, "__call__")
        if "__call__" in vars(e.Sub) else None,
    ]
    r.choice(kinds)()


def state_of(e: Any) -> list[Any]:
    return [e.frozen.bias, e.frozen.scale.tolist(), e.pair.second, dict(e.table), list(e.order),
            dict(e.lists), dict(e.count), list(e.raw), bytes(e.data), e.layer._k, e.layer.changes,
            e.Layer.made, e.seen.reads, e.heap, e.level, e.log, e.typed["step"].tolist(),
            CURRENT.get(), len(e.weak)]


def run(seed: int, jit: Any) -> list[Any]:
    r, e, found = random.Random(seed), make(), []
    bodies = r.sample(BODIES, r.choice([1, 2, 3]))
    CURRENT.set(1.0)

    def function(x: Any) -> Any:
        for body in bodies:
            x = body(e, x)
        return x

    f, x = jit(function), ag.tensor([1.0, 2.0])
    for _ in range(5):
        try:
            found.append((f(x).tolist(), state_of(e)))
        except Exception as error:  # what was done before it is eager code's alone
            return [*found, type(error).__name__]
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


@pytest.mark.parametrize("body", [matches, moves_entries, keeps_tensor, catches])
def test_the_functions_are_compiled(body: Body) -> None:
    e = make()
    f = ag.jit(lambda x: body(e, x))
    f(ag.ones(2))
    assert f.specialisations
