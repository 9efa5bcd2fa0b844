"""Containers that jitted code replaces, goes through or puts somewhere: all is as it is eagerly."""

import collections
import types

import numpy as np
import pytest

import agnesi as ag


class Plain:
    pass


def _listed(o, x):
    o.hs = [ag.tanh(h + x) for h in o.hs]
    return sum(o.hs)


def _entered(o, x):
    o.state = {k: v * 0.5 + x for k, v in o.state.items()}
    return o.state["w"] - o.state["b"]


def _nested(o, x):
    o.both = {k: (v + x, n + 1) for k, (v, n) in o.both.items()}
    return o.both["b"][0] * o.both["a"][1]


def _replaced_numbers(o, x):
    o.numbers = [o.numbers[1], o.numbers[0] + o.numbers[1] + x.sum().item()]
    return x * o.numbers[0]


def _changed_before(o, x):
    o.hs[0] = o.hs[0] + x
    o.hs = [o.hs[1], o.hs[0]]
    return o.hs[0]


def _put_at_each(o, x):
    for i, (h, n) in enumerate(zip(o.hs, o.numbers, strict=True)):
        o.hs[i] = h * 0.5 + x * n
    return o.hs[-1] * len(o.hs)


def _put_at_each_key(o, x):
    for k, v in o.state.items():
        o.state[k] = v + x * len(o.state)
    return max(v.sum() for v in o.state.values())


def _queue(o, x):
    o.hs.append(o.hs.pop(0) + x)
    return o.hs[0]


def _window(o, x):
    o.window.append(x.sum().item())
    return x * sum(o.window) / len(o.window)


def _slice(o, x):
    o.numbers[:] = [*o.numbers[1:], x.sum().item()]
    return x * o.numbers[0]


def _popped_and_entered(o, x):
    n = o.options.pop("n")
    o.options["n"] = n + x.sum().item()
    return x * n


def _begun_once(o, x):
    state = o.states.setdefault(o.key, {})
    if not state:
        state["step"], state["m"] = 0, ag.zeros_like(x)
    state["step"] += 1
    state["m"] = state["m"] * 0.5 + x
    return state["m"] * state["step"]


def _other_structures(o, x):
    o.both = None if o.both is None else {k: (v + x, n + 1) for k, (v, n) in o.both.items()}
    if o.both is not None and o.both["a"][1] == 5:
        o.both = None
    return x if o.both is None else o.both["a"][0]


def _in_two_places(o, x):
    o.first = o.second = o.first + x
    return o.first if o.first is o.second else o.second * 2


@pytest.mark.share(2)
@pytest.mark.parametrize("change", [
    _listed, _entered, _nested, _replaced_numbers, _changed_before, _put_at_each,
    _put_at_each_key, _queue, _window, _slice, _popped_and_entered, _begun_once,
    _other_structures, _in_two_places])
def test_containers_that_are_replaced_or_gone_through(change):
    found = []
    for wrap in (lambda f: f, ag.jit):
        o = Plain()
        o.hs, o.numbers = [ag.zeros(2), ag.ones(2)], [0.0, 1.0]
        o.state = {"w": ag.zeros(2), "b": ag.ones(2)}
        o.both = {"b": (ag.ones(2), 1), "a": (ag.zeros(2), 0)}
        o.first = o.second = ag.zeros(2)
        o.window, o.options = collections.deque([0.0] * 3, maxlen=3), {"name": "a", "n": 0.0}
        o.states, o.key = {}, ag.ones(1)
        step = wrap(lambda x, o=o: change(o, x))
        old = o.hs
        found.append([step(ag.ones(2) * i).tolist() for i in range(8)])
        found[-1] += [[t.tolist() for t in held] for held in (old, o.hs, o.state.values())]
        found[-1] += [o.both and o.both["b"][1], list(o.state), o.hs is old, o.first is o.second,
                      list(o.window), o.options, [list(s) for s in o.states.values()]]
    assert found[0] == found[1]
    assert len(step.specialisations) <= (13 if change is _changed_before else 6)


def _appends_existing(o):
    o.kept.append(o.buffer)


def _assigns_existing(o):
    o.other = o.table["inner"]


def _turns(o):
    o.rows.reverse()


def _new_list_twice(o):
    o.other = o.one_more = [1.0]


def _nests_twice(o):
    new = [1.0]
    o.other, o.one_more = {"k": new}, (new, 2)


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("change", [
    _appends_existing, _assigns_existing, _turns, _new_list_twice, _nests_twice])
