"""What jitted code reads and changes in things other than modules, lists and dicts: as eagerly."""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import ctypes
import decimal
import functools
import gc
import inspect
import io
import logging
import os
import queue
import random
import string
import sys
import threading
import types
import warnings
import weakref
from inspect import stack as callers

import numpy as np
import pytest

import agnesi as ag

#: A program is run eagerly and compiled: ``J`` compiles or not, what it yields is compared.
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def attributes_of_a_function(J):
    def helper(x):
        if not hasattr(helper, "cache"):
            helper.cache, helper.calls = {}, 0
        helper.calls += 1
        helper.cache.setdefault("k", 10.0)
        return x * helper.cache["k"] + helper.calls

    f = J(lambda x: helper(x) + helper(x))
    yield from (f(ag.ones(1)) for _ in range(3))
    helper.cache["k"], helper.calls = 3.0, 20
    yield f(ag.ones(1)), helper.calls, helper.cache
    del helper.cache
    yield f(ag.ones(1)), helper.calls, helper.cache


@program
def prints_into_a_text_of_its_own(J):
    outer = io.StringIO()

    def f(x, to):
        with contextlib.redirect_stdout(io.StringIO() if to is None else to) as text:
            print("abc", end="")
        return x * len(text.getvalue())

    f = J(f)
    yield from (f(ag.ones(1), None) for _ in range(2))
    for _ in range(2):
        yield f(ag.ones(1), outer), outer.getvalue()


@program
def arrays_that_change_their_type_or_shape(J):
    for change in ("dtype", "shape", "resize"):
        array = np.array([1.0, 2.0])

        def f(x, array=array, change=change):
            y = x * array.sum()
            if change == "resize":
                array.resize(array.size + 1, refcheck=False)
            else:
                setattr(array, change, {"dtype": "int64", "shape": (2, 1)}[change])
            return y

        f = J(f)
        for _ in range(3):
            yield f(ag.ones(1)), str(array)


@program
def masks_that_change(J):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])

    def f(x):
        y = x * masked.sum() + masked.data[1]
        masked[2] = np.ma.masked
        masked.mask[1] = False
        return y

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(1)), str(masked), masked.data.tolist()


@program
def a_list_of_parameters_that_grows(J):
    weights = ag.nn.ParameterList([ag.ones(1)])

    def f(x):
        weights.append(ag.ones(1))
        return x * sum(w.sum() for w in weights)

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(1)), [w.requires_grad for w in weights]


@program
def a_tensor_that_gets_other_memory(J):
    held = ag.tensor([1.0, 2.0])

    def f(x):
        y = x * held
        held.array = np.array([3.0, 4.0], "float32")
        return y

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(2)), held.tolist()
        held[0] = 9.0


@program
def digits_of_decimals(J):
    context = decimal.getcontext()

    def f(x):
        y = x * len(str(decimal.Decimal(1) / 3))
        context.prec -= 1
        return y

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(1)), context.prec
    context.prec = 28


@program
def settings_of_a_log(J):
    log = logging.getLogger("agnesi.tests.holders")
    log.setLevel(30)
    adapter = logging.LoggerAdapter(log, {})

    def f(x):
        y = x * log.isEnabledFor(20) + adapter.isEnabledFor(10)
        log.setLevel(20)
        return y

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(1)), log.level
    log.disabled = True
    yield f(ag.ones(1))
    log.disabled = False


@program
def caches_that_are_cleared_and_filled_again(J):
    scale = [2.0]

    @functools.lru_cache
    def cached(i):
        return scale[0] * i

    f = J(lambda x: x * cached(3))
    for change in (int, lambda: scale.append(scale.pop() + 3), cached.cache_clear):
        change()
        yield from (f(ag.ones(1)) for _ in range(3))


@program
def attributes_of_a_library_s_object(J):
    template = string.Template("1.5")
    f = J(lambda x: x * float(template.template))
    for text in ("1.5", "2.5", "2.5", "1.5"):
        template.template = text
        yield f(ag.ones(1))


@program
def texts_of_sizes(J):
    made = {}

    def step(x):
        made[f"n{len(x)}"] = f"{x.shape[0]:>3}"
        return x, f"{x.shape}", str(x.size * 2), "-".join(map(str, x.shape))

    step = J(step)
    for n in (2, 3, 4, 5, 3):
        yield step(ag.ones(n)), dict(made)


