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


class Kept(ag.Function):
    """Made of operators and NumPy's functions; ``backward`` reads what ``forward`` kept."""

    scale = np.array([2.0, 1.0, -1.0])

    def forward(self, inputs):
        x, w = inputs
        self.product = np.exp(x * w) * self.scale
        return self.product * x, np.sum(x * w)

    def backward(self, inputs, grads):
        (x, w), (g, h) = inputs, grads
        slope = g * x * self.product
        return g * self.product + slope * w + w * h, slope * x + x * h


def kept(x, w):
    first, second = Kept()(x, w)
    return (first * second).sum()


def same_as_kept(x, w):
    return (ag.exp(x * w) * Kept.scale * x * (x * w).sum()).sum()


SECOND = {
    "hessian": lambda f: lambda x, w: ag.hessian(f)(x, w),
    "mixed": lambda f: lambda x, w: ag.jacrev(ag.grad(f), 1)(x, w),
    "hvp": lambda f: lambda x, w: ag.hvp(lambda x: f(x, w), (x,), (w,)),
    "reverse over forward": lambda f: lambda x, w: ag.grad(
        lambda x: ag.jvp(lambda x: f(x, w), (x,), (w,))[1])(x),
    "forward over forward": lambda f: lambda x, w: ag.jvp(
        lambda x: ag.jvp(lambda x: f(x, w), (x,), (w,))[1], (x,), (w,))[1],
    "third": lambda f: lambda x, w: ag.grad(
        lambda w: ag.hvp(lambda x: f(x, w), (x,), (x,)).sum())(w),
    "batches": lambda f: lambda x, w: ag.vmap(
        lambda x: ag.grad(lambda x: (ag.grad(f)(x, w) ** 2).sum())(x))(ag.stack([x, w])),
}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_second_derivatives_follow_from_a_backward_that_tensors_can_run(run):
    x, w = ag.tensor(X), ag.tensor(W)

    def all_of(f):
        return lambda x, w: [SECOND[name](f)(x, w) for name in SECOND]

    for name, a, b in zip(SECOND, run(all_of(kept))(x, w), run(all_of(same_as_kept))(x, w),
                          strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, err_msg=name)


def test_second_derivatives_of_symbols():
    x, w = (ag.symbolic.tensor("float64", (3,), name) for name in "xw")
    found = [
        ag.function([x, w], ag.symbolic.grad((ag.symbolic.grad(f(x, w), x) ** 2).sum(), w))(X, W)
        for f in (kept, same_as_kept)
    ]
    np.testing.assert_allclose(*found, rtol=1e-10)


class Random(ag.Function):
    def forward(self, inputs):
        self.mask = np.random.default_rng().uniform(size=inputs[0].shape)
        return inputs[0] ** 2 * self.mask,

    def backward(self, inputs, grads):
        return 2 * inputs[0] * grads[0] * self.mask,


class Filled(ag.Function):
    def forward(self, inputs):
        return inputs[0] ** 2,

    def backward(self, inputs, grads):
        found = np.empty(inputs[0].shape)
        found[:] = 2 * inputs[0] * grads[0]
        return found,


class Branching(Filled):
    def backward(self, inputs, grads):
        return (2 if inputs[0].sum() > -9 else 3) * inputs[0] * grads[0],


class Converted(Filled):
    def backward(self, inputs, grads):
        return 2 * np.asarray(inputs[0]) * grads[0],


REFUSED = {"Product": lambda x: own(x, ag.tensor(W)).sum()} | {
    f.__name__: (lambda x, f=f: f()(x).sum()) for f in (Random, Filled, Branching, Converted)
}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", REFUSED)
def test_second_derivatives_are_refused_where_backward_needs_arrays(name, run):
    f = REFUSED[name]
    assert np.isfinite(run(ag.grad(f))(ag.tensor(X)).numpy()).all()
    for second in (
        ag.hessian(f), lambda x: ag.hvp(f, (x,), (x,)),
        ag.grad(lambda x: ag.grad(f)(x).sum()), ag.grad(lambda x: ag.jvp(f, (x,), (x,))[1]),
    ):
        match = rf"{name} has no second derivative.*(.|\n)*at .*py"
        with pytest.raises(ag.GradientError, match=match):
            run(second)(ag.tensor(X))


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
