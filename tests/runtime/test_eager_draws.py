"""Native draws give the numbers of Python's, leave the same state, and are told as those are."""

import gc
import sys
import threading

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.calls import plans
from agnesi.core.support.config import HOOKS
from agnesi.ops.random import generators
from agnesi.ops.random.draws_ahead import MOST_BLOCKS
from agnesi.ops.random.noise import Noise
from agnesi.runtime import eager

NATIVE = eager.builtin("replayed")
SIZES = (1, 2, 3, 4, 5, 10, 63, 4 * MOST_BLOCKS - 1, 4 * MOST_BLOCKS, 4 * MOST_BLOCKS + 1)
DRAWS = {
    **{f"rand {n}": lambda n=n: ag.rand(n) for n in SIZES},
    **{f"randn {n}": lambda n=n: ag.randn(n) for n in (1, 7, 256)},
    **{f"double {n}": lambda n=n: ag.random.uniform(size=n, dtype="float64") for n in (1, 5, 128)},
    **{f"exponential {n}": lambda n=n: ag.random.exponential(size=n) for n in (3, 9)},
    **{f"randint {n}": lambda n=n: ag.randint(0, 50, (n,)) for n in (1, 6, 255)},
    "matrix": lambda: ag.rand(3, 5), "permutation": lambda: ag.randperm(7),
    "none": lambda: ag.rand(0), "bernoulli": lambda: ag.bernoulli(ag.full((5,), 0.5)),
    "dropout": lambda: ag.nn.functional.dropout(ag.ones(9), 0.5),
    "in place": lambda: ag.zeros(5).normal_(2.0, 3.0), "uniform_": lambda: ag.zeros(6).uniform_(),
}


@pytest.fixture(autouse=True)
def kept():
    before = HOOKS.replayed
    HOOKS.replayed = NATIVE
    yield
    HOOKS.replayed = before


def state():
    return ag.random.default_generator().state


def test_numbers_and_states_are_those_of_python():
    order = np.random.default_rng(0).permutation(list(DRAWS) * 60)
    found = []
    for way in (NATIVE, plans.replayed):
        HOOKS.replayed = way
        ag.random.manual_seed(3)
        found.append([(DRAWS[name]().tolist(), state().tolist()) for name in order])
    assert found[0] == found[1]


def test_streams_begin_anew_and_go_on_from_saved_states():
    ag.random.manual_seed(1)
    first = [ag.rand(5).tolist() for _ in range(200)]
    saved = ag.random.default_generator().state_dict()
    then = [ag.rand(5).tolist() for _ in range(200)]
    ag.random.manual_seed(1)
    assert [ag.rand(5).tolist() for _ in range(200)] == first
    ag.random.default_generator().load_state_dict(saved)
    assert [ag.rand(5).tolist() for _ in range(200)] == then
    state().array[2:] = 0xFFFFFFFE, 7  # the count carries into its upper word
    beyond = [ag.rand(5).tolist() for _ in range(8)]
    HOOKS.replayed = plans.replayed
    state().array[2:] = 0xFFFFFFFE, 7
    assert [ag.rand(5).tolist() for _ in range(8)] == beyond and int(state()[3]) == 8


def test_changes_are_numbered_watched_and_given_up():
    for _ in range(40):
        ag.rand(3)
    before = state()._version[0]
    ag.rand(3)
    assert state()._version[0] > before

    counts = state().tolist()
    assert generators.attempted(lambda: [ag.rand(3), None][1]) is None
    assert state().tolist() == counts

    seen = []
    from agnesi.core.support.config import switched

    with switched(watch=seen.append):
        ag.rand(3)
    assert any(x is state() for x in seen)


def test_threads_get_numbers_of_their_own():
    found = []

    def work():
        found.extend([tuple(ag.rand(4).tolist()) for _ in range(500)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(set(found)) == 2000


def test_states_of_another_kind_are_pythons():
    generator = ag.random.default_generator()
    for _ in range(40):
        ag.rand(3)
    own = generator.state
    try:
        ag.random.manual_seed(5)
        expected = ag.rand(3).tolist()
        strided = np.zeros(8, "uint32")[::2]
        ag.random.manual_seed(5)
        strided[:] = own.array
        generator.state = ag.asarray(strided)
        assert ag.rand(3).tolist() == expected
    finally:
        generator.state = own


def test_references_balance():
    for _ in range(40):
        ag.rand(3), ag.randn(2)
    watched = [state(), state().array, ag.random.default_generator(), None, np.dtype("float32"),
               np.dtype("uint32")]
    gc.collect()
    before = [*map(sys.getrefcount, watched)]
    for _ in range(300):
        ag.rand(3), ag.randn(2)
    gc.collect()
    after = [*map(sys.getrefcount, watched)]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def test_draws_of_some_hundred_numbers_that_go_on_are_made_ahead(monkeypatch):
    made, blocks = [], Noise._made
    monkeypatch.setattr(Noise, "_made", lambda self, state, count: made.append(count) or blocks(
        self, state, count))
    ag.random.manual_seed(7)
    found = [ag.randn(32, 8).numpy() for _ in range(150)]
    assert len(made) < 10 and max(made) == 4096
    ag.random.manual_seed(7)
    monkeypatch.setattr("agnesi.ops.random.noise.draws_ahead.MOST_BLOCKS", 0)
    HOOKS.replayed = lambda *_: NotImplemented  # no plan, each draw by itself
    made.clear()
    assert all((ag.randn(32, 8).numpy() == x).all() for x in found) and len(made) == 150
