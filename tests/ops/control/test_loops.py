"""Loops and branches as operations: values, types, identity, derivatives."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import symbol
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While, applied

F8 = np.dtype("float64")


def leaf(*shape, dtype=F8):
    return symbol(Node(None, (), shape, np.dtype(dtype), requires_grad=np.dtype(dtype).kind == "f"))


def body(inputs, outputs):
    return Body(FunctionGraph([x.node for x in inputs], [y.node for y in outputs]))


def recurrence(n=3, stop=False):
    """``h = tanh(h @ w + x)``, with ``h * x`` stacked."""
    x, h, w = leaf(n), leaf(n), leaf(n, n)
    new = ag.tanh(h @ w + x)
    return body([x, h, w], [new, new * x, *([new.sum() > 0.3] if stop else [])])


def operands(length=5, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) for s in ((length, n), (n,), (n, n))]


def reference(x, h, w, steps):
    rows = np.zeros_like(x)
    for t in steps:
        h = np.tanh(h @ w + x[t])
        rows[t] = h * x[t]
    return h, rows


# -- values -----------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_runs_row_by_row(length, reverse):
    x, h, w = operands(length)
    last, rows = Scan(recurrence(), length, 1, 1, 1, reverse=reverse).perform(x, h, w)
    order = range(length)[::-1] if reverse else range(length)
    for got, expected in zip((last, rows), reference(x, h, w, order), strict=True):
        np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("count", [0, 1, 3, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_only_rows_that_count_are_run_over(count, reverse):
    x, h, w = operands()
    op = Scan(recurrence(), 5, 1, 1, 1, reverse=reverse, counted=True)
    last, rows = op.perform(np.asarray(count), x, h, w)
    order = range(count)[::-1] if reverse else range(count)
    for got, expected in zip((last, rows), reference(x, h, w, order), strict=True):
        np.testing.assert_allclose(got, expected)
    assert not rows[count:].any()


def test_a_scan_that_stops_repeats_its_last_row():
    c, x = leaf(), leaf()
    op = Scan(body([x, c], [c + x, c + x, c + x > 5.0]), 6, 1, 1, 1, until=True)
    last, rows, steps = op.perform(np.arange(6.0), np.asarray(0.0))
    assert (last, steps, steps.dtype) == (6, 4, np.int64)
    np.testing.assert_array_equal(rows, [0, 1, 3, 6, 6, 6])


def test_a_scan_that_stops_does_not_run_backwards():
    with pytest.raises(ValueError, match="flip its rows"):
        Scan(recurrence(stop=True), 5, 1, 1, 1, reverse=True, until=True)


def test_while_asks_before_each_step():
    c = leaf()
    op = While(body([c], [c < 100.0]), body([c], [c * 2]), 1)
    assert op.perform(np.asarray(1.0)) == 128
    assert op.perform(np.asarray(100.0)) == 100


def test_one_branch_runs():
    c = leaf()
    op = Cond(body([c], [c * 2]), body([c], [ag.ensure(c, False, "not this one")]))
    assert op.perform(np.asarray(True), np.asarray(3.0)) == 6
    with pytest.raises(ValueError, match="not this one"):
        op.perform(np.asarray(False), np.asarray(3.0))


def test_results_have_memory_of_their_own():
    c = leaf(2)
    start = np.ones(2)
    for op in (
        Scan(body([c], [c]), 3, 0, 1, 0), While(body([c], [c.sum() < 0]), body([c], [c]), 1),
    ):
        result = op.perform(start)
        result[:] = 5
    np.testing.assert_array_equal(start, [1, 1])


@pytest.mark.parametrize("loop", [
    lambda x: ag.scan(lambda c, row: (ag.broadcast_to(row, (2, 3)), None), x, x)[0],
    lambda x: ag.scan(lambda c, row: (x, None), x * 2, x)[0],
    lambda x: ag.fori_loop(0, 2, lambda i, c: x, x * 2),
    lambda x: ag.while_loop(lambda c: c.sum() < 0, lambda c: x.T, x.T),
    lambda x: ag.while_loop(lambda c: c[0, 0] == 1, lambda c: x[::-1], 1 + x),
    lambda x: ag.cond(x.sum() > 0, lambda: x, lambda: x * 2),
])
def test_what_a_loop_ends_with_is_no_view(loop):
    """Eagerly as compiled, changes of what the body looked at do not show in the result."""
    def changed(x):
        result = loop(x)
        x += 10
        return result

    found = [f(ag.tensor(np.arange(6.0).reshape(2, 3))) for f in (changed, ag.jit(changed))]
    np.testing.assert_array_equal(found[0].numpy(), found[1].numpy())
    assert found[0].numpy().max() < 12


# -- types ------------------------------------------------------------------------------------
def test_types_are_those_of_the_body():
    op = Scan(recurrence(stop=True), 5, 1, 1, 1, until=True)
    assert op.infer(leaf(5, 3), leaf(3), leaf(3, 3)) == (
        ((3,), F8), ((5, 3), F8), ((), np.dtype("int64"))
    )


@pytest.mark.parametrize("xs, why", [
    ((leaf(4, 3), leaf(3), leaf(3, 3)), "sequence 0 has 4 rows, not 5"),
    ((leaf(5, 2), leaf(3), leaf(3, 3)), r"operands of the body 0: float64\[3\] is needed, not"),
    ((leaf(5, 3), leaf(3)), "3 operands of the body are needed, not 2"),
    ((leaf(), leaf(3), leaf(3, 3)), "needs an axis to run along"),
])
def test_operands_must_fit(xs, why):
    with pytest.raises(ag.ShapeError, match=why):
        Scan(recurrence(), 5, 1, 1, 1).infer(*xs)


def test_carries_keep_their_type():
    c = leaf(3)
    with pytest.raises(ag.ShapeError, match=r"next carries 0: float64\[3\] is needed, not float64"):
        Scan(body([c], [c.sum()]), 5, 0, 1, 0).infer(c)
    with pytest.raises(ag.ShapeError, match="bool scalar"):
        While(body([c], [c.sum()]), body([c], [c]), 1).infer(c)


def test_unknown_sizes_are_put_in_later():
    n, t = Dim("n"), Dim("t")
    x, c = leaf(n), leaf(n)
    op = Scan(body([x, c], [c + x, c.sum() + ag.zeros(n).sum()]), t, 1, 1, 1)
    assert op.infer(leaf(t, n), leaf(n)) == (((n,), F8), ((t,), F8))
    known = op.resolve(lambda size: {n: 3, t: 5}.get(size, size))
    assert known.infer(leaf(5, 3), leaf(3)) == (((3,), F8), ((5,), F8))
    last, sums = known.perform(np.ones((5, 3)), np.zeros(3))
    np.testing.assert_array_equal(last, [5, 5, 5])
    np.testing.assert_array_equal(sums, [0, 3, 6, 9, 12])


# -- identity ---------------------------------------------------------------------------------
def test_bodies_that_compute_the_same_are_equal():
    first, second = Scan(recurrence(), 5, 1, 1, 1), Scan(recurrence(), 5, 1, 1, 1)
    assert first.body is not second.body
    assert first == second and hash(first) == hash(second)
    assert first != Scan(recurrence(4), 5, 1, 1, 1)
    c = leaf()
    assert body([c], [c * 2.0]) != body([c], [c * 3.0])


def test_equal_loops_are_merged():
    x, h, w = leaf(5, 3), leaf(3), leaf(3, 3)
    results = [applied(Scan(recurrence(), 5, 1, 1, 1), x, h, w)[0] for _ in range(2)]
    graph = FunctionGraph([v.node for v in (x, h, w)], [r.node for r in results])
    assert graph.outputs[0] is graph.outputs[1]


def test_graphs_inside_are_expanded_too():
    c = leaf(3)
    op = Scan(body([c], [ag.softmax(c)]), 5, 0, 1, 0)
    (result,) = applied(op, c)
    graph = FunctionGraph([c.node], [result.node])
    (inside,) = [n.op.body.graph for n in expanded(graph).nodes if n.op is not None]
    assert all(n.op is None or n.op.decompose is None for n in inside.nodes)


# -- derivatives ------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [{}, {"reverse": True}, {"until": True}])
@pytest.mark.parametrize("seed", [0, 2])
def test_derivatives_of_scan(kind, seed):
    op = Scan(recurrence(stop="until" in kind), 5, 1, 1, 1, **kind)

    def f(*xs):
        last, rows, *_ = applied(op, *xs)
        return (last * last).sum() + ag.sin(rows * ag.arange(5.0, dtype="float64")[:, None]).sum()

    ag.testing.check_grads(f, operands(seed=seed), order=2)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_derivatives_of_a_counted_scan(count, reverse):
    op = Scan(recurrence(), 5, 1, 1, 1, reverse=reverse, counted=True)

    def f(*xs):
        last, rows = applied(op, ag.tensor(count), *xs)
        return (last * last).sum() + ag.sin(rows).sum()

    ag.testing.check_grads(f, operands(), order=2)


@pytest.mark.parametrize("limit", [0.0, 4.0, 300.0])
def test_derivatives_of_while(limit):
    c, w = leaf(3), leaf(3, 3)
    op = While(body([c, w], [c.sum() < limit]), body([c, w], [c @ w + c]), 1)
    rng = np.random.default_rng(0)
    points = [abs(rng.normal(size=3)) + 0.5, abs(rng.normal(size=(3, 3)))]
    ag.testing.check_grads(lambda *xs: ag.log(applied(op, *xs)[0]).sum(), points, order=2)


@pytest.mark.share(2)
@pytest.mark.parametrize("steps", [0, 1, 3, 4, 8, 9, 11])
def test_derivatives_of_a_long_while(steps, monkeypatch):
    """In segments of three steps, of which three first states are kept."""
    monkeypatch.setattr("agnesi.autodiff.whiles._MIN_SEGMENT_STEPS", 3)
    monkeypatch.setattr("agnesi.autodiff.whiles._MAX_SEGMENT_STEPS", 3)
    c, w, i = leaf(2), leaf(2), leaf(dtype="int64")
    op = While(body([i, c, w], [i < steps]), body([i, c, w], [i + 1, ag.sin(c * w) + c]), 2)
    points = [np.array([0.3, 0.5]), np.array([0.9, 0.4])]
    f = lambda c, w: applied(op, ag.tensor(0), c, w)[1].sum()  # noqa: E731
    ag.testing.check_grads(f, points, order=2)


def test_orders_of_derivatives_of_while_do_not_multiply_the_rows_kept():
    """Segments inside of segments keep rows for all steps of all of them: these are few then."""
    def power(w):
        return ag.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, ag.tanh(s[1] * w)),
                             (0, w))[1]

    slope = ag.jacfwd(ag.jacfwd(lambda w: power(w).sum()))
    w = ag.tensor([0.9, -1.2, -1.6], dtype="float64")
    run = ag.jit(ag.grad(lambda w: ag.grad(lambda w: power(w).sum())(w).sum()),
                 memory_limit=1 << 19)
    assert np.allclose(run(w), slope(w).sum(1))


@pytest.mark.parametrize("decision", [True, False])
def test_derivatives_of_cond(decision):
    c, w = leaf(3), leaf(3, 3)
    op = Cond(body([c, w], [c * 2, c @ w]), body([c, w], [c * c * c, c]))

    def f(*xs):
        a, b = applied(op, ag.tensor(decision), *xs)
        return (a * b).sum()

    ag.testing.check_grads(f, operands()[1:], order=2)


def test_gradients_read_what_costs_and_compute_what_does_not():
    """Of ``h = tanh(h @ w + x)`` the reverse steps read ``h`` alone."""
    x, h, w = leaf(5, 3), leaf(3), leaf(3, 3)
    last, rows = applied(Scan(recurrence(), 5, 1, 1, 1), x, h, w)
    (g,) = ag.grad(last.sum() + rows.sum(), [w])
    scans = {n.op for n in FunctionGraph([v.node for v in (x, h, w)], [g.node]).nodes
             if isinstance(n.op, Scan)}
    forward, reverse = sorted(scans, key=lambda op: op.reverse)
    assert (forward.stacked, reverse.reverse) == (3, True)  # h * x, then h before and behind
    names = [n.op.name for n in reverse.body.graph.nodes if n.op is not None]
    assert names.count("tanh") == 0 and names.count("matmul") == 2


@pytest.mark.parametrize("loop", [
    lambda v: ag.scan(lambda c, r: (ag.sin(c * r), c), v, ag.stack([v, v])),
    lambda v: ag.fori_loop(0, 3, lambda i, c: ag.sin(c * v), v),
    lambda v: ag.while_loop(lambda c: c.sum() > 1.2, lambda c: ag.sin(c) * v, v),
    lambda v: ag.map(lambda r: r * v, ag.stack([v, v])),
    lambda v: ag.cond(v.sum() > 0, lambda c: c * v, lambda c: c, v),
])
def test_gradients_of_what_a_loop_begins_with(loop):
    """A leaf that is the first carry gets its gradient, by the loop and beside it."""
    def cost(v):
        return sum([(ag.exp(t)).sum() for t in flatten(loop(v))[0]])

    x = ag.tensor([0.3, 0.5, 1.2], dtype="float64")
    found = ag.grad(cost)(x).numpy()
    np.testing.assert_allclose(ag.jit(ag.grad(cost))(x).numpy(), found, rtol=1e-12)
    steps = 1e-6 * np.eye(3)
    slopes = [((cost(x + s) - cost(x - s)) / 2e-6).item() for s in steps]
    np.testing.assert_allclose(found, slopes, rtol=1e-7)


@pytest.mark.parametrize("keywords", [{}, {"reverse": True}, {"until": lambda c: c.sum() > 0}])
def test_no_step_gives_values_whatever_sizes_the_body_would_compute(keywords):
    x, w = ag.tensor([[-2.0, 1.0]]), ag.ones(2, requires_grad=True)

    def body(c, row):
        return c + ag.cumsum(x[x == x])[-1:].sum(), (c, row)

    run = lambda w: ag.scan(body, w, ag.zeros((0,)), **keywords)[:2]  # noqa: E731
    for carry, (carries, rows) in (run(w), ag.jit(run)(w)):
        np.testing.assert_array_equal(carry.numpy(), [1.0, 1.0])
        assert (carries.shape, rows.shape) == ((0, 2), (0,))
    assert ag.grad(lambda w: run(w)[0].sum())(w).tolist() == [1.0, 1.0]
    assert ag.fori_loop(0, 0, lambda i, c: body(c, i)[0], 3.0).item() == 3.0


@pytest.mark.parametrize("loop", [
    lambda a, b: ag.fori_loop(0, 2, lambda i, c: ag.tanh(b), 5 % a),
    lambda a, b: ag.scan(lambda c, _: (ag.tanh(b), c * 0), 5 % a, None, length=2)[0],
    lambda a, b: ag.scan(lambda c, x: ((ag.tanh(b), c[1] + x), x), (5 % a, b), b[None] * 0)[0][0]])
def test_what_no_step_reads_gets_no_gradient(loop):
    """Not zeros, of which infinite slopes before the loop would make NaN."""
    a, b = ag.tensor(0.0), ag.tensor(0.0)
    slopes = ag.grad(loop, (0, 1))
    for found in (slopes(a, b), ag.jit(slopes)(a, b),
                  [g[0] for g in ag.vmap(slopes)(a[None], b[None])]):
        assert [g.item() for g in found] == [0, 1]


@pytest.mark.share(2)
@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loop", [
    lambda v, c: ag.scan(lambda c, x: (x * x, x), c, v)[0],
    lambda v, c: ag.scan(lambda c, x: (x.exp(), c), c, v, reverse=True)[0],
    lambda v, c: ag.scan(lambda c, x: ((x * x, c[0] * x), x), (c.log(), c), v)[0][1],
    lambda v, c: ag.scan(lambda c, x: ((x * x, c[0] * x, c[1].sin()), x), (c, c, c), v)[0][2],
    lambda v, c: ag.scan(lambda c, x: ((c[1], x * x), x), (c, c), v[::-1])[0][0],
    lambda v, c: ag.while_loop(lambda s: s[0] < 6, lambda s: (s[0] + 1, s[2], v[5 - s[0]] ** 2),
                               (ag.tensor(0), c, c))[1],
])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_steps_whose_carry_is_lost_get_no_gradient(wrap, loop, special):
    """What the last steps alone compute: NaN in the others does not arrive."""
    for row in ([special, special, special, .5, .25, 2.], [special, .5, .25, 2., .7, special]):
        v, c = ag.tensor(row), ag.tensor(special)
        found = wrap(ag.grad(loop, (0, 1)))(v, c)
        for a, b in zip(found, ag.grad(loop, (0, 1))(v, c), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        assert found[1] == 0


@pytest.mark.parametrize("loop", [
    lambda v, c: ag.scan(lambda c, x: (x ** 3, x), c, v)[0],
    lambda v, c: ag.fori_loop(0, 6, lambda i, c: v[i] ** 3, c),
    lambda v, c: ag.scan(lambda c, x: ((x ** 3, c[0] * 2), x), (c, c), v)[0][1],
])
def test_second_derivatives_of_lost_carries(loop):
    v, c = ag.tensor([np.nan, np.inf, .5, .25, 2., .7]), ag.tensor(np.nan)
    second = ag.grad(lambda v, c: ag.grad(loop)(v, c).sum())
    np.testing.assert_allclose(ag.jit(second)(v, c), second(v, c), rtol=1e-6)
    assert ag.isfinite(second(v, c)).all()


@pytest.mark.parametrize("step, result", [
    (lambda c, x: ((ag.sqrt(x), x * x), ag.sqrt(c[1])), lambda cs, ys: ys.sum()),
    (lambda c, x: ((c[1] / ag.sqrt(c[1]), ag.abs(c[0])), x), lambda cs, ys: cs[1].sum()),
])
@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("special", [np.nan, np.inf, 0.0])
def test_steps_without_a_cotangent_have_no_nan_in_second_derivatives(step, result, row, special):
    """A pullback reads kept rows in some steps only: slopes in the others do not count."""
    xs = np.array([[0.5], [1.5], [2.5]])
    xs[row] = special
    args = [ag.tensor(v, dtype="float64") for v in ([1.25], [special], xs)]

    def loss(a, b, xs):
        return result(*ag.scan(step, (a, b), xs))

    for i in range(3):
        second = ag.grad(lambda *v, i=i: ag.grad(loss, i)(*v).sum(), (0, 1, 2))
        for mine, eager in zip(ag.jit(second)(*args), second(*args), strict=True):
            np.testing.assert_allclose(mine, eager)


@pytest.mark.parametrize("step, result", [
    (lambda c, x: ((ag.sqrt(x), x * x), ag.sqrt(c[1])), lambda cs, ys: ys.sum()),
    (lambda c, x: ((c[1], ag.sqrt(c[0]) * x), ag.log(c[0])), lambda cs, ys: ys.sum()),
    (lambda c, x: ((c[1], c[0]), ag.sqrt(c[0])), lambda cs, ys: cs[0].sum()),
])
@pytest.mark.parametrize("row", [0, 2])
@pytest.mark.parametrize("special", [np.nan, np.inf, 0.0])
def test_steps_without_a_tangent_have_no_nan_in_forward_mode(step, result, row, special):
    """A carry that gets a tangent in a later step has none before, and no zeros."""
    xs = np.array([[0.5], [1.5], [2.5]])
    xs[row] = special
    args = [ag.tensor(v, dtype="float64") for v in ([1.25], [special], xs)]

    def loss(a, b, xs):
        return result(*ag.scan(step, (a, b), xs))

    def along(f, i):
        def g(*v):
            return ag.jvp(lambda x: f(*v[:i], x, *v[i + 1:]), (v[i],), (ag.ones_like(v[i]),))[1]
        return g

    for i, j in ((0, 1), (1, 2), (2, 1), (2, 2)):
        for f in (along(loss, i), along(along(loss, i), j), ag.grad(along(loss, i), j),
                  along(lambda *v, j=j: ag.grad(loss, j)(*v).sum(), i)):
            np.testing.assert_allclose(ag.jit(f)(*args), f(*args))


def test_tangents_of_while_loops_begin_where_they_do():
    def loss(a, b):
        return ag.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[2] * 1.5, ag.sqrt(c[1])),
                             (ag.asarray(0), a, b))[1]

    def move(a, b):
        return ag.jvp(lambda a: loss(a, b), (a,), (ag.ones_like(a),))[1]

    args = ag.tensor([2.0, 3.0]), ag.tensor([0.0, 4.0])
    expected = move(*args)
    np.testing.assert_allclose(ag.jit(move)(*args), expected, rtol=1e-6)
    assert ag.isfinite(expected).all()


@pytest.mark.parametrize("body", [
    lambda c: c * 0.5 if c[0] > 0 else c + 0.1, lambda c: c * float(c[0]),
    lambda c: ag.repeat(c[:2] * c[1:], ag.tensor([1, 2]))], ids=["branch", "number", "sizes"])
@pytest.mark.parametrize("rows, reverse, weak", [(1, False, True), (7, True, False),
                                                 (5, False, True)])
def test_checkpointed_steps_of_values_may_decide_by_them_and_find_sizes(body, rows, reverse, weak):
    v = ag.tensor([0.93, 0.41, -0.83], dtype="float64")
    m = ag.outer(ag.arange(1.0, rows + 1, dtype="float64") - 2.5, v)

    def step(c, x):
        c, k = c if weak else (c, 1.0)
        new = body(c) + x * ag.random.uniform(dtype="float64")
        return (new, k * ag.tanh(x[0])) if weak else new, (x * c, c.sum() * k)

    def loss(v, m, **options):
        ag.manual_seed(3)
        found = ag.scan(step, (v, 1.0) if weak else v, m, reverse=reverse, **options)
        return sum((x * x).sum() for x in ag.tree.leaves(found))

    plain = ag.value_and_grad(loss, (0, 1))(v, m)
    drawn = ag.random.uniform()
    for kept in ({"checkpoint": 2}, {"checkpoint": True}):
        found = ag.value_and_grad(lambda v, m, kept=kept: loss(v, m, **kept), (0, 1))(v, m)
        for x, y in zip(ag.tree.leaves(plain), ag.tree.leaves(found), strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-12)
        assert ag.random.uniform() == drawn
    cut = ag.grad(lambda v: loss(v, m, truncate_gradient=1))(v)
    assert ag.isfinite(cut).all()
