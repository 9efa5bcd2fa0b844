"""Gradients that jitted functions add to or read; tensors that require them, changed in place."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


def test_a_step_reads_whichever_gradients_are_there():
    results = []
    for compile_ in (lambda f: f, ag.jit):
        w, v = (ag.tensor([1.0, 2.0, k], dtype="float64", requires_grad=True)
                for k in (3.0, -1.0))
        optimizer = ag.optim.SGD([w, v], lr=0.1, momentum=0.5)
        step = compile_(lambda optimizer=optimizer: optimizer.step())
        held = []
        for i in range(5):
            optimizer.zero_grad()
            (w * w * v * i).sum().backward()
            held.append(w.grad)
            step()
        results.append([w.tolist(), v.tolist(), *(g.tolist() for g in held)])
    np.testing.assert_allclose(*results, rtol=1e-6)
    assert len(step.specialisations) <= 2


@pytest.mark.parametrize("kind", ["one", "shared", "view", "strided", "swapped"])
def test_gradients_unlike_those_before_are_not_mistaken(kind):
    """Two gradients become one tensor, one's memory, parts of an array, or change places."""
    results = []
    for compile_ in (lambda f: f, ag.jit):
        w, v = ag.ones(4, requires_grad=True), ag.ones(4, requires_grad=True)

        def add(x, w=w, v=v):
            (w * x + v * x * 2).sum().backward()

        run = compile_(add)
        run(ag.ones(4)), run(ag.ones(4)), run(ag.ones(4))
        base = ag.arange(8.0)
        if kind == "one":
            w.grad = v.grad = ag.zeros(4)
        elif kind == "shared":
            w.grad, v.grad = base[:4], base[:4]
        elif kind == "view":
            w.grad, v.grad = base[:4], base[2:6]
        elif kind == "strided":
            w.grad, v.grad = base[::2], base[1::2]
        else:
            w.grad, v.grad = v.grad, w.grad
        for i in range(3):
            run(ag.ones(4) * i)
        results.append([w.grad.tolist(), v.grad.tolist(), base.tolist()])
    assert results[0] == results[1]


def test_new_sizes_and_new_gradients_go_together():
    w = ag.ones(3, requires_grad=True)

    @ag.jit
    def add(x):
        (w * x).sum().backward()

    for n in (2, 3, 4, 5, 6, 7):
        w.grad = None
        for _ in range(3):
            add(ag.ones((n, 3)))
        assert w.grad.tolist() == [3.0 * n] * 3
    assert len(add.specialisations) <= 5


@pytest.mark.parametrize("change", [
    lambda w: w.add_(1.0), lambda w: w[0].mul_(2.0), lambda w: w[1:].reshape(2).sub_(1.0),
    lambda w: w.__setitem__(0, 5.0),
])
def test_tensors_that_require_gradients_are_changed_under_no_grad_only(change):
    w = ag.ones(3, requires_grad=True)

    def of_global(x):
        change(w)
        return (w * x).sum()

    def of_its_own(x):
        mine = (x * 2).detach().requires_grad_()
        change(mine)
        return mine.sum()

    for f in (of_global, of_its_own):
        for run in (f, ag.jit(f)):
            with pytest.raises(ag.GradientError, match="wrap the change in"):
                run(ag.ones(3))

    def allowed(x):
        with ag.no_grad():
            change(w)
        change(w.detach())
        return (w * x).sum()

    assert w.tolist() == [1.0] * 3 and w.requires_grad
    run = ag.jit(allowed)
    assert run(ag.ones(3)).item() == w.sum().item() != 3.0 and w.requires_grad


def of_gradient(x):
    g = ag.grad((x**3).sum(), x)
    return (g * x).sum()


def of_backward(x):
    (x**3).sum().backward()
    g, x.grad = x.grad, None
    return (g * x).sum()


@pytest.mark.parametrize("function", [of_gradient, of_backward])
def test_gradients_without_a_graph_are_constants(function):
    """Compiled as eagerly: what is computed of them has no derivative through them."""
    for run in (function, ag.jit(function)):
        x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
        loss = run(x)
        loss.backward()
        assert (loss.item(), x.grad.tolist()) == (108.0, [3.0, 12.0, 27.0])


