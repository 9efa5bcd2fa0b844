"""Reverse mode on recorded runs: backward, accumulation, seeds, history, memory."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import agnesi as ag


def leaf(*values):
    return ag.tensor(values, dtype="float64", requires_grad=True)


def test_scalar_polynomial():
    x = ag.tensor(5.0, requires_grad=True)
    y = x**2 - 2 * x + 1
    y.backward()
    assert y.item() == 16 and x.grad.item() == 8


def test_the_backward_of_a_matrix_needs_a_seed_that_may_stand_in_grad():
    x = ag.arange(6, dtype="float32").reshape(2, 3)
    x.requires_grad_()
    y = x**2
    with pytest.raises(ag.GradientError, match=r"float32\[2, 3\], which is not a scalar"):
        y.backward()
    y.grad = ag.ones((2, 3))
    y.backward()
    assert x.grad.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_seed_is_used_once_per_backward():
    x = leaf(3.0, 4.0)
    y = x * x
    y.grad = ag.tensor([1.0, 10.0], dtype="float64")
    y.backward()
    y.backward()
    assert x.grad.tolist() == [12, 160]


def test_retain_grad():
    x = leaf(1.0, 2.0)
    z, w = 2 * x, 3 * x
    z.retain_grad()
    (z * w).sum().backward()
    assert z.grad.tolist() == w.tolist() and w.grad is None


def test_a_retained_result_is_no_seed():
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [8] and y.grad.tolist() == [2]


def test_gradients_accumulate_over_uses_and_calls():
    x = leaf(1.0, 2.0)
    for _ in range(2):
        (x * x + x * 3).sum().backward()
    assert x.grad.tolist() == [10, 14]
    x.zero_grad()
    assert x.grad is None


def test_one_name_used_twice():
    a = leaf(3.0)
    (a * a).backward()
    assert a.grad.tolist() == [6]


def test_the_gradient_is_memory_of_its_own():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    x.grad += 1
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [1, 1]


def test_broadcast_operands_get_summed_gradients():
    row, column = ag.ones((1, 3), requires_grad=True), ag.ones((2, 1), requires_grad=True)
    (row * column * ag.arange(6.0).reshape(2, 3)).sum().backward()
    assert row.grad.tolist() == [[3, 5, 7]] and column.grad.tolist() == [[3], [12]]


def test_no_grad_nests_and_restores():
    w = leaf(1.0)
    with ag.no_grad():
        assert not (w * 2).requires_grad
        with ag.enable_grad():
            assert (w * 2).requires_grad
        with pytest.raises(ZeroDivisionError), ag.no_grad():
            1 / 0  # noqa: B018
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled() and (w * 2).requires_grad


def test_no_grad_decorates():
    @ag.no_grad()
    def double(x):
        return x * 2

    assert not double(leaf(1.0)).requires_grad


def test_detach_shares_memory_and_stops_gradients():
    w = leaf(1.0, 2.0)
    y = w * 2
    d = y.detach()
    assert d.owner is None and np.shares_memory(d.numpy(), y.numpy())
    (d * w).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_a_detached_twin_changed_in_place_is_noticed():
    w = leaf(1.0, 2.0)
    y = w * 2
    z = y * y
    y.detach().fill_(0)
    with pytest.raises(ag.GradientError, match="changed in place"):
        z.sum().backward()


def test_a_needed_value_changed_in_place_is_noticed():
    w = leaf(1.0, 2.0)
    y = w * 2
    z = (y * y).sum()
    with ag.no_grad():
        y += 1
    with pytest.raises(ag.GradientError, match=r"(?s)needs .*multiply.*changed in place"):
        z.backward()


def test_changes_in_place_are_recorded():
    w = leaf(1.0, 2.0)
    y = w * 3
    y *= w
    y += 1
    y.sum().backward()
    assert w.grad.tolist() == [6, 12]


def test_a_view_changed_in_place_changes_its_base():
    w = leaf(1.0, 2.0, 3.0)
    y = w * 1
    row = y[:2]
    row *= 10
    assert y.tolist() == [10, 20, 3]
    (y * y).sum().backward()
    assert w.grad.tolist() == [200, 400, 6]


def test_a_leaf_cannot_be_changed_in_place_while_recording():
    w = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"with ag.no_grad\(\)"):
        w += 1
    with ag.no_grad():
        w += 1
    assert w.tolist() == [2]


def test_unchain_backward_truncates():
    w = leaf(2.0)
    h = leaf(1.0)
    total = ag.zeros((), dtype="float64")
    for step in range(6):
        h = h * w
        if step == 2:
            before = weakref.ref(h.node.inputs[0])
            h.unchain_backward()
            assert before() is None
    total = h.sum()
    total.backward()
    # h = 8 is a constant; then three more factors: d(8 w^3) = 24 w^2
    assert w.grad.tolist() == [96]


def test_intermediates_are_freed_with_the_result_and_without_cycles():
    gc.disable()
    try:
        a = leaf(1.0, 2.0)
        c = a * 2
        seen = weakref.ref(c), weakref.ref(c.node)
        d = c * c
        del c
        assert seen[1]() is not None
        d.sum().backward()
        del d
        assert seen[0]() is None and seen[1]() is None
    finally:
        gc.enable()


def test_eager_memory_is_flat():
    w = ag.ones(8192, requires_grad=True)

    def step():
        loss = ((w * 2 - 1) ** 2).sum()
        loss.backward()
        with ag.no_grad():
            w.copy_(w - 0.01 * w.grad)
        w.zero_grad()

    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(100):
            step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step()
        # One array kept per step would be 32 MB.
        assert tracemalloc.get_traced_memory()[0] - before < 500_000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_deep_graphs_do_not_recurse():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + x
    y.sum().backward()
    assert x.grad.tolist() == [20_001]
    del y


def test_backward_without_anything_to_differentiate():
    with pytest.raises(ag.GradientError, match="does not depend on anything that requires grad"):
        ag.ones(()).backward()


def test_create_graph_differentiates_again():
    x = leaf(2.0)
    y = (x**3).sum()
    y.backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    assert x.grad.tolist() == [12]


def test_owner():
    x = leaf(1.0)
    y = x * 2 + 1
    assert x.owner is None and y.owner.op.name == "add"
    product, _ = y.owner.inputs
    assert product.owner.op.name == "multiply" and product.owner.inputs[0] is x
    with pytest.raises(AttributeError):
        y.owner = None
    with pytest.raises(AttributeError):
        y.owner.inputs = ()


def test_a_gradient_stays_the_tensor_that_it_was():
    w = ag.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    first = w.grad
    (w * 4).sum().backward()
    assert w.grad is first
    np.testing.assert_array_equal(first, [7, 7])


def test_a_gradient_with_a_history_or_fixed_memory_is_replaced():
    w = ag.ones(2, requires_grad=True)
    (w**3).sum().backward(create_graph=True)
    first = w.grad
    (w * 4).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [7, 7])
    np.testing.assert_array_equal(first.numpy(), [3, 3])
    np.testing.assert_array_equal(ag.grad(first.sum(), w), [6, 6])
    fixed = np.ones(2, np.float32)
    fixed.flags.writeable = False
    w.grad = ag.from_dlpack(fixed)
    (w * 4).sum().backward()
    np.testing.assert_array_equal(w.grad, [5, 5])
    np.testing.assert_array_equal(fixed, [1, 1])


@pytest.mark.parametrize("compile_", [lambda f: f, ag.jit])
def test_gradients_that_share_memory_add_up_apart(compile_):
    a, b, c = (ag.ones(2, requires_grad=True) for _ in range(3))
    a.grad = b.grad = ag.ones(2)
    c.grad = c.detach()

    @compile_
    def add():
        (a * 2 + b * 3 + c * c).sum().backward()

    add()
    np.testing.assert_array_equal([a.grad, b.grad, c.grad, c], [[3, 3], [4, 4], [3, 3], [1, 1]])
    add()
    np.testing.assert_array_equal([a.grad, b.grad, c.grad, c], [[5, 5], [7, 7], [5, 5], [1, 1]])


def test_values_that_an_earlier_record_kept_do_not_count_where_no_rule_reads_them():
    w, x = ag.ones(3, requires_grad=True), ag.ones((4, 3))
    (w * w).sum().backward()  # keeps w
    for _ in range(2):
        w.grad = None
        w.reshape((3, 1)).sum().backward()
        (x @ w).exp().sum().backward()  # w as a matrix: reshape reads no value
        with ag.no_grad():
            w -= 0.5
    np.testing.assert_allclose(w.grad, 1 + 4 * np.exp(1.5), rtol=1e-6)


@pytest.mark.parametrize("f", [ag.round, ag.floor, ag.sign, lambda x: ag.sin(ag.trunc(x))])
def test_functions_without_slope_have_the_derivative_zero(f):
    """For tensors as for functions; comparisons and what is held do not depend on anything."""
    x = ag.tensor([1.5, -2.3], requires_grad=True)
    assert ag.grad(f(x).sum(), x).tolist() == [0.0, 0.0]
    assert ag.grad(lambda x: f(x).sum())(x).tolist() == [0.0, 0.0]
    assert ag.grad((f(x) + x).sum(), x).tolist() == [1.0, 1.0]
    y = ag.tensor([1.0, 1.0], requires_grad=True)
    for other in (ag.stop_gradient(x) * y, (x > 0) * y, y):
        with pytest.raises(ag.GradientError, match="does not depend on"):
            ag.grad(other.sum(), x)


def test_a_detached_tensor_keeps_its_value_where_the_other_changes_in_place():
    def loss(w):
        a = w * 1
        d = a.detach()
        found = (w * d).sum()
        a *= 2
        return found + a.sum() * 0

    w = ag.tensor([1.0, 2.0])
    for f in (ag.grad(loss), ag.jit(ag.grad(loss))):
        assert f(w).tolist() == [1.0, 2.0]


KEEPING_NOTHING = {
    "times": lambda y, c: y * c, "times a number": lambda y, c: 2 * y, "over": lambda y, c: y / c,
    "less a new value": lambda y, c: y - c * 3, "a new value less it": lambda y, c: c * 3 - y,
    "product": lambda y, c: (y.reshape(16, 16) @ c.reshape(16, 16)).reshape(-1),
    "in place": lambda y, c: y.mul_(c), "in place, over": lambda y, c: y.div_(c)}


@pytest.mark.parametrize("name", KEEPING_NOTHING)
def test_a_record_keeps_what_the_rules_of_those_with_gradients_read(name):
    """Factors beside one without a gradient are let go, as is what only its own rule reads."""
    step = KEEPING_NOTHING[name]
    c = ag.full((256,), 1.01)
    x = ag.ones(256).requires_grad_()
    y = x + 0
    seen = []
    for _ in range(5):
        before, y = y, step(y, c)
        seen.append(weakref.ref(before.array))
        del before
    assert [r for r in seen[:-1] if r() is not None and r() is not y.array] == []
    y.sum().backward()
    z = ag.jit(ag.grad(lambda x: [v := x + 0, *[v := step(v, c) for _ in range(5)]][-1].sum()))(x)
    np.testing.assert_allclose(x.grad.numpy(), z.numpy(), rtol=1e-5)
    z = x / c  # a factor that was let go once is there for who needs it
    w = ag.ones(256).requires_grad_()
    (w * c * z).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.ones(256), rtol=1e-5)


def test_the_first_cotangent_is_nobodys_memory():
    """It is shared by all passes from a scalar, and gradients that are it are copies."""
    x = ag.tensor(2.0, requires_grad=True)
    x.backward()
    x.grad.mul_(5.0)
    y = ag.tensor(3.0, requires_grad=True)
    y.backward()
    assert (x.grad.item(), y.grad.item()) == (5.0, 1.0)
    z = (y * 2).sum()
    z.retain_grad()
    z.backward()
    z.grad.add_(1.0)
    y.backward()
    assert (z.grad.item(), y.grad.item()) == (2.0, 4.0)


def test_retains_grad():
    """As PyTorch's: of intermediate results only."""
    def flags(x):
        y = x * 2
        before = y.retains_grad
        y.retain_grad()
        return before, y.retains_grad, x.retains_grad

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    assert flags(x) == ag.jit(flags)(x) == (False, True, False)
    assert not ag.ones(2).retains_grad