def test_what_is_put_somewhere_is_the_same_object(change):
    found = []
    for wrap in (lambda f: f, ag.jit):
        o = Plain()
        o.kept, o.buffer, o.table, o.rows = [], [1.0], {"inner": [2.0]}, [[1.0], [2.0]]
        o.other = o.one_more = None
        rows = list(map(id, o.rows))

        def step(x, o=o):
            change(o)
            return x * len(o.buffer)

        compiled = wrap(step)
        for _ in range(5):
            compiled(ag.ones(2))
        nested = o.other["k"] if isinstance(o.other, dict) else o.other
        twice = o.one_more[0] if isinstance(o.one_more, tuple) else o.one_more
        found.append([[v is o.buffer for v in o.kept], nested is o.table["inner"],
                      nested is twice, [rows.index(id(v)) for v in o.rows]])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_dicts_are_gone_through_in_their_order():
    results = []
    for wrap in (lambda f: f, ag.jit):
        entries, found = {"a": 1.0, "b": 2.0, "c": 3.0}, []

        def step(x, entries=entries):
            for k in entries:
                entries[k] += x.sum().item()
            return ag.stack([x * entries[k] for k in entries])

        compiled = wrap(step)
        for i in range(9):
            if i in (3, 5, 6):
                first = next(iter(entries))
                entries[first] = entries.pop(first)
            found.append((list(entries), compiled(ag.ones(1)).ravel().tolist()))
        results.append(found)
    assert results[0] == results[1]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_list_that_is_replaced_and_kept_is_one():
    o = Plain()
    o.hs, o.other = [ag.zeros(2), ag.ones(2)], None

    @ag.jit
    def step(x):
        o.hs = [h + x for h in o.hs]
        if x.shape[0] == 2:
            o.other = o.hs
        return o.hs[0]

    for n in (1, 1, 1, 1, 2, 1, 2, 2):
        step(ag.ones(n))
        assert (o.other is o.hs) is (n == 2)


def test_objects_of_classes_that_code_without_a_name_made():
    names: dict = {}
    text = "class K:\n    def add(self, x):\n        self.kept.append(x)\n        self.n += 1\n"
    exec(text, names)
    k = names["K"]()
    k.kept, k.n = [], 0
    step = ag.jit(lambda x: k.add(x))
    for i in range(4):
        step(ag.ones(2) * i)
    assert [v.tolist() for v in k.kept] == [[i, i] for i in range(4)] and k.n == 4


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_call_that_fails_makes_an_entry_once():
    entries = {}

    @ag.jit
    def step(x):
        entries[len(entries)] = 1.0
        raise ValueError

    with pytest.raises(ValueError):
        step(ag.ones(1))
    assert entries == {0: 1.0}


def _by_another_name(o, a, x):
    o.other[0] = 5.0
    o.hs = [v + 1 for v in o.hs]


def _as_an_argument(o, a, x):
    a[0] = 5.0
    o.hs = [v + 1 for v in o.hs]


def _kept(o, a, x):
    o.log.append(o.hs)
    o.hs = [v + 1 for v in o.hs]


def _swapped(o, a, x):
    o.hs, o.other = o.other, o.hs
    o.hs[0] = o.hs[0] + 1


def _returned(o, a, x):
    o.hs = [x.sum() * 2]
    return o.hs


def _new_things(o, a, x):
    o.other = types.SimpleNamespace(a=x * 2)
    o.log.append(set())
    o.log[-1].add(len(o.log))
    return KeyError(x)


def _a_global(o, a, x):
    global GLOBAL
    GLOBAL = 5


GLOBAL = None


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("change", [_by_another_name, _as_an_argument, _kept, _swapped, _returned,
                                    _new_things, _a_global])
def test_one_object_by_two_names(change):
    global GLOBAL
    found = []
    for wrap in (lambda f: f, ag.jit):
        o = Plain()
        o.hs, o.other, o.log, GLOBAL = [1.0], [0.0], [], None
        step, seen = wrap(lambda a, x, o=o: change(o, a, x)), []
        for i in range(7):
            if i in (3, 4) and change is not _new_things:
                o.other = o.hs
            returned = step(o.hs if change is _as_an_argument else [0.0], ag.ones(2))
            names = {id(o.hs): "hs", id(o.other): "other"}
            seen.append((str(o.hs), str(o.other), str(o.log), [names.get(id(v)) for v in o.log],
                         names.get(id(returned)), o.hs is o.other, GLOBAL))
            GLOBAL = None
        found.append(seen)
    assert found[0] == found[1]


def test_a_window_that_is_full_is_compiled_after_it_grew():
    class Meter:
        def __init__(self):
            self.window = collections.deque(maxlen=20)

        def step(self, x):
            loss = (x * x).sum()
            self.window.append(loss.item())
            return loss * (sum(self.window) / len(self.window))

    plain, compiled = Meter(), Meter()
    step = ag.jit(compiled.step)
    with pytest.warns(RuntimeWarning, match="keeps changing"):
        for i in range(60):
            x = ag.tensor([1.0 + i % 7, 2.0])
            np.testing.assert_allclose(step(x), plain.step(x), rtol=1e-6)
            np.testing.assert_allclose(compiled.window, plain.window, rtol=1e-6)
    made = len(step.specialisations)
    for _ in range(5):
        step(x)
    assert len(step.specialisations) == made and step._used is not None


def test_all_numbers_of_a_window_are_arguments_when_one_is():
    window = collections.deque([0.0] * 8, maxlen=8)

    @ag.jit
    def step(x):
        window.append(x.sum().item())
        return x * sum(window)

    for i in range(8):
        step(ag.tensor([float(i + 1)]))
    assert len(step.specialisations) <= 3 and list(window) == [1.0, 2, 3, 4, 5, 6, 7, 8]
