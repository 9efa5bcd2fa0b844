"""Gradients flow through calls of jitted functions as through the functions themselves."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from tests.compiler.entered import entered


def _pair() -> tuple[ag.Tensor, ag.Tensor]:
    rng = np.random.default_rng(3)
    w = ag.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    x = ag.tensor(rng.normal(size=(5, 3)), requires_grad=True)
    return w, x


def test_arguments_and_captured_tensors_get_gradients() -> None:
    w, x = _pair()

    def f(x: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        return ag.tanh(x @ w), (x * 2).sum()

    found = []
    for g in (f, ag.jit(f)):
        x.grad = w.grad = None
        y, s = g(x)
        assert y.requires_grad and s.requires_grad
        ((y**2).sum() + s).backward()
        found.append((x.grad.numpy(), w.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_no_record_without_recording() -> None:
    w, x = _pair()
    f = ag.jit(lambda x: ag.tanh(x @ w))
    with ag.no_grad():
        assert not f(x).requires_grad
    assert f(x.detach()).requires_grad


def test_what_is_recorded_within_no_grad() -> None:
    w, x = _pair()
    for way in (lambda f: f, ag.jit):

        def f(x: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
            with ag.enable_grad():
                y = (x * w.sum()).sum()
            return y, y * 2

        with ag.no_grad():
            y, z = way(f)(x.detach())
            given = way(lambda x: (x, x.T, x * 2, x.requires_grad))(x)
        assert (y.requires_grad, z.requires_grad) == (True, False)
        assert ag.grad(y * y, w).shape == w.shape
        assert [t.requires_grad for t in given[:3]] == [True, False, False] and given[3]
        assert ag.grad((given[0] * 3).sum(), x).tolist() == np.full((5, 3), 3.0).tolist()


def test_higher_order_by_nesting() -> None:
    _, x = _pair()
    h = ag.jit(lambda x: (x**3).sum())
    second = ag.grad(lambda x: ag.grad(h)(x).sum())(x)
    np.testing.assert_allclose(second.numpy(), 6 * x.numpy(), rtol=1e-12)


def test_derivatives_inside_are_not_recorded_for_arguments_that_ask_for_none():
    step = ag.jit(ag.grad(lambda x: (x * x * x).sum()))
    x = ag.tensor([1.0, 2.0])
    assert not step(x).requires_grad
    assert step.specialisations[-1].compiled.direct is not None
    x.requires_grad_()
    step(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy())


X = np.array([1.0, 2.0, 3.0])


def _parameter() -> ag.Tensor:
    return ag.tensor(X, requires_grad=True)


def _view(w, b):
    v = b[:2]
    return lambda s: (v * v * s).sum()


def _view_and_base(w, b):
    v = b[:2]
    return lambda s: (v * s).sum() + (b * b).sum() + (w * 3).sum()


def _view_of_a_view(w, b):
    v = b.reshape(3, 1)
    u = v[:2]
    return lambda s: (v * v * s).sum() + (u * u).sum()


def _view_of_what_was_changed(w, b):
    v = b[1:]
    b *= 3
    return lambda s: (v * v * s).sum() + (b * s).sum()


def _changed_view(w, b):
    v = b[1:]
    v *= 3
    return lambda s: (v * v * s).sum() + (b * s).sum()


def _view_made_without_a_record(w, b):
    with ag.no_grad():
        v = w[:2]
    return lambda s: (v * w[:2] * s).sum()


def _view_that_begins(w, b):
    with ag.no_grad():
        v = w[:2]
    v.requires_grad_()
    return lambda s: (v * v * s).sum()


def _row_in_a_loop(w, b):
    with ag.no_grad():
        v = w[0]
    return lambda s: ag.scan(lambda c, x: (c * v + x * w[0] * s, c), ag.zeros((), "float64"), w)[0]


@pytest.mark.share(2)
@pytest.mark.parametrize("made", [
    _view, _view_and_base, _view_of_a_view, _view_of_what_was_changed, _changed_view,
    _view_made_without_a_record, _view_that_begins, _row_in_a_loop,
])
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
def test_views_that_are_used_without_being_given(made: Any, optimizer: str) -> None:
    """Gradients flow through them once, and where those of eager code do."""
    found = []
    for way in (lambda f: f, lambda f: ag.jit(f, optimizer=optimizer)):
        w = _parameter()
        f = way(made(w, w * 2))
        for _ in range(2):
            w.grad = None
            f(2.0).backward()
            found.append(None if w.grad is None else w.grad.tolist())
    assert found == found[:1] * 4


def test_a_view_that_begins_gets_the_gradient() -> None:
    base = ag.tensor(X)
    v = base[:2]
    v.requires_grad_()
    ag.jit(lambda s: (v * v * s).sum())(2.0).backward()
    assert v.grad.tolist() == [4.0, 8.0]


def test_a_trace_does_not_tell_views_what_they_looked_into() -> None:
    w = _parameter()
    b = w * 2
    v = b[:2]
    b[...] = w * 3
    ag.jit(lambda s: (v * s).sum())(1.0)
    v.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0, 0.0]


def test_nothing_arrives_where_no_gradient_flows() -> None:
    for way in (lambda f: f, ag.jit):
        w, u, v = _parameter(), _parameter(), _parameter()
        f = way(lambda x, w=w, u=u, v=v: (w.detach() * x + u * x, v * x))
        used, _ = f(ag.tensor(X))
        used.sum().backward()
        assert (w.grad, v.grad) == (None, None)
        assert u.grad.tolist() == X.tolist()


def test_what_was_read_and_changed_since_is_refused() -> None:
    """Arguments without a gradient and buffers too; what no derivative reads may change."""
    for way in (lambda f: f, ag.jit):
        w, u, b, x = _parameter(), _parameter(), ag.tensor(X), ag.tensor(X)
        read = way(lambda x, w=w, b=b: (w * b * x).sum())
        kept = way(lambda x, w=w, u=u, b=b: (w + b - u).sum() + x.sum())
        for changed in (x, b):
            loss, other = read(x), kept(x)
            changed += 1
            with pytest.raises(ag.GradientError, match="changed in place afterwards"):
                loss.backward()
            assert ag.grad(other, w).tolist() == [1.0, 1.0, 1.0]
        other = kept(x)
        with ag.no_grad():
            w += 1
            u += 1
        w.grad = None
        (other + read(x)).backward()
        assert w.grad.tolist() == (1 + b * x).tolist()


@pytest.mark.parametrize("f", [
    lambda v, way: way(lambda c: ag.sin(c * v))(v * v).sum(),
    lambda v, way: (lambda g: g(g(v * v)).sum())(way(lambda c: ag.sin(c * v))),
    lambda v, way: (lambda g: ag.scan(lambda c, r: (g(c, r), c), v, ag.tensor(X[:2]))[0].sum())(
        way(lambda c, r: ag.sin(c * r * v))),
])
def test_an_argument_may_depend_on_what_is_not_given(f: Any) -> None:
    """Its share arrives once, also where the derivative runs on values, as for many tangents."""
    v = ag.tensor(X)

    def every(way: Any) -> list[Any]:
        def of(v: Any) -> Any:
            return f(v, way)

        return [
            ag.grad(of)(v), ag.hessian(of)(v), ag.jacfwd(ag.jacfwd(of))(v),
            ag.vmap(lambda t: ag.jvp(of, (v,), (t,))[1])(ag.tensor(np.eye(3))),
        ]

    for a, b in zip(every(lambda g: g), every(ag.jit), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-10, atol=1e-12)


def test_a_recorded_call_of_a_network_is_a_native_call_and_one_operation():
    """No more Python than the record takes; whatever is changed between the calls is noticed."""
    model = ag.nn.Sequential(ag.nn.Linear(3, 4), ag.nn.Tanh(), ag.nn.Linear(4, 2))
    f = ag.jit(model)
    rng = np.random.default_rng(0)
    x, wide = ag.tensor(rng.normal(size=(5, 3))), ag.tensor(rng.normal(size=(6, 3)))
    needed = ag.tensor(rng.normal(size=(5, 3)), requires_grad=True)

    def agrees(*given, **named):
        found = []
        for run in (f, model):
            y = run(*given, **named)
            assert y.requires_grad == any(p.requires_grad for p in (*model.parameters(), *given))
            if y.requires_grad:
                (y ** 2).sum().backward()
            found.append([y, *(p.grad for p in (*model.parameters(), needed))])
            for p in (*model.parameters(), needed):
                p.grad = None
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            assert a is None or np.allclose(a.numpy(), b.numpy(), atol=1e-5)

    for given in (x, x, wide, needed, x, wide):
        agrees(given)
        with ag.no_grad():
            assert not f(given).requires_grad
        model[0].weight.array[0] += 1
    f(x)
    assert len(entered(f, x)) < 25
    assert ag.vmap(f)(x).shape == (5, 2)
    model[1] = ag.nn.ReLU()
    agrees(x)
    for p in model.parameters():
        p.requires_grad_(False)
    agrees(x)


@pytest.mark.parametrize("order", [(0, 0, 1), (1, 0, 1), (0, 1, 1, 0, 1)])
def test_code_traced_without_recording_serves_no_call_that_is_recorded(order: Any) -> None:
    w, x = _pair()

    def step(x: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        with ag.enable_grad():
            y = x @ w
        return y, y * 2

    f = ag.jit(step)
    for records in order:
        found = []
        for g in (step, f):
            with ag.set_grad_enabled(bool(records)):
                y, z = g(x)
            w.grad = None
            (y + z).sum().backward()
            found.append((y.requires_grad, z.requires_grad, w.grad))
        assert found[0][:2] == found[1][:2] == (True, bool(records))
        np.testing.assert_allclose(found[0][2].numpy(), found[1][2].numpy(), rtol=1e-12)


def _by_requires_grad(w: Any, x: Any) -> Any:
    y = w * x
    return y.detach() * (2 if y.requires_grad else 1)


def _by_is_leaf(w: Any, x: Any) -> Any:
    return (w * x).detach() * (2 if (w * x).is_leaf else 1)


def _by_grad_fn(w: Any, x: Any) -> Any:
    return (w * x).detach() * (2 if (w * x).grad_fn is None else 1)


def _by_a_gradient(w: Any, x: Any) -> Any:
    return ag.autograd.grad((w * x).sum(), w)[0]


def _by_an_error(w: Any, x: Any) -> Any:
    try:
        return ag.autograd.grad((w * x).sum(), w)[0]
    except RuntimeError:
        return x * 5


@pytest.mark.parametrize("order", ["rrn", "nnr", "rnr"])
@pytest.mark.parametrize("step", [
    _by_requires_grad, _by_is_leaf, _by_grad_fn, _by_a_gradient, _by_an_error])
def test_code_traced_while_recording_serves_no_other_calls_of_what_depends_on_it(
        step: Any, order: str) -> None:
    w, x = ag.tensor([1.0, 2.0], requires_grad=True), ag.ones(2)
    found = []
    for f in (lambda x: step(w, x), ag.jit(lambda x: step(w, x))):
        found.append([])
        for records in order:
            with ag.set_grad_enabled(records == "r"):
                try:
                    found[-1].append(f(x).tolist())
                except ag.GradientError as error:
                    found[-1].append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("order", ["rrrr", "nnnrr", "nrnr"])
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_parameters_that_keep_being_exchanged_get_their_gradients(order: str) -> None:
    model, x = ag.nn.Linear(2, 1), ag.ones((3, 2))
    f = ag.jit(lambda x: model(x) * 2)
    for records in order:
        model.weight = ag.nn.Parameter(model.weight.detach() + 1)
        with ag.set_grad_enabled(records == "r"):
            y = f(x)
        if records == "r":
            y.sum().backward()
            assert model.weight.grad.tolist() == [[6, 6]]


def test_calls_with_tensors_that_require_gradients_go_to_native_code(monkeypatch):
    """So do their gradients, also where a cotangent is one number that is repeated."""
    w = ag.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    x, scale = ag.ones((2, 3), dtype="float64"), ag.tensor(2.0, requires_grad=True)
    f = ag.jit(lambda w, x, s: (w * s + x) ** 2)

    def step():
        w.grad = scale.grad = None
        f(w, x, scale).sum().backward()
        with ag.no_grad():
            y = f(w, x, scale)
        return y, w.grad, scale.grad

    first = [step() for _ in range(6)][-1]
    monkeypatch.setattr(type(f), "dispatch", None)
    for a, b in zip(step(), first, strict=True):
        assert a.tolist() == b.tolist() and not a.requires_grad
    assert w.grad.tolist() == (4 * (2 * w + x)).tolist() and scale.grad.shape == ()


@pytest.mark.parametrize("asks", [
    lambda w, v: w.requires_grad, lambda w, v: (w * 2 + v).requires_grad,
    lambda w, v: (w * v).grad_fn is None, lambda w, v: v[0].requires_grad,
    lambda w, v: w.detach().requires_grad, lambda w, v: any(x.requires_grad for x in (w, v)),
    lambda w, v: getattr(v, "requires_grad"),  # noqa: B009
])
def test_functions_that_ask_whether_gradients_are_required_see_it_at_each_call(asks):
    def f(w, v):
        return w * v * 2 if asks(w, v) else w + v

    jitted = ag.jit(f)
    made = [ag.tensor([1.0, 2.0], requires_grad=r) for r in (False, True)]
    for i in np.random.default_rng(0).permutation(np.tile(np.arange(8), 4)):
        w, v = made[i & 1], made[i >> 1 & 1].clone().detach().requires_grad_(bool(i & 2))
        outcomes = []
        for function in (f, jitted):
            w.grad = v.grad = None
            with ag.set_grad_enabled(bool(i & 4)):
                y = function(w, v)
            if y.requires_grad:
                y.sum().backward()
            outcomes.append([None if x is None else x.tolist() for x in (y, w.grad, v.grad)])
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("asks", [
    lambda w: w.is_leaf, lambda w: w.name == "a", lambda w: w.grad_fn is None,
])
def test_gradients_see_what_calls_saw_of_their_arguments(asks):
    """The function runs again for them, on symbols that stand for the arguments."""
    def f(w):
        return w * 2 if asks(w) else w * 3

    jitted = ag.jit(f)
    for name, leaf in itertools.product(("a", "b", "a"), (True, False)):
        found = []
        for function in (f, jitted):
            w = ag.ones(3, requires_grad=True)
            v = w if leaf else w * 1
            v.name = name
            y = function(v)
            y.sum().backward()
            found.append((y.tolist(), w.grad.tolist()))
        assert found[0] == found[1]


def renames(w, k):
    r = w * 2 if k.name == "a" else w * 3
    k += 1
    return r * k


@pytest.mark.parametrize("function", [
    lambda w, k: w * 2 if w.name == "a" else w * 3,
    lambda w, k: w * 2 if k.name == "a" else w * 3,
    renames,
    lambda w, k: w * 2 if k.requires_grad else w * 3,
])
def test_gradients_see_arguments_as_they_were_at_the_call(function):
    """Also where they were renamed, frozen or thawed since, and where the function changes them."""
    jitted = ag.jit(function)
    for before, since, leaf in itertools.product((None, "a", "b"), (None, "a", "b"), (True, False)):
        found = []
        for f in (function, jitted):
            w, k = ag.ones(3, requires_grad=True), ag.ones(3)
            v = w if leaf else w * 1
            v.name = k.name = before
            y = f(v, k)
            v.name = k.name = since
            if function is not renames:
                k.requires_grad_(True)
            y.sum().backward()
            found.append((y.tolist(), w.grad.tolist()))
        assert found[0] == found[1]
