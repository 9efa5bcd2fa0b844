"""Calls go by plans before compiled code pays: operators on operands of two dtypes, functions of
several operations, and backward passes of two operations become compiled ones."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import tapes
from agnesi.core.calls.plans import Plan
from agnesi.core.support.config import HOOKS
from agnesi.ops.base import elementwise

X, N, B = ag.tensor([0.5, 1.5, -2.0]), ag.tensor([1, 2, 4]), ag.tensor([True, False, True])
OPERATORS = {
    "x + n": lambda: X + N, "n - x": lambda: N - X, "x * b": lambda: X * B, "n / n": lambda: N / N,
    "n * 2.5": lambda: N * 2.5, "2.5 - n": lambda: 2.5 - N, "x < n": lambda: X < N,
    "b + b": lambda: B + B, "x ** n": lambda: X**N, "maximum": lambda: ag.maximum(X, N),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_two_dtypes_go_by_plans(name, monkeypatch):
    run = OPERATORS[name]
    HOOKS.recount()
    expected = run()
    for _ in range(40):
        run()
    monkeypatch.setattr(elementwise, "call", lambda *call: pytest.fail("the long way"))
    found = run()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_gradients_of_operators_on_two_dtypes():
    w = X.detach().requires_grad_()
    for _ in range(40):
        w.grad = None
        (w * N + w / B.astype("int64").add(1)).sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), [1.5, 3.0, 4.5])


def test_errors_of_operators_stay():
    told = set()
    for _ in range(40):
        with pytest.raises(ValueError, match="float32") as error:
            X + ag.tensor([1, 2])
        told.add(str(error.value))
    assert len(told) == 1 and "test_plans_first.py" in told.pop()


def test_several_operations_go_by_their_plan_until_compiled_code_pays(monkeypatch):
    made, plan = [], HOOKS.plan
    monkeypatch.setattr(HOOKS, "plan", lambda *call: (made.append(plan(*call)), made[-1])[1])
    monkeypatch.setattr(HOOKS, "compiled_plan", lambda *call: pytest.fail("too early"))
    HOOKS.recount()
    labels, w = ag.tensor([1, 0, 4, 2]), ag.ones(4, 5).requires_grad_()
    for x in (ag.ones(4, 5), w):
        expected = ag.nn.functional.cross_entropy(x, labels)
        for _ in range(60):
            found = ag.nn.functional.cross_entropy(x, labels)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-6)
    assert made and all(isinstance(p, Plan) for p in made if p is not None)
    assert any(len(p.steps) >= 3 and p.calls_left is not None for p in made if p is not None)


def test_backward_passes_of_two_operations_are_compiled(monkeypatch):
    made, tape = [], tapes.Tape
    monkeypatch.setattr(tapes, "Tape", lambda *call: (made.append(tape(*call)), made[-1])[1])
    HOOKS.recount()
    w = ag.tensor([0.25, -3.0]).requires_grad_()
    for _ in range(200):
        w.grad = None
        ag.sigmoid(w).sum().backward()
    assert made
    y = 1 / (1 + np.exp(-w.detach().numpy()))
    np.testing.assert_allclose(w.grad.numpy(), y * (1 - y), rtol=1e-6)


SEVERAL = {
    "svd": lambda: ag.linalg.svd(ag.tensor([[2.0, 1.0], [1.0, 3.0]])),
    "topk": lambda: ag.topk(X, 2), "triu_indices": lambda: ag.triu_indices(3, 1),
    "lstsq": lambda: ag.linalg.lstsq(ag.tensor([[1.0, 0.0], [1.0, 1.0]]), ag.tensor([1.0, 3.0])),
    "conv_transpose2d": lambda: [ag.nn.functional.conv_transpose2d(
        ag.ones(1, 1, 3, 3), ag.ones(1, 1, 2, 2))],
    "fft": lambda: [ag.fft.fft(X)], "argmax": lambda: [ag.argmax(X), ag.argmin(X, 0)],
    "split": lambda: X.split([1, 2]),
    "places": lambda: [ag.gather(ag.tensor([[1.0, 2.0]]), 1, ag.tensor([[1, 0]]))],
    "cumprod": lambda: [ag.cumprod(X, 0)], "searchsorted": lambda: [ag.searchsorted(N, N)],
    "descending": lambda: [ag.argsort(X, descending=True)],
    "diag": lambda: [ag.diag(X, k) for k in (-1, 0, 2)],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_functions_with_several_results_and_with_constant_ones_go_by_plans(name, monkeypatch):
    plans, plan = [], HOOKS.plan
    monkeypatch.setattr(HOOKS, "plan", lambda *call: (plans.append(plan(*call)), plans[-1])[1])
    HOOKS.recount()
    run = SEVERAL[name]
    expected = [y.numpy().copy() for y in run()]
    for _ in range(40):
        found = run()
    assert plans and all(isinstance(p, Plan) and p.quick for p in plans)
    for y, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y.numpy(), wanted)


def test_gradients_of_one_of_several_results_by_a_plan():
    for _ in range(40):
        w = ag.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        ag.linalg.svd(w)[1].sum().backward()
        values = ag.linalg.eigh(w.detach())
        wanted = values.eigenvectors @ values.eigenvectors.T
        np.testing.assert_allclose(w.grad.numpy(), wanted.numpy(), atol=1e-5)


def test_layers_under_no_grad_go_by_plans_of_their_own(monkeypatch):
    """Parameters want gradients also where nothing is recorded."""
    plans, plan = [], HOOKS.plan
    monkeypatch.setattr(HOOKS, "plan", lambda *call: (plans.append(plan(*call)), plans[-1])[1])
    HOOKS.recount()
    w, b = ag.ones(4, 3, requires_grad=True), ag.ones(4, requires_grad=True)
    x = ag.tensor([[[0.5, 1.0, -2.0]]])
    for _ in range(2):
        plans.clear()
        with ag.no_grad():
            for _ in range(40):
                y = ag.nn.functional.layer_norm(ag.nn.functional.linear(x, w, b), 4)
                assert not y.requires_grad
        assert all(isinstance(p, Plan) for p in plans)
        for _ in range(40):
            w.grad = None
            z = ag.nn.functional.linear(x, w, b)
            (z * z).sum().backward()
            np.testing.assert_allclose(w.grad.numpy(), 2 * 0.5 * np.tile(x.numpy()[0], (4, 1)))


RULES = {
    "max": lambda x: x.max(), "amin": lambda x: ag.amin(x, 1), "prod": lambda x: x.prod(),
    "svd": lambda x: ag.linalg.svd(x)[1], "qr": lambda x: ag.linalg.qr(x)[1],
    "cholesky": lambda x: ag.linalg.cholesky(x @ x.T), "eigh": lambda x: ag.linalg.eigh(x @ x.T)[0],
    "list of lists": lambda x: x[[0, 1], [1, 1]], "tuple with list": lambda x: x[:, [1, 0]],
    "gather": lambda x: x.gather(1, ag.tensor([[0], [0]])),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_that_go_by_plans_give_what_they_gave(name):
    slopes = []
    HOOKS.recount()
    for _ in range(60):
        x = ag.tensor([[2.0, 1.0], [0.5, 2.0]], dtype=ag.float64, requires_grad=True)
        y = RULES[name](x)
        (y * ag.arange(1.0, 1.0 + y.size).reshape(y.shape)).sum().backward()
        slopes.append(x.grad.numpy())
    for slope in slopes[1:]:
        np.testing.assert_allclose(slope, slopes[0], rtol=1e-12, atol=1e-12)
