"""Bodies of loops and branches that write through views, or look at rows in columns' order: what
compiled code sees is what eager code does."""

import numpy as np
import pytest

import agnesi as ag


@pytest.mark.parametrize("look", [
    lambda b: b.reshape(4), lambda b: b.reshape(4)[::-1].reshape(1, 4), lambda b: b[0],
    lambda b: b.T.reshape(4)])
def test_both_branches_write_through_a_view_of_all_elements(look):
    def f(b, k):
        u = look(b)

        def one():
            u[0] = 2
            return u.sum() + b[0, 1]

        def other():
            u[...] = u * 3
            return b.sum()

        return ag.cond(k > 0, one, other), u * 1

    for k in (1, 0):
        found = [(g(b, ag.tensor(k)), b.numpy()) for g, b in zip(
            (f, ag.jit(f)), [ag.arange(1.0, 5.0).reshape(2, 2) for _ in range(2)], strict=True)]
        for x, y in zip(*map(ag.tree.leaves, found), strict=True):
            np.testing.assert_array_equal(x, y)


def _written(u):
    v = u.reshape(-1)  # a copy of what lies in columns' order
    u[0] = 7
    v[1:2] = -1
    return v * 1 + u.sum()


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("f", [
    lambda x: ag.cond(x.sum() > 0, lambda u: _written(u * 1), lambda u: _written(u * 2), x[0]),
    lambda x: ag.scan(lambda c, u: (c, _written(u * 1)), 0.0, x)[1],
    lambda x: ag.map(lambda u: _written(u * 1), ag.swapaxes(x, 0, 1)),
    lambda x: ag.scan(lambda c, u: (c * 1, _written(c * 1)), x[0].T, ag.arange(2.0))[1],
    lambda x: ag.scan(lambda c, u, w: (c, _written(w * 1)), 0.0, ag.arange(2.0),
                      non_sequences=(x[0].T,))[1],
    lambda x: ag.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + _written(c[1] * 1).sum()), (0, x[0]))[1],
    lambda x: _written(ag.scan(lambda c, u: (c * 1, u), x[0], ag.arange(2.0))[0]),
    lambda x: ag.grad(lambda u: (_written(u * 1) ** 2).sum())(x[0]),
    lambda x: ag.jvp(lambda u: _written(u * 1) ** 2, (x[0],), (x[0],))[1],
    lambda x: ag.checkpoint(lambda u: _written(u * 1), x[0]),
], ids="cond row map carry given while last grad jvp checkpoint".split())
def test_flat_looks_in_bodies_are_views_where_they_are_eagerly(f, order):
    run = ag.jit(f)
    for lies in ("C", order):  # the layout of later calls counts, too
        x = np.array(np.arange(24.0).reshape(2, 3, 4), order=lies)
        np.testing.assert_array_equal(run(ag.asarray(x)), f(ag.asarray(x)))


def _body(u):
    u[...] = u + 5
    u[:1] -= u.sum()
    return u.sum()


@pytest.mark.parametrize("look", [lambda b, k: b.narrow(1, k, 1), lambda b, k: b[k:k + 1],
                                  lambda b, k: b[k], lambda b, k: b.T[k]])
@pytest.mark.parametrize("loop", [
    lambda u, k, b: ag.while_loop(lambda c: c[0] < k + 2, lambda c: (c[0] + 1, c[1] + _body(u)),
                                  (0 * k, 0.0))[1],
    lambda u, k, b: ag.scan(lambda c, x: (c + _body(u), b.sum()), 0.0, ag.arange(2.0)),
    lambda u, k, b: ag.cond(k > 0, lambda: _body(u), lambda: _body(u) + b.sum()),
    lambda u, k, b: ag.scan(lambda c, x: ag.cond(
        x > 0, lambda: (_body(u), x), lambda: (c, x)), ag.tensor(0.0), ag.arange(2.0)),
], ids=["while", "scan", "cond", "nested"])
def test_bodies_write_through_views_at_places_that_values_choose(look, loop):
    def f(b, k):
        u = look(b, k)
        return loop(u, k, b), u * 1

    run = ag.jit(f)
    for k in (1, 0):
        found = [(g(b, ag.tensor(k)), b) for g, b in zip(
            (f, run), [ag.arange(6.0).reshape(2, 3) for _ in range(2)], strict=True)]
        for x, y in zip(*map(ag.tree.leaves, found), strict=True):
            np.testing.assert_array_equal(x, y)


def _bound(u):
    u += 1  # an element is a number: the name is bound anew


def _added(u):
    u.add_(1)


def _set(u):
    u[...] = 5


@pytest.mark.parametrize("change", [_bound, _added, _set])
def test_elements_that_a_jitted_function_writes_are_those_of_their_tensor(change):
    run = ag.jit(change)
    inside = ag.jit(lambda a: run(a[1]))
    for k in range(3):
        found = []
        for g in (change, run):
            a = ag.arange(3.0)
            element = a[1]
            g(element)
            found.append([*a.tolist(), element.item()])
        assert found[0] == found[1]
        inside(a := ag.arange(3.0))
        assert a.tolist() == found[0][:3]
        run(ag.tensor(float(k)))  # makes a version for what is no element


@pytest.mark.parametrize("change", [
    lambda a: ag.cond(a.sum() > 0, lambda: _doubled(a), lambda: a.sum()),
    lambda a: ag.scan(lambda c, x: (c + _doubled(a), x), 0.0, ag.arange(2.0)),
    lambda a: ag.while_loop(lambda c: c < 2, lambda c: c + (_doubled(a) > -9), 0),
    lambda a: a.copy_(ag.sort(a, -1)), lambda a: a.copy_(ag.cummax(a[:, ::-1], 1)[0]),
    lambda a: a.copy_(ag.scan(lambda c, x: (c + x, c), a[0], a)[1]),
    lambda a: a.copy_(ag.associative_scan(ag.add, a)),
    lambda a: a.copy_(ag.linalg.qr(ag.eye(3) + ag.outer(a[0], a[1]))[1][:2] * 0 + a * 3),
], ids="cond scan while sort cummax rows scan2 qr".split())
def test_state_in_columns_order_is_written_as_it_lies(change):
    found = []
    for jit in (lambda f: f, ag.jit):
        a = ag.asarray(np.array([[2.0, 1, 0], [5, 3, 4]], "float32", order="F"))
        step = jit(lambda a=a: change(a))
        step(), step()
        found.append(a.numpy())
    np.testing.assert_array_equal(*found)


def _doubled(a):
    a[...] = a * 2
    return a.sum()