@program
def counting_decorator(J):
    def counted(f):
        @functools.wraps(f)
        def wrapper(x):
            wrapper.calls += 1
            return f(x)

        wrapper.calls = 0
        return wrapper

    @counted
    def double(x):
        return x * 2

    f = J(double)
    for _ in range(3):
        yield f(ag.ones(1)), double.calls


@program
def modules(J):
    m, inner = types.ModuleType("its_settings"), types.ModuleType("its_settings.inner")
    m.K, m.parts, m.inner, inner.RATE = 2.0, [1.0], inner, 0.5
    sys.modules.update({m.__name__: m, inner.__name__: inner})

    def imports(x):
        import its_settings.inner as i
        from its_settings import K

        return x * K + i.RATE

    fs = [J(lambda x: x * m.K + m.parts[0]), J(lambda x: x * getattr(m, "extra", 1.0)),
          J(lambda x: x * m.inner.RATE), J(imports)]
    for change in (int, lambda: setattr(m, "K", 5.0), lambda: m.parts.append(m.parts.pop() + 2),
                   lambda: setattr(m, "extra", 3.0), lambda: setattr(inner, "RATE", 9.0)):
        change()
        yield [f(ag.ones(1)) for f in fs]


@program
def modules_that_compute(J):
    class Kind(types.ModuleType):
        rate = property(lambda self: self.table["rate"])

    lazy, kind = types.ModuleType("its_lazy_settings"), Kind("its_kind")
    lazy.table, kind.table = {"rate": 2.0}, {"rate": 3.0}
    lazy.__getattr__ = lambda name: lazy.table[name]
    fs = [J(lambda x: x * lazy.rate), J(lambda x: x * kind.rate)]
    for change in (int, lambda: lazy.table.update(rate=5.0), lambda: kind.table.update(rate=6.0),
                   lambda: setattr(Kind, "rate", 7.0), lambda: setattr(lazy, "rate", 8.0)):
        change()
        yield [f(ag.ones(1)) for f in fs]


@program
def variables_of_contexts_and_threads(J):
    variable, local = contextvars.ContextVar("k", default=1.0), threading.local()
    local.k = 2.0

    def f(x):
        local.k += 1
        variable.set(variable.get() + 2)
        return x * variable.get() + local.k

    f = J(f)
    for _ in range(3):
        yield f(ag.ones(1)), local.k, variable.get()
    local.k = 20.0
    variable.set(7.0)
    yield f(ag.ones(1))


@program
def other_bases(J):
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        def go(self, x):
            return super().go(x) * 2

    class C(A):
        def go(self, x):
            return super().go(x) * 3

    class D(B, C):
        pass

    d = D()
    f = J(d.go)
    yield f(ag.ones(1))
    D.__bases__ = C, B
    yield f(ag.ones(1))


@program
def metaclasses(J):
    class Meta(type):
        known = None

        def __getattr__(cls, name):
            return Meta.known[name]

        @property
        def rate(cls):
            return cls._rate * 2

    class M(metaclass=Meta):
        _rate = 1.0

    Meta.known = {"alpha": 2.0}
    f = J(lambda x: x * M.alpha + M.rate)
    yield f(ag.ones(1))
    Meta.known["alpha"] = 5.0
    yield f(ag.ones(1))
    M._rate = 4.0
    yield f(ag.ones(1))


@program
def results_that_are_kept(J):
    made = []

    @functools.lru_cache
    def weights(n):
        made.append(n)
        return ag.arange(n) * 1.0

    f = J(lambda x: (x * weights(x.shape[0])).sum() + len(made))
    for n in (3, 3, 3):
        yield f(ag.ones(n)), made, weights(3)


