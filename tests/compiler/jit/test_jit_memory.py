"""``ag.jit`` and what happens to memory between its calls: states, results, versions let go."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest

import agnesi as ag

MOVES = {
    "longer": lambda a: a.resize((100_000,), refcheck=False),
    "shorter": lambda a: a.resize((2,), refcheck=False),
    "another rank": lambda a: a.resize((2, 2), refcheck=False),
    "another shape": lambda a: setattr(a, "shape", (2, 2)),
    "another dtype": lambda a: setattr(a, "dtype", np.int32),
    "strides": lambda a: setattr(a, "strides", (0,)),
}


@pytest.mark.filterwarnings("ignore:Setting the (strides|shape|dtype)")
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("f", [lambda t: t * 2, lambda t: t.add_(1) * 1])
def test_states_whose_array_is_changed(move, f):
    seen = []
    for compiled in (False, True):
        t = ag.tensor(np.arange(4, dtype="float32").copy())
        run = ag.jit(lambda t=t: f(t)) if compiled else lambda t=t: f(t)
        run(), run()
        MOVES[move](t.array)
        seen.append([(y.dtype, y.tolist()) for y in (run(), run())] + [t.tolist()])
    assert seen[0] == seen[1]


def test_a_state_that_becomes_read_only():
    t = ag.zeros(3)
    f, g = ag.jit(lambda: t.add_(1) * 1), ag.jit(lambda: t * 2)
    f(), f(), g()
    t.array.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match=r"read-only.*\n  at .*test_jit_memory"):
            f()
        assert g().tolist() == [4, 4, 4]
    t.array.flags.writeable = True
    assert f().tolist() == [3, 3, 3]


def test_a_state_in_another_byte_order_is_refused():
    t = ag.ones(2)
    f = ag.jit(lambda: t * 2)
    f()
    t.array = t.array.astype(">f4")
    with pytest.raises(TypeError, match=r"byte order.*\n  at .*test_jit_memory"):
        f()
    t.array = t.array.astype(t.dtype.newbyteorder("="))
    assert f().tolist() == [2, 2]


@pytest.mark.parametrize("f", [
    lambda x: x, lambda x: x.reshape(2, 2), lambda x: x.T, lambda x: x[1:], lambda x: x.detach(),
    lambda x: (x, x[:2]), lambda x: ag.broadcast_to(x, (3, 4)),
])  # fmt: skip
def test_results_never_share_memory_with_arguments_or_state(f):
    x, jitted = ag.tensor(np.arange(4.0)), ag.jit(f)
    closed = ag.jit(lambda: f(x))
    for run in (lambda: jitted(x), closed):
        for _ in range(3):
            found = run()
            for y in found if isinstance(found, tuple) else [found]:
                assert not np.shares_memory(y.array, x.array)
                y.array.fill(7)
    assert x.tolist() == [0, 1, 2, 3]


# -- versions that are let go --------------------------------------------------------------------
def test_the_least_recently_used_versions_are_let_go(monkeypatch):
    monkeypatch.setattr("agnesi.compiler.specialization.table._MAX_SIGNATURES", 8)
    f, x = ag.jit(lambda x, n: x * len(range(n))), ag.ones(2)
    f(x, 0)
    first = weakref.ref(f.specialisations[0].compiled)
    with pytest.warns(RuntimeWarning, match="argument 1 keeps changing, it was 6, now") as caught:
        for n in range(20):
            f(x, 1000), f(x, n)  # the first one stays in use
    assert len(caught) == 1 and caught[0].filename == __file__
    assert len(f.specialisations) == 8 and "13 more were let go" in f.explain()
    gc.collect()
    assert first() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 19, 1000, 0):
            assert f(x, n).tolist() == [n, n]
    assert len(f.specialisations) == 8


def test_texts_that_keep_changing_run_eagerly_until_they_come_again():
    made = []

    def step(batch, *, mode="train"):
        made.append(batch["name"])
        return batch["x"] * len(batch["name"])

    f, x = ag.jit(step), ag.ones(2)
    names = [f"{'n' * (i % 5)}{i}" for i in range(30)]
    with pytest.warns(RuntimeWarning, match=r"step runs eagerly where arguments\[0\]\['name'\] is "
                                            "something new.*'nnn8' now") as caught:
        for name in names:
            assert f({"x": x, "name": name}).tolist() == [len(name)] * 2
    assert len(caught) == 1 and caught[0].filename == __file__
    assert len(f.specialisations) == 8 and made == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in (*names[:4], names[20], names[20], names[20]):
            f({"x": x, "name": name})
    assert len(f.specialisations) == 9 and len(made) == 37
    # Other arguments have texts of their own, and numbers are no texts.
    for n in range(12):
        assert f({"x": x, "name": "a" * n}, mode="test").tolist() == [n, n]
    assert len(f.specialisations) == 17


def test_structures_that_keep_changing_are_let_go(monkeypatch):
    monkeypatch.setattr("agnesi.compiler.specialization.table._MAX_SIGNATURES", 3)
    f = ag.jit(lambda d: sum(d.values()))
    with pytest.warns(RuntimeWarning, match="the structure of the arguments keeps changing"):
        for n in range(1, 8):
            assert f({f"k{i}": ag.ones(1) for i in range(n)}).item() == n
    assert len(f.specialisations) == 3


def test_many_sizes_are_one_signature(monkeypatch):
    monkeypatch.setattr("agnesi.compiler.specialization.table._MAX_SIGNATURES", 4)
    f = ag.jit(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(2, 40):
            assert f(ag.ones(n)).shape == (n,)
