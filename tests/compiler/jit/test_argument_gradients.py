"""Gradients that jitted functions leave at their arguments, and arguments that they let require
some: as eager calls do."""

import pytest

import agnesi as ag
from agnesi.autodiff.hooks import HOOKED

W = ag.tensor([1.0, 2.0], requires_grad=True)


def step(x, y):
    loss = (x * W * y).sum()
    loss.backward()
    return loss


def twice(x, y):
    (x * W).sum().backward()
    (x * y).sum().backward()
    return y.detach() + 1


def update(x, y):
    W.grad = None
    ((x * W) ** 2 + y).sum().backward()
    with ag.no_grad():
        W.sub_(0.125 * W.grad)


def attack(x, y):
    ((x * W - y) ** 2).sum().backward()
    with ag.no_grad():
        x.sub_(0.125 * x.grad)
    x.grad = None


def renewed(x, y):
    x.grad = None
    ((x - y) ** 2 * W).sum().backward()
    return x.grad * 2


def clear(x, y):
    x.grad = None
    y.grad = x.detach()
    return x.detach() * 2


def thaw(x, y):
    before = x * W
    x.requires_grad_()
    loss = (x * y * W).sum() + before.sum()
    loss.backward()
    return loss


def thaw_all(x, y):
    x.requires_grad_()
    y.requires_grad_()
    (x * y * W).sum().backward()
    return x.grad + y.grad


def thaw_and_change(x, y):
    x.requires_grad_()
    (x * y * W).sum().backward()
    with ag.no_grad():
        x.sub_(x.grad)


def in_loop(x, y):
    total, _ = ag.scan(lambda c, i: (c * x, None), y, ag.arange(3))
    total.sum().backward()


def thaw_only(x, y):
    x.requires_grad_()
    return (x * W).sum().detach()


FUNCTIONS = [step, twice, update, attack, renewed, clear, thaw, thaw_all, thaw_and_change, in_loop,
             thaw_only]


def given(kind):
    x, y = (ag.tensor(v, requires_grad=kind != "plain") for v in ([1.0, 2.0], [3.0, 5.0]))
    if kind == "with":
        x.grad, y.grad = ag.tensor([10.0, 20.0]), ag.tensor([30.0, 40.0])
    if kind == "computed":
        return x * 2, y * 2
    if kind == "one":
        return x, x
    if kind == "second":
        x = x.detach()
    return x, y


def close(a, b):
    return (a is None) is (b is None) and (a is None or (
        a.requires_grad is b.requires_grad and ag.allclose(a.detach(), b.detach())))


def seen(run, wrap):
    """The results, arguments and gradients of five calls."""
    W.grad = None
    with ag.no_grad():
        W.copy_([1.0, 2.0])
    found = []
    for order in ("plain", "with", "computed", "one", "second"):
        x, y = given(order)
        for _ in range(2):
            try:
                result = wrap(run, x, y)
            except (ag.GradientError, TypeError):  # nothing has a gradient
                result = None
            grads = [t.grad if t.is_leaf else None for t in (x, y, W)]
            found += [None if v is None else v.clone() for v in grads]
            found += [result, x.clone(), y.clone(), W.detach().clone()]
    return found


def by_names(f, x, y):
    return f(y=y, x=x)


def by_position(f, x, y):
    return f(x, y)


@pytest.mark.parametrize("function, wrap", [
    *((f, by_position) for f in FUNCTIONS), (step, by_names), (thaw, by_names)])
def test_gradients_are_left_as_eager_calls_leave_them(function, wrap):
    eager = seen(function, wrap)
    compiled = seen(ag.jit(function, keep_grads=True), wrap)
    assert [close(a, b) for a, b in zip(eager, compiled, strict=True)] == [True] * len(eager)


@pytest.mark.parametrize("kind", ["plain", "leaf"])
def test_steps_with_gradients_at_arguments_are_compiled(kind, monkeypatch):
    monkeypatch.setattr(HOOKED, "any", False)  # other tests had some
    run = ag.jit(thaw if kind == "plain" else step)
    for _ in range(3):
        x, y = given(kind)
        loss = run(x, y)
        assert x.grad is not None
    assert run.versions.ready and "runs eagerly" not in run.explain()
    assert run._used is not None  # native code, without the general way
    with pytest.raises(ag.GradientError, match="takes gradients itself"):
        ag.autograd.grad(loss, x, allow_unused=True)


def test_results_beside_a_cleared_gradient_can_be_differentiated():
    run = ag.jit(lambda x: (setattr(W, "grad", None), (x * W).sum())[1])
    for _ in range(2):
        run(ag.tensor([3.0, 4.0])).backward()
        assert W.grad.tolist() == [3.0, 4.0]
    W.grad = None


def test_hooks_see_gradients_at_arguments():
    run, seen_by_hook = ag.jit(step), []
    for i in range(3):
        x, y = given("leaf")
        if i:
            x.register_hook(lambda g: seen_by_hook.append(g.tolist()))
        run(x, y)
        assert x.grad.tolist() == [3.0, 10.0]
    assert seen_by_hook == [[3.0, 10.0]] * 2


def assigned(x):
    x.grad = x.detach() * 2
    raise KeyError


def thawed(x):
    x.requires_grad_()
    raise KeyError


def added(x):
    (x**2).sum().backward()
    raise KeyError


def changed(x):
    with ag.no_grad():
        x.add_(1)
    raise KeyError


@pytest.mark.parametrize("function", [assigned, thawed, added, changed])
def test_what_happened_before_an_error_has_happened(function):
    seen_by = []
    for run in (function, ag.jit(function)):
        x = ag.tensor([1.0, 2.0], requires_grad=function is not thawed)
        for _ in range(2):
            with pytest.raises(KeyError):
                run(x)
            grad = None if x.grad is None else x.grad.tolist()
            seen_by.append((x.requires_grad, x.tolist(), grad))
    assert seen_by[:2] == seen_by[2:]
