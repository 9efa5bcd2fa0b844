"""``ag.jit`` and memory: layouts, changes in place, state, gradients."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import agnesi as ag
from tests.compiler.jit.runs import LAYOUTS, Model, both, read_only, train, vector


# -- memory layouts of arguments ----------------------------------------------------------------
@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout_is_read(name):
    both(lambda x: ag.asarray(x) * 2 + ag.asarray(x).sum(), LAYOUTS[name], calls=3)


@pytest.mark.parametrize("name", ["fortran", "transposed", "every other", "backwards", "unaligned",
                                  "0-d", "no elements"])
def test_any_layout_is_changed_in_place(name):
    def f(x):
        x += 1
        x *= x

    both(f, LAYOUTS[name], calls=3)


def test_views_given_as_arguments_change_what_they_look_into():
    seen = []
    f = ag.jit(lambda x: x.add_(1).sum())
    for run in (lambda x: x.add_(1).sum(), f):
        base = ag.tensor(np.zeros((4, 4)))
        run(base[1])
        run(base[:, 2])
        seen.append(base.tolist())
    assert seen[0] == seen[1] and sum(map(sum, seen[1])) == 8


# -- changes in place ---------------------------------------------------------------------------
def changes_argument(x):
    y = x * 2
    x += 1
    z = x * 2
    x[1:3] = 0
    v = x[::2]
    v *= 10
    x[0] += v[1] + y[0]
    return y + z


def reverses_itself(x):
    x[:] = x[::-1]
    x[1:] = x[:-1] * 2


def sums_over_itself(x):
    x -= x.sum()
    x /= x.max()


def swaps(x, y):
    x[:], y[:] = y * 1, x * 1


def rotates(x, y):
    x.copy_(x + y)
    y.copy_(x - y)


@pytest.mark.parametrize("f", [changes_argument, reverses_itself, sums_over_itself])
def test_changed_arguments(f):
    both(f, vector())


@pytest.mark.parametrize("f", [swaps, rotates])
def test_changed_pairs_of_arguments(f):
    both(f, vector(), lambda: ag.tensor(np.arange(5, dtype="float32") ** 2))


def test_one_tensor_given_twice():
    def f(x, y):
        x += 1
        return y * 2

    for run in (f, ag.jit(f)):
        x = ag.ones(3)
        for turn in range(3):
            assert run(x, x).tolist() == [2.0 * (turn + 2)] * 3
        run(x, ag.ones(3))
        assert run(x, x).tolist() == [12, 12, 12]
    assert "4 calls ran eagerly: memory that the function changes overlaps" in run.explain()


def test_arguments_that_overlap():
    def f(x, y):
        x += 1
        return x + y

    seen = []
    for run in (f, ag.jit(f)):
        base = ag.tensor(np.arange(6.0))
        run(base[:4] * 1, base[2:] * 1)
        twice = [run(base[:4], base[2:]).tolist() for _ in range(2)]
        seen.append([*twice, base.tolist()])
    assert seen[0] == seen[1]


def test_state_given_as_an_argument_too():
    seen = []
    for compiled in (False, True):
        w = ag.ones(3)

        def f(x, w=w):
            w.add_(1)
            return x * 2

        def g(x, w=w):
            y = w * x
            w.mul_(3)
            x.add_(w)
            return y

        f, g = (ag.jit(r) if compiled else r for r in (f, g))
        f(ag.ones(3)), g(ag.ones(3))
        seen.append([f(w).tolist(), f(w).tolist(), g(w).tolist(), f(w[1:].reshape(2)).tolist(),
                     w.tolist()])
    assert seen[0] == seen[1]


def changes_detached(x):
    y = x * 1
    twin = y.detach()
    twin += 1
    x.detach()[1:] *= 2
    return x + y, twin


def test_changes_of_detached_tensors_show():
    both(changes_detached, vector())
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def step(x):
        w.grad = None
        (w * w * x).sum().backward()
        w.detach().sub_(w.grad, alpha=0.25)
        return w.sum()

    assert step(ag.ones(2)).item() == 1.5 and w.tolist() == [0.5, 1]
    assert step(ag.ones(2)).item() == 0.75 and w.requires_grad


def test_integers_and_bools_in_place():
    def f(m, n):
        m[n > 2] = False
        n *= 3
        n[m] = -100
        return n.sum()

    both(f, lambda: ag.ones(5, dtype="bool"), lambda: ag.arange(5, dtype="int16"))


# -- state ----------------------------------------------------------------------------------------
def test_a_training_step_equals_eager():
    eager, compiled = Model(), Model()
    expected = train(eager, eager.step)
    step = ag.jit(compiled.step)
    for a, b in zip(train(compiled, step), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(step.specialisations) == 1


def test_methods_of_a_class():
    class Compiled(Model):
        step = ag.jit(Model.step)

    eager, one, two = Model(), Compiled(), Compiled()
    expected = train(eager, eager.step)
    for model in (one, two):
        np.testing.assert_allclose(train(model, model.step)[0], expected[0], rtol=1e-12)
    assert one.w is not two.w and one.count.item() == two.count.item() == 10


def test_state_replaced_by_another_array():
    w = ag.ones(3)
    f = ag.jit(lambda x: (w.add_(1) * x).sum())
    assert f(ag.ones(3)).item() == 6
    w.array = np.full(3, 10, "float32")
    assert f(ag.ones(3)).item() == 33 and w.tolist() == [11, 11, 11]
    w.array = np.arange(6, dtype="float32")[::2]
    assert f(ag.ones(3)).item() == 9 and w.tolist() == [1, 3, 5]
    assert len(f.specialisations) == 1


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["fortran", "transposed", "every other", "backwards", "unaligned",
                                  "0-d", "no elements"])
def test_state_of_any_layout(name):
    seen = []
    for compile_ in (False, True):
        w = LAYOUTS[name]()

        def f(x, w=w):
            old = w * 1
            w.mul_(2).add_(x)
            rows = w.reshape(-1, 1)
            return old, rows @ rows.T, ag.sort(w.reshape(-1)), w.sum()

        run = ag.jit(f) if compile_ else f
        seen.append([np.array(t) for _ in range(3) for t in run(ag.tensor(1.0, dtype="float64"))])
        seen[-1].append(np.array(w))
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


@pytest.mark.parametrize("f", [ag.cumsum, ag.cumprod], ids=lambda f: f.__name__)
def test_functions_on_whole_arrays_read_state_whose_stride_says_nothing(f):
    x = ag.asarray(np.arange(1.0, 10.0)[None, :].T)  # a column: the other axis has any stride
    with ag.config(verify=True):
        np.testing.assert_allclose(ag.jit(lambda: f(x, axis=0))(), f(x, axis=0))


def test_read_only_state_cannot_change():
    w = read_only()
    f = ag.jit(lambda: w.add_(1))
    for run in (lambda: w.add_(1), f, f):
        with pytest.raises(ValueError, match="read-only"):
            run()
    assert w.tolist() == [0, 1, 2, 3, 4, 5]
    x = read_only()
    change = ag.jit(lambda x: x.add_(1) * 1)
    change(ag.tensor(np.zeros(6)))
    with pytest.raises(ValueError, match="read-only"):
        change(x)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_state_that_changes_shape_or_dtype():
    w = ag.ones(3)
    f = ag.jit(lambda: w * 2)
    assert f().tolist() == [2, 2, 2]
    w.array = np.ones(5, "float32")
    assert f().tolist() == [2] * 5
    w.array = np.ones(2, "float64")
    assert f().dtype == ag.float64
    assert len(f.specialisations) == 3


def test_state_that_starts_or_stops_to_want_gradients():
    w = ag.ones(2, requires_grad=True)
    f = ag.jit(lambda x: (x * w).requires_grad)
    assert f(ag.ones(2)) is True
    w.requires_grad_(False)
    assert f(ag.ones(2)) is False
    w.requires_grad_(True)
    assert f(ag.ones(2)) is True


def test_state_seen_through_views():
    seen = []
    for compile_ in (False, True):
        w = ag.tensor(np.arange(12.0).reshape(3, 4))
        row, column = w[1], w[:, 2]

        def f(x, w=w, row=row, column=column):
            row.add_(x)
            column.mul_(2)
            y = w.sum(0)
            w[0] = 1
            return y + row

        run = ag.jit(f) if compile_ else f
        seen.append([run(ag.ones(4, dtype="float64")).tolist() for _ in range(3)] + [w.tolist()])
    assert seen[0] == seen[1]


def test_views_of_views_see_what_was_written_to_the_first_tensor():
    seen = []
    for compile_ in (lambda f: f, ag.jit):
        flat = ag.zeros(6)
        inner = flat[:4]
        w, b, other = inner.view(2, 2), flat[4:], inner[1:][1:]

        def f(x, flat=flat, w=w, b=b, other=other):
            w.add_(x)
            b[0] += 1
            flat.mul_(0.5)
            return w @ b, w * 1, other * 1

        run = compile_(f)
        seen.append([ag.concat([t.reshape(-1) for t in run(ag.ones((2, 2)))]).tolist()
                     for _ in range(2)])
    assert seen[0] == seen[1]


def test_two_tensors_on_one_memory():
    seen = []
    for compile_ in (False, True):
        w = ag.tensor(np.arange(4.0))
        twin = w.detach()

        def f(w=w, twin=twin):
            w.add_(1)
            return twin * 2

        run = ag.jit(f) if compile_ else f
        seen.append([run().tolist(), run().tolist(), w.tolist()])
    assert seen[0] == seen[1]


def test_state_that_swaps():
    a, b = ag.zeros(3), ag.ones(3)

    @ag.jit
    def swap():
        old = a * 1
        a.copy_(b)
        b.copy_(old)

    for turn in range(3):
        swap()
        assert (a.tolist(), b.tolist()) == ([1 - turn % 2] * 3, [turn % 2] * 3)


def test_the_function_does_not_keep_its_arguments_alive():
    f = ag.jit(lambda x: x * 2)
    x = ag.ones(4)
    seen = weakref.ref(x)
    f(x), f(x)
    del x
    gc.collect()
    assert seen() is None


# -- gradients ----------------------------------------------------------------------------------
def test_gradients_made_and_left_are_given_out():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def f(x):
        loss = (w * w * x).sum()
        loss.backward()
        return loss

    f(ag.ones(2))
    assert w.grad.tolist() == [2, 4]
    f(ag.ones(2))
    assert w.grad.tolist() == [4, 8]  # it accumulates, as in eager code
    w.grad = None
    f(ag.ones(2))
    assert w.grad.tolist() == [2, 4]


def sgd(w):
    def step(x):
        w.grad = None
        loss = (w * w * x).sum()
        loss.backward()
        with ag.no_grad():
            w.sub_(w.grad, alpha=0.25)
        return loss

    return step


def test_gradients_used_up_do_not_exist_outside():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    step = ag.jit(sgd(w))
    for _ in range(2):
        step(ag.ones(2))
        with pytest.raises(ag.GradientError, match="keep_grads=True"):
            _ = w.grad
    assert w.tolist() == [0.25, 0.5]
    w.grad = None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    step(ag.ones(2))
    with pytest.raises(ag.GradientError, match="keep_grads=True"):
        _ = w.grad


def test_keep_grads():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    step = ag.jit(sgd(w), keep_grads=True)
    step(ag.ones(2))
    assert w.grad.tolist() == [2, 4]
    step(ag.ones(2))
    assert w.grad.tolist() == [1, 2]


def test_a_step_that_needs_a_gradient_that_was_used_up():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.jit(sgd(w))(ag.ones(2))
    with pytest.raises(ag.GradientError, match="call zero_grad"):
        ag.jit(lambda x: ((w * x).sum().backward(), w.grad))(ag.ones(2))


def test_grad_inside_jit_inside_grad():
    def f(x):
        return (ag.sin(x) * x).sum()

    x = ag.tensor([0.5, 1.0])
    expected = ag.grad(f)(x).tolist()
    inside = ag.jit(ag.grad(f))
    outside = ag.grad(ag.jit(f))
    np.testing.assert_allclose(inside(x).tolist(), expected, rtol=1e-6)
    np.testing.assert_allclose(outside(x).tolist(), expected, rtol=1e-6)
    second = ag.grad(lambda x: inside(x).sum())(x).tolist()
    eager = ag.grad(lambda x: ag.grad(f)(x).sum())(x)
    np.testing.assert_allclose(second, eager.tolist(), rtol=1e-6)


def test_jit_inside_jit():
    w = ag.zeros(2)

    @ag.jit
    def inner(x):
        w.add_(x)
        return x * 2

    outer = ag.jit(lambda x: inner(inner(x)) + w)
    assert outer(ag.ones(2)).tolist() == [7, 7]
    assert outer(ag.ones(2)).tolist() == [10, 10]
    assert inner(ag.ones(2)).tolist() == [2, 2] and w.tolist() == [7, 7]


def test_a_read_only_view_of_memory_that_changes_is_live() -> None:
    memory = np.arange(3.0)
    view = memory.view()
    view.flags.writeable = False
    seen = ag.asarray(view)
    f = ag.jit(lambda x: x + seen)
    assert f(ag.zeros(3, dtype="float64")).numpy().tolist() == [0.0, 1.0, 2.0]
    memory += 1
    assert f(ag.zeros(3, dtype="float64")).numpy().tolist() == [1.0, 2.0, 3.0]


def test_gradients_that_begin_inside():
    """PyTorch's way to ask for them: a detached tensor is told to require one."""
    w = ag.tensor([1.5, -0.5], requires_grad=True)

    def penalty(x):
        x = (x * 2).detach().requires_grad_()
        slope = ag.grad(ag.tanh(x * w).sum(), x, create_graph=True)
        return ag.grad(((slope * slope).sum() - 1) ** 2, w), slope

    def accumulated(x):
        x = x.detach()
        x.requires_grad = True
        for _ in range(2):
            (x * x * w.detach()).sum().backward()
        return x.grad

    def in_a_loop(x):
        def step(c, x):
            start = c.detach().requires_grad_()
            return c + ag.grad(ag.sin(start * x), start), c

        return ag.scan(step, 0.5, x)

    for f in (penalty, accumulated, in_a_loop):
        x = ag.tensor([0.3, 0.4])
        found = ag.jit(f)(x)
        assert not x.requires_grad
        for a, b in zip(found, f(x), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def zeroed_in_place(parameters, x):
    for p in parameters:
        if p.grad is not None:
            p.grad.zero_()
    return used(parameters, x)


def used(parameters, x):
    """Gradients that nobody sets to None add up, as in eager code, though they are read here."""
    a, b = parameters
    loss = ((a * x).sum(1) * b).sum()
    loss.backward()
    with ag.no_grad():
        for p in parameters:
            p -= 0.01 * p.grad
    return loss


@pytest.mark.parametrize("begin", [False, True])
@pytest.mark.parametrize("step", [used, zeroed_in_place])
def test_gradients_of_earlier_calls_that_are_used(step, begin):
    runs = []
    for compile_ in (lambda f: f, ag.jit):
        parameters = [ag.ones((2, 3), requires_grad=True), ag.ones(2, requires_grad=True)]
        if begin:
            for p in parameters:
                p.grad = ag.zeros_like(p)
        run = compile_(lambda x, parameters=parameters: step(parameters, x))
        losses = [run(ag.ones(3) * i).item() for i in (1.0, 2.0, 3.0)]
        runs.append([losses, *(p.tolist() for p in parameters),
                     *(p.grad.tolist() for p in parameters)])
    for eager, compiled in zip(*runs, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-6)


def added_up(set_to_none, compile_):
    """Losses, final values, and the gradients of each of three rounds of four calls."""
    w = ag.ones(3, requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=0.1)

    def add(x):
        loss = (w * w * x).sum()
        loss.backward()
        return loss

    run = compile_(add)
    losses, rounds = [], []
    for _ in range(3):
        losses += [run(ag.ones(3) * i).item() for i in range(4)]
        rounds.append(w.grad)
        optimizer.step()
        optimizer.zero_grad(set_to_none)
    return run, [losses, w.tolist(), *(g.tolist() for g in rounds)]


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_add_up_in_the_tensor_that_is_there(set_to_none):
    _, eager = added_up(set_to_none, lambda f: f)
    run, compiled = added_up(set_to_none, ag.jit)
    np.testing.assert_allclose(compiled[0], eager[0], rtol=1e-6)
    np.testing.assert_allclose(compiled[1:], eager[1:], rtol=1e-6)
    assert "2 specialisations" in run.explain()


@pytest.mark.parametrize("first", [0, 2])
def test_shared_variables_get_other_sizes(first):
    """Empty ones leave nothing in the code, which told sizes apart by nothing then."""
    w = ag.shared(np.ones(first))
    declared = ag.function([], [w.sum(), w[3:].sum(), w * 2])
    compiled = ag.jit(lambda: [w.sum(), w[3:].sum(), w * 2])
    for n in (first, 0, 3, 5, 2, 0, 4):
        w.set_value(np.ones(n))
        for f in (declared, compiled):
            assert [x.tolist() for x in f()] == [n, max(n - 3, 0), [2.0] * n]


def test_parameters_get_other_sizes():
    m = ag.nn.Module()
    m.w = ag.nn.Parameter(ag.zeros(0))
    f = ag.jit(lambda m, x: m.w.sum() + x)
    for n in (0, 3, 0, 2):
        m.w.data = ag.ones(n)
        assert f(m, ag.tensor(1.0)).item() == n + 1