@program
def results_that_are_kept_for_several_keys(J):
    """What a function does when it finds no result is done once, and by that call."""
    made, state = [], {"n": 0, "k": 1.0}

    def plain(n, *, times=2.0):
        made.append((n, state["k"]))
        return n * times + state["k"]

    class Basis:
        @functools.lru_cache(maxsize=1)  # noqa: B019
        def of(self, n):
            made.append(n)
            return ag.arange(3) * n

    @functools.cache
    def fibonacci(n):
        made.append("f")
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    kept, basis = functools.lru_cache(plain), Basis()

    def step(x):
        state["n"] += 1
        y = x + kept(state["n"] % 3, times=3.0) + plain(1) + kept.__wrapped__(2)
        return y + basis.of(state["n"] % 2) + fibonacci(state["n"])

    f = J(step)
    for i in range(7):
        yield f(ag.ones(3)), list(made), dict(state), fibonacci.cache_info().currsize
        if i == 4:
            state["k"] = 2.0
            kept.cache_clear()


@program
def draws_of_a_function_that_fails(J):
    """Traced and then run: the generators are as after one run."""
    random.seed(3)
    rng, own = np.random.default_rng(3), random.Random(3)

    def step(x):
        drawn = random.random() + rng.normal() + own.random()
        raise ValueError(drawn)

    f = J(step)
    for _ in range(2):
        try:
            f(ag.ones(1))
        except ValueError as error:
            yield error.args, random.random(), rng.normal(), own.random()


@program
def sizes_as_keys(J):
    class Basis:
        def __init__(self):
            self.known, self.last = {}, None

        def __call__(self, x):
            n = x.shape[0]
            self.known[n, "of"] = self.last = n
            return x / n

    basis = Basis()
    f = J(lambda x: basis(x))
    for n in (2, 3, 4, 2):
        yield f(ag.ones(n)), sorted(basis.known), type(basis.last), basis.last


@program
def foreign_holders(J):
    number, numbers = ctypes.c_double(2.0), array.array("d", [1.0, 2.0])
    cells, key = (ctypes.c_int * 2)(3, 4), types.new_class("Key")()
    weak = weakref.WeakKeyDictionary({key: 6.0})
    waiting = queue.Queue()
    for i in range(5):
        waiting.put(i)

    def f(x):
        numbers[1] += 1
        return x * number.value + numbers[1] + cells[1] + weak[key] + waiting.get()

    f = J(f)
    for change in (int, lambda: setattr(number, "value", 9.0), lambda: cells.__setitem__(1, 8),
                   lambda: numbers.append(5.0), lambda: weak.update({key: 1.0})):
        change()
        yield f(ag.ones(1)), list(numbers), waiting.qsize()


@program
def attributes_of_numbers_and_arrays(J):
    class Length(float):
        unit = "m"

    class Data(np.ndarray):
        info = 1

    v, a = Length(2.0), np.ones(1).view(Data)
    f = J(lambda x: (x * v if v.unit == "m" else x) + a * a.info)
    yield f(ag.ones(1))
    v.unit = "km"
    yield f(ag.ones(1))
    a.info = 5
    yield f(ag.ones(1))


@program
def draws(J):
    random.seed(1)
    np.random.seed(1)
    f = J(lambda x: x * random.random() + random.choice([1, 2, 3]))
    g = J(lambda x: x * np.random.rand())
    for _ in range(3):
        yield f(ag.ones(1)), g(ag.ones(1))
    yield random.random(), np.random.rand()


@program
def new_things(J):
    class Report:
        def __init__(self, n):
            self.n, self.items = n, []

    f, g = J(lambda x: Report(3)), J(lambda x: collections.deque([1]))
    for _ in range(2):
        found = f(ag.ones(1))
        found.items.append(len(found.items))
        queue_ = g(ag.ones(1))
        queue_.append(2)
        yield found.items, list(queue_)
    known = Report(1)
    h = J(lambda x: (known, x * 2))
    yield h(ag.ones(1))[0] is known, h(ag.ones(1))[1]


@program
def errors_in_the_middle(J):
    total, seen, counts = ag.zeros(2), [], {"n": 0}

    def f(x, fails):
        total[0] += x.sum()
        counts["n"] += 1
        seen.append(counts["n"])
        if fails:
            raise KeyError("stop")
        total[1] += 1
        return total * 1

    f = J(f)
    for fails in (False, True, False, True):
        try:
            yield f(ag.ones(2), fails), total, seen, counts
        except KeyError:
            yield "stopped", total, seen, counts


@program
def files_and_identities(J):
    x = ag.ones(1)
    names = {id(x): 2.0}
    f = J(lambda x: x * names.get(id(x), 1.0))
    yield f(x), f(ag.ones(1))


