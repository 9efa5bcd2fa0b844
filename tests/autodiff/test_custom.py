"""Functions with derivatives of the user's, wherever operations work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.compilation.fingerprint import fingerprint
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.tensor import symbol

X, Y = ag.tensor([0.3, 0.7], dtype="float64"), ag.tensor([2.0, 3.0], dtype="float64")
COS, SIN = np.cos(X.numpy()), np.sin(X.numpy())


@ag.custom_vjp
def waved(x: Any, y: Any) -> Any:
    """``sin(x) * y``, with twice the gradient to x."""
    return ag.sin(x) * y


waved.defvjp(lambda x, y: (ag.sin(x) * y, (ag.cos(x), ag.sin(x), y)),
             lambda r, g: (2 * g * r[0] * r[2], g * r[1]))


@ag.custom_jvp
def grown(x: Any, y: Any) -> Any:
    """``sin(x) * y``, with twice the gradient to x."""
    return ag.sin(x) * y


grown.defjvp(lambda p, t: (grown(*p), 2 * ag.cos(p[0]) * p[1] * t[0] + ag.sin(p[0]) * t[1]))


@pytest.mark.parametrize("f", [waved, grown], ids=["vjp", "jvp"])
@pytest.mark.parametrize("compiled", [False, True])
def test_everywhere(f: Any, compiled: bool) -> None:
    def check(function: Any, args: Any, expected: Any) -> None:
        found = (ag.jit(function) if compiled else function)(*args)
        np.testing.assert_allclose(found.numpy(), expected, 1e-12)

    y = Y.numpy()
    check(f, (X, Y), SIN * y)
    check(ag.grad(lambda x, y: f(x, y).sum()), (X, Y), 2 * COS * y)
    check(ag.grad(lambda x, y: f(x, y).sum(), argnums=1), (X, Y), SIN)
    check(ag.vmap(ag.grad(f)), (X, Y), 2 * COS * y)
    check(ag.vmap(ag.grad(f), (0, None)), (X, Y[0]), 2 * COS * 2)
    check(ag.vmap(ag.grad(f, argnums=1), (None, 0)), (X[0], Y), SIN[0] * np.ones(2))
    check(ag.grad(lambda x, y: ag.vmap(f)(x, y).sum()), (X, Y), 2 * COS * y)
    check(ag.grad(lambda y, x: ag.vmap(f, (0, None))(x, y).sum()), (Y[0], X), SIN.sum())
    check(ag.vmap(ag.grad(ag.grad(f))), (X, Y), -2 * SIN * y)
    check(lambda x, y: ag.jvp(f, (x, y), (ag.ones(2, dtype="float64"), y))[1], (X, Y),
          2 * COS * y + SIN * y)
    check(lambda x, y: ag.scan(lambda c, r: (c + f(r, y[0]), None), y[0] * 0, x)[0], (X, Y),
          (SIN * 2).sum())
    check(ag.grad(lambda x, y: ag.scan(lambda c, r: (c + f(r, y[0]), None), y[0] * 0, x)[0]),
          (X, Y), 2 * COS * 2)


def test_recorded_and_symbolic() -> None:
    from agnesi import symbolic as T

    for f in (waved, grown):
        x = ag.tensor([0.3, 0.7], dtype="float64", requires_grad=True)
        f(x, Y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * COS * Y.numpy())
        v = T.vector("v")
        gradient = ag.function([v], ag.grad(f(v, v).sum(), v))
        np.testing.assert_allclose(gradient(X.numpy()), 2 * COS * X.numpy() + SIN)


def test_arguments_without_derivative() -> None:
    @ag.func.custom_vjp
    def plain(x: Any) -> Any:
        return x

    plain.defvjp(lambda x: (x * 1, None), lambda _, g: (-g,))
    assert ag.grad(plain)(2.0).item() == -1.0

    def apply(f: Any, x: Any, n: int) -> Any:
        return f(x) * n

    first = ag.custom_vjp(apply, nondiff_argnums=(0, 2))
    first.defvjp(lambda f, x, n: (f(x) * n, x), lambda f, n, x, g: (g * n * 10,))
    assert ag.grad(lambda x: first(ag.sin, x, n=3))(1.0).item() == 30.0
    second = ag.custom_jvp(apply, nondiff_argnums=(0, 2))
    second.defjvp(lambda f, n, p, t: (f(p[0]) * n, t[0] * n * 10))
    assert ag.grad(lambda x: second(ag.sin, x, 3))(1.0).item() == 30.0


def test_nests_and_several_results() -> None:
    @ag.custom_vjp
    def both(p: Any) -> Any:
        return {"s": p["a"] + p["b"], "d": p["a"] - p["b"]}

    both.defvjp(lambda p: (both._function(p), p), lambda p, g: (
        {"a": g["s"] + g["d"], "b": (g["s"] - g["d"]) * 2},))

    def loss(p: Any) -> Any:
        found = both(p)
        return (found["s"] * 3 + found["d"]).sum()

    p = {"a": X, "b": Y}
    for run in (ag.grad(loss), ag.jit(ag.grad(loss)), ag.vmap(ag.grad(loss))):
        found = run(p)
        np.testing.assert_allclose(found["a"].numpy(), [4.0, 4.0])
        np.testing.assert_allclose(found["b"].numpy(), [4.0, 4.0])


def test_rules_by_argument() -> None:
    @ag.custom_jvp
    def times(x: Any, y: Any) -> Any:
        return x * y

    times.defjvps(None, lambda t, z, x, y: t * x * 5)
    gradients = ag.grad(lambda x, y: times(x, y).sum(), argnums=(0, 1))(X, Y)
    np.testing.assert_allclose(gradients[0].numpy(), [0, 0])
    np.testing.assert_allclose(gradients[1].numpy(), 5 * X.numpy())


def test_compiled_code_is_kept() -> None:
    for f in (waved, grown):
        x = symbol(Node(None, (), (2,), X.dtype, requires_grad=True))
        graph = FunctionGraph([x.node], [f(x, x).node])
        assert "custom" in str(graph) and fingerprint(graph, ()) is not None


def test_errors() -> None:
    @ag.custom_vjp
    def unfinished(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"define it with f.defvjp\(forward, backward\)"):
        unfinished(1.0)
    unfinished.defvjp(lambda x: x, lambda r, g: (g,))
    with pytest.raises(TypeError, match=r"must return \(result, residuals\)"):
        ag.grad(unfinished)(1.0)
    unfinished.defvjp(lambda x: (x, ()), lambda r, g: (g, g))
    with pytest.raises(ag.GradientError, match="returned 2 cotangents for 1 arguments"):
        ag.grad(unfinished)(1.0)
    unfinished.defvjp(lambda x: (x, ()), lambda r, g: (ag.stack([g, g]),))
    with pytest.raises(ag.GradientError, match="their shapes must agree"):
        ag.grad(unfinished)(1.0)


def test_the_forward_rule_may_call_the_function_itself() -> None:
    """As rules for jax.custom_vjp do; derivatives of what it gave follow the rule again."""
    f = ag.custom_vjp(lambda x: ag.exp(x))

    def forward(x: Any) -> Any:
        y = f(x)
        return y, y

    f.defvjp(forward, lambda y, g: (g * y * y,))
    x = ag.tensor([0.3, -0.5], dtype="float64")
    y = np.exp(x.numpy())
    # f' = f^2, and so on: each derivative of f counts as f^2
    expected = [y**2, 2 * y**3, 6 * y**4]

    def total(x: Any) -> Any:
        return f(x).sum()

    first = ag.grad(total)
    second = ag.grad(lambda x: first(x).sum())
    third = ag.grad(lambda x: second(x).sum())
    for derivative, wanted in zip((first, second, third), expected, strict=True):
        for way in (derivative, ag.jit(derivative)):
            np.testing.assert_allclose(way(x).numpy(), wanted, rtol=1e-12)
    rows = ag.vmap(lambda r: ag.grad(total)(r))(ag.stack([x, x]))
    np.testing.assert_allclose(rows.numpy(), [expected[0]] * 2, rtol=1e-12)
    scanned = ag.grad(lambda x: ag.scan(lambda c, _: (f(c), None), x, None, length=1)[0].sum())
    np.testing.assert_allclose(scanned(x).numpy(), expected[0], rtol=1e-12)
    with pytest.raises(TypeError, match="must return"):
        f.defvjp(lambda x: 3, lambda y, g: (g,))
        first(x)


def test_decorators_take_arguments() -> None:
    @ag.custom_vjp(nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    power.defvjp(lambda x, n: (x**n, x), lambda n, x, g: (n * x ** (n - 1) * g,))
    for run in (lambda f: f, ag.jit):
        assert run(ag.grad(lambda x: power(x, 3)))(ag.tensor(2.0)) == 12.0


def of_arrays(x: Any, g: Any) -> Any:
    return ag.tensor(np.exp(x.detach().numpy()) * g.detach().numpy())


class InNumPy(ag.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return ag.exp(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return of_arrays(*ctx.saved_tensors, g)


in_numpy = ag.custom_vjp(ag.exp)
in_numpy.defvjp(lambda x: (ag.exp(x), x), of_arrays)


@pytest.mark.parametrize("f", [InNumPy.apply, in_numpy,
                               ag.op(np.exp, vjp=lambda g, y, x: of_arrays(x, g))])
def test_rules_that_lose_the_cotangent_have_no_derivative(f: Any) -> None:
    """They gave zeros for directions and second derivatives."""
    np.testing.assert_allclose(ag.grad(lambda x: f(x).sum())(X).numpy(), np.exp(X.numpy()))
    for way in (lambda x: ag.jvp(f, (x,), (x,)), ag.jacfwd(f), lambda x: ag.linearize(f, x)[1](x),
                ag.grad(lambda x: ag.grad(lambda x: (f(x) ** 2).sum())(x).sum())):
        with pytest.raises(ag.GradientError, match="does not depend on the gradients"):
            way(X)
