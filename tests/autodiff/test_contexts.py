"""``autograd.Function``: static ``forward`` and ``backward`` with a context, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import GradientError

X = np.array([0.5, -1.0, 2.0])
W = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]])


class Exp(ag.autograd.Function):
    """Keeps its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        y, = ctx.saved_tensors
        return grad * y


class Linear(ag.autograd.Function):
    """Looks at what is needed."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any = None, scale: float = 1.0) -> Any:
        ctx.save_for_backward(x, weight, bias)
        ctx.scale, ctx.parts = scale, {"twice": x * 2}
        y = scale * x @ weight.T
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _, weight, bias = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = ctx.scale * grad @ weight
        if ctx.needs_input_grad[1]:
            gw = ctx.scale * grad[:, None] * (ctx.parts["twice"] / 2)
        if bias is not None and ctx.needs_input_grad[2]:
            gb = grad
        return gx, gw, gb, None


class Split(ag.autograd.Function):
    """Keeps things aside of ``forward``; one of its results has no gradient."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2, (x > 0).astype("float64"), x.argmax()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any, third: Any) -> Any:
        assert second is None and third is None
        return first * 20


class Once(Exp):
    """Has no second derivative."""

    @staticmethod
    @ag.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]


WAYS = {"eager": lambda f: f, "jit": ag.jit}


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_of_any_order_go_through_what_is_kept(way: str) -> None:
    function, x = WAYS[way], ag.tensor(X)
    slope = ag.grad(lambda v: Exp.apply(v).sum())
    second = ag.grad(lambda v: slope(v).sum())
    third = ag.grad(lambda v: second(v).sum())
    for f in (slope, second, third):
        np.testing.assert_allclose(function(f)(x).numpy(), np.exp(X), rtol=1e-12)
    rows = ag.vmap(slope)
    np.testing.assert_allclose(function(rows)(ag.tensor(W)).numpy(), np.exp(W), rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_contexts_keep_values_and_tell_what_is_needed(way: str) -> None:
    weight = ag.tensor(W, requires_grad=True)
    bias = ag.tensor(np.zeros(2), requires_grad=True)

    def run(x: Any) -> Any:
        weight.grad = bias.grad = None
        (Linear.apply(x, weight, bias, 3.0) ** 2).sum().backward()
        return weight.grad, bias.grad, Linear.apply(x, weight)

    grad = 2 * (3 * W @ X)
    for found, wanted in zip(WAYS[way](run)(ag.tensor(X)),
                             (3 * grad[:, None] * X, grad, W @ X), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_results_without_a_gradient(way: str) -> None:
    def run(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y, mask, place = Split.apply(x)
        (y * mask).sum().backward()
        return x.grad, place

    grad, place = WAYS[way](run)(ag.tensor(X))
    np.testing.assert_array_equal(grad.numpy(), [20, 0, 20])
    assert place.item() == 2
    assert not Split.apply(ag.tensor(X, requires_grad=True))[1].requires_grad


def test_what_cannot_be_is_told() -> None:
    class Short(Linear):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    class Turned(Exp):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad[:2]

    x = ag.tensor(X, requires_grad=True)
    with pytest.raises(GradientError, match="1 gradients for 2 arguments of forward"):
        Short.apply(x, ag.tensor(W)).sum().backward()
    with pytest.raises(GradientError, match=r"Turned.backward returned float64\[2\]"):
        Turned.apply(x).sum().backward()
    with pytest.raises(TypeError, match="keeps tensors, not"):
        ag.autograd.FunctionCtx().save_for_backward(3)
    with pytest.raises(GradientError, match="changes no argument in place"):
        ag.autograd.FunctionCtx().mark_dirty(x)
    with pytest.raises(TypeError, match="no static method backward"):
        type("Half", (ag.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x)}).apply(x)
    first, = ag.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), np.exp(X))
    with pytest.raises(GradientError, match="once_differentiable"):
        first.sum().backward()


def test_gradients_by_pytorchs_function() -> None:
    x = ag.tensor(X, requires_grad=True)
    y = ag.tensor(X, requires_grad=True)
    z = x**3
    first, = ag.autograd.grad(z, x, grad_outputs=ag.ones_like(z), create_graph=True)
    second, nothing = ag.autograd.grad(first.sum(), [x, y], allow_unused=True)
    np.testing.assert_allclose(second.numpy(), 6 * X)
    assert nothing is None
    both, = ag.autograd.grad([z.sum(), x], x, [None, ag.ones(3)], retain_graph=True)
    np.testing.assert_allclose(both.numpy(), 3 * X**2 + 1)
    ag.autograd.backward([z.sum(), (x * y).sum()])
    np.testing.assert_allclose(x.grad.numpy(), 3 * X**2 + X)
    np.testing.assert_allclose(y.grad.numpy(), X)
    assert ag.autograd.Variable(x) is x and ag.autograd.Variable(X, requires_grad=True).is_leaf


class Product(ag.autograd.Function):
    """Keeps a sparse matrix that it makes."""

    @staticmethod
    def forward(ctx: Any, places: Any, values: Any, b: Any) -> Any:
        a = ag.sparse_coo_tensor(places, values, (2, 3))
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        rows, columns = a._indices()
        return None, (g @ b.T)[rows, columns], a.t() @ g


@pytest.mark.parametrize("run", [lambda f: f, ag.jit])
def test_sparse_tensors_are_kept(run: Any) -> None:
    places = ag.tensor([[0, 0, 1], [0, 2, 1]])

    def slopes(values: Any, b: Any) -> Any:
        return ag.grad(lambda v, b: (Product.apply(places, v, b) ** 2).sum(), (0, 1))(values, b)

    values, b = ag.tensor(X), ag.tensor(np.arange(6.0).reshape(3, 2))
    dense = np.array([[X[0], 0, X[1]], [0, X[2], 0]])
    g = 2 * dense @ b.array
    of_values, of_b = run(slopes)(values, b)
    np.testing.assert_allclose(of_values.array, (g @ b.array.T)[[0, 0, 1], [0, 2, 1]])
    np.testing.assert_allclose(of_b.array, dense.T @ g)