@program
def special_methods_that_come_later(J):
    class Late:
        k = 1.0

        def __len__(self):
            return 2

    class Words(collections.UserDict):
        pass

    late, words = Late(), Words(a=1.0)
    f = J(lambda x: x * ((1.0 if late else 2.0) + late.k + words["a"]))
    yield f(ag.ones(1))
    Late.__bool__ = lambda self: False
    yield f(ag.ones(1))
    Late.__getattribute__ = lambda self, name: 5.0 if name == "k" else object.__getattribute__(
        self, name)
    yield f(ag.ones(1))
    del Late.__getattribute__
    Words.__getitem__ = lambda self, key: 8.0
    yield f(ag.ones(1)), f(ag.ones(1))


@program
def factories_and_arguments_of_errors(J):
    made, error = collections.defaultdict(lambda: 1.5), ValueError(1.0)
    f = J(lambda x: x * made["k"] + error.args[0])
    for change in (int, made.clear, lambda: setattr(made, "default_factory", lambda: 7.0),
                   made.clear, lambda: setattr(error, "args", (2.5,))):
        change()
        yield f(ag.ones(1)), made


@program
def places_of_nan(J):
    one, other = float("nan"), float("nan")
    values, sought = [one, 1.0], [one]
    f = J(lambda x: x * (5.0 if sought[0] in values else 1.0))
    yield f(ag.ones(1))
    sought[0] = other
    yield f(ag.ones(1))
    values[0] = other
    yield f(ag.ones(1))


@program
def names_around_a_function_inside(J):
    space = {"ag": ag, "k": 1.0}
    exec("def f(x):\n    add = lambda c, r: (c + r * globals().get('k', 0.0), c)\n"
         "    return ag.scan(add, x[0], x)[0]",
         space)
    f = J(space["f"])
    for k in (1.0, 2.0, 2.0, 5.0):
        space["k"] = k
        yield f(ag.ones((2, 1)))
    del space["k"]
    yield f(ag.ones((2, 1)))


@program
def queues_that_bodies_turn(J):
    turned = collections.deque([1.0, 2.0, 3.0])

    def body(c, r):
        turned.rotate()
        return c + r * turned[0], c

    f = J(lambda x: ag.scan(body, x[0] * 0, x)[0])
    for _ in range(5):
        yield f(ag.ones((2, 1))), list(turned)


@program
def layers_that_are_frozen_inside(J):
    def made():
        layer = ag.nn.Linear(2, 1)
        for p in layer.parameters():
            p.array[...] = 1
        return layer, ag.optim.SGD(layer.parameters(), lr=0.1)

    (one, steps), (other, _) = made(), made()

    def toggled(x):
        loss = (one(x) ** 2).sum()
        steps.zero_grad()
        loss.backward()
        steps.step()
        one.bias.requires_grad = not one.bias.requires_grad
        return loss

    def frozen_meanwhile(x):
        other.requires_grad_(False)
        loss = (other(one(x).expand(2)) ** 2).sum()
        steps.zero_grad()
        loss.backward()
        steps.step()
        other.requires_grad_(True)
        return loss

    for f in map(J, (toggled, frozen_meanwhile)):
        for _ in range(4):
            yield f(ag.ones(2)), one.bias.requires_grad, other.bias.requires_grad, one.bias


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value.tolist() if isinstance(value, (ag.Tensor, np.ndarray)) else value


@pytest.mark.share(2)
@program
def things_by_other_names(J):
    """An exception, the environment, a module and a cached function, reached through a list."""
    error, module, kept = KeyError("a"), types.ModuleType("m"), functools.lru_cache(abs)
    error.n = 1
    box = [error, os.environ, module, kept]

    def counted(x):
        box[0].n += 1
        return x * box[0].n

    def asked(x):
        return x + float(box[1].get("AGNESI_TEST_BOX", 1)) + len(dir(box[2]))

    def cleared(x):
        box[3].cache_clear()
        return x * box[3](-2) + box[3].cache_info().misses

    f, g, h = J(counted), J(asked), J(cleared)
    for i in range(3):
        yield f(ag.ones(1)), error.n, g(ag.ones(1)), h(ag.ones(1)), kept.cache_info()
        os.environ["AGNESI_TEST_BOX"] = str(i)
        setattr(module, f"k{i}", i)
    del os.environ["AGNESI_TEST_BOX"]


