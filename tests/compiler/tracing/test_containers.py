"""Containers and arrays of the user's that take computed values: each call does as eagerly."""

from __future__ import annotations

import collections
import types
import warnings

import numpy as np
import pytest

import agnesi as ag

ROWS = [ag.tensor(v) for v in ([1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [2.0, 2.0], [4.0, 1.0])]
TABLE: dict = {}


class Log:
    def __init__(self):
        self.history, self.h, self.d, self.i = [], {"loss": []}, {}, 0
        self.data = collections.defaultdict(list)
        self.nested, self.lists = {"a": {"b": []}}, [[], []]
        self.ns = types.SimpleNamespace(log=[], n=0)
        self.small, self.large = np.zeros(8), np.zeros((8, 600))
        self.ints, self.two = np.zeros(6, np.int64), {"a": np.zeros(2), "b": np.zeros(2, "f")}
        self.all = [np.zeros(600), np.zeros(600)]
        self.last = collections.deque(maxlen=3)

    def note(self, **found):
        for k, v in found.items():
            self.data[k].append(v)


def a_list_in_a_dict(s, x):
    s.h["loss"].append(x.sum())
    s.h["n"] = s.h.get("n", 0) + 1


def lists_by_computed_keys(s, x):
    for key, value in (("loss", x.sum()), ("best", x.max().item())):
        s.data[key].append(value)


def a_method_that_notes(s, x):
    s.note(loss=x.sum(), best=x.max().item())


def nested(s, x):
    s.nested["a"]["b"].append(x.sum())
    s.lists[1].append((x, 2))
    s.ns.log.append(float(x.sum()))
    s.ns.n += 1


def a_list_that_is_made(s, x):
    s.d.setdefault("loss", []).append(x.sum())


def a_name_for_it(s, x):
    log = s.history
    log.append(x.sum())
    known = s.h["loss"]
    known.extend([x.max(), 1])


def entries(s, x):
    s.d["last"] = x.sum()
    s.d["n"] = s.i
    s.i += 1


def entries_by_keys(s, x):
    for k in "abc"[:s.i + 1]:
        s.d[k] = x * s.i
    s.i = (s.i + 1) % 2


def elements(s, x):
    s.small[s.i] = x.sum()
    s.large[s.i, :2] = x * 2
    s.i += 1


def elements_that_add_up(s, x):
    s.small[2] += x.sum()
    s.large[1:3] *= 2
    s.large[1, 0] += 1


def a_running_mean(s, x):
    s.two["a"][...] = 0.9 * s.two["a"] + 0.1 * x
    s.two["b"][:] = x
    return x - s.two["a"]


def a_constant(s, x):
    s.large[s.i, 0] = 1
    s.ints[s.i] = 3
    s.i += 1


def a_mask(s, x):
    s.small[:2][x > 1] = 5


def arrays_at_their_places(s, x):
    s.all[0][1] = x.sum()
    s.all[1][0] += 1
    s.ns.n += 1
    s.ns.last = x * s.ns.n
    if isinstance(s.small, np.ndarray) and type(s.small) is np.ndarray and len(s.small) == 8:
        s.small[3] += 2


COMPILED = [f for f in list(globals().values()) if isinstance(f, types.FunctionType)]


def a_list_that_is_read(s, x):
    s.h["loss"].append(x.sum() + len(s.h["loss"]))
    return x * len(s.history)


def its_last_element(s, x):
    s.history.append(s.history[-1] + x.sum() if s.history else x.sum())


def arrays_of_a_list(s, x):
    for a in s.all:
        a[1] = x.max()


def an_array_by_numpy(s, x):
    np.add(s.large, 1, out=s.large)
    s.small.fill(s.i)
    s.i += 1


def an_array_as_a_whole(s, x):
    s.large += 1
    return x * s.large.sum()


def elements_that_are_read(s, x):
    s.small[0] = s.small[0] * 0.5 + float(x.sum())
    return x * s.small[0]


def a_short_queue(s, x):
    s.last.append(x.sum())


def computed_places(s, x):
    s.ints[int(x.sum()) % 3] += 1


EAGER = [f for f in list(globals().values())
         if isinstance(f, types.FunctionType) and f not in COMPILED]


def plain(value):
    if isinstance(value, Log | types.SimpleNamespace):
        return plain(vars(value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return [plain(v) for v in value]
    if isinstance(value, ag.Tensor | np.ndarray | np.generic):
        return type(value).__name__, str(value.dtype), np.asarray(value).round(5).tolist()
    return value


def run(f, wrap):
    s = Log()
    g = wrap(lambda x: f(s, x))
    results = [g(x) for x in ROWS]
    return plain([results, s]), g


@pytest.mark.share(2)
@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_compiled(f):
    wanted, _ = run(f, lambda g: g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, g = run(f, ag.jit)
    assert found == wanted
    assert g.explain().count("because") <= 5


@pytest.mark.share(2)
@pytest.mark.parametrize("f", EAGER, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*eagerly:RuntimeWarning")
def test_as_eagerly(f):
    assert run(f, ag.jit)[0] == run(f, lambda g: g)[0]


def test_arrays_of_modules_and_of_functions_around():
    own = np.zeros(4)
    TABLE.update(a=np.zeros((3, 700)), loss=[])

    def step(x, i):
        own[i] = x.sum()
        TABLE["a"][i % 2, 1:3] = x
        TABLE["loss"].append(x.max())
        return x - own[:2], own

    def states(f):
        own[:] = 0
        TABLE["a"][:], TABLE["loss"][:] = 0, []
        results = [f(x, i % 4) for i, x in enumerate(ROWS)]
        assert all(r[1] is own for r in results)
        return plain([results[-1][0], own, TABLE])

    assert states(ag.jit(step)) == states(step)


def test_arrays_that_overlap():
    whole = np.zeros(6)
    part = whole[2:4]

    @ag.jit
    def step(x):
        part[...] = part + x
        whole[3] += 1
        return whole * 2

    for x in ROWS:
        before = whole.copy()
        before[2:4] += x.array
        before[3] += 1
        np.testing.assert_allclose(step(x), before * 2)


def test_gradients_do_not_go_through_arrays():
    losses, w = np.zeros(3), ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def step(x, i):
        w.grad = None
        loss = ((w - x) ** 2).sum()
        loss.backward()
        losses[i] = loss.detach()
        return w.grad

    for i, x in enumerate(ROWS[:3]):
        np.testing.assert_allclose(step(x, i).array, 2 * (w.array - x.array))
        assert losses[i] == np.float32(((w.array - x.array) ** 2).sum())


def test_what_cannot_be_stored_names_the_line():
    arrays = [np.zeros(600)]

    @ag.jit
    def step(x):
        for a in arrays:
            a[:2] = x
        return x

    with pytest.warns(RuntimeWarning, match=r"into an array at .*test_containers.py:\d+"):
        step(ROWS[0])
    step(ROWS[1])
    assert arrays[0][:3].tolist() == [3, -1, 0]


def test_constants_at_run_time_indices_keep_the_dtype():
    state = ag.tensor(np.zeros((3, 2)))

    @ag.jit
    def step(i):
        state[i, 0] = 2.5

    for i in (0, 1, 2):
        step(i)
    assert state.tolist() == [[2.5, 0]] * 3
