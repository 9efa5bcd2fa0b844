"""Calls that come ten thousand times are compiled: values, dtypes, errors stay as they were."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import plans
from agnesi.core.calls import plans as calls
from agnesi.core.calls.plans import Plan, RegionPlan
from agnesi.core.support.config import HOOKS
from agnesi.runtime import eager
from benchmarks.models import small_calls

NATIVE = eager.builtin("replayed")
TEXTS = [t for t in small_calls.texts(small_calls.RECORDED + small_calls.PLAIN)
         if "_(" not in t and "is_" not in t]
ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 3e38, 2.5, -1.5, 0.5], "float32")


@pytest.fixture
def soon(monkeypatch):
    """What plans became that were compiled after a few calls."""
    found, compiled = [], HOOKS.compiled_plan
    monkeypatch.setattr(plans, "CALLS_BEFORE_REGION", 4)
    monkeypatch.setattr(calls, "_CALLS_FOR_EACH", 0)  # however many plans other tests have made
    monkeypatch.setattr(HOOKS, "replayed", NATIVE)
    monkeypatch.setattr(HOOKS, "compiled_plan", lambda *call: (
        found.append(compiled(*call)), found[-1])[1])
    HOOKS.recount()
    return found


def operands(kind):
    names = small_calls.operands(ag, False)
    if kind == "odd":
        for name in ("x", "y", "p"):
            names[name] = ag.tensor(ODD if name != "y" else ODD[::-1].copy())
    if kind == "double":
        for name, x in names.items():
            if isinstance(x, ag.Tensor) and x.dtype == ag.float32:
                names[name] = x.double()
    return names


def outcome(run):
    try:
        found = run()
    except Exception as error:
        return [type(error).__name__, str(error)]
    parts = found if isinstance(found, (list, tuple)) else [found]
    return [np.asarray(p.numpy() if isinstance(p, ag.Tensor) else p) for p in parts]


@pytest.mark.parametrize("kind", ("usual", "odd", "double"))
def test_values_stay(kind, soon):
    names = operands(kind)
    for text in TEXTS:
        run = small_calls.forward(text, names)
        with np.errstate(all="ignore"):
            first = outcome(run)
            for _ in range(30):
                then = outcome(run)
        assert len(first) == len(then), text
        for a, b in zip(first, then, strict=True):
            if isinstance(a, str):
                assert a == b, text
                continue
            assert a.dtype == b.dtype and a.shape == b.shape, text
            tolerance = 1e-11 if kind == "double" else 2e-5
            np.testing.assert_allclose(b, a, tolerance, 1e-6, err_msg=text)
    assert sum(isinstance(plan, RegionPlan) for plan in soon) >= 20


def test_other_operands_of_the_same_types_are_computed_anew(soon):
    x = ag.tensor(ODD[7:])
    for _ in range(40):
        x.sum()
    assert isinstance(soon[-1], RegionPlan)
    assert float(ag.tensor([1.0, 2.0, 4.0]).sum()) == 7.0
    assert [float(ag.ones(3).sum()) for _ in range(3)] == [3.0] * 3
    found = [ag.cumsum(x, 0) for _ in range(60)]
    assert len({t.array.ctypes.data for t in found}) == 60  # each in memory of its own
    found[-1].add_(1.0)
    assert ag.cumsum(x, 0).tolist() == [2.5, 1.0, 1.5]


def test_operands_that_are_the_same(soon):
    x, y = ag.tensor(ODD[7:]), ag.ones(3)
    for call in (ag.dot, lambda a, b: ag.cat([a, b]), lambda a, b: ag.lerp(a, b, 0.5), ag.xlogy):
        for _ in range(200):
            call(x, y)
        for _ in range(3):
            with np.errstate(all="raise"):
                found = call(x, x)
            np.testing.assert_allclose(found.numpy(), call(x, x.clone()).numpy(), 1e-5)


def test_operands_that_lie_in_another_order(soon):
    m = ag.tensor(np.arange(24, dtype="float32").reshape(2, 3, 4))
    for turned in (m.mT, m.permute(2, 0, 1), m.permute(1, 2, 0)):
        known = turned.numpy()
        for _ in range(40):
            sums, product = turned.sum(0), ag.matmul(turned, turned.mT)
            summed = ag.add(turned, 1).sum()
        np.testing.assert_array_equal(sums.numpy(), known.sum(0))
        np.testing.assert_array_equal(product.numpy(), known @ known.swapaxes(1, 2))
        assert float(summed) == 300
    assert sum(isinstance(plan, RegionPlan) for plan in soon) >= 6
    apart = m[:, ::2]
    count = len(soon)
    for _ in range(40):
        apart.sum(0)
    assert all(isinstance(plan, Plan) for plan in soon[count:])  # they would be copied


def test_what_is_compiled_within_a_function_does_not_cost_it_its_plan(soon):
    x = ag.tensor(np.linspace(-3, 3, 30, dtype="float32"))
    for _ in range(40):
        ag.sigmoid(x)
    assert isinstance(soon[-1], RegionPlan)
    for _ in range(60):
        found = ag.nn.functional.silu(x)
    assert isinstance(soon[-1], RegionPlan) and len(soon) >= 2
    np.testing.assert_allclose(found.numpy(), x.numpy() / (1 + np.exp(-x.numpy())), 2e-6)


def test_several_results(soon):
    x = ag.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    for _ in range(60):
        least, greatest = ag.aminmax(x)
        top = x.topk(2)
        running = ag.cummax(x, 1)
    assert (float(least), float(greatest)) == (0, 5)
    assert top.values.tolist() == [[3, 2], [5, 4]] and top.indices.tolist() == [[0, 2], [1, 2]]
    assert running.values.tolist() == [[3, 3, 3], [0, 5, 5]]
    assert running.indices.tolist() == [[0, 0, 0], [0, 1, 1]]
    assert type(top) is type(ag.topk(x.double(), 2))
    assert sum(isinstance(plan, RegionPlan) for plan in soon) >= 2


def test_views_gradients_and_settings_keep_their_plans(soon):
    x, w = ag.ones(4), ag.ones(4, requires_grad=True)
    for _ in range(40):
        x[1:], x.reshape(2, 2), x[0], w.sum(), ag.dot(w, x)
    assert not soon
    with ag.config(compile=False):
        for _ in range(40):
            ag.logsumexp(x, 0)
    assert all(isinstance(plan, Plan) for plan in soon)


def test_what_rounds_otherwise_keeps_its_plan(soon, monkeypatch):
    monkeypatch.setattr(plans, "_is_close", lambda *given: False)
    x = ag.tensor(ODD[7:])
    for _ in range(40):
        x.prod()
    assert len(soon) == 1 and isinstance(soon[0], Plan) and soon[0].calls_left is None


def test_large_operands_are_compiled_after_as_much_work(monkeypatch):
    found, compiled = [], HOOKS.compiled_plan
    monkeypatch.setattr(HOOKS, "replayed", NATIVE)
    monkeypatch.setattr(HOOKS, "compiled_plan", lambda *call: (
        found.append(compiled(*call)), found[-1])[1])
    HOOKS.recount()
    draw = np.random.default_rng(0).standard_normal
    for shape in ((100_000,), (316, 316)):
        x = ag.tensor(np.asarray(draw(shape), np.float32))
        calls = (lambda x: ag.cumsum(x, 0), ag.sum, ag.nan_to_num, lambda x: ag.mean(x, axis=-1))
        for call in calls:
            first = call(x).numpy()
            for _ in range(400):
                last = call(x)
            # NumPy's running sums round at each element
            np.testing.assert_allclose(last.numpy(), first, 1e-5, 3e-3)
    assert sum(isinstance(plan, RegionPlan) for plan in found) >= 4
    for _ in range(400):
        last = x.repeat(1, 2)
    np.testing.assert_array_equal(last.numpy(), np.tile(x.numpy(), (1, 2)))
    assert isinstance(found[-1], RegionPlan)
    found.clear()
    for n in range(70_000, 70_400):
        ag.cumsum(x.reshape(-1)[:n], 0)
    assert not found


@pytest.mark.parametrize("name", ["var", "std", "norm"])
def test_jacobians_of_what_is_wanted_often_keep_their_values(name):
    f = ag.linalg.norm if name == "norm" else getattr(ag, name)
    x = ag.tensor([-0.5, 1.5, 0.25], dtype="float64")
    expected = ag.jacrev(lambda x: f(x) + x)(x).tolist()
    for _ in range(250):
        found = ag.jacrev(lambda x: f(x) + x)(x)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
