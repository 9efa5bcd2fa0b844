"""Small kernels that do not need each other share threads: equal numbers, memory of their own."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.record import replace
from agnesi.core.support.tree import flatten
from agnesi.schedule import verify
from agnesi.schedule.passes import PASSES
from agnesi.schedule.program import Group
from agnesi.schedule.transforms import concurrent


def _arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [ag.tensor(rng.normal(size=s).astype(np.float32)) for s in shapes]


def _products(*x):
    return tuple(x[2 * i] @ x[2 * i + 1] for i in range(len(x) // 2))


def _branches(x, w, v, a, b):
    return (ag.tanh(x @ w) @ v).sum(1) - (ag.sigmoid(x @ a) @ b).sum(1)


def _gates(x, h, *w):
    i, f, o, z = (x @ w[2 * k] + h @ w[2 * k + 1] for k in range(4))
    return ag.sigmoid(o) * ag.tanh(ag.sigmoid(f) * h + ag.sigmoid(i) * ag.tanh(z))


PROGRAMS = {
    "products": (_products, [(64, 64)] * 16),
    "products of many sizes": (_products, [(30, 90), (90, 70), (150, 40), (40, 150), (1, 300),
                                           (300, 300), (64, 5), (5, 64), (100, 100), (100, 100)]),
    "branches": (_branches, [(64, 128)] + [(128, 128)] * 4),
    "gradients": (lambda *a: ag.grad(lambda *b: (_branches(*b) ** 2).sum(), (1, 2, 3, 4))(*a),
                  [(64, 128)] + [(128, 128)] * 4),
    "gates": (_gates, [(32, 100), (32, 100)] + [(100, 100)] * 8),
    "nests": (lambda *x: tuple(ag.tanh(v).sum(0) * 2 for v in x),
              [(100, 90 + i) for i in range(8)]),
    "nests and products": (lambda x, y, z: (x @ y, ag.exp(z).sum(0), y @ y, ag.sin(z) + 1),
                           [(90, 128), (128, 128), (120, 130)]),
}


@pytest.fixture
def _everything(monkeypatch):
    """Kernels of any size are grouped."""
    monkeypatch.setattr(concurrent, "_MIN_MEMBER_INSTRUCTIONS", 1)
    monkeypatch.setattr(concurrent, "_MIN_GROUP_INSTRUCTIONS", 2)
    with ag.config(cache=False):
        yield


def _for_each_number_of_threads(f, *args):
    """The results, which are the same to the last bit."""
    before, found = ag.get_num_threads(), []
    try:
        for n in (1, 2, 4):
            ag.set_num_threads(n)
            found.append([v.numpy() for v in flatten(f(*args))[0]])
    finally:
        ag.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    return found[0]


@pytest.mark.share(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_threads(name):
    function, shapes = PROGRAMS[name]
    args = _arrays(*shapes)
    f, plain = ag.jit(function), ag.jit(function, exclude=["concurrency"])
    found = _for_each_number_of_threads(f, *args)
    for a, b in zip(found, flatten(plain(*args))[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert f.plan().passes["concurrency"] >= 2
    assert "others on all threads" in str(f.plan())
    assert not plain.plan().layout.groups


def test_what_needs_another_one_is_not_beside_it(_everything):
    f = ag.jit(lambda x, w: ((x @ w) @ w) @ w)
    _for_each_number_of_threads(f, *_arrays((50, 50), (50, 50)))
    assert not f.plan().layout.groups


def test_little_work_is_left_alone():
    f = ag.jit(_products)
    f(*_arrays(*[(20, 20)] * 16))
    assert not f.plan().layout.groups


def test_states_and_checks_keep_their_order(_everything):
    """What a check stops has changed nothing, and states are read before they are written."""
    a, b = (ag.tensor(np.arange(64.0)) for _ in range(2))

    def step(x, i):
        old = (a * b).sum()
        b[...] = a + x
        a[...] = ag.exp(x) * 0.5
        return old, x[i], ag.tanh(x).sum()

    f, x = ag.jit(step), ag.ones(64)
    f(x, ag.tensor(3))
    np.testing.assert_array_equal(b, np.arange(64.0) + 1)
    with pytest.raises(IndexError):
        f(x, ag.tensor(99))
    np.testing.assert_array_equal(b, np.arange(64.0) + 1)
    for _ in range(3):
        _for_each_number_of_threads(lambda: f(x, ag.tensor(3))[1:])
    np.testing.assert_allclose(a, np.exp(np.ones(64)) * 0.5, rtol=1e-6)


def test_optimizers_step_many_parameters(_everything):
    def train(threads):
        ag.manual_seed(0)
        net = ag.nn.Sequential(*(ag.nn.Linear(24, 24) for _ in range(4)))
        adam = ag.optim.Adam(net.parameters())

        @ag.jit
        def step(x):
            loss = (net(x) ** 2).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss

        before = ag.get_num_threads()
        ag.set_num_threads(threads)
        losses = [step(ag.ones((8, 24))).item() for _ in range(4)]
        ag.set_num_threads(before)
        assert step.plan().layout.groups
        return losses

    assert train(1) == train(2) == train(4)


_STEPS = (
    lambda a, b: a @ b * 0.1,
    lambda a, b: ag.tanh(a) - b,
    lambda a, b: a.T + 1,
    lambda a, b: ag.softmax(a, axis=1) @ b,
    lambda a, b: a - a.mean(0) * b,
    lambda a, b: ag.sort(a, axis=1),
)


def _random(seed):
    """A function of six matrices with values that are used in several places, and its results."""
    def function(*xs):
        rng = np.random.default_rng(seed)
        values = [*xs]
        for _ in range(12):
            a, b = (values[i] for i in rng.integers(len(values), size=2))
            values.append(_STEPS[rng.integers(len(_STEPS))](a, b))
        return tuple(values[i] for i in rng.integers(6, len(values), size=4))

    return function


@pytest.mark.share(8)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, _everything):
    """Whatever lies beside what: the verifier looks at memory, here numbers are compared."""
    function, args = _random(seed), _arrays(*[(20, 20)] * 6, seed=seed)
    f, plain = ag.jit(function), ag.jit(function, exclude=["concurrency"])
    found = _for_each_number_of_threads(f, *args)
    for a, b in zip(found, plain(*args), strict=True):
        np.testing.assert_array_equal(a, b)


def test_members_that_write_what_others_need_are_found(monkeypatch):
    """Of a chain of products, two are said to be independent."""
    def spoil(program):
        program.groups = [Group(program.kernels[:2], [1, 1])]
        return program

    passes = [replace(p, run=spoil) if p.name == "concurrency" else p for p in PASSES]
    monkeypatch.setattr("agnesi.schedule.passes.PASSES", tuple(passes))
    with (ag.config(cache=False),
          pytest.raises(verify.BrokenProgramError, match="while another one needs")):
        ag.jit(lambda x, w: ((x @ w) @ w) @ w)(*_arrays((50, 50), (50, 50)))


def test_memory_of_members_is_apart(_everything):
    """Two branches would take turns in one place if they ran one behind the other."""
    def function(x, y):
        return ag.exp(x @ x) @ y, ag.sin(y @ y) @ x

    f, plain = ag.jit(function), ag.jit(function, exclude=["concurrency"])
    args = _arrays((40, 40), (40, 40))
    f(*args), plain(*args)
    assert f.plan().arena_bytes > plain.plan().arena_bytes


@pytest.mark.parametrize("option", [{"save_dtype": "float16"}, {"memory_limit": 1 << 20}])
def test_where_memory_counts_kernels_run_one_by_one(option, _everything):
    f = ag.jit(_branches, **option)
    f(*_arrays((16, 16), *[(16, 16)] * 4))
    assert not f.plan().layout.groups
