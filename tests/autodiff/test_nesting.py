"""Transformations in each other, two and three deep, against plain formulas."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.tensor import wrap

#: The k-th derivatives of scalar functions of one number.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[Callable[[Any], Any]]]] = {
    "sin": (ag.sin, [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin,
                     np.cos, lambda x: -np.sin(x)]),
    "exp of two": (lambda x: ag.exp(x * 2), [
        lambda x, k=k: 2.0**k * np.exp(2 * x) for k in range(7)]),
    "loop": (lambda x: ag.scan(lambda c, _: (c * x, None), x * 0 + 1.0, length=5)[0], [
        lambda x: x**5, lambda x: 5 * x**4, lambda x: 20 * x**3, lambda x: 60 * x**2,
        lambda x: 120 * x, lambda x: 120 + 0 * x, lambda x: 0 * x]),
}
#: What becomes of a function of one number, and how many derivatives that takes.
WRAPPERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "grad": (ag.grad, 1),
    "jvp": (lambda f: lambda x: ag.jvp(f, (x,), (ag.ones_like(x),))[1], 1),
    "vjp": (lambda f: lambda x: ag.vjp(f, x)[1](ag.ones_like(x))[0], 1),
    "vmap": (lambda f: lambda x: ag.vmap(f)(ag.stack([x, x + 1]))[0], 0),
    "jit": (ag.jit, 0),
    "jacobian": (ag.jacobian, 1),
    "jacfwd": (ag.jacfwd, 1),
    "hessian": (ag.hessian, 2),
    "checkpoint": (lambda f: lambda x: ag.checkpoint(f, x), 0),
    "linearize": (lambda f: lambda x: ag.linearize(f, x)[1](ag.ones_like(x)), 1),
}
PAIRS = list(itertools.product(WRAPPERS, repeat=2))
TRIPLES = [
    ("vmap", "grad", "vmap"), ("jit", "vmap", "hessian"), ("grad", "vmap", "grad"),
    ("vmap", "jvp", "grad"), ("jit", "grad", "jit"), ("hessian", "vmap", "checkpoint"),
    ("vmap", "vmap", "grad"), ("jacobian", "vmap", "jvp"), ("jit", "vmap", "jacfwd"),
    ("vmap", "jit", "grad"), ("grad", "checkpoint", "grad"), ("jit", "vmap", "checkpoint"),
    ("jit", "hessian", "vmap"), ("vjp", "vmap", "linearize"),
]


@pytest.mark.share(3)
@pytest.mark.parametrize("names", [*PAIRS, *TRIPLES], ids="-".join)
def test_nested(names: tuple[str, ...]) -> None:
    chosen = FUNCTIONS if len(names) < 3 and "jit" not in names else {"sin": FUNCTIONS["sin"]}
    for f, derivatives in chosen.values():
        order = 0
        for name in reversed(names):
            wrapper, more = WRAPPERS[name]
            f, order = wrapper(f), order + more
        found = f(wrap(np.array(0.7)))
        np.testing.assert_allclose(found.numpy(), derivatives[order](0.7), 1e-12, 1e-12)


# -- all derivatives at once --------------------------------------------------------------------
def softmaxed(x: Any, w: Any) -> Any:
    return ag.softmax(w @ x) * ag.sum(x * x)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jacobians_agree_with_loops(mode: str, compiled: bool) -> None:
    rng = np.random.default_rng(0)
    x, w = wrap(rng.normal(size=3)), wrap(rng.normal(size=(4, 3)))
    jacobian = ag.jacobian(softmaxed, (0, 1), mode=mode)
    to_x, to_w = (ag.jit(jacobian) if compiled else jacobian)(x, w)
    assert to_x.shape == (4, 3) and to_w.shape == (4, 4, 3)
    for i in range(4):
        one = ag.grad(lambda x, w, i=i: softmaxed(x, w)[i], argnums=(0, 1))(x, w)
        np.testing.assert_allclose(to_x[i].numpy(), one[0].numpy(), 1e-12, 1e-14)
        np.testing.assert_allclose(to_w[i].numpy(), one[1].numpy(), 1e-12, 1e-14)


def test_products_with_the_hessian() -> None:
    def f(p: Any) -> Any:
        return (ag.tanh(p["w"] @ p["x"]) ** 2).sum()

    rng = np.random.default_rng(1)
    p = {"w": wrap(rng.normal(size=(2, 3))), "x": wrap(rng.normal(size=3))}
    v = {"w": wrap(rng.normal(size=(2, 3))), "x": wrap(rng.normal(size=3))}
    whole = ag.hessian(f)(p)
    for run in (ag.hvp, ag.jit(lambda f, p, v: ag.hvp(f, p, v))):
        found = run(f, (p,), (v,))
        for name in p:
            expected = sum(
                np.tensordot(whole[name][other].numpy(), v[other].numpy(), v[other].ndim)
                for other in p
            )
            np.testing.assert_allclose(found[name].numpy(), expected, 1e-11)


def test_a_derivative_is_used_several_times() -> None:
    calls = []

    def f(x: Any, y: Any) -> Any:
        calls.append(1)
        return x * y, ag.sin(x)

    (product, sine), derivative = ag.linearize(f, 2.0, 3.0)
    assert product.item() == 6.0 and not sine.requires_grad
    for t, u in ((1.0, 0.0), (0.5, 2.0)):
        moved = derivative(t, u)
        np.testing.assert_allclose([m.item() for m in moved], [t * 3 + u * 2, t * np.cos(2.0)],
                                   1e-6)
    assert len(calls) == 1
    with pytest.raises(ValueError, match="the tangents are"):
        derivative(1.0)


# -- nests --------------------------------------------------------------------------------------
Pair = namedtuple("Pair", "a b")


@dataclass
class Line:
    slope: Any
    offset: Any


class Box:
    def __init__(self, content: Any) -> None:
        self.content = content


ag.tree.register(Box, lambda box: ((box.content,), None), lambda _, c: Box(*c))

NESTS = {
    "dict": ({"a": 2.0, "b": 3.0}, lambda n: (n["a"], n["b"])),
    "list": ([2.0, 3.0], lambda n: (n[0], n[1])),
    "tuple": ((2.0, (3.0,)), lambda n: (n[0], n[1][0])),
    "named tuple": (Pair(2.0, 3.0), lambda n: (n.a, n.b)),
    "dataclass": (Line(2.0, 3.0), lambda n: (n.slope, n.offset)),
    "registered class": (Box([2.0, 3.0]), lambda n: tuple(n.content)),
    "in each other": ({"p": Pair([2.0], Line(3.0, None))},
                      lambda n: (n["p"].a[0], n["p"].b.slope)),
}


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_nests(name: str, compiled: bool) -> None:
    nest, parts = NESTS[name]
    jit = ag.jit if compiled else lambda f: f
    nest = ag.tree.map(lambda v: ag.tensor(v, dtype="float64"), nest)

    def f(n: Any) -> Any:
        a, b = parts(n)
        return a * a * b

    a, b = parts(jit(ag.grad(f))(nest))
    assert (a.item(), b.item()) == (12.0, 4.0) and type(jit(ag.grad(f))(nest)) is type(nest)
    value, moved = jit(lambda n: ag.jvp(f, (n,), (n,)))(nest)
    assert (value.item(), moved.item()) == (12.0, 36.0)
    rows = parts(parts(jit(ag.hessian(f))(nest))[0])
    assert [r.item() for r in rows] == [6.0, 4.0]
    many = ag.tree.map(lambda v: ag.stack([v, v * 2]), nest)
    assert jit(ag.vmap(f))(many).tolist() == [12.0, 96.0]
    assert [g.tolist() for g in parts(jit(ag.vmap(ag.grad(f)))(many))] == [[12, 48], [4, 16]]


def test_aux_and_several_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y, {"sum": x + y}

    (dx, dy), aux = ag.jit(ag.grad(f, argnums=(0, 1), has_aux=True))(2.0, 3.0)
    assert (dx.item(), dy.item(), aux["sum"].item()) == (3.0, 2.0, 5.0)
    gradient, aux = ag.vmap(ag.grad(f, has_aux=True), (0, None))(ag.tensor([1.0, 2.0]), 3.0)
    assert gradient.tolist() == [3.0, 3.0] and aux["sum"].tolist() == [4.0, 5.0]


def test_one_namespace_has_all() -> None:
    for name in ("grad", "value_and_grad", "vjp", "jvp", "jacobian", "jacfwd", "jacrev", "hessian",
                 "hvp", "linearize", "vmap", "custom_vjp", "custom_jvp", "checkpoint", "jit",
                 "stop_gradient"):
        assert getattr(ag.func, name) is getattr(ag, name)


# -- modules ------------------------------------------------------------------------------------
def make_net() -> Any:
    ag.manual_seed(0)
    nn = ag.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.BatchNorm1d(4), nn.Linear(4, 1))


@pytest.mark.parametrize("compiled", [False, True])
def test_modules(compiled: bool) -> None:
    jit = ag.jit if compiled else lambda f: f
    net, x = make_net(), ag.tensor(np.random.default_rng(0).normal(size=(5, 3)), dtype="float32")

    def loss(net: Any, x: Any) -> Any:
        return (net(x) ** 2).sum()

    found = jit(lambda x: ag.grad(loss)(net, x))(x)
    assert list(found) == [n for n, _ in net.named_parameters()]
    net.zero_grad()
    loss(net, x).backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(found[name].detach().numpy(), p.grad.numpy(), 1e-4, 1e-5)
    nested = ag.grad(lambda both, x: loss(both["net"], x) * both["scale"])(
        {"net": net, "scale": 2.0}, x)
    np.testing.assert_allclose(nested["net"]["0.weight"].detach().numpy(),
                               2 * found["0.weight"].detach().numpy(), 1e-4, 1e-5)
    _, moved = ag.jvp(lambda net: loss(net, x), (net,), (dict(net.named_parameters()),))
    expected = sum(float((g.detach() * p.detach()).sum())
                   for g, (_, p) in zip(found.values(), net.named_parameters(), strict=True))
    np.testing.assert_allclose(moved.item(), expected, 1e-4)


def test_running_statistics_move_on_and_modes_count() -> None:
    net, x = make_net(), ag.ones((5, 3))
    before = net[2].running_mean.numpy().copy()
    gradient = ag.jit(lambda x: ag.grad(lambda net: (net(x) ** 2).sum())(net)["0.weight"])
    gradient(x)
    assert (net[2].running_mean.numpy() != before).any()
    first = gradient(x).detach().numpy()
    net.eval()
    assert not np.allclose(gradient(x).detach().numpy(), first)


def test_an_ensemble_of_modules() -> None:
    net, x = ag.nn.Linear(3, 2), ag.ones((5, 3))
    many = {n: ag.stack([p.detach(), 2 * p.detach()]) for n, p in net.named_parameters()}
    found = ag.vmap(lambda p: net.with_parameters(p)(x))(many)
    np.testing.assert_allclose(found[1].detach().numpy(), 2 * net(x).detach().numpy(), 1e-5)
    with pytest.raises(ag.GradientError, match="no parameters that require grad"):
        ag.grad(lambda n: n(1.0))(ag.nn.Tanh())
    with pytest.raises(KeyError, match="no parameters"):
        net.with_parameters({"wrong": x})


@pytest.mark.parametrize("transform", [
    lambda f: lambda x: ag.jvp(ag.grad(f), (x,), (ag.ones_like(x),)),
    lambda f: ag.grad(lambda x: ag.grad(f)(x).sum()),
    lambda f: ag.grad(lambda x: ag.jvp(f, (x,), (ag.ones_like(x),))[1]),
    ag.hessian,
])
def test_what_the_caller_gave_is_not_written_into(transform):
    """As of one transform alone: the inner one's argument lies in the memory of the caller's."""
    def f(x):
        x[::-1] = x * 2
        return (x * x).sum()

    x = ag.tensor([1.0, 2.0])
    with pytest.raises(ag.GradientError, match="changed in place"):
        transform(f)(x)
    assert x.tolist() == [1, 2]
    ag.jit(transform(f))(x)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("f", [lambda x: x + 1.0, lambda x: x, ag.sum, lambda x: x.T,
                               lambda x: ag.reshape(x, (-1,)), lambda x: 2 * x, ag.sin])
def test_directions_and_cotangents_have_derivatives_themselves(f):
    """Derivatives are linear in them, also where they are handed on as they came."""
    x, v, w = (ag.tensor(np.random.default_rng(i).standard_normal((2, 3))) for i in range(3))
    y, ahead = ag.jvp(f, (x,), (v,))
    assert np.allclose(ag.jvp(lambda v: ag.jvp(f, (x,), (v,))[1], (w,), (v,))[1], ahead)
    g = ag.ones_like(y) * 1.5
    back = ag.vjp(f, x)[1](g)[0]
    assert np.allclose(ag.jvp(lambda g: ag.vjp(f, x)[1](g)[0], (g * 2,), (g,))[1], back)
    assert np.allclose(ag.vjp(lambda v: ag.jvp(f, (x,), (v,))[1], w)[1](g)[0], back)
    assert np.allclose(ag.vjp(lambda g: ag.vjp(f, x)[1](g)[0], g)[1](v)[0], ahead)


W = ag.tensor([0.5, -1.0, 2.0], dtype="float64")
#: Derivatives of functions of vectors, as vectors.
DERIVATIVES: dict[str, Any] = {
    "grad": lambda f: ag.grad(lambda v: (f(v) * W).sum()),
    "grad of two": lambda f: lambda h: ag.grad(lambda v, u: (f(v) * u).sum(), (0, 1))(h, W)[0],
    "vjp": lambda f: lambda h: ag.vjp(f, h)[1](W)[0],
    "value of vjp": lambda f: lambda h: ag.vjp(f, h)[0],
    "jvp": lambda f: lambda h: sum(ag.jvp(f, (h,), (W,))),
    "linearize": lambda f: lambda h: ag.linearize(f, h)[1](W),
    "jacfwd": lambda f: lambda h: ag.jacfwd(f)(h) @ W,
    "jacrev": lambda f: lambda h: ag.jacrev(f)(h) @ W,
    "hessian": lambda f: lambda h: ag.hessian(lambda v: (f(v) * W).sum())(h) @ W,
}


@pytest.mark.parametrize("outer", DERIVATIVES)
def test_derivatives_of_derivatives_at_known_points(outer: str) -> None:
    """Of what is taken at a point that depends on nothing: compiled as eagerly, and with no record
    left where nothing asks for one."""
    z = ag.ones(3, dtype="float64")
    for inner in DERIVATIVES.values():
        for f in (lambda v, h: ag.sin(v) * h, lambda v, h: ag.sin(v * h), lambda v, h: v * v * h):
            of = DERIVATIVES[outer](lambda h, inner=inner, f=f: inner(lambda v: f(v, h))(W))
            eager = of(z)
            assert not eager.requires_grad
            for found in (ag.jit(of)(z), ag.vmap(of)(ag.stack([z, z]))[0]):
                np.testing.assert_allclose(found, eager, 1e-9, 1e-9)


def test_pullbacks_and_linear_maps_are_compiled_as_any_function() -> None:
    """Of records from outside, which the trace does not have: another one each time."""
    pulled, pushed = ag.jit(lambda g, pull: pull(g)[0]), ag.jit(lambda t, push: push(t))
    for k in (1.0, 2.0, 3.0):
        _, pull = ag.vjp(lambda v, k=k: ag.sin(v * k) * W, W)
        _, push = ag.linearize(lambda v, k=k: ag.sin(v * k) * W, W)
        slope = np.cos(W.numpy() * k) * k * W.numpy() ** 2
        inside = ag.jit(lambda g, pull=pull: pull(g)[0])
        for found in (pulled(W, pull), ag.jit(pull)(W)[0], inside(W),
                      ag.grad(lambda g, pull=pull: (ag.jit(pull)(g)[0] * g).sum() / 2)(W),
                      pushed(W, push), ag.jit(push)(W)):
            np.testing.assert_allclose(found, slope, 1e-9)


def test_derivatives_of_compiled_calls_that_hold_derivatives() -> None:
    """They run the function again, where what stands in for arguments counts once more."""
    z = ag.ones(3, dtype="float64")
    step = ag.jit(lambda v, h: ag.grad(lambda v: (ag.sin(v) * h).sum())(v))
    captured = lambda h: ag.jit(ag.grad(lambda v: (ag.sin(v) * h).sum()))(W)  # noqa: E731
    eye = ag.eye(3, dtype="float64")
    for f in (captured, lambda h: step(W, h)):
        for found in (ag.jacrev(f)(z), ag.jacfwd(f)(z),
                      ag.vmap(lambda t, f=f: ag.jvp(f, (z,), (t,))[1])(eye),
                      ag.vmap(lambda g, f=f: ag.vjp(f, z)[1](g)[0])(eye)):
            np.testing.assert_allclose(found, np.diag(np.cos(W.numpy())), 1e-9, 1e-9)