@program
def arguments_of_odd_kinds(J):
    """What is equal but not alike, what answers to every name, NumPy's numbers, structures."""
    class Answers:
        def __init__(self):
            self.v = 2.0

        def __getattr__(self, name):
            return self.v

    def f(x, d):
        d["n"] += 1
        return x * d["o"].shape + len(str(d["d"])) * d["n"] + d["r"].stop

    given, step = {"o": Answers(), "d": decimal.Decimal("1.5"), "n": np.float32(2),
                   "r": range(0, 3, 2)}, J(f)
    yield step(ag.ones(1), given), float(given["n"])
    given["d"] = decimal.Decimal("1.50")
    given["n"] = np.array(2.0, "float32")
    yield step(ag.ones(1), given), given["n"].item()
    given["r"] = range(0, 4, 2)
    yield step(ag.ones(1), given), given["n"].item()


@program
def an_array_in_the_place_of_another(J):
    held = {"a": np.ones(3, "float32")}

    def f(x):
        held["a"] = held["a"] + 1
        held["a"][0] += 1
        return x * held["a"].sum()

    step = J(f)
    yield from ((step(ag.ones(1)), type(held["a"]), held["a"].tolist()) for _ in range(3))


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eagerly(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs eagerly")
        eager, compiled = (list(map(_plain, PROGRAMS[name](J))) for J in (lambda f: f, ag.jit))
    assert compiled == eager


def test_classes_that_code_without_a_name_made_have_no_module():
    names: dict = {}
    exec("K = type('K', (), {'n': 0})", {"__builtins__": __builtins__}, names)
    kind, x = names["K"], ag.ones(1)

    def step():
        kind.n += 1
        return kind.n

    compiled = ag.jit(step)
    assert not hasattr(kind, "__module__")
    assert [compiled() for _ in range(4)] == [1, 2, 3, 4] and kind.n == 4
    assert ag.jit(lambda x, k: x * k.n)(x, kind()).item() == 4


def test_objects_of_a_module_do_not_ask_what_its_functions_do() -> None:
    """``ag.stack`` beside a thing of ``inspect`` is no ``inspect.stack``."""
    thing = inspect.signature(len).parameters["obj"]
    step = ag.jit(lambda x: ag.stack([x, x]) if thing else x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(ag.ones(2)).shape == (2, 2)
    with pytest.warns(RuntimeWarning, match="looks at its callers"):
        ag.jit(lambda x: x * len(callers()))(ag.ones(2))


def test_functions_of_the_library_that_objects_hold_are_compiled():
    """What the library caches for itself is nobody's state: such functions ran eagerly for ever."""
    box = types.SimpleNamespace(log=ag.log, sum=ag.sum, max=ag.max)
    step = ag.jit(lambda x: box.log(box.sum(x)) + box.max(x))
    step(ag.ones(3))
    assert "1 specialisation" in step.explain()


def test_a_cache_that_each_call_fills_is_said_once():
    cached = functools.lru_cache(lambda x: x * 2)
    step = ag.jit(lambda x: cached(x) + 1)
    with pytest.warns(RuntimeWarning, match="something new that functools keeps") as told:
        found = [step(ag.tensor([float(i)])).item() for i in range(80)]
    assert found == [2.0 * i + 1 for i in range(80)] and len(told) == 1


@pytest.mark.parametrize("by", ["ref", "dict"])
@pytest.mark.parametrize("slots", [("v", "__weakref__"), ("v", "__dict__", "__weakref__")])
def test_objects_with_slots_are_not_kept_for_weak_references(by, slots):
    kind = type("Kind", (), {"__slots__": slots})
    thing, x = kind(), ag.ones(2)
    thing.v = 2.0
    found = {"ref": weakref.ref(thing), "dict": weakref.WeakValueDictionary(k=thing)}[by]

    @ag.jit
    def f(x):
        held = found() if by == "ref" else found.get("k")
        return x * (held.v if held is not None else -1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert f(x).tolist() == [2.0, 2.0]
        thing.v = 3.0
        assert f(x).tolist() == [3.0, 3.0]
        del thing
        gc.collect()
        assert f(x).tolist() == [-1.0, -1.0]
