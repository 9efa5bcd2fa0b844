"""Callbacks and prints: in program order, once each, in loops, branches, batches, derivatives."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def noted(log, value):
    """A callback that notes its arrays."""
    return ag.callback(lambda *xs: log.append([x.tolist() for x in xs]), None, *value)


@pytest.mark.parametrize("compiled", [True, False])
def test_effects_come_in_program_order_and_once_each(compiled, capsys):
    log = []

    def f(x):
        ag.print("a {}", x)
        noted(log, [x * 2])
        ag.print("a {}", x)
        order = ag.callback(lambda v: log.append("r") or np.sort(v), x, x, effect=True)
        ag.print("b {0} {y}", order, y=x.sum())
        noted(log, [x])
        return x + 1

    f = ag.jit(f) if compiled else f
    for x in ([3.0, 1.0], [5.0, 4.0]):
        log.clear()
        f(ag.tensor(x))
        assert capsys.readouterr().out == (
            f"a {np.array(x)}\na {np.array(x)}\nb {np.sort(x)} {sum(x)}\n".replace("  ", " ")
        )
        assert log == [[[2 * v for v in x]], "r", [x]]


def test_in_loops():
    log = []

    @ag.jit
    def f(x):
        def step(c, row):
            noted(log, [row])
            return c + row, c

        return ag.scan(step, x[0] * 0, x)[0]

    assert f(ag.tensor([1.0, 2.0, 3.0])).item() == 6.0
    assert log == [[1.0], [2.0], [3.0]]


def test_in_branches():
    log = []

    @ag.jit
    def f(x):
        def side(name):
            def run(x):
                ag.callback(lambda v: log.append(name), None, x)
                return x * 2
            return run

        return ag.cond(x > 0, side("then"), side("otherwise"), x)

    f(ag.tensor(1.0))
    f(ag.tensor(-1.0))
    assert log == ["then", "otherwise"]


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit])
def test_for_each_example_of_a_batch(wrap):
    log = []

    def f(x, y):
        noted(log, [x, y])
        return ag.callback(lambda v: v * 10, x, x, effect=True) + y

    g = wrap(ag.vmap(f, in_axes=(0, None)))
    np.testing.assert_array_equal(g(ag.tensor([1.0, 2.0]), ag.tensor(3.0)).numpy(), [13.0, 23.0])
    assert log == [[1.0, 3.0], [2.0, 3.0]]
    log.clear()
    nested = wrap(ag.vmap(ag.vmap(f)))
    found = nested(ag.tensor([[1.0, 2.0]]), ag.tensor([[3.0, 4.0]])).numpy()
    np.testing.assert_array_equal(found, [[13.0, 24.0]])
    assert log == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit])
def test_derivatives_inside_a_batch_find_no_rule(wrap):
    def f(x):
        return ag.callback(np.sort, x, x, effect=True).sum()

    with pytest.raises(ag.GradientError, match=r"callback has no .*ag.custom_vjp"):
        wrap(ag.vmap(ag.grad(f)))(ag.ones((2, 3)))


def test_in_what_is_differentiated():
    log = []

    def f(x):
        noted(log, [x])
        return (x**2).sum()

    for g in (ag.grad(f), ag.jit(ag.grad(f))):
        log.clear()
        np.testing.assert_array_equal(g(ag.tensor([1.0, 2.0])).numpy(), [2.0, 4.0])
        assert log == [[[1.0, 2.0]]]


def test_callbacks_without_effect_run_where_they_are_needed():
    log = []

    def noisy(x):
        log.append(1)
        return x + 1

    @ag.jit
    def f(x):
        ag.callback(noisy, x, x)
        return ag.callback(noisy, x, x * 2) + ag.callback(noisy, x, x * 2)

    assert f(ag.tensor(1.0)).item() == 6.0
    assert log == [1]


def test_nests_of_results():
    like = {"q": ag.zeros((2, 2)), "r": ag.zeros((2, 2))}

    def qr(x):
        q, r = np.linalg.qr(x)
        return {"q": q, "r": r}

    x = ag.tensor([[2.0, 1.0], [1.0, 3.0]])
    found = ag.jit(lambda x: ag.callback(qr, like, x))(x)
    np.testing.assert_allclose((found["q"] @ found["r"]).numpy(), x.numpy(), rtol=1e-6)


def test_wrong_results_are_told():
    for f in (lambda v: v[:1], lambda v: None, lambda v: (v, v), lambda v: v * 1j):
        g = ag.jit(lambda x, f=f: ag.callback(f, x, x))
        with pytest.raises(TypeError, match=r"returned .* where float32\[2\] was declared"):
            g(ag.ones(2))


def test_errors_of_callbacks_reach_the_caller():
    def f(v):
        raise KeyError("mine")

    g = ag.jit(lambda x: (ag.callback(f, None, x), x)[1])
    with pytest.raises(KeyError, match="mine"):
        g(ag.ones(2))


def test_declared_graphs(capsys):
    x = T.dvector("x")
    f = ag.function([x], ag.print("x is {}", x) * 2)
    np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
    assert capsys.readouterr().out == "x is [1. 2.]\n"
    f = ag.function([x], ag.callback(np.sort, x, x) * 2)
    np.testing.assert_array_equal(f([3.0, 1.0]), [2.0, 6.0])
    with pytest.raises(TypeError, match="no place in a declared graph"):
        ag.callback(print, None, x)


def test_other_sizes():
    f = ag.jit(lambda x: ag.callback(np.sort, x, x) + 1)
    for n in (3, 4, 7, 2, 9):
        x = np.arange(n, 0, -1.0)
        np.testing.assert_array_equal(f(ag.tensor(x)).numpy(), np.arange(1.0, n + 1) + 1)


def test_a_callback_with_a_derivative():
    def called(x):
        return ag.callback(np.sin, x, x)

    sine = ag.custom_vjp(called)
    sine.defvjp(lambda x: (called(x), x), lambda x, g: (g * ag.cos(x),))
    x = np.array([0.5, 1.0])
    g = ag.jit(ag.grad(lambda x: sine(x).sum()))(ag.tensor(x))
    np.testing.assert_allclose(g.numpy(), np.cos(x))


def test_a_callback_that_raises_stops_what_follows(capsys):
    def positive(v):
        if not (v > 0).all():
            raise ValueError("negative")

    @ag.jit
    def f(x):
        ag.print("before {}", x)
        ag.callback(positive, None, x)
        ag.print("behind {}", x)
        return x * 2

    f(ag.tensor(1.0))
    with pytest.raises(ValueError, match="negative"):
        f(ag.tensor(-1.0))
    assert capsys.readouterr().out == "before 1.0\nbehind 1.0\nbefore -1.0\n"


def test_checks_come_behind_the_prints_above_them(capsys):
    def plain(x):
        ag.print("x {}", x.sum())
        return ag.sqrt(ag.ensure(x, x >= 0, "roots"))

    def branch(x):
        ag.print("x {}", x.sum())
        return ag.cond(x.sum() > -9, lambda x: ag.ensure(x, x >= 0, "roots") * 1, lambda x: x, x)

    def loop(x):
        def step(total, row):
            ag.print("x {}", row)
            return total + ag.ensure(row, row >= 0, "roots"), ()

        return ag.scan(step, ag.zeros(()), x)[0]

    for function, lines in ((plain, ["x 0.0"]), (branch, ["x 0.0"]), (loop, ["x 1.0", "x -1.0"])):
        compiled = ag.jit(function)
        compiled(ag.ones(2))
        capsys.readouterr()
        with pytest.raises(ValueError, match="roots"):
            compiled(ag.tensor([1.0, -1.0]))
        assert capsys.readouterr().out.splitlines() == lines


def test_prints_without_a_format_are_pythons(capsys):
    def program(x):
        ag.print("x is", x)
        ag.print(x, x * 2)
        ag.print("done")
        return x

    for way in (program, ag.jit(program)):
        way(ag.tensor([1.0]))
        assert capsys.readouterr().out == "x is [1.]\n[1.] [2.]\ndone\n"


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("effect", [False, True])
def test_callbacks_have_no_derivative(run, effect):
    """Asking for one is an error, and no zero; whole numbers and held arguments need none."""
    x = ag.tensor([1.0, 2.0])

    def sine(x):
        return ag.callback(np.sin, x, x, effect=effect)

    for derivative in (ag.grad(lambda x: (sine(x) * x).sum()), ag.hessian(lambda x: sine(x).sum()),
                       lambda x: ag.jvp(sine, (x,), (x,))[1]):
        with pytest.raises(ag.GradientError, match=r"callback has no .*ag.op\(vjp=(.|\n)*effects"):
            run(derivative)(x)
    held = run(ag.grad(lambda x: (sine(ag.stop_gradient(x)) * x).sum()))(x)
    np.testing.assert_allclose(held.numpy(), np.sin([1.0, 2.0]), rtol=1e-6)
    order = run(ag.grad(lambda x: (x[ag.callback(
        np.argsort, ag.zeros(2, dtype="int64"), x, effect=effect)] * x).sum()))(x)
    np.testing.assert_array_equal(order.numpy(), [2.0, 4.0])