def test_gradients_with_a_graph_are_differentiated_again():
    def twice(x):
        g = ag.grad((x**3).sum(), x, create_graph=True)
        return ag.grad((g * x).sum(), x)

    for run in (twice, ag.jit(twice)):
        assert run(ag.tensor([1.0, 2.0], requires_grad=True)).tolist() == [9.0, 36.0]
    both = ag.grad(lambda v: (ag.grad(lambda u: (u**3).sum())(v) * v).sum())
    assert ag.jit(both)(ag.tensor([1.0, 2.0])).tolist() == [9.0, 36.0]


def test_backward_leaves_gradients_at_arguments():
    def add(x):
        loss = (x * x).sum()
        loss.backward()
        return loss

    run, x = ag.jit(add), ag.tensor([1.0, 2.0], requires_grad=True)
    for i in range(1, 4):
        assert run(x).item() == 5.0 and x.grad.tolist() == [2.0 * i, 4.0 * i]
    assert "it runs eagerly" in run.explain()  # others may flow from the result to the argument


def test_changes_in_loops_are_refused_and_allowed_like_others():
    w = ag.ones(2, requires_grad=True)

    def changing(x):
        def body(c, r):
            w.sub_(r)
            return c + w.sum(), None

        return ag.scan(body, 0.0, x)[0]

    for run in (changing, ag.jit(changing)):
        with pytest.raises(ag.GradientError, match="wrap the change in"):
            run(ag.ones((3, 2)))
    with ag.no_grad():
        results = [(run(ag.ones((3, 2))).item(), w.tolist())
                   for run in (changing, ag.jit(changing))]
    assert results == [(-6.0, [-2.0] * 2), (-24.0, [-5.0] * 2)] and w.requires_grad


# -- parameters that the function itself makes ------------------------------------------------
X = np.random.default_rng(0).normal(size=(5, 3))
W = ag.tensor(np.ones(3), requires_grad=True)


def fresh(x):
    return x[0].detach().clone().requires_grad_()


def made(x):
    w, v = ag.ones(3, dtype=x.dtype, requires_grad=True), ag.tensor(x[0], requires_grad=True)
    (w * v * x).sum().backward()
    return w.grad, v.grad


def trained(x):
    w = fresh(x)
    for _ in range(3):
        w.grad = None
        ((x @ w - 1) ** 2).mean().backward()
        with ag.no_grad():
            w -= 0.1 * w.grad
    return w, w.grad


def trained_in_part(x):
    w = fresh(x)
    for _ in range(3):
        (x @ w).exp().sum().backward()
        with ag.no_grad():
            w[:2] -= 0.1 * w.grad[:2]
        w.grad.zero_()
    return w, w.grad


def trained_by_a_record(x):
    z = fresh(x) * 2 + W
    with ag.no_grad():
        W.copy_(z)
    (W * W).sum().backward()
    return W.grad


def used_in_a_loop(x):
    w = fresh(x)
    total, _ = ag.scan(lambda c, r: (c + (w * r).exp().sum(), None), 0.0, x)
    ag.cond(x.sum() > -100, lambda: total * w.sum(), lambda: total).backward()
    return w.grad


def trained_in_a_loop(x, make=fresh):
    w = make(x)

    def step(c, r):
        w.grad = None
        loss = ((w * r).sum() - 1) ** 2
        loss.backward()
        with ag.no_grad():
            w.sub_(0.1 * w.grad)
        g, w.grad = w.grad, None
        return c + loss, g

    total, gradients = ag.scan(step, 0.0, x)
    (w * w).sum().backward()
    return total, gradients, w, w.grad


def trained_in_a_loop_from_outside(x):
    return trained_in_a_loop(x, lambda _: W)


def trained_as_a_view(x):
    return trained_in_a_loop(x, lambda x: (x[0] * 2).detach().requires_grad_())


