"""Graphs as operations: what they hold, nested, in loops, with derivatives of their own."""

import copy
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

V = np.random.default_rng(0).normal(size=5)


def made(**keywords):
    x, y = T.vectors("x", "y")
    return ag.OpFromGraph([x, y], ag.tanh(x * y) + 1, **keywords)


@pytest.mark.parametrize("inline", [False, True])
def test_it_equals_the_inlined_graph(inline):
    op = made(inline=inline)
    x, y = T.vectors("x", "y")
    direct = ag.tanh(x * y) + 1
    outputs = [op(x, y), *T.grad(op(x, y).sum(), [x, y])]
    wanted = [direct, *T.grad(direct.sum(), [x, y])]
    for a, b in zip(ag.function([x, y], outputs)(V, V + 1),
                    ag.function([x, y], wanted)(V, V + 1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_rules():
    ag.testing.check_op(made(), [[V, V + 1], [V[:0], V[:0]]])


def test_it_is_one_operation_until_it_is_compiled():
    x = T.vector("x")
    assert made(name="soft")(x, x).node.op.name == "soft"
    assert made(name="soft", inline=True)(x, x).node.op.name == "add"
    f = ag.jit(lambda x: made()(x, x) * 2)
    f(ag.tensor(V))
    assert len(f.plan().steps) == 1


def test_nested_and_in_loops():
    inner, x = made(name="inner"), T.vector("x")
    outer = ag.OpFromGraph([x], inner(x, x * 2) * x, name="outer")
    ag.testing.check_op(outer, [[V]])
    rows = np.random.default_rng(1).normal(size=(4, 5))

    def loop(c, rows):
        return ag.scan(lambda c, r: (outer(c + r), None), c, rows)[0].sum()

    def again(c, rows):
        for r in rows:
            c = (ag.tanh((c + r) * (c + r) * 2) + 1) * (c + r)
        return c.sum()

    c, r = ag.tensor(V), ag.tensor(rows)
    np.testing.assert_allclose(ag.jit(loop)(c, r).numpy(), again(c, r).numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        ag.jit(ag.grad(loop))(c, r).numpy(), ag.grad(again)(c, r).numpy(), rtol=1e-10
    )


def test_batches():
    x = np.random.default_rng(1).normal(size=(4, 5))
    found = ag.vmap(made(), in_axes=(0, None))(ag.tensor(x), ag.tensor(V))
    np.testing.assert_allclose(found.numpy(), np.tanh(x * V) + 1)


def test_derivatives_of_ones_own():
    x = T.vector("x")
    op = ag.OpFromGraph([x], x * x, vjp=lambda g, y, x: g * 100,
                        jvp=lambda ts, y, x: ts[0] * 7)
    for wrap in (lambda f: f, ag.jit):
        g = wrap(ag.grad(lambda x: op(x).sum()))(ag.tensor(V))
        np.testing.assert_array_equal(g.numpy(), np.full(5, 100.0))
    _, t = ag.jvp(op, (ag.tensor(V),), (ag.ones(5, dtype="float64"),))
    np.testing.assert_array_equal(t.numpy(), np.full(5, 7.0))
    a = T.vector("a")
    moved = ag.Rop(op(a), a, a * 0 + 1).eval({a: V})
    np.testing.assert_array_equal(moved, np.full(5, 7.0))


def test_several_results_and_shared_state():
    w, x = ag.shared(np.array([1.0, 2.0])), T.vector("x")
    op = ag.OpFromGraph([x], [x * w, w.sum()])
    a = T.vector("a")
    f = ag.function([a], op(a))
    for value in ([1.0, 2.0], [3.0, 5.0]):
        w.set_value(np.array(value))
        scaled, total = f([1.0, 10.0])
        np.testing.assert_array_equal(scaled, [value[0], 10 * value[1]])
        assert total == sum(value)
    g = ag.function([a], T.grad(op(a)[1] * op(a)[0].sum(), w))
    np.testing.assert_array_equal(g([1.0, 2.0]), [8 + 13, 2 * 8 + 13])


def test_numbers_and_arrays_are_converted():
    assert made()([1.0], [0.0]).dtype == "float64"
    found = made()(np.ones(2, "float32"), [0.0, 0.0])
    np.testing.assert_array_equal(found.numpy(), [1.0, 1.0])


def test_wrong_uses():
    x, y = T.vectors("x", "y")
    with pytest.raises(TypeError, match="soft takes 2 operands, not 1"):
        made(name="soft")(x)
    with pytest.raises(ValueError, match="soft: operand 1 must have 1 axes"):
        made(name="soft")(x, T.matrix())
    with pytest.raises(TypeError, match="operand 0 must fit into float64"):
        made()(ag.ones(2) + 1j, x)
    with pytest.raises(TypeError, match="inputs must be symbolic variables"):
        ag.OpFromGraph([x * 2], x)
    with pytest.raises(ValueError, match="not among the inputs"):
        ag.OpFromGraph([x], x * y)


def test_copies_and_pickles():
    op = made(name="soft")
    for other in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        np.testing.assert_array_equal(other(V, V).numpy(), op(V, V).numpy())
