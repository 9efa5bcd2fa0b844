"""What a jitted function read while it was traced, and what is changed between its calls."""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

SETTINGS = types.ModuleType("settings")
SETTINGS.rate, SETTINGS.rates = 2.0, [1.0, 2.0]
exec("def scaled(x):\n    return x * rate * rates[1]", vars(SETTINGS))
GAIN, GAINS, TABLE = 2.0, [1.0, 2.0], {"a": 1.0, "b": [2.0]}


class Plain:
    size = 2.0
    sizes = (1.0, 2.0)
    shared = [1.0, 2.0]  # noqa: RUF012
    late: float

    def __init__(self):
        self.k, self.sign, self.on, self.many = 3.0, 0.0, 1, [1.0, 2.0]
        self.table, self.inner = {"a": 1.0}, types.SimpleNamespace(k=1.0)

    def forward(self, x):
        return self(x)

    def __call__(self, x):
        y = x * self.k + self.size + self.sizes[0] + self.shared[1] + self.many[-1] + len(self.many)
        y = y + ag.asarray(np.copysign(1.0, self.sign)) + (100 if self.on is True else 0)
        y = y + getattr(self, "late", 0.5) + vars(self).get("later", 0.25) + self.inner.k
        if "b" in self.table:
            y = y * 2
        for name in self.table:
            y = y + self.table[name]
        return y * self.scale()

    def scale(self):
        return 2.0


class Slotted:
    __slots__ = ("k", "late")

    def __init__(self):
        self.k = 2.0

    def __call__(self, x):
        return x * self.k + getattr(self, "late", 0.0)


class Net(nn.Module):
    def __init__(self):
        self.k, self.weights = 2.0, [ag.ones(2), ag.ones(2) * 2]
        self.layers = [nn.Linear(2, 2), nn.Tanh()]
        self.by_name = {"a": nn.Linear(2, 2)}
        self.w = ag.tensor([1.0, 2.0], requires_grad=True)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for name in sorted(self.by_name):
            x = self.by_name[name](x)
        for w in self.weights:
            x = x * w
        return x * self.k * self.w * (2 if self.training else 3) + len(list(self.parameters()))


class Other(Plain):
    def scale(self):
        return 7.0


def _set(name, value):
    return lambda m: setattr(m, name, value)


def _class(name, value):
    return lambda m: setattr(type(m), name, value)


PLAIN = {
    "a number": _set("k", 5.0),
    "a number of another type": _set("k", 3),
    "not a number": _set("k", float("nan")),
    "the sign of zero": _set("sign", -0.0),
    "True for 1": _set("on", True),
    "deleted and set": lambda m: (delattr(m, "k"), setattr(m, "k", 9.0)),
    "vars": lambda m: vars(m).update(k=8.0),
    "another dict": lambda m: setattr(m, "__dict__", {**vars(m), "k": 8.0}),
    "a class attribute": _class("size", 5.0),
    "a tuple of the class": _class("sizes", (9.0, 2.0)),
    "a list of the class": lambda m: type(m).shared.__setitem__(1, 9.0),
    "one that hides the class's": _set("size", 5.0),
    "one that comes later": _set("late", 5.0),
    "one of the class that comes later": _class("late", 5.0),
    "one in vars that comes later": _set("later", 5.0),
    "an element": lambda m: m.many.__setitem__(1, 7.0),
    "append": lambda m: m.many.append(7.0),
    "pop": lambda m: m.many.pop(),
    "another list": _set("many", [1.0, 9.0]),
    "an entry": lambda m: m.table.update(a=7.0),
    "a new entry": lambda m: m.table.update(b=7.0),
    "a namespace": lambda m: setattr(m.inner, "k", 7.0),
    "a method of the instance": _set("scale", lambda: 5.0),
    "a method of the class": _class("scale", lambda self: 5.0),
    "another class": lambda m: setattr(m, "__class__", _fresh(Other)),
    "its call": _class("__call__", lambda self, x: x - 1),
}
NET = {
    "a number": _set("k", 5.0),
    "eval": lambda m: m.eval(),
    "a layer": lambda m: m.layers.__setitem__(0, nn.Linear(2, 2)),
    "append": lambda m: m.layers.append(nn.Tanh()),
    "pop": lambda m: m.layers.pop(),
    "another list": _set("layers", [nn.ReLU()]),
    "a named layer": lambda m: m.by_name.update(a=nn.Tanh()),
    "a new name": lambda m: m.by_name.update(b=nn.Tanh()),
    "a tensor in a list": lambda m: m.weights.__setitem__(0, ag.ones(2) * 5),
    "a weight of a layer": lambda m: setattr(
        m.layers[0], "weight", ag.ones((2, 2), requires_grad=True)),
    "a parameter": _set("w", ag.tensor([5.0, 6.0], requires_grad=True)),
    "frozen": lambda m: m.w.requires_grad_(False),
    "its forward": _set("forward", lambda x: x - 1),
    "the forward of its class": _class("forward", lambda self, x: x - 1),
    "the forward of a layer": lambda m: setattr(m.layers[0], "forward", lambda x: x - 1),
}