def behind_the_record(x):
    h = x * W
    first = h[0]
    with ag.no_grad():
        h.mul_(2)
        first.add_(5)
    (h * h + first).sum().backward()
    return h, first, W.grad


@pytest.mark.share(4)
@pytest.mark.parametrize("function", [
    made, trained, trained_in_part, trained_by_a_record, used_in_a_loop, trained_in_a_loop,
    trained_in_a_loop_from_outside, trained_as_a_view, behind_the_record,
])
def test_parameters_that_a_function_makes_and_changes(function):
    results = []
    for run in (function, ag.jit(function), ag.jit(function, optimizer="fast_compile")):
        W.array[...] = 1
        W.grad = None
        found = run(ag.tensor(X))
        found = found if isinstance(found, tuple) else (found,)
        results.append([f.detach().numpy().copy() for f in found])
    for compiled in results[1:]:
        for a, b in zip(results[0], compiled, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def test_gradients_that_a_loop_leaves_are_refused_whoever_made_the_parameter():
    def leaving(x):
        w = fresh(x)

        def step(c, r):
            (w * r).sum().backward()
            return c, None

        ag.scan(step, 0.0, x)
        return w.grad

    np.testing.assert_allclose(leaving(ag.tensor(X)), X.sum(0))
    with pytest.raises(ag.TraceError, match="a loop or branch leaves a gradient with float64"):
        ag.jit(leaving)(ag.tensor(X))


def test_steps_in_a_loop_read_the_arguments_of_the_function():
    """Its body does not know whether they require gradients; nobody asked for any."""
    def steps(x):
        def step(c, k):
            W.grad = None
            loss = ((x * k) @ W).exp().sum()
            loss.backward()
            with ag.no_grad():
                W.sub_(0.01 * W.grad)
            W.grad = None
            return c + loss.detach(), None

        return ag.scan(step, 0.0, ag.tensor([1.0, 0.5], dtype="float64"))[0]

    results = []
    for run in (steps, ag.jit(steps)):
        W.array[...] = 1
        results.append([run(ag.tensor(X)).item(), *W.tolist()])
    np.testing.assert_allclose(*results, rtol=1e-12)


def test_gradients_go_on_to_what_a_captured_tensor_was_computed_from():
    """Native code cannot follow the record: the function runs eagerly, and says so."""
    found = []
    for way in (lambda f: f, ag.jit):
        w = ag.tensor(X, requires_grad=True)
        b = w * 2

        def step(s, b=b):
            (b * b[0] * s).sum().backward()

        run = way(step)
        for _ in range(3):
            run(2.0)
        assert b.grad is None
        found.append(w.grad.numpy())
    np.testing.assert_allclose(*found)
    assert "it runs eagerly, for gradients go on to what" in run.explain()


def _only_through(w, b, s):
    return ag.grad((b * s).sum(), w)


def _through_and_directly(w, b, s):
    return ag.grad((b * b[0] * s).sum() + (w * w).sum(), [w, b], disconnected="none")[0]


def _in_a_branch(w, b, s):
    return ag.cond(s > 0, lambda s: ag.grad((b * s).sum(), w), lambda s: w * s, s)


@pytest.mark.parametrize("f", [_only_through, _through_and_directly, _in_a_branch])
def test_grad_goes_on_to_what_a_captured_tensor_was_computed_from(f):
    found = []
    for way in (lambda f: f, ag.jit):
        w = ag.tensor(X, requires_grad=True)
        b = w * 2
        run = way(lambda s, w=w, b=b: f(w, b, s))
        found.append([run(ag.tensor(s)).numpy() for s in (2.0, 3.0)])
    np.testing.assert_allclose(*found)
    assert "it runs eagerly, for gradients go on to what" in run.explain()


def test_grad_of_what_was_computed_before():
    w = ag.tensor(X, requires_grad=True)
    b = w * 2
    loss = (b * b).sum()
    run = ag.jit(lambda s: ag.grad(loss, [w, b])[0] * s)
    assert run(2.0).tolist() == (16 * w).tolist()
    alone = ag.jit(lambda s: ag.grad((b * b * s).sum(), b))
    assert alone(2.0).tolist() == (4 * b).tolist()
    assert "eagerly" not in alone.explain()


def _in_a_scan(w, x):
    def body(c, r):
        k = ag.sin(c * w)
        with ag.enable_grad():
            y = c * w * r + k
        return y, (y, y * 1)

    return ag.scan(body, ag.tensor(X[0]), x)


def _in_a_while_loop(w, x):
    def body(c):
        with ag.enable_grad():
            y = ag.sin(c[1] * w)
        return c[0] + 1, y

    return ag.while_loop(lambda c: c[0] < 3, body, (0, ag.tensor(X[0])))


def _in_branches(w, x):
    def branch(q):
        with ag.enable_grad():
            return w * q

    return ag.cond(x.sum() < 1e9, branch, lambda q: 2 * q * w, ag.tensor(X[0]))


def _not_at_all(w, x):
    return ag.scan(lambda c, r: (c * w + r, c), ag.tensor(X[0]), x), w * 2


@pytest.mark.share(2)
@pytest.mark.parametrize("f", [_in_a_scan, _in_a_while_loop, _in_branches, _not_at_all])
def test_what_a_body_records_within_no_grad(f):
    """A loop or branch in a graph carries the gradients that a run on values would."""
    found = []
    for way in (lambda f: f, ag.jit):
        w = ag.tensor(X[0], requires_grad=True)

        def run(x, w=w):
            with ag.no_grad():
                results, _ = ag.tree.flatten(f(w, x))
            return [r for r in results if r.dtype.kind == "f"]

        results = way(run)(ag.tensor(X))
        flows = [r.requires_grad for r in results]
        for r in results:
            if r.requires_grad:
                (r * r).sum().backward()
        found.append((flows, None if w.grad is None else w.grad.tolist()))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(*(np.array(g, "f8") for _, g in found), rtol=1e-10)


def test_a_captured_tensor_with_a_history_may_be_changed():
    """Python goes on with its record: eagerly, and ``explain()`` says so."""
    w = ag.tensor(X[0], requires_grad=True)
    y = w * 1
    double = ag.jit(lambda s: y.mul_(s))
    double(2.0)
    assert "it runs eagerly, for gradients flow into tensors that it changes" in double.explain()
    ag.jit(lambda y, s: y.mul_(s))(y, 2.0)
    ag.jit(lambda s: ag.fori_loop(0, 2, lambda i, c: (y.mul_(s), c)[1], s))(2.0)
    with ag.no_grad():
        ag.jit(lambda s: y.add_(s))(2.0)
    y.sum().backward()
    assert w.grad.tolist() == [16.0, 16.0, 16.0]
    assert y.tolist() == (16 * w + 2).tolist()


def test_parameters_that_are_changed_between():
    """What was computed before and what is computed after count, as for a leaf on values."""

    def backwards(w, x):
        y = (w * x).sum()
        with ag.no_grad():
            w.mul_(0.5)
        loss = y * y + (ag.sin(w * 1) * x).sum()
        with ag.no_grad():
            w.add_(1.0)
        loss = loss + w.sum()
        return loss

    def by_backward(w, x):
        w.grad = None
        backwards(w, x).backward()
        return w.grad * 1

    def by_grad(w, x):
        return ag.grad(backwards(w, x), w)

    def of_state(w, x):
        b = w * 2
        y = (b * x).sum()
        with ag.no_grad():
            b.mul_(0.5)
        return ag.grad(y * 3 + (ag.sin(b * 1) * x).sum(), b)

    for f in (by_backward, by_grad, of_state):
        found = []
        for way in (lambda f: f, ag.jit):
            w = ag.tensor(X, requires_grad=True)
            run = way(lambda x, w=w, f=f: f(w, x))
            found.append([run(ag.tensor(X)).numpy().copy() for _ in range(3)])
        np.testing.assert_allclose(*found, rtol=1e-12)
