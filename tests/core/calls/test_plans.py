"""Plans of eager calls: what they are known by, and that they do what the function does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.calls.plans import CALLS_BEFORE_PLAN, Plan, replayed
from agnesi.core.public import planned
from agnesi.core.support.config import HOOKS
from agnesi.runtime import eager

X = ag.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))


NATIVE = eager.builtin("replayed")


@pytest.fixture(autouse=True, params=[replayed, NATIVE], ids=["python", "native"])
def way(request: Any) -> Any:
    before = HOOKS.replayed
    HOOKS.replayed = request.param
    yield
    HOOKS.replayed = before


def often(function: Any, *args: Any, **keywords: Any) -> Any:
    for _ in range(CALLS_BEFORE_PLAN + 2):
        found = function(*args, **keywords)
    return found


def test_operands_that_were_one_may_differ() -> None:
    a, b = ag.tensor([1.0, 2.0]), ag.tensor([3.0, 5.0])
    assert often(ag.dot, a, a).item() == 5.0
    assert ag.dot(a, b).item() == 13.0
    often(ag.concat, [a, a])
    assert ag.concat([a, b]).tolist() == [1.0, 2.0, 3.0, 5.0]


def test_views_stay_views_and_copies_copies() -> None:
    x = ag.zeros(2, 3)
    often(lambda: x.view(3, 2))
    x.view(3, 2)[0, 0] = 7.0
    often(ag.stack, [x, x])
    ag.stack([x, x])[0, 1, 1] = 9.0
    assert x.tolist() == [[7.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert often(ag.squeeze, x) is x
    y = ag.zeros(3, 2).T  # which lies otherwise
    with pytest.raises(ValueError, match="does not lie in memory"):
        y.view(3, 2)


def test_what_depends_on_values_has_no_plan() -> None:
    mask, index = ag.tensor([True, False, True]), ag.tensor([0, 2])
    assert often(lambda: X[mask]).shape == (2, 4)
    assert X[ag.tensor([True, True, True])].shape == (3, 4)
    assert often(lambda: X[index]).tolist() == X.tolist()[::2]
    with pytest.raises(IndexError, match=r"getitem\(float32\[3, 4\], int64\[2\]\)"):
        X[ag.tensor([0, 3])]


#: Functions of two vectors whose operations follow from types, but not what they give.
FUNCTIONS = {
    "array_equal": ag.array_equal, "allclose": ag.allclose, "equal": ag.Tensor.equal,
    "interp": lambda x, y: ag.interp(x, ag.arange(4.0), y), "polyval": ag.polyval,
    "polyadd": ag.polyadd, "polymul": ag.polymul, "median": lambda x, y: ag.median(x + y),
    "nanmedian": lambda x, y: ag.nanmedian(x * y), "nancumsum": lambda x, y: ag.nancumsum(x - y),
    "cumulative_sum": lambda x, y: ag.cumulative_sum(x * y), "convolve": ag.convolve,
    "correlate": ag.correlate, "cross": lambda x, y: x[:3].cross(y[:3]),
    "poisson_nll_loss": ag.nn.functional.poisson_nll_loss,
    "nanargmax": lambda x, y: ag.nanargmax(x + y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_known_operations_are_planned(name: str, monkeypatch: Any) -> None:
    made, plan = [], HOOKS.plan
    monkeypatch.setattr(HOOKS, "plan", lambda *args: made.append(plan(*args)) or made[-1])
    rng = np.random.default_rng(len(name))
    rows = rng.normal(size=(3, 4))
    rows[1, 2] = np.nan
    fresh = FUNCTIONS[name](*ag.tensor(rows[1:]))
    often(FUNCTIONS[name], *ag.tensor(rows[[0, 0]]))
    assert made and None not in made
    again = FUNCTIONS[name](*ag.tensor(rows[1:]))
    np.testing.assert_allclose(again.numpy(), fresh.numpy(), rtol=1e-12)


def test_checks_of_values_are_made_in_each_call() -> None:
    often(ag.nanargmax, ag.tensor([1.0, np.nan]))
    with pytest.raises(ValueError, match="NaN"):
        ag.nanargmax(ag.tensor([np.nan, np.nan]))


def test_plain_arguments_and_types_are_told_apart() -> None:
    calls = []

    @planned
    def scaled(x: ag.Tensor, by: float) -> ag.Tensor:
        calls.append(by)
        return x * by

    ones = ag.ones(2)
    often(scaled, ones, 0.0)
    assert len(calls) == CALLS_BEFORE_PLAN + 2  # 16 calls, a trace, and one to compare with
    assert np.signbit(scaled(ones, -0.0).numpy()).all()
    assert scaled(ag.ones(3), 0.0).shape == (3,)
    assert scaled(ones.double(), 0.0).dtype == ag.float64
    assert often(ag.softmax, ag.arange(3), 0).dtype == ag.float32
    with ag.config(default_float="float64"):
        assert ag.softmax(ag.arange(3), 0).dtype == ag.float64


def test_plans_of_several_operations_hold_nothing() -> None:
    v, index = ag.arange(4.0, requires_grad=True), ag.tensor([0, 2, 1])
    calls = [lambda: v @ v, lambda: X @ v, lambda: v.roll(1), lambda: ag.stack([v, v]),
             lambda: X.unbind(0), lambda: X.index_add(0, index, X), lambda: X.squeeze(),
             lambda: X.clamp(2.0, 5.0), lambda: ag.nn.functional.silu(v)]
    for call in calls:
        first, later = call(), often(call)
        held = sys.getrefcount(v), sys.getrefcount(X)
        often(call)
        assert (sys.getrefcount(v), sys.getrefcount(X)) == held
        for a, b in zip(*(list(y) if isinstance(y, (tuple, list)) else [y]
                          for y in (first, later)), strict=True):
            assert a.tolist() == b.tolist()
            assert (a.requires_grad, a._view is None) == (b.requires_grad, b._view is None)
    (v @ v).backward()
    assert v.grad.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_all_kinds_of_arguments_are_told_apart() -> None:
    @planned
    def said(x: ag.Tensor, *args: Any, **keywords: Any) -> ag.Tensor:
        return x * len(repr((args, keywords)))

    ones = ag.ones(2)
    kinds = [(), (1,), (-1,), (1.0,), (True,), (None,), (...,), ("a",), ("a" * 63,), ("a" * 99,),
             (1, 22), ((1, 22),), ([1, 222],), (slice(1, 22),), (slice(None), 4444), (2 ** 70,),
             (float("nan"),), ((slice(0, None), ..., 11),), ("\ud800",), (1,) * 70]
    for args in kinds:
        for words in ({}, {"k": 10}, {"word": 10}, {"k": "b"}):
            expected = len(repr((args, words)))
            assert often(said, ones, *args, **words).tolist() == [expected] * 2, (args, words)
    assert often(said, ones, ones, [ones, ones]).shape == (2,)
    assert often(said, ag.ones(2, dtype="bfloat16")).dtype == ag.bfloat16
    many = [ag.ones(2)] * 20
    assert often(ag.stack, many).shape == (20, 2)


def test_gradients_and_long_functions() -> None:
    x = X.clone().requires_grad_()
    for _ in range(40):
        x.grad = None
        (ag.std(x, axis=1).sum() + ag.nn.functional.normalize(x).sum()).backward()
    again = x.detach().requires_grad_()
    (ag.sqrt(((again - again.mean(1, keepdims=True)) ** 2).mean(1)).sum()
     + (again / ag.sqrt((again ** 2).sum(1, keepdims=True))).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), again.grad.numpy(), atol=1e-5)


def test_constructors_give_memory_of_their_own() -> None:
    for make in (lambda: ag.zeros(2, 3), lambda: ag.arange(4), lambda: ag.full_like(X, 2.0)):
        first, other = make(), often(make)
        assert other.tolist() == first.tolist() and other.dtype == first.dtype
        other.add_(5)
        assert make().tolist() == first.tolist()
    assert often(ag.ones, 2, dtype=ag.float64).dtype == ag.float64
    assert often(ag.ones, 2, dtype=ag.int8).dtype == ag.int8
    assert often(ag.ones, 2, requires_grad=True).requires_grad
    with ag.config(default_float="float64"):
        assert often(ag.zeros, 2, 3).dtype == ag.float64
    assert ag.jit(lambda x: x + ag.zeros(2, 3))(ag.ones(2, 3)).sum().item() == 6.0


def test_constant_results_of_some_thousand_elements_are_copied(monkeypatch: Any) -> None:
    calls: list[Any] = []
    full = np.full
    monkeypatch.setattr(np, "full", lambda *args: calls.append(args) or full(*args))
    for make in (lambda: ag.ones(9999), lambda: ag.full((9999,), 1.0), lambda: ag.ones(11, 909)):
        for i in range(120):
            x = make()
            assert x.sum() == 9999 and (i < 100 or not calls)
            x.zero_()
            calls.clear()


def test_planned_draws_are_those_of_the_stream() -> None:
    p, x = ag.tensor([0.2, 0.7]), ag.ones(2, 3, requires_grad=True)
    draws = [lambda g: ag.rand(2, 3, **g), lambda g: ag.randint(0, 9, (3,), **g),
             lambda g: ag.random.bernoulli(p, **g), lambda g: ag.random.permutation(5, **g),
             lambda g: ag.nn.functional.dropout(x, 0.5, **g), lambda g: ag.normal(1.0, 2.0, (3,))
             if not g else ag.random.normal(1.0, 2.0, (3,), **g)]
    for draw in draws:
        ag.manual_seed(3)
        g = ag.random.Generator(3)
        expected = [draw({"generator": g}).tolist() for _ in range(CALLS_BEFORE_PLAN + 3)]
        assert [draw({}).tolist() for _ in range(CALLS_BEFORE_PLAN + 3)] == expected
        state = ag.random.get_rng_state().tolist()
        assert state == g.state_dict()["state"].view(np.uint8).tolist()
        y = draw({})
        assert y._view is None and y.numpy().flags.writeable
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\], not 1\.5"):
        ag.random.bernoulli(ag.tensor([0.2, 1.5]))
    assert not bool((ag.jit(lambda: ag.rand(2, 3))() == ag.rand(2, 3)).all())


def test_elements_are_numbers_that_know_their_place() -> None:
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    for _ in range(CALLS_BEFORE_PLAN + 4):
        family = len(base._version or [0])
        y = base[1]
        assert len(base._version or [0]) == family
    assert y._view is None and y._version is None and y.array.base is None
    with ag.no_grad():
        z = ag.tensor([1.0, 2.0, 3.0])
        number = often(lambda: z[1])
        z[1].add_(5.0)
        assert z.tolist() == [1.0, 7.0, 3.0] and number.item() == 2.0
        kept = number
        number += 1
        assert kept.item() == 2.0 and number.item() == 3.0
    (y * base[2]).backward()
    assert x.grad.tolist() == [0.0, 3.0, 2.0]
    assert often(lambda: z[1:2].reshape(()))._view is not None  # no number


def test_regions_of_known_types_are_called_directly() -> None:
    seen = []

    @planned
    def composed(a: ag.Tensor, b: ag.Tensor) -> ag.Tensor:
        seen.append(a)
        return (a * b + a).tanh() - b

    a, b = ag.tensor([0.1, 0.2]), ag.tensor([1.0, 2.0])
    expected = composed(a, b).tolist()
    for _ in range(2000):
        found = composed(a, b)
    count = len(seen)
    for _ in range(50):
        found = composed(a, b)
    assert len(seen) == count  # the code runs
    np.testing.assert_allclose(found.tolist(), expected, rtol=1e-6)
    same = ((b * b + b).tanh() - b).tolist()
    np.testing.assert_allclose(composed(b, b).tolist(), same, rtol=1e-6)
    seen.clear()
    with ag.config(compile=False):
        composed(a, b)
    assert len(seen) == 1
    w = ag.tensor([0.1, 0.2], requires_grad=True)
    composed(w, b).sum().backward()
    assert w.grad is not None
    assert composed(a, ag.ones(1)).shape == (2,)


def test_views_of_another_dtype_and_several_results() -> None:
    z = ag.tensor(np.array([1 + 2j, 3j], np.complex64))
    assert often(ag.view_as_real, z).tolist() == [[1.0, 2.0], [0.0, 3.0]]
    pairs = ag.tensor([[1.0, 2.0], [0.0, 3.0]])
    assert often(ag.view_as_complex, pairs).tolist() == [1 + 2j, 3j]
    x = ag.tensor([1.0, 3.0, 2.0])
    first = ag.cummax(x, 0)
    found = often(ag.cummax, x, 0)
    assert type(found) is type(first)
    assert found.values.tolist() == [1.0, 3.0, 3.0]
    assert found.indices.tolist() == [0, 1, 1]
    assert [y.tolist() for y in often(ag.meshgrid, x, x, indexing="ij")] == [
        [[1.0] * 3, [3.0] * 3, [2.0] * 3], [[1.0, 3.0, 2.0]] * 3]
    a, b = often(ag.broadcast_arrays, x, ag.zeros(2, 1))
    assert a.shape == b.shape == (2, 3)


def test_windows_are_views_by_plan():
    x = ag.tensor(np.arange(12, dtype="float32").reshape(3, 4))
    for _ in range(60):
        windows = x.unfold(1, 2, 1)
    np.testing.assert_array_equal(windows.numpy()[:, :, 1], x.numpy()[:, 1:])
    x[0, 1] = 9
    assert windows[0].tolist() == [[0, 9], [9, 2], [2, 3]]
    assert ag.nonzero(x - 9)[0][:1].tolist() == [0]


def test_plans_compute_nothing_twice_and_repeat_by_strides() -> None:
    x = ag.tensor(np.random.default_rng(0).random((1, 2, 4, 4), np.float32))
    group_norm = ag.nn.functional.group_norm
    want = group_norm(x, 1)
    for _ in range(2 * CALLS_BEFORE_PLAN):
        found = group_norm(x, 1)
    np.testing.assert_array_equal(found, want)
    plans = [c.cell_contents for c in group_norm.__closure__
             if type(c.cell_contents).__name__ == "Plans"]
    *_, plan = [p for p in plans[0].found.values() if type(p) is Plan]
    steps = [(op, numbers) for op, numbers, _ in plan.steps]
    assert len(set(steps)) == len(steps)
    assert all(direct for op, _, direct in plan.steps if op.name == "broadcast_to")
