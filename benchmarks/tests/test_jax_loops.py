"""Loops and branches beside JAX's, in the benchmark environment: ``make peers``."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import peers

ag = peers.agnesi()
jax = peers.jax()
jax.config.update("jax_enable_x64", True)
jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(3, 3)), RNG.normal(size=(6, 3))


def scan(lib, control):
    def f(w, x):
        def step(c, r):
            h = lib.tanh(c["h"] @ w + r)
            return {"h": h, "n": c["n"] + 1}, (h * r, lib.sin(c["h"]).sum())

        last, (a, b) = control.scan(step, {"h": x[0] * 0, "n": 0}, x)
        return (last["h"] ** 2).sum() * last["n"] + a.sum() + (b * b).sum()

    return f


def backwards(lib, control):
    def f(w, x):
        last, ys = control.scan(lambda c, r: (lib.sin(c @ w) * r, c * r), x[0], x, reverse=True)
        return (last * ys[0]).sum() + (ys * x).sum()

    return f


def nested(lib, control):
    def f(w, x):
        def outer(c, r):
            inner, ys = control.scan(lambda s, v: (lib.tanh(s * 0.5 + v @ r), s * v), r, w)
            return lib.tanh(c + inner), ys.sum(0)

        last, ys = control.scan(outer, x[0] * 0, x)
        return (last * last).sum() + lib.sin(ys).sum()

    return f


def branches(lib, control):
    def f(w, x):
        def step(c, r):
            new = control.cond(r.sum() > 0, lambda c, r: lib.tanh(c @ w) + r,
                               lambda c, r: c * r - 0.5, c, r)
            return new, new.sum()

        last, ys = control.scan(step, x[0], x)
        return (last * last).sum() + (ys * ys).sum()

    return f


def counted(lib, control):
    def f(w, x):
        last = control.fori_loop(0, 5, lambda i, c: lib.tanh(c @ w + x[i]), x[0])
        return (last * last).sum()

    return f


CASES = [scan, backwards, nested, branches, counted]


def both(case):
    return case(ag, ag), case(jnp, lax)


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    ours, theirs = both(case)
    value, grads = jax.value_and_grad(theirs, (0, 1))(jnp.asarray(W), jnp.asarray(X))
    points = ag.tensor(W), ag.tensor(X)
    for f in (ours, ag.jit(ours)):
        np.testing.assert_allclose(f(*points), value, 1e-10)
    for g in (ag.grad(ours, argnums=(0, 1)), ag.jit(ag.grad(ours, argnums=(0, 1)))):
        for a, b in zip(g(*points), grads, strict=True):
            np.testing.assert_allclose(a, b, 1e-8, 1e-10)


@pytest.mark.parametrize("case", CASES)
def test_second_derivatives_and_tangents(case):
    ours, theirs = both(case)
    points = ag.tensor(W), ag.tensor(X)
    w, x = jnp.asarray(W), jnp.asarray(X)
    hessian = jax.hessian(theirs)(w, x)
    np.testing.assert_allclose(ag.jit(ag.hessian(ours))(*points), hessian, 1e-6, 1e-9)
    _, tangent = jax.jvp(theirs, (w, x), (x[:3], x * 0.5))
    _, mine = ag.jit(lambda w, x: ag.jvp(ours, (w, x), (x[:3], x * 0.5)))(*points)
    np.testing.assert_allclose(mine, tangent, 1e-9)


def test_forward_mode_of_while_loops():
    """JAX has no reverse mode for these; ours must agree with its forward mode."""
    def program(lib, control):
        return lambda x: control.while_loop(
            lambda s: s[1].sum() < 50, lambda s: (s[0] + 1, s[1] * 1.3 + lib.sin(s[1])),
            (0, x))[1].sum()

    ours, theirs = program(ag, ag), program(jnp, lax)
    x = np.array([0.5, 1.5, 1.0])
    expected = jax.jacfwd(theirs)(x)
    for g in (ag.grad(ours), ag.jit(ag.grad(ours))):
        np.testing.assert_allclose(g(ag.tensor(x)), expected, 1e-10)
    second = jax.jacfwd(jax.jacfwd(theirs))(x)
    np.testing.assert_allclose(ag.jit(ag.hessian(ours))(ag.tensor(x)), second, 1e-8)
