"""Functions of ``forward`` and ``backward``: derivatives of other kinds than the one they give."""

import numpy as np
import pytest

import agnesi as ag

X, W = np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, -1.5])


class Product(ag.Function):
    """Two results, of which ``forward`` keeps the first."""

    def forward(self, inputs):
        x, w = inputs
        self.product = x * x * w
        return self.product, (x * w).sum()

    def backward(self, inputs, grads):
        (x, w), (g, h) = inputs, grads
        np.testing.assert_array_equal(self.product, x * x * w)
        return 2 * x * w * g + w * h, x * x * g + x * h


class Learned(ag.Function):
    parameter_names = ("w",)
    gradient_names = ("gw",)

    def __init__(self):
        self.w, self.gw = W.copy(), np.zeros(3)

    def forward(self, inputs):
        return inputs[0] * self.w,

    def backward(self, inputs, grads):
        self.gw += inputs[0] * grads[0]
        return grads[0] * self.w,


def own(x, w):
    first, second = Product()(x, w)
    return first * second


def plain(x, w):
    return x * x * w * (x * w).sum()


WAYS = {
    "jvp": lambda f: lambda x, w: ag.jvp(f, (x, w), (w, x))[1],
    "jvp of one": lambda f: lambda x, w: ag.jvp(lambda x: f(x, w), (x,), (w,))[1],
    "jacfwd": lambda f: ag.jacfwd(f, 1),
    "jacrev": lambda f: ag.jacrev(f),
    "linearize": lambda f: lambda x, w: ag.linearize(lambda x: f(x, w), x)[1](w),
    "transpose of jvp": lambda f: lambda x, w: ag.grad(
        lambda t: ag.jvp(lambda x: f(x, w), (x,), (t,))[1].sum())(w),
    "jvp of the cotangent": lambda f: lambda x, w: ag.jvp(
        lambda g: ag.vjp(lambda x: f(x, w), x)[1](g)[0], (w,), (x,))[1],
    "transpose of the cotangent": lambda f: lambda x, w: ag.grad(
        lambda g: (ag.vjp(lambda x: f(x, w), x)[1](g)[0] * x).sum())(w),
    "batches": lambda f: ag.vmap(lambda x, w: ag.jvp(lambda x: f(x, w[None]), (x[None],),
                                                     (w[None],))[1]),
}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("way", WAYS)
def test_derivatives_follow_from_backward(way, run):
    x, w = ag.tensor(X), ag.tensor(W)
    found, expected = (run(WAYS[way](f))(x, w) for f in (own, plain))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("second", [
    lambda f: ag.hessian(f), lambda f: lambda x: ag.hvp(f, (x,), (x,)),
    lambda f: ag.grad(lambda x: ag.grad(f)(x).sum()),
    lambda f: ag.grad(lambda x: ag.jvp(f, (x,), (x,))[1]),
])  # fmt: skip
def test_second_derivatives_are_refused(second, run):
    with pytest.raises(ag.GradientError, match=r"Product has no second derivative.*(.|\n)*at .*py"):
        run(second(lambda x: own(x, ag.tensor(W)).sum()))(ag.tensor(X))


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loop", [
    lambda f: lambda x, w: ag.vmap(f)(x, w).sum(),
    lambda f: lambda x, w: ag.scan(lambda c, r: (c + f(r, w[0]).sum(), None), 0.0, x)[0],
])  # fmt: skip
def test_loops_remember_what_forward_kept(loop, run):
    x, w = ag.tensor(np.outer(X, W)), ag.tensor(np.outer(W, X))
    found, expected = (run(ag.grad(loop(f), (0, 1)))(x, w) for f in (own, plain))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_loops_refuse_what_forward_kept_at_random():
    class Dropped(ag.Function):
        def forward(self, inputs):
            self.mask = np.random.default_rng().uniform(size=inputs[0].shape)
            return inputs[0] * self.mask,

        def backward(self, inputs, grads):
            return grads[0] * self.mask,

    x = ag.tensor(np.outer(X, W), requires_grad=True)
    y = Dropped()(x)
    y.sum().backward()
    np.testing.assert_allclose((x.grad * x).numpy(), y.numpy())
    with pytest.raises(ag.GradientError, match="forward gives other results now"):
        ag.grad(lambda x: ag.vmap(Dropped())(x).sum())(x)


def test_forward_mode_does_not_add_up_gradients_of_parameters():
    f = Learned()
    moved = ag.jvp(f, (ag.tensor(X),), (ag.tensor(X),))[1]
    np.testing.assert_allclose(moved.numpy(), X * W)
    assert not f.gw.any()
    with pytest.raises(ag.GradientError, match="no reverse-mode derivative rule"):
        ag.grad(lambda x: ag.grad(lambda x: (f(x) ** 2).sum())(x).sum())(ag.tensor(X))


def test_forward_mode_of_many_results_is_refused():
    class Same(ag.Function):
        def forward(self, inputs):
            return inputs[0] * 1,

        def backward(self, inputs, grads):
            return grads

    x = ag.ones(1 << 15)
    with pytest.raises(ag.GradientError, match=r"call backward 32768 times.*ag\.op with"):
        ag.jvp(Same(), (x,), (x,))
