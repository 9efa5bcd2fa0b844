"""The same transformations eagerly, under jit, and on symbolic graphs that are compiled."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.support.tree import flatten

X = ag.asarray(np.array([0.3, -1.2, 2.0]))
V = ag.asarray(np.array([1.0, 0.5, -2.0]))


def f(x):
    return (ag.exp(x) * x.sum() - ag.sin(x[::-1]) ** 2).sum() + x.prod()


def pulled_back(x, v):
    y, pullback = ag.vjp(lambda x: ag.tanh(x) * x.max(), x)
    return y, pullback(v)[0]


TRANSFORMED = {
    "grad": lambda x, v: ag.grad(f)(x),
    "value_and_grad": lambda x, v: ag.value_and_grad(f)(x),
    "grad of grad": lambda x, v: ag.grad(lambda x: (ag.grad(f)(x) * v).sum())(x),
    "vjp": pulled_back,
    "jvp": lambda x, v: ag.jvp(f, (x,), (v,)),
    "jvp of grad": lambda x, v: ag.jvp(ag.grad(f), (x,), (v,))[1],
    "jacobian": lambda x, v: ag.jacobian(lambda x: x * x.sum() + v)(x),
    "hessian": lambda x, v: ag.hessian(f)(x),
    "detached": lambda x, v: ag.grad(lambda x: (x * x.detach() * v).sum())(x),
    "nest": lambda x, v: ag.grad(lambda p: (p["x"] ** 3 * p["v"][0]).sum())({"x": x, "v": [v]}),
}


def same(a, b):
    a, b = (flatten(n)[0] for n in (a, b))
    assert len(a) == len(b)
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_jit(name):
    transformed = TRANSFORMED[name]
    same(ag.jit(transformed)(X, V), transformed(X, V))


@pytest.mark.parametrize("name", [n for n in TRANSFORMED if n != "nest"])
def test_symbolic(name):
    transformed = TRANSFORMED[name]
    x, v = T.dvector("x", shape=(3,)), T.dvector("v", shape=(3,))
    outputs = flatten(transformed(x, v))[0]
    same(ag.function([x, v], outputs)(X, V), flatten(transformed(X, V))[0])


def test_symbolic_gradients_of_graphs_with_unknown_sizes():
    x, v = T.dvector("x"), T.dvector("v")
    y = T.exp(x) * x.sum()
    outputs = [T.grad(y.sum(), x), T.Rop(y, x, v), T.Lop(y, x, v)]
    gradient, right, left = ag.function([x, v], outputs)(X.numpy(), V.numpy())
    e = np.exp(X.numpy())
    jacobian = np.diag(e * X.numpy().sum()) + e[:, None]
    np.testing.assert_allclose(gradient, jacobian.sum(0))
    np.testing.assert_allclose(right, jacobian @ V.numpy())
    np.testing.assert_allclose(left, V.numpy() @ jacobian)


def test_a_recorded_run_can_be_compiled_with_its_gradient():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    cost = (w**3).sum()
    g = ag.grad(cost, w, create_graph=True)
    np.testing.assert_allclose(ag.function([w], g)(np.array([2.0, 3.0], "float32")), [12, 27])


def test_a_step_with_backward():
    def step(x):
        loss = ((w * x) ** 2).sum()
        w.zero_grad()
        loss.backward()
        with ag.no_grad():
            w.sub_(w.grad, alpha=0.1)
        return loss

    runs = []
    for run in (step, ag.jit(step)):
        w = ag.tensor([1.0, 2.0], requires_grad=True)
        runs.append(([run(ag.ones(2)).item() for _ in range(3)], w.tolist()))
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-6)
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-6)


A, B = (ag.ones((2, 2), dtype="float64", requires_grad=True) for _ in range(2))


def accumulated(x, y):
    y.backward(x)
    return A.grad, B.grad, x


#: Derivatives that are one tensor, or look into another.
COINCIDE = {
    "backward": lambda x: accumulated(x, A + B),
    "backward, views": lambda x: accumulated(x, A.T + B),
    "grad": lambda x: ag.grad(lambda a, b: ((a + b.T) * x).sum(), (0, 1))(x, x),
    "grad of results": lambda x: (*ag.grad(A + B, [A, B], grad_outputs=x), x),
    "vjp": lambda x: (*ag.vjp(lambda a, b: a + b.mT, x, x)[1](x), x),
    "jvp": lambda x: (*ag.jvp(lambda a: (a + 1, a + 2), (x,), (x,))[1], x),
    "checkpoint": lambda x: accumulated(x, ag.checkpoint(lambda a, b: a + b, A, B)),
}


@pytest.mark.parametrize("optimizer", [None, "fast_run", "fast_compile"])
@pytest.mark.parametrize("name", COINCIDE)
def test_gradients_that_coincide_are_changed_one_by_one(name, optimizer):
    def changed(x):
        A.grad = B.grad = None
        found = COINCIDE[name](x * 1.0)
        before = [g.copy() for g in found]
        for i, g in enumerate(found):
            g.mul_(i + 2.0)
        return before, list(found)

    run = changed if optimizer is None else ag.jit(changed, optimizer=optimizer)
    before, after = run(ag.tensor([[1.0, 2.0], [3.0, 4.0]], "float64"))
    for i, (one, other) in enumerate(zip(before, after, strict=True)):
        np.testing.assert_array_equal(other, one.numpy() * (i + 2))