def _fresh(kind):
    """The same class anew, so that what is changed in it stays here."""
    inside = {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__")}
    if "shared" in inside:
        inside["shared"] = list(inside["shared"])
    bases = tuple(_fresh(b) if b is Plain else b for b in kind.__bases__)
    return type(kind.__name__, bases, inside)


WAYS = {
    "itself": lambda m: ag.jit(m),
    "forward": lambda m: ag.jit(m.forward),
    "argument": lambda m: functools.partial(ag.jit(lambda m, x: m(x)), m),
    "closure": lambda m: ag.jit(lambda x: m(x)),
    "partial": lambda m: ag.jit(functools.partial(lambda a, x: a(x), m)),
    "default": lambda m: ag.jit(lambda x, m=m: m(x)),
    "container": lambda m: ag.jit(lambda x, c=[{"m": (m,)}]: c[0]["m"][0](x)),
}


def _follows(make, change, way):
    m, x = make(), ag.tensor([0.5, 0.25])
    jitted = WAYS[way](m)
    before = jitted(x).numpy().copy()
    np.testing.assert_allclose(before, jitted(x).numpy().copy())
    change(m)
    with ag.config(compile=False):
        after = jitted(x).numpy().copy()
    for _ in range(3):
        np.testing.assert_allclose(jitted(x).numpy().copy(), after, rtol=1e-4, atol=1e-5)


@pytest.mark.share(12)
@pytest.mark.parametrize("way", ["itself", "forward", "argument", "closure"])
@pytest.mark.parametrize("change", PLAIN)
def test_a_plain_object(change, way):
    _follows(_fresh(Plain), PLAIN[change], way)


@pytest.mark.share(6)
@pytest.mark.parametrize("way", ["itself", "forward", "argument"])
@pytest.mark.parametrize("change", NET)
def test_a_module(change, way):
    _follows(_fresh(Net), NET[change], way)


@pytest.mark.parametrize("way", ["partial", "default", "container"])
@pytest.mark.parametrize("change", ["a number", "append", "another class"])
def test_other_ways_to_reach_an_object(change, way):
    _follows(_fresh(Plain), PLAIN[change], way)


@pytest.mark.parametrize("change", [
    _set("k", 5.0), _set("late", 5.0), lambda m: delattr(m, "late")])
def test_slots(change):
    m, x = Slotted(), ag.ones(2)
    m.late = 1.0
    f = ag.jit(lambda x: m(x))
    f(x), f(x)
    change(m)
    for _ in range(2):
        assert f(x).tolist() == m(x).tolist()


# -- names ----------------------------------------------------------------------------------------
def _uses_names(x):
    return x * GAIN * GAINS[1] + TABLE["a"] + TABLE["b"][0] + helper(x) + SETTINGS.scaled(x) + (
        SETTINGS.rate)


def helper(x):
    return x * GAIN


NAMES = {
    "a number": lambda set: set("GAIN", 5.0),
    "an element": lambda set: GAINS.__setitem__(1, 5.0),
    "another list": lambda set: set("GAINS", [1.0, 5.0]),
    "an entry": lambda set: TABLE.update(a=5.0),
    "an element of an entry": lambda set: TABLE["b"].__setitem__(0, 5.0),
    "a function": lambda set: set("helper", lambda x: x - 1),
    "what a module names": lambda set: setattr(SETTINGS, "rate", 5.0),
    "what its function reads": lambda set: SETTINGS.rates.__setitem__(1, 5.0),
    "a function of a module": lambda set: setattr(SETTINGS, "scaled", lambda x: x - 1),
    "a builtin is hidden": lambda set: set("float", lambda x: 5.0),
}


@pytest.mark.parametrize("change", NAMES)
def test_names_of_a_module(change, monkeypatch):
    for name, value in (("GAIN", 2.0), ("GAINS", [1.0, 2.0]), ("TABLE", {"a": 1.0, "b": [2.0]}),
                        ("helper", helper)):
        monkeypatch.setitem(globals(), name, value)
    rates, scaled_ = [1.0, 2.0], SETTINGS.scaled
    for name, value in (("rate", 2.0), ("rates", rates), ("scaled", scaled_)):
        monkeypatch.setattr(SETTINGS, name, value)
    f, x = ag.jit(lambda x: _uses_names(x) + float("1")), ag.ones(2)
    f(x), f(x)

    def put(name, value):
        monkeypatch.setitem(globals(), name, value)

    NAMES[change](put)
    expected = (_uses_names(x) + float("1")).tolist()
    assert [f(x).tolist() for _ in range(3)] == [expected] * 3
    assert len(f.specialisations) == 2


def test_variables_of_functions_around():
    k, many = 2.0, [1.0]

    def again(value):
        nonlocal k
        k = value

    @ag.jit
    def f(x):
        return x * k + sum(many)

    x = ag.ones(1)
    assert f(x).item() == f(x).item() == 3
    again(5.0)
    assert f(x).item() == f(x).item() == 6
    many.append(2.0)
    assert f(x).item() == f(x).item() == 8
    again(float("5"))  # an equal one
    assert f(x).item() == 8 and len(f.specialisations) == 3


def test_defaults_and_code():
    def inner(x, k=2.0, *, more=1.0):
        return x * k + more

    f, x = ag.jit(lambda x: inner(x)), ag.ones(1)
    assert f(x).item() == f(x).item() == 3
    inner.__defaults__ = (5.0,)
    assert f(x).item() == f(x).item() == 6
    inner.__kwdefaults__ = {"more": 2.0}
    assert f(x).item() == f(x).item() == 7
    inner.__code__ = (lambda x, k=2.0, *, more=1.0: x - k).__code__
    assert f(x).item() == f(x).item() == -4


# -- arguments -----------------------------------------------------------------------------------
@dataclasses.dataclass
class Options:
    k: float = 2.0
    n: int = 1


class Bare:
    k = 2.0


class Point:
    """All are equal."""

    k = 2.0

    def __eq__(self, other):
        return isinstance(other, Point)

    def __hash__(self):
        return 1


CHANGED = [
    (set, lambda c: c.add(5), lambda c, x: x + len(c)),
    (lambda: {1}, lambda c: (c.clear(), c.add(1.5)), lambda c, x: x + next(iter(c))),
    (lambda: collections.deque([1.0]), lambda c: c.append(2.0), lambda c, x: x + sum(c)),
    (lambda: collections.OrderedDict(a=1, b=2), lambda c: c.move_to_end("a"),
     lambda c, x: x + next(iter(c.values()))),
    (lambda: bytearray(b"a"), lambda c: c.__setitem__(0, 9), lambda c, x: x + c[0]),
    (Options, lambda c: setattr(c, "n", 5), lambda c, x: x * c.k + c.n),
    (Options, lambda c: setattr(c, "k", 5.0), lambda c, x: x * c.k + c.n),
    (Bare, lambda c: setattr(c, "k", 5.0), lambda c, x: x * c.k),
    (Point, lambda c: setattr(c, "k", 5.0), lambda c, x: x * c.k),
    (Bare, lambda c: setattr(c, "k", 0.5), lambda c, x: x * getattr(c, "k")),  # noqa: B009
    (lambda: [1, 2], lambda c: c.append(3), lambda c, x: x + sum(c)),
]


@pytest.mark.parametrize(("make", "change", "f"), CHANGED)
def test_arguments_that_are_changed(make, change, f):
    jitted, c, x = ag.jit(f), make(), ag.ones(2)
    assert jitted(c, x).tolist() == jitted(c, x).tolist() == f(c, x).tolist()
    change(c)
    assert [jitted(c, x).tolist() for _ in range(3)] == [f(c, x).tolist()] * 3


@pytest.mark.parametrize(("a", "b"), [
    (frozenset({1}), frozenset({1.0})), (frozenset({1}), frozenset({True})),
    (complex(-1, 0.0), complex(-1, -0.0)), (1, True),
    ({(1,): 2}, {(1.0,): 2}), ({1: 2}, {True: 2}), ({0.0: 2}, {-0.0: 2}), ({"k": 1}, {"k": True}),
])  # fmt: skip
def test_equal_arguments_that_are_not_the_same(a, b):
    seen = []
    f = ag.jit(lambda c, x: (seen_by(c), x * 1)[1])

    def seen_by(c):
        seen.append(repr(c))

    for c in (a, b, a, b):
        f(c, ag.ones(1))
    assert {repr(a), repr(b)} == set(seen)


def test_equal_objects_of_the_user_are_others():
    f, one, two = ag.jit(lambda c, x: x * c.k), Point(), Point()
    two.k = 5.0
    for c in (one, two, one, two):
        assert f(c, ag.ones(1)).item() == c.k


# -- optimizers ----------------------------------------------------------------------------------
@pytest.mark.parametrize("change", [
    lambda o: setattr(o, "nesterov", True), lambda o: setattr(o, "lr", 0.5),
    lambda o: o.parameters.pop(), lambda o: o.parameters[0].requires_grad_(False),
    lambda o: setattr(o, "update", lambda p, g, *rest: p.sub_(g)),
])
def test_optimizers(change):
    seen = []
    for compiled in (False, True):
        w = [ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor([3.0], requires_grad=True)]
        optimizer = ag.optim.SGD(w, lr=0.1, momentum=0.5)

        def step(x, w=w, optimizer=optimizer):
            for p in w:
                p.grad = None
            loss = ((w[0] * x) ** 2).sum() + (w[1] ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = ag.jit(step) if compiled else step
        for turn in range(5):
            if turn == 2:
                change(optimizer)
            run(ag.ones(2))
        seen.append([p.tolist() for p in w])
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


# -- what is told, and what it costs -------------------------------------------------------------
def test_lists_and_dicts_of_modules_that_grow_are_followed_by_what_walks_over_modules():
    m = nn.ModuleDict({"list": nn.ModuleList([nn.Tanh()]), "both": nn.Sequential(nn.Tanh()),
                       "tensors": nn.ParameterList([ag.ones(1)])})

    def f(x):
        return x + sum(p.sum() for p in m.parameters()) + len([*m.named_modules()]) * 100

    jitted, x = ag.jit(f), ag.ones(1)
    for change in (lambda: None, lambda: m["list"].append(nn.Linear(1, 1)),
                   lambda: m["list"].insert(0, nn.ReLU()),
                   lambda: m["both"].append(nn.Linear(1, 1)),
                   lambda: m["tensors"].append(ag.ones(2)), lambda: m["list"].pop(),
                   lambda: m.update({"more": nn.Linear(1, 2)})):
        change()
        assert jitted(x).item() == pytest.approx(f(x).item())


@pytest.mark.parametrize("read", [
    lambda a: a.tolist()[0], lambda a: float(a[1]), lambda a: a.sum(), lambda a: a.copy()[1],
    lambda a: sum(float(v) for v in a)])
def test_elements_of_an_array_are_compared_that_code_reads_and_also_computes_with(read):
    a = np.array([1.0, 2.0])
    jitted, x = ag.jit(lambda x: (x * a).sum() + read(a) + a.sum()), ag.ones(())
    for _ in range(3):
        assert jitted(x).item() == 2 * a.sum() + read(a)
        a *= 2


def test_explain_names_what_changed():
    m = _fresh(Net)()
    f = ag.jit(m.forward)
    x = ag.ones(2)
    f(x)
    m.k = 5.0
    f(x)
    assert "because self.k was 2.0, now 5.0" in f.explain()
    m.layers.append(nn.Tanh())
    f(x)
    assert "self.layers had 2 elements, now 3" in f.explain()
    del m.k
    with pytest.raises(AttributeError):
        f(x)


class Small(nn.Module):
    size = 2.0

    def __init__(self):
        self.k, self.many, self.table = 3.0, [nn.Linear(2, 2)], {"a": 1.0}

    def forward(self, x):
        return self.many[0](x) * self.k * self.size + self.table["a"]


def test_equal_values_need_no_new_version():
    m = _fresh(Small)()
    f, x = ag.jit(m), ag.ones(2)
    f(x)
    for _ in range(3):
        m.k, m.many, m.unread = float("3"), m.many, 1
        m.table["a"] = float("1")
        type(m).size = float("2")
        type(m).unread_too = 1
        f(x)
    assert len(f.specialisations) == 1


def test_calls_stay_native_while_nothing_changes():
    m = _fresh(Small)()
    f, x = ag.jit(m), ag.ones(2)
    with ag.no_grad():
        f(x), f(x)
        version, = f.versions.ready
        assert version.flat and not version.unseen
        f.dispatch = None
        for i in range(5):
            m.loss, vars(m)["step"] = float(i), i  # of no interest
            np.testing.assert_allclose(f(x).numpy(), m(x).numpy(), rtol=1e-5)


def test_what_parameters_finds_is_looked_up_again():
    m = _fresh(Small)()
    f, x = ag.jit(lambda x: (x + sum(p.sum() for p in m.parameters())).detach()), ag.ones(2)
    for change in (lambda: None, lambda: setattr(m, "loss", 1.0), lambda: m.many.append(1),
                   lambda: m.many.append(nn.Linear(2, 2)), lambda: m.table.update(b=m.many[1])):
        change()
        expected = (x + sum(p.sum() for p in m.parameters())).tolist()
        np.testing.assert_allclose([f(x).tolist() for _ in range(2)], [expected] * 2, rtol=1e-5)
    assert len(f.specialisations) == 2


def test_what_keeps_changing_runs_eagerly_with_a_warning():
    m = _fresh(Small)()
    f, x = ag.jit(m), ag.ones(2)
    told = r"runs eagerly.*Small.size was 11.0, now 12.0"
    with pytest.warns(RuntimeWarning, match=told) as caught:
        for k in range(20):
            type(m).size = float(k)
            np.testing.assert_allclose(f(x).numpy(), m(x).numpy(), rtol=1e-5)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert len(f.specialisations) < 15


def test_an_entry_that_keeps_changing_is_taken_at_run_time():
    m = _fresh(Small)()
    f, x = ag.jit(m), ag.ones(2)
    for k in range(8):
        m.table["a"] = float(k)
        np.testing.assert_allclose(f(x).numpy(), m(x).numpy(), rtol=1e-5)
    assert len(f.specialisations) <= 4


def test_classes_are_left_as_they_were():
    m = _fresh(Plain)()
    before = dict(vars(type(m)))
    seen = []

    class Watched(Plain):
        def __getattribute__(self, name):
            seen.append(name)
            return super().__getattribute__(name)

    for made in (m, Watched()):
        ag.jit(made)(ag.ones(1))
    assert dict(vars(type(m))) == before and "k" in seen
    with pytest.raises(ZeroDivisionError):
        ag.jit(lambda x: m(x) / (1 // 0))(ag.ones(1))
    assert dict(vars(type(m))) == before


def test_threads_that_trace_one_class():
    kind = _fresh(Plain)
    before = dict(vars(kind))
    wrong = []

    def run(k):
        m = kind()
        m.k = float(k)
        for _ in range(3):
            f = ag.jit(m)
            if f(ag.ones(1)).tolist() != m(ag.ones(1)).tolist():
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and dict(vars(kind)) == before


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: float = 0.5


def test_code_that_names_what_a_trace_puts_into_classes():
    """A frozen dataclass sets attributes by ``object.__setattr__``, which traces look at, too."""
    settings, model = Frozen(), ag.nn.Linear(2, 1)
    optimizer = ag.optim.SGD(model.parameters(), lr=0.1)

    @ag.jit
    def step(x):
        loss = (model(x) * settings.rate).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    step(ag.ones((1, 2)))
    version = next(iter(step.versions.ready))
    assert not version.effects.obstacle


@dataclasses.dataclass(slots=True)
class Rate:
    k: float = 2.0


#: What functions of users hold, and how they read it.
HELD = {
    "namespace": (types.SimpleNamespace(k=2.0, f=np.sin), lambda c: c.k),
    "dict": ({"a": {"b": [2.0]}}, lambda c: c["a"]["b"][0]),
    "defaultdict": (collections.defaultdict(float, a=2.0), lambda c: c["a"]),
    "list of objects": ([Plain(), Plain()], lambda c: c[1].k),
    "tuple": ((2.0, "a"), lambda c: c[0]),
    "set": ({2.0, 3.0}, lambda c: 2.0 if 2.0 in c else 3.0),
    "larger set": ({*range(30)}, lambda c: sum(c)),
    "deque": (collections.deque([2.0] * 100), lambda c: c[70]),
    "ordered": (collections.OrderedDict(a=2.0, b=3.0), lambda c: next(iter(c.values()))),
    "bytes": (bytearray(b"12345678"), lambda c: c[0]),
    "few bytes": (bytearray(b"1"), lambda c: c[0]),
    "object": (Plain(), lambda c: c.inner.k),
    "slots": (Rate(), lambda c: c.k),
    "array": (np.ones(3, np.float32), lambda c: c),
    "elements": (np.ones(3), lambda c: float(c[1])),
    "tensor": (ag.tensor(2.0), lambda c: c),
    "function": (lambda: 2.0, lambda c: c()),
    "partial": (functools.partial(lambda a, b: a * b, 2.0), lambda c: c(1.0)),
    "class": (Plain, lambda c: c.size),
    "module": (SETTINGS, lambda c: c.rates[0]),
}


@pytest.mark.parametrize("name", HELD)
def test_native_code_sees_whether_it_is_as_it_was(name):
    """Python is asked nothing before a call: a call costs less than a microsecond."""
    held, read = HELD[name]
    compiled = ag.jit(lambda x: x * read(held))
    x = ag.tensor([1.0, 2.0, 3.0])
    for _ in range(3):
        compiled(x)
    version = compiled._used
    assert version is not None and [place.path for place in version.unseen] == []


def test_small_sets_and_large_ones():
    for size in (0, 1, 4, 5, 40):
        held = {*range(size)}
        compiled = ag.jit(lambda x, held=held: x + sum(held) + (100 if 2.5 in held else 0))
        for change in (lambda s: s, lambda s: s.add(2.5), lambda s: s.discard(2.5),
                       lambda s: s.discard(3), lambda s: s.add(7), lambda s: s.clear()):
            change(held)
            for _ in range(2):
                expect = 1.0 + sum(held) + (100 if 2.5 in held else 0)
                assert float(compiled(ag.tensor(1.0))) == expect, (size, held)
