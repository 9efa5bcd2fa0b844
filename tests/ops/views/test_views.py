"""Changes in place and views: values and gradients, as PyTorch documents them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import agnesi as ag

W = [1.0, 2.0, 3.0, 4.0]


def leaf():
    return ag.tensor(W, "float64", requires_grad=True)


def weighted(a):
    (a * ag.tensor(np.reshape(W, a.shape))).sum().backward()


def base_changed_after_view(p):
    a = p * 2
    v = a[1:3]
    a[1] = p[0] * 10
    (v * ag.tensor([3.0, 5.0], "float64")).sum().backward()
    return v, [10, 6], [30, 0, 10, 0]


def view_changed_by_its_own_product(p):
    a = p * 2
    v = a[1:3]
    v *= p[0]
    weighted(a)
    return a, [2, 4, 6, 8], [28, 4, 6, 8]


def view_of_view(p):
    a = p * 1
    m = a.reshape(2, 2)
    r = m[1]
    r[0] = p[0] * p[1]
    m[0, 1] = 7.0
    weighted(a)
    assert m.tolist() == [[1, 7], [2, 4]]
    assert r.tolist() == [2, 4]
    return a, [1, 7, 2, 4], [7, 3, 0, 4]


def transposed_view(p):
    a = p.reshape(2, 2) * 1
    t = a.mT
    t[0] = (p[2:] * p[:2]).reshape(2)
    weighted(a)
    return a, [[3, 2], [8, 4]], [3, 14, 1, 10]


def base_without_gradient_gets_one_through_a_view(p):
    a = ag.zeros(4, "float64")
    first, overlapping = a[0:2], a[1:3]
    first[...] = p[2:] * 2
    assert overlapping.requires_grad
    y = overlapping * 3
    y.sum().backward()
    return y, [24, 0], [0, 0, 0, 6]


def whole_overwritten_by_a_constant(p):
    a = p * 1
    v = a[0:2]
    a[...] = ag.tensor(W, "float64") * 5
    y = v * p[:2]
    y.sum().backward()
    assert not v.requires_grad
    return y, [5, 20], [5, 10, 0, 0]


def unneeded_value_changed(p):
    a = p * 1
    y = a + a
    a[0] = 9.0
    y.sum().backward()
    return y, [2, 4, 6, 8], [2, 2, 2, 2]


def selection_assigned(p):
    a = p * 1
    a[[0, 2]] = p[1:3] * 3
    weighted(a)
    return a, [6, 2, 9, 4], [0, 5, 9, 4]


def selection_increased_counts_once(p):
    a = p * 1
    a[[0, 0]] += p[1]
    weighted(a)
    return a, [3, 2, 3, 4], [1, 3, 3, 4]


def selection_of_a_view_writes_the_base(p):
    a = p * 1
    v = a[1:]
    v[[0, 2]] = p[0] * 2
    weighted(a)
    return a, [1, 2, 3, 2], [13, 0, 3, 0]


def masked(p):
    a = p * 1
    a[a > 2] = p[:2]
    weighted(a)
    return a, [1, 2, 1, 2], [4, 6, 0, 0]


def overlapping_source_is_read_first(p):
    a = p * 1
    a[1:] = a[:-1]
    weighted(a)
    return a, [1, 1, 2, 3], [3, 3, 4, 0]


def filled_in_a_loop(p):
    a = ag.zeros(4, "float64")
    for i in range(1, 4):
        a[i] = a[i - 1] + p[i] * i
    weighted(a)
    return a, [0, 2, 8, 20], [0, 9, 14, 12]


def values_that_no_rule_reads_may_change(p):
    rows = ag.zeros((3, 4), "float64")
    weights = ag.tensor(np.eye(4) * 2)
    for i in range(1, 3):
        rows[i] = rows[i - 1] * 0.5 @ weights + p
    rows.sum().backward()
    return rows, [[0] * 4, W, [2, 4, 6, 8]], [3] * 4


def elements_updated(p):
    a = p * 1
    a[1] += 5
    a[2] *= p[0]
    (a * a).sum().backward()
    return a, [1, 7, 3, 4], [20, 14, 6, 8]


def sibling_views(p):
    a = p * 1
    u, v = a[:3], a[1:]
    u[1] = p[3] * 2
    v[0] += p[0]
    (u * ag.tensor(W[:3], "float64")).sum().backward()
    assert v.tolist() == [9, 3, 4]
    return a, [1, 9, 3, 4], [3, 0, 3, 4]


def broadcast_view_follows_its_base(p):
    a = p * 1
    wide = ag.broadcast_to(a, (2, 4))
    a[0] = p[1] * 3
    wide.sum().backward()
    return wide, [[6, 2, 3, 4], [6, 2, 3, 4]], [0, 8, 2, 2]


def leaf_assigned_then_changed(p):
    a = ag.zeros(4, "float64")
    a[...] = p
    y = p * p
    a[0] = 100.0
    (y + a).sum().backward()
    return a, [100, 2, 3, 4], [2, 5, 7, 9]


PROGRAMS = [
    base_changed_after_view, view_changed_by_its_own_product, view_of_view, transposed_view,
    base_without_gradient_gets_one_through_a_view, whole_overwritten_by_a_constant,
    unneeded_value_changed, selection_assigned, selection_increased_counts_once,
    selection_of_a_view_writes_the_base, masked, overlapping_source_is_read_first,
    values_that_no_rule_reads_may_change, filled_in_a_loop, elements_updated, sibling_views,
    broadcast_view_follows_its_base, leaf_assigned_then_changed,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(program):
    p = leaf()
    result, value, grad = program(p)
    np.testing.assert_allclose(result.numpy(), value)
    np.testing.assert_allclose(p.grad.numpy(), grad)


def test_leaves_and_their_views_refuse_changes_while_recording():
    p = leaf()
    view = p[1:]
    with pytest.raises(RuntimeError, match="no_grad"):
        p[0] = 1.0
    with pytest.raises(RuntimeError, match="no_grad"):
        view += 1
    with ag.no_grad():
        p[0] = 5.0
    assert p.tolist() == [5, 2, 3, 4]


@pytest.mark.share(2)
@pytest.mark.parametrize("read", [
    lambda y: y * y, lambda y: y[1:] * y[:-1], ag.tanh, lambda y: y[None] @ y[:, None], ag.sort,
    lambda y: y.max() / y, lambda y: ag.cumprod(y, 0)])
@pytest.mark.parametrize("place", [0, slice(1, 3), ...])
def test_recorded_changes_leave_gradients_the_values_that_were_read(read, place):
    def loss(x, changed=True):
        y = ag.exp(x)
        z = read(y).sum()
        if changed:
            y[place] = x[place] * 9
            y[:1].mul_(2)
        return z

    x = ag.tensor([0.3, 0.1, 0.7, 0.2])
    expected = ag.grad(lambda x: loss(x, changed=False))(x)
    np.testing.assert_allclose(ag.grad(loss)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(ag.jit(ag.grad(loss))(x), expected, rtol=1e-6)


def test_broadcast_views_refuse_changes():
    with pytest.raises(ValueError, match="read-only"):
        ag.broadcast_to(ag.ones(3), (2, 3))[0, 0] = 1
    with pytest.raises(ValueError, match="change a copy"):
        ag.jit(lambda x: ag.broadcast_to(x, (2, 3)).fill_(1))(ag.ones(3))


def test_many_views_of_one_tensor_leave_no_trace():
    a = ag.zeros(4)
    for _ in range(1000):
        a[0]
    gc.collect()
    assert len(a._version) < 40
