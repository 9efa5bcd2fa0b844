"""What a jitted function changes besides tensors: each call does as the plain function would."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import random
import types
import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

COUNT = 0


class Plain:
    def __init__(self):
        self.n, self.k, self.first, self.last = 0, 1.0, True, None
        self.h, self.log, self.table = ag.ones(2), [], {"a": 0}
        self.inner = types.SimpleNamespace(n=0)

    def state(self):
        return {k: v if k != "inner" else v.n for k, v in vars(self).items()}


class Net(nn.Module):
    def __init__(self):
        self.n, self.k, self.first, self.last = 0, 1.0, True, None
        self.h, self.log, self.table = ag.ones(2), [], {"a": 0}
        self.inner = types.SimpleNamespace(n=0)

    def state(self):
        return {k: v if k != "inner" else v.n for k, v in vars(self).items()}


def counts(s, x):
    s.n += 1
    return x * s.n


def counts_only(s, x):
    s.n += 1
    return x * 2


def is_first(s, x):
    if s.first:
        s.first = False
        return x
    return x * 2


def grows(s, x):
    s.k = s.k * 1.5 + s.n
    return x * s.k


def old_and_new(s, x):
    before = s.k
    s.k += 1
    return x * before, x * s.k


def every_third(s, x):
    s.n = (s.n + 1) % 3
    return x if s.n == 0 else -x


def puts(s, x):
    s.last = x * 2
    return x


def puts_nests(s, x):
    s.last = [x.sum(), {"x": x * 2, "n": 1}, (s.k, 2)]
    return x


def replaces(s, x):
    s.h = s.h * x + 1
    return s.h.sum()


def changes_type(s, x):
    s.n = s.n + x.sum()
    return s.n


def logs(s, x):
    s.log.append(x.sum())
    return x


def forgets(s, x):
    s.log.append(x.sum())
    s.log[:] = s.log[-2:]
    return x


def deletes(s, x):
    s.extra = 1
    del s.extra
    return x


def enters(s, x):
    s.table["a"] += 1
    s.inner.n += 2
    return x * s.table["a"] * s.inner.n


def makes(s, x):
    made = Plain()
    made.n += 3
    made.h = made.h * x
    return made.h * made.n


OBJECTS = [counts, counts_only, is_first, grows, old_and_new, every_third, puts, puts_nests,
           replaces, changes_type, logs, forgets, deletes, enters, makes]


def _shown(value):
    """Values and types of all that is inside."""
    if isinstance(value, ag.Tensor):
        return "tensor", str(value.dtype), np.round(np.array(value, float), 4).tolist()
    if isinstance(value, dict):
        return {k: _shown(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [_shown(v) for v in value]
    if dataclasses.is_dataclass(value):
        return _shown(vars(value))
    return type(value).__name__, value


WAYS = {
    "argument": lambda f, s: functools.partial(ag.jit(f), s),
    "closure": lambda f, s: ag.jit(lambda x: f(s, x)),
    "attribute": lambda f, s: ag.jit(types.MethodType(f, s)),
}


@pytest.mark.share(12)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Plain, Net])
@pytest.mark.parametrize("f", OBJECTS)
def test_objects(f, kind, way):
    seen = []
    for compiled in (False, True):
        s, x = kind(), ag.tensor([1.0, 2.0])
        run = WAYS[way](f, s) if compiled else lambda x, s=s: f(s, x)
        seen.append([(_shown(run(x)), _shown(s.state())) for _ in range(6)])
    assert seen[0] == seen[1]


# -- arguments -----------------------------------------------------------------------------------
@dataclasses.dataclass
class Carry:
    n: int = 1
    k: float = 0.5
    h: object = None


def _carry():
    return Carry(h=ag.ones(2))


def _entry(d, x):
    d["x"] = d["x"] + 1
    return d["x"] * x


def _nested(d, x):
    d["l"][0]["x"] *= 2
    d["l"][1], d["l"][0]["y"] = d["l"][0]["x"] + x, 3
    return x


def _appends(c, x):
    c.append(x.sum())
    return x * len(c)


def _carries(c, x):
    c.n += 1
    c.k *= 2
    c.h = c.h * x
    return c.h * c.k * c.n


def _swaps(c, x):
    c[0], c[1] = c[1], c[0]
    return c[0] * x


Pair = collections.namedtuple("Pair", "h c")


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: float
    x: object


def _replaces(d, x):
    h, c = d["s"]
    d["s"], d["l"] = (Pair if isinstance(d["s"], Pair) else lambda *v: v)(h + x, c * 2), [h]
    d["f"] = dataclasses.replace(d["f"], n=d["f"].n + 1, x=x)
    d["n"] += 1
    return h * d["f"].n + d["n"]


def _exchanges(d, x):
    d["p"], d["q"] = d["q"], d["p"]
    d["q"][0] = d["q"][0] + x
    return d["p"][0]


def _state(kind):
    first = ag.ones(2)
    return {"s": kind((first, ag.ones(2))), "l": [first], "f": Frozen(1.0, first),
            "n": 2.0}


ARGUMENTS = [
    (_replaces, lambda: _state(tuple)), (_replaces, lambda: _state(lambda v: Pair(*v))),
    (_exchanges, lambda: {"p": [ag.ones(2)], "q": [ag.zeros(2)]}),
    (_entry, lambda: {"x": ag.ones(2)}), (_nested, lambda: {"l": [{"x": ag.ones(2), "y": 1}, 2]}),
    (_appends, lambda: [1]), (_appends, lambda: collections.deque([1], maxlen=3)),
    (_carries, _carry), (_swaps, lambda: [ag.ones(2), ag.zeros(2)]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize(("f", "make"), ARGUMENTS)
def test_arguments(f, make):
    seen = []
    for run in (f, ag.jit(f)):
        c, x = make(), ag.tensor([1.0, 2.0])
        seen.append([(_shown(run(c, x)), _shown(c)) for _ in range(5)])
    assert seen[0] == seen[1]


def test_a_replaced_tensor_of_an_argument_is_left_alone():
    held = ag.ones(2)
    d = {"x": held}
    f = ag.jit(_entry)
    f(d, held), f(d, held)
    assert held.tolist() == [1, 1] and d["x"].tolist() == [3, 3]


def test_names_and_variables():
    n = 0

    @ag.jit
    def f(x):
        nonlocal n
        global COUNT
        n += 1
        COUNT = COUNT + 2
        return x * n * COUNT

    assert [f(ag.ones(1)).item() for _ in range(5)] == [2 * (i + 1) ** 2 for i in range(5)]
    assert (n, COUNT) == (5, 10) and len(f.specialisations) <= 4


# -- numbers that vary ---------------------------------------------------------------------------
@pytest.mark.parametrize("number", [float, int])
def test_a_number_of_many_values_is_taken_at_run_time(number):
    class Scale(nn.Module):
        def __init__(self):
            self.k = number(1)

        def forward(self, x):
            return x * self.k + self.k

    m = Scale()
    f, x = ag.jit(m), ag.ones(2)
    for k in range(12):
        m.k = number(k)
        y = f(x)
        assert y.tolist() == [2 * k, 2 * k] and y.dtype == ag.float32 and type(m.k) is number
    assert len(f.specialisations) == 3 and "Scale.k kept changing" in f.explain()
    m.k = 10**30 if number is int else np.float32(2)
    assert f(x).tolist() == m(x).tolist()
    m.k = ag.tensor([1.0, 2.0])
    assert f(x).tolist() == m(x).tolist() == [2, 4]


def test_a_number_that_steers_python_stays_a_constant():
    class Steps(nn.Module):
        def __init__(self):
            self.n = 1

        def forward(self, x):
            for _ in range(self.n):
                x = x * 2
            return x

    m = Steps()
    f = ag.jit(m)
    for n in range(1, 7):
        m.n = n
        assert f(ag.ones(1)).item() == 2**n
    assert len(f.specialisations) == 6 and m.n == 6


def test_a_tensor_that_is_another_in_each_call():
    box = types.SimpleNamespace()

    class Holder:
        pass

    s = Holder()
    s.w = ag.ones(2)
    f = ag.jit(lambda x: (x * s.w).sum())
    for i in range(8):
        s.w = ag.ones(2) * i
        assert f(ag.ones(2)).item() == 2 * i
    assert len(f.specialisations) == 3 and not vars(box)


# -- what cannot be repeated ---------------------------------------------------------------------
class Shared:
    n = 0


def test_classes_are_changed_eagerly():
    @ag.jit
    def f(x):
        Shared.n += 1
        return x * Shared.n

    with pytest.warns(RuntimeWarning, match=r"f runs eagerly, for it changes a class") as caught:
        assert [f(ag.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert len(caught) == 1 and caught[0].filename == __file__


def test_layers_that_a_call_is_the_first_to_make_change_no_class():
    class Scaled(ag.nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def forward(self, x):
            return x * self.by

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.jit(lambda x: Scaled(3.0)(x))(ag.ones(1)).tolist() == [3.0]


def test_structures_that_change_run_eagerly_with_one_warning():
    kept = []
    f = ag.jit(lambda x: (kept.append(x.sum()), x * len(kept))[1])
    with pytest.warns(RuntimeWarning, match="runs eagerly from now on.*kept had 2 elements") as got:
        assert [f(ag.ones(1)).item() for _ in range(9)] == list(range(1, 10))
    assert len(got) == 1 and len(f.specialisations) < 6
    assert [k.item() for k in kept] == [1] * 9


@pytest.mark.parametrize(("draw", "where"), [
    (lambda: np.random.rand(), "numpy.random"),
    (random.random, "random"),
])
def test_numbers_drawn_while_tracing_are_warned_of(draw, where):
    f = ag.jit(lambda x: x * draw())
    with pytest.warns(RuntimeWarning, match=f"eagerly.*draws from the generator of {where}"):
        f(ag.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(ag.ones(1))
        ag.jit(lambda x: x * ag.random.normal(size=()))(ag.ones(1))


# -- failures and gradients ----------------------------------------------------------------------
def test_a_trace_that_fails_leaves_nothing_behind():
    s = Plain()

    @ag.jit
    def f(x):
        s.n += 1
        s.last = x * 2
        return x.exp().numpy()

    for _ in range(2):
        with pytest.raises(ag.TraceError):
            f(ag.ones(2))
    assert s.n == 0 and s.last is None

    @ag.jit
    def g(x):
        s.n += 1
        s.last = x * 2
        raise KeyError(s.n)

    with pytest.raises(KeyError):
        g(ag.ones(2))
    assert s.n == 1 and (s.last is None or s.last.array is not None)


def test_gradients_of_a_function_that_counts():
    seen = []
    for compiled in (False, True):
        s = Plain()
        w = ag.tensor([1.0, 2.0], requires_grad=True)

        def f(x, s=s, w=w):
            s.n += 1
            s.last = (x * w).sum()
            return (x * w * w).sum() * s.n

        run = ag.jit(f) if compiled else f
        for _ in range(4):
            (run(ag.ones(2)) + s.last).backward()
        seen.append((w.grad.tolist(), s.n))
    assert seen[0] == seen[1]


def test_a_training_step_that_keeps_its_loss():
    seen = []
    for compiled in (False, True):
        s, w = Plain(), ag.tensor([1.0, 2.0], requires_grad=True)
        optimizer = ag.optim.SGD([w], lr=0.1)

        def step(x, s=s, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            s.last, s.n = loss.detach(), s.n + 1
            return loss

        run = ag.jit(step) if compiled else step
        for _ in range(5):
            run(ag.ones(2))
        seen.append((_shown(s.last), s.n, _shown(w)))
    assert seen[0] == seen[1]
    assert len(run.specialisations) == 3


def _in_scan(s, x):
    def body(c, row):
        s.n += 1
        s.log.append(1)
        return c + row, c
    return ag.scan(body, ag.zeros(()), x)[0]


def _in_branch(s, x):
    def then():
        s.n += 1
        return x
    return ag.cond(x.sum() > 0, then, lambda: -x)


def _in_loop(s, x):
    def body(i, c):
        s.last = i * 2
        return c * 2
    return ag.fori_loop(0, 3, body, x)


def _only_appends(s, x):
    def then():
        s.log.append(1)  # nobody reads it
        return x
    return ag.cond(x.sum() > 0, then, lambda: -x)


def _as_before(s, x):
    s.n += 1

    def then():
        s.n -= 1  # back to what it was before the call
        return x
    return ag.cond(x.sum() > 0, then, lambda: -x)


@pytest.mark.parametrize("f", [_in_scan, _in_branch, _in_loop, _only_appends, _as_before])
def test_what_the_body_of_a_loop_changes_is_changed_in_turns(f):
    seen = []
    for compiled in (False, True):
        s = Plain()
        run = ag.jit(lambda x, s=s: f(s, x)) if compiled else lambda x, s=s: f(s, x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [_shown(run(x)) for x in (ag.ones(3), -ag.ones(3), ag.ones(3))]
        seen.append((found, _shown(s.state())))
    assert seen[0] == seen[1]
    assert len(caught) == 1 and "body of a loop or branch changes" in str(caught[0].message)


@dataclasses.dataclass
class _Record:
    n: int = 0


@pytest.mark.parametrize("count", [lambda a: setattr(a["record"], "n", a["record"].n + 1),
                                   lambda a: a.update(n=a["n"] + 1),
                                   lambda a: a["list"].__setitem__(0, a["list"][0] + 1)])
def test_numbers_in_arguments_that_a_body_changes_are_changed_in_turns(count):
    def f(x, a):
        def body(c, row):
            count(a)
            return c + row, c
        return ag.scan(body, ag.zeros(()), x)[0]

    seen = []
    for run in (f, ag.jit(f)):
        a = {"record": _Record(), "n": 0, "list": [0]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.append(([_shown(run(ag.ones(3), a)) for _ in range(2)], repr(a)))
    assert seen[0] == seen[1]


def test_buffers_that_the_body_of_a_loop_changes_are_compiled():
    net = nn.BatchNorm1d(2)
    f = ag.jit(lambda xs: ag.scan(lambda c, x: (c, net(x)), ag.zeros(()), xs)[1])
    other = nn.BatchNorm1d(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = f(ag.arange(24, dtype="float32").reshape(3, 4, 2))
    for x in ag.arange(24, dtype="float32").reshape(3, 4, 2):
        other(x)
    assert found.shape == (3, 4, 2) and len(f.specialisations) == 1
    np.testing.assert_allclose(net.running_mean.numpy(), other.running_mean.numpy(), rtol=1e-6)


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.n = nn.ModuleList(), 0

    def forward(self, x):
        self.n += 1
        if self.n in (2, 4):
            self.layers.append(nn.Linear(2, 2))
        for layer in self.layers:
            x = layer(x)
        return x


class Late(nn.Module):
    weight = None

    def forward(self, x):
        if self.weight is None:
            self.weight = nn.Parameter(ag.ones(2) * 2)
        return x * self.weight


@pytest.mark.parametrize("kind", [Growing, Late])
@pytest.mark.filterwarnings("ignore:.*runs eagerly, for it puts a new")
def test_parameters_that_a_call_makes_are_parameters(kind):
    found = []
    for compiled in (False, True):
        ag.manual_seed(0)
        net = kind()
        run, x = ag.jit(net) if compiled else net, ag.ones((1, 2))
        shown = [(y.tolist(), y.requires_grad) for y in (run(x) for _ in range(6))]
        run(x).sum().backward()
        found.append((shown, [(p.tolist(), p.grad.tolist()) for p in net.parameters()]))
    assert found[0] == found[1]


def test_a_list_of_computed_tensors_that_grows_and_is_looked_at_runs_eagerly():
    holder = Plain()
    holder.hs = [ag.zeros(2), ag.zeros(2)]

    def step(x):
        holder.hs.append(ag.tanh(holder.hs[-1] + x))
        return sum(holder.hs)

    compiled = ag.jit(step)
    with pytest.warns(RuntimeWarning, match=r"step runs eagerly"):
        found = [compiled(ag.ones(2)).tolist() for _ in range(9)]
    holder.hs = [ag.zeros(2), ag.zeros(2)]
    assert found == [step(ag.ones(2)).tolist() for _ in range(9)]


def test_a_tuple_that_becomes_something_else():
    holder = types.SimpleNamespace(state=(ag.zeros(2), 0))

    def step(x):
        h, n = holder.state if holder.state else (x, 0)
        holder.state = None if n == 5 else (h + x, n + 1)
        return h * 2

    def run(f):
        holder.state = (ag.zeros(2), 0)
        return [(f(ag.ones(2)).tolist(), repr(holder.state)) for _ in range(12)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(ag.jit(step)) == run(step)


def test_a_trace_that_was_begun_anew_left_nothing_in_attributes_met_after_a_change():
    class Model:
        def __init__(self):
            self.scale, self.steps = 2.0, 0.0

    model = Model()

    @ag.jit
    def f(x):
        vars(model)["steps"] = vars(model)["steps"] + 0.5
        return x + model.steps + model.scale

    for i, scale in enumerate((2.0, 3.0, 4.0, 5.0), 1):  # the third value becomes an argument
        model.scale = scale
        assert float(f(ag.tensor(1.0))) == 1 + 0.5 * i + scale
        assert model.steps == 0.5 * i


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


@pytest.mark.filterwarnings("error")
def test_members_of_enums_are_nothing_new():
    kept = types.SimpleNamespace(mode=Mode.SLOW)

    class Lazy(ag.nn.Module):
        def forward(self, x):
            if not hasattr(self, "first"):
                self.register_buffer("first", x.sum())  # which notes that it is saved
            return x + self.first

    def step(x):
        kept.mode = Mode(3 - kept.mode.value)
        return x * kept.mode.value

    step, layer = ag.jit(step), ag.jit(module := Lazy())
    for i in range(4):
        assert step(ag.tensor(1.0)).item() == 2 - i % 2 == kept.mode.value
        assert layer(ag.tensor(float(i + 1))).item() == i + 2
    assert list(module.state_dict()) == ["first"]
