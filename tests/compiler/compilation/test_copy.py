"""Copies of compiled functions: other state, no updates, nothing optimised again."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.runtime import machine

pytestmark = pytest.mark.usefixtures("little_to_collect")


def model(width=20):
    rng = np.random.default_rng(3)
    x = T.matrix("x")
    w = ag.shared(rng.standard_normal((5, width)), "w")
    v = ag.shared(rng.standard_normal((width, 1)), "v")
    loss = ((ag.tanh(x @ w) @ v) ** 2).mean()
    gw, gv = T.grad(loss, [w, v])
    train = ag.function([x], loss, updates={w: w - 0.1 * gw, v: v - 0.1 * gv}, name="train")
    return train, w, v, rng.standard_normal((7, 5))


def eager(x, w, v):
    return ((np.tanh(x @ w) @ v) ** 2).mean()


def test_copies_differ_only_where_they_are_swapped():
    train, w, v, x = model()
    train(x)
    other = ag.shared(w.get_value() * 2, "other")
    copy = train.copy(swap={w: other})
    for _ in range(3):
        for f, first in ((train, w), (copy, other)):
            expected = eager(x, first.get_value(), v.get_value())
            before = {t: t.get_value() for t in (w, other, v)}
            np.testing.assert_allclose(f(x), expected)
            for t, value in before.items():
                assert np.array_equal(t.get_value(), value) == (t is not first and t is not v)


def test_without_updates_nothing_changes():
    train, _, _, x = model()
    first = train(x)
    evaluate = train.copy(updates=False, name="evaluate")
    assert evaluate.name == "evaluate" and train.name == "train"
    loss = evaluate(x)
    assert loss == evaluate(x) == train(x) < first
    assert evaluate(x) < loss
    assert "rewrite" not in evaluate.specialisations[-1].seconds


def test_a_copy_is_not_optimised_again():
    train, w, _, x = model()
    train(x)
    copy = train.copy(swap={w: ag.shared(w.get_value())})
    copy(x)
    spent = copy.specialisations[-1].seconds
    assert not {"rewrite", "schedule", "emit", "recall"} & spent.keys()
    assert "optimised graph" in copy.explain()


def test_copies_run_the_code_of_the_original(monkeypatch):
    """Nothing is loaded, from LLVM or from the disk cache, for a copy with other state."""
    with ag.config(cache=False):
        train, w, v, x = model(19)
        train(x)
        monkeypatch.setattr(machine, "load", None)
        for share_memory in (True, False):
            copy = train.copy(swap={w: ag.shared(w.get_value())}, share_memory=share_memory)
            expected = eager(x, w.get_value(), v.get_value())
            np.testing.assert_allclose(copy(x), expected)
            copy.copy(swap={})(x)


@pytest.mark.parametrize("share_memory", [True, False])
def test_results_of_calls_that_alternate_are_their_own(share_memory):
    train, w, _, x = model()
    copy = train.copy(swap={w: ag.shared(w.get_value() + 1)}, share_memory=share_memory)
    results, expected = [], []
    for _ in range(4):
        for f in (train, copy):
            results.append(f(x))
            expected.append(float(results[-1]))
    assert [float(r) for r in results] == expected


def test_memory_is_shared_or_kept():
    """Bytes in use between calls: none of those that share, one arena of each that does not."""
    x = T.matrix("x")
    f = ag.function([x], ((x @ x) @ (x + 1)).sum())
    a = np.random.default_rng(0).normal(size=(300, 300))
    expected = f(a)
    gc.collect()
    live = ag.memory_stats()["live"]
    copies = [f.copy(share_memory=s) for s in (True, False, False)]
    for expected_use, copy in zip((0, 1, 2), copies, strict=True):
        assert copy(a) == copy(a) == expected
        used = ag.memory_stats()["live"] - live
        arena = f.plan().arena_bytes
        assert expected_use * arena <= used <= expected_use * 1.3 * arena
    copies[0](a)  # the others have kept what it had
    misses = ag.memory_stats()["misses"]
    for copy in copies * 3:
        copy(a)
    assert ag.memory_stats()["misses"] == misses
    with ThreadPoolExecutor(4) as threads:  # calls at the same time take what else they need
        assert {float(v) for v in threads.map(copies[2], [a] * 16)} == {float(expected)}
    del copies, copy
    gc.collect()
    assert ag.memory_stats()["live"] == live


def test_memory_that_is_kept_grows_with_the_sizes():
    x = T.matrix("x")
    f = ag.function([x], ((x @ x.T) @ (x + 1)).sum()).copy(share_memory=False)
    for rows in (40, 50, 200, 60, 300, 30):
        a = np.random.default_rng(rows).normal(size=(rows, 60))
        np.testing.assert_allclose(f(a), ((a @ a.T) @ (a + 1)).sum(), rtol=1e-9)


def test_a_copy_of_a_function_that_was_never_called():
    train, w, v, x = model()
    copy = train.copy(swap={w: ag.shared(w.get_value() * 3)}, updates=False)
    np.testing.assert_allclose(copy(x), eager(x, w.get_value() * 3, v.get_value()))


def test_other_sizes_are_compiled_when_they_come():
    x = T.vector("x")
    a, b = ag.shared(np.arange(3.0)), ag.shared(np.arange(5.0))
    f = ag.function([x], x * a)
    f(np.ones(3))
    copy = f.copy(swap={a: b})
    np.testing.assert_array_equal(copy(np.full(5, 2.0)), 2 * np.arange(5.0))
    np.testing.assert_array_equal(f(np.ones(3)), np.arange(3.0))


def test_swapped_for_a_variable_that_it_uses_already():
    a, b = ag.shared(np.arange(3.0)), ag.shared(np.ones(3))
    f = ag.function([], a + b, updates={a: a * 2 + b})
    f()
    copy = f.copy(swap={b: a})
    before = a.get_value()
    np.testing.assert_array_equal(copy(), 2 * before)
    np.testing.assert_array_equal(a.get_value(), 3 * before)


def test_swapping_twice_leads_back():
    train, w, v, x = model()
    there = train.copy(swap={w: (other := ag.shared(w.get_value()))}, updates=False)
    back = there.copy(swap={other: w})
    assert there(x) == back(x)
    train(x)
    assert there(x) != back(x)
    np.testing.assert_allclose(back(x), eager(x, w.get_value(), v.get_value()))


def test_live_tensors_can_be_swapped_too():
    x = T.vector("x")
    a, b = ag.tensor(np.arange(4.0)), ag.tensor(np.full(4, 7.0))
    f = ag.function([x], x + a)
    f(np.zeros(4))
    np.testing.assert_array_equal(f.copy(swap={a: b})(np.zeros(4)), b.numpy())
    b.add_(1)
    np.testing.assert_array_equal(f.copy(swap={a: b})(np.zeros(4)), b.numpy())


def test_what_cannot_be_swapped():
    train, w, v, _ = model()
    with pytest.raises(ValueError, match="train does not use"):
        train.copy(swap={ag.shared(1.0, "z"): w})
    with pytest.raises(DTypeError, match=r"float32.*cannot replace.*float64"):
        train.copy(swap={w: ag.shared(w.get_value().astype("float32"))})
    with pytest.raises(ShapeError, match="number of axes"):
        train.copy(swap={w: ag.shared(np.zeros(3))})
    same = ag.shared(w.get_value())
    with pytest.raises(ValueError, match="same one"):
        train.copy(swap={w: same, v: same})


def test_reoptimize_starts_over(monkeypatch):
    train, _, _, x = model()
    train(x)
    made = len(train.specialisations)
    train.reoptimize()
    train(x)
    assert len(train.specialisations) == made + 1
    assert "rewrite" in train.specialisations[-1].seconds


def test_dicts_names_and_mutable_inputs_are_kept():
    x = T.vector("x")
    s = ag.shared(2.0)
    f = ag.function([ag.In(x, mutable=True)], {"double": s * x, "sum": x.sum()})
    copy = f.copy(swap={s: ag.shared(3.0)})
    result = copy(x=np.ones(3))
    assert list(result) == ["double", "sum"]
    np.testing.assert_array_equal(result["double"], np.full(3, 3.0))


def test_versions_for_all_sizes_are_copied_and_pickled():
    x = T.matrix("x")
    w = ag.shared(np.arange(3.0))
    f = ag.function([x], ag.tanh(x) * w)
    for rows in (5, 7, 9):
        f(np.ones((rows, 3)))
    made = len(f.specialisations)
    assert made < 3
    other = ag.shared(np.ones(3))
    for copy in (f.copy(swap={w: other}), pickle.loads(pickle.dumps(f)).copy()):
        for rows in (20, 30, 5):
            assert copy(np.ones((rows, 3))).shape == (rows, 3)
        for version in copy.specialisations:
            assert not {"rewrite", "schedule"} & version.seconds.keys()


def test_where_only_sizes_of_variables_are_used():
    x = T.scalar("x")
    first, other = ag.shared(np.zeros(3), "first"), ag.shared(np.zeros(5), "other")
    f = ag.function([x], ag.zeros((first.shape[0], 2)) + x)
    g = f.copy(swap={first: other})
    h = g.copy(swap={other: first})
    assert [fn(1.0).shape for fn in (f, g, h)] == [(3, 2), (5, 2), (3, 2)]
    other.set_value(np.zeros(4))
    again = pickle.loads(pickle.dumps(g))
    assert [fn(1.0).shape for fn in (f, g, again)] == [(3, 2), (4, 2), (4, 2)]


def test_without_updates_a_variable_may_only_tell_a_size():
    x = T.scalar("x")
    s, other = ag.shared(np.arange(3.0), "s"), ag.shared(np.arange(7.0), "other")
    f = ag.function([x], ag.zeros((s.shape[0], 2)) + x, updates={s: s + x})
    f(1.0)
    g = f.copy(updates=False)
    assert g(2.0).tolist() == [[2.0, 2.0]] * 3
    s.set_value(np.ones(4))
    assert g(2.0).shape == f(2.0).shape == (4, 2)
    assert g.copy(swap={s: other})(2.0).shape == (7, 2)
    assert s.get_value().tolist() == [3.0] * 4


def test_nothing_is_updated_twice():
    x = T.scalar("x")
    a, b = ag.shared(1.0, "a"), ag.shared(2.0, "b")
    f = ag.function([x], a * x + b, updates={a: a + 1, b: b * 2})
    with pytest.raises(ValueError, match="would be updated twice, for function updates it already"):
        f.copy(swap={a: b})
    assert f.copy(swap={a: b}, updates=False)(3.0) == 8.0
    assert f.copy(swap={a: b, b: a})(3.0) == 7.0
    assert (a.get_value(), b.get_value()) == (2.0, 3.0)


def test_copies_refuse_what_is_no_swap_and_no_switch():
    x, s = T.scalar("x"), ag.shared(0.0)
    f = ag.function([x], s + x, updates={s: s + x})
    for options, text in (
        ({"swap": [(s, s)]}, "swap maps variables to others"),
        ({"updates": {s: s + 2}}, "updates must be True or False"),
    ):
        with pytest.raises(TypeError, match=text):
            f.copy(**options)
    with pytest.raises(ag.TraceError, match=r"float\(\) is for .* whose value is x.get_value\(\)"):
        float(s)


def test_options_of_copies_are_checked():
    x, s = T.vector("x"), ag.shared(np.ones(2))
    f = ag.function([x], x * s, name="scale")
    assert repr(f) == "<ag.function scale of (x)>"
    assert repr(f.copy(name="other")) == "<ag.function other of (x)>"
    with pytest.raises(TypeError, match="copy: share_memory must be True or False, not 'no'"):
        f.copy(share_memory="no")
    with pytest.raises(TypeError, match="copy: name must be text, not 3"):
        f.copy(name=3)
    with pytest.raises(DTypeError, match="the dtype must agree"):
        f.copy(swap={s: ag.shared(np.ones(2, "float32"))})
