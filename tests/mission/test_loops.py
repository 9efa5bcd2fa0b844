"""Rows of the mission about loops and branches: T13, T43, T48 to T54, M3, O4, F20."""

import time
import tracemalloc

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.graph import FunctionGraph
from agnesi.ops.control.loop import Scan


def rng():
    return np.random.default_rng(0)


def best(f, *args, times=15):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        f(*args)
        found.append(time.perf_counter() - start)
    return min(found)


def scans(function):
    """Scans of an optimised function, those inside of others left out."""
    return [n for n in function.graph.nodes if isinstance(n.op, Scan)]


def inside(node):
    return [n.op.name for n in node.op.body.graph.nodes if n.op is not None]


# -- branches ---------------------------------------------------------------------------------
def test_t13_switch_evaluates_both_sides_and_ifelse_one():
    x = T.dvector("x")
    bad = ag.ensure(x, (x > 10).all(), "the branch not taken ran")
    chosen = ag.function([x], T.ifelse(x.sum() > 0, x * 2, bad))
    switched = ag.function([x], T.switch(x.sum() > 0, x * 2, bad))
    np.testing.assert_array_equal(chosen([1.0, 2.0]), [2, 4])
    with pytest.raises(ValueError, match="the branch not taken ran"):
        chosen([-1.0, -2.0])
    with pytest.raises(ValueError, match="the branch not taken ran"):
        switched([1.0, 2.0])
    i = T.lvector("i")
    select = ag.function([x, i], [T.switch(x > 0, x, -x), T.switch(i, x, 0)])
    a, b = select([1.0, -2.0], [0, 2])
    np.testing.assert_array_equal(a, np.where([True, False], [1, -2], [-1, 2]))
    np.testing.assert_array_equal(b, np.where([0, 2], [1, -2], 0))


@pytest.mark.parametrize("write", ["ifelse", "cond"])
def test_t13_t43_a_branch_takes_the_time_of_what_it_computes(write):
    a, flag = T.dmatrix("a"), T.bscalar("flag")

    def dear(a):
        for _ in range(12):
            a = a @ a * 1e-3
        return a

    if write == "ifelse":
        y = T.ifelse(flag > 0, dear(a), a + 1)
    else:
        y = T.cond(flag > 0, dear, lambda a: a + 1, a)
    lazy = ag.function([a, flag], y)
    m = np.ones((160, 160))
    lazy(m, np.int8(1))
    assert best(lazy, m, np.int8(0)) < best(lazy, m, np.int8(1)) / 5  # of 80


# -- scan -------------------------------------------------------------------------------------
def test_t48_the_four_programs_against_python():
    """Cumulative sum, A**k, Fibonacci with taps -1 and -2, Newton with until."""
    x, a, k = T.dvector("x"), T.dvector("a"), T.lscalar("k")
    sums, _ = T.scan(lambda r, s: s + r, x, T.zeros_like(x[0]))
    powers, _ = T.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    start = ag.tensor([1, 1])
    numbers, _ = T.scan(lambda u, v: u + v, outputs_info=dict(initial=start, taps=[-2, -1]),
                        n_steps=k)

    def newton(r, y):
        better = 0.5 * (r + y / r)
        return better, T.until(abs(better * better - y) < 1e-12 * y)

    y = T.dscalar("y")
    roots, _ = T.scan(newton, outputs_info=y, non_sequences=y, n_steps=60)
    values = rng().normal(size=6)
    np.testing.assert_allclose(ag.function([x], sums)(values), np.cumsum(values))
    np.testing.assert_allclose(ag.function([a, k], powers[-1])(values, 5), values**5)
    fibonacci = [1, 1]
    for _ in range(20):
        fibonacci.append(fibonacci[-2] + fibonacci[-1])
    np.testing.assert_array_equal(ag.function([k], numbers)(20), fibonacci[2:])
    np.testing.assert_allclose(ag.function([y], roots[-1])(7.0), 7**0.5, 1e-12)


@pytest.mark.parametrize("steps", [0, 1])
def test_t48_no_steps_and_one(steps):
    k, a = T.lscalar("k"), T.dvector("a")
    powers, _ = T.scan(lambda p: p * a, outputs_info=T.ones_like(a), n_steps=k)
    f = ag.function([a, k], [powers, T.grad(powers.sum(), a)])
    rows, slope = f([2.0, 3.0], steps)
    np.testing.assert_array_equal(rows, [[2, 3]][:steps] or np.zeros((0, 2)))
    np.testing.assert_array_equal(slope, [steps, steps])


def test_t48_a_scan_is_one_operation():
    x = T.dvector("x")
    sums, _ = T.scan(lambda r, s: s + r, x, T.zeros_like(x[0]))
    assert sums.owner.op.name in ("scan", "item")
    a = ag.function([x], sums)
    a(np.ones(3))
    assert len(scans(a)) == 1


def unrolled(w, x):
    h = x[0] * 0
    for r in x:
        h = ag.tanh(h @ w + r)
    return (h * h).sum()


def scanned(w, x):
    h, _ = ag.scan(lambda h, r: (ag.tanh(h @ w + r), None), x[0] * 0, x)
    return (h * h).sum()


def test_t49_gradients_of_any_order_in_both_modes():
    w, x = rng().normal(size=(3, 3)), rng().normal(size=(5, 3))
    ag.testing.check_grads(scanned, [w, x], order=3)
    points = ag.tensor(w), ag.tensor(x)
    for derivative in (ag.grad, ag.hessian):
        expected = derivative(unrolled)(*points)
        for f in (derivative(scanned), ag.jit(derivative(scanned))):
            np.testing.assert_allclose(f(*points), expected, 1e-9, 1e-12)


def test_t49_the_gradient_is_a_scan_over_reversed_rows():
    w, x = T.dmatrix("w"), T.dmatrix("x")
    g = T.grad(scanned(w, x), w)
    kinds = {n.op.reverse for n in FunctionGraph([w.node, x.node], [g.node]).nodes
             if isinstance(n.op, Scan)}
    assert kinds == {False, True}
    t = T.Rop(scanned(w, x), w, T.ones_like(w))
    kinds = {n.op.reverse for n in FunctionGraph([w.node, x.node], [t.node]).nodes
             if isinstance(n.op, Scan)}
    assert kinds == {False}


def test_t49_rop_and_lop_are_each_others_transpose():
    w, x = T.dmatrix("w"), T.dmatrix("x")
    _, hs = ag.scan(lambda h, r: (ag.tanh(h @ w + r),) * 2, x[0] * 0, x)
    u, v = T.dmatrix("u"), T.dmatrix("v")
    f = ag.function([w, x, u, v], [(T.Rop(hs, w, u) * v).sum(), (T.Lop(hs, w, v) * u).sum()])
    square, rows = rng().normal(size=(2, 3, 3)), rng().normal(size=(2, 4, 3))
    np.testing.assert_allclose(*f(square[0], rows[0], square[1], rows[1]), 1e-10)


def triple(a, b, c):
    def row(_, r):
        inner = ag.scan(lambda s, xy: (s + xy[0] * xy[1], None), c[0] * 0, (r @ b, c))
        return (), inner[0]

    return ag.scan(row, (), a)[1]


def test_t50_loops_in_loops():
    """The triple product by two loops: value, gradient, second order, tangent; compiled in time."""
    points = [rng().normal(size=s) for s in ((3, 4), (4, 5), (5, 2))]
    tensors = [ag.tensor(p) for p in points]
    start = time.perf_counter()
    value = ag.jit(triple)(*tensors)
    slope = ag.jit(ag.grad(lambda *xs: ag.sin(triple(*xs)).sum(), argnums=(0, 1, 2)))(*tensors)
    tangent = ag.jit(lambda *xs: ag.jvp(triple, xs, xs)[1])(*tensors)
    assert time.perf_counter() - start < 10
    expected = np.einsum("ij,jk,kl->il", *points)
    np.testing.assert_allclose(value, expected, 1e-12)
    np.testing.assert_allclose(tangent, 3 * expected, 1e-10)
    plain = ag.grad(lambda a, b, c: ag.sin(a @ b @ c).sum(), argnums=(0, 1, 2))(*tensors)
    for g, e in zip(slope, plain, strict=True):
        np.testing.assert_allclose(g, e, 1e-10)
    ag.testing.check_grads(lambda *xs: ag.sin(triple(*xs)).sum(), points, order=2)


def test_t51_strict_loops_use_what_they_are_given():
    w = ag.shared(rng().normal(size=(3, 3)), "w")
    x = T.dmatrix("x")

    def step(r, h, *given):
        return T.tanh(h @ (given[0] if given else T.exp(w)) + r)

    with pytest.raises(ag.TraceError, match=r"it also uses w, float64"):
        T.scan(step, x, T.zeros_like(x[0]), strict=True)
    h, _ = T.scan(step, x, T.zeros_like(x[0]), T.exp(w), strict=True)
    (node,) = [n for n in FunctionGraph([x.node], [h.node]).nodes if isinstance(n.op, Scan)]
    assert "exp" not in inside(node)
    assert ag.function([x], h)(np.ones((2, 3))).shape == (2, 3)


def test_t52_what_does_not_change_leaves_the_loop():
    """Nor what nobody asks for is computed; what reads rows only becomes one product for all."""
    w, x, u = (T.dmatrix(n, shape=s) for n, s in (("w", (4, 4)), ("x", (9, 6)), ("u", (6, 4))))
    h, _ = T.scan(lambda r, h: T.tanh(h @ T.exp(w) + r @ T.sin(u)), x, T.zeros_like(w[0]))
    (part, _), _ = T.scan(lambda r, h, d: [T.tanh(h + r), T.cosh(d) * 2], x,
                          [T.zeros_like(x[0]), T.zeros_like(x[0])])
    f = ag.function([w, x, u], [h, part])
    arrays = rng().normal(size=(4, 4)), rng().normal(size=(9, 6)), rng().normal(size=(6, 4))
    value, _ = f(*arrays)
    state, rows = np.zeros(4), []
    for r in arrays[1]:
        state = np.tanh(state @ np.exp(arrays[0]) + r @ np.sin(arrays[2]))
        rows.append(state)
    np.testing.assert_allclose(value, rows, 1e-10)
    names = [name for n in scans(f) for name in inside(n)]
    assert not {"exp", "sin", "cosh"} & set(names)
    assert names.count("matmul") == 1  # of the state


def test_t53_the_last_step_alone_takes_no_memory():
    x = T.dscalar("x")
    rows, _ = T.scan(lambda c: T.sin(c) + x, outputs_info=T.zeros_like(x), n_steps=100_000)
    f = ag.function([x], rows[-1])
    c = 0.0
    f(0.5)
    tracemalloc.start()
    value = f(0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for _ in range(100_000):
        c = np.sin(c) + 0.5
    np.testing.assert_allclose(value, c, 1e-9)
    assert peak < 20_000 and all(n.op.stacked == 0 for n in scans(f))


def test_t54_compatible_scans_are_merged():
    x = T.dmatrix("x", shape=(5, 3))
    sums, _ = T.scan(lambda r, c: c + r, x, T.zeros_like(x[0]))
    products, _ = T.scan(lambda r, c: c * r, x, T.ones_like(x[0]))
    f = ag.function([x], [sums, products])
    a = rng().normal(size=(5, 3))
    value, other = f(a)
    np.testing.assert_allclose(value, a.cumsum(0))
    np.testing.assert_allclose(other, a.cumprod(0))
    assert len(scans(f)) == 1


def test_t54_gradients_of_many_states_take_linear_time():
    def seconds(n):
        def f(*states):
            last, _ = ag.scan(
                lambda c, _: (tuple(c[i] * 0.9 + ag.sin(c[(i + 1) % n]) * 0.1 for i in range(n)),
                              None), states, length=20)
            return sum(last[1:], last[0])

        start = time.perf_counter()
        g = ag.jit(ag.grad(f, argnums=tuple(range(n))))
        g(*[ag.tensor(float(i)) for i in range(n)])
        return time.perf_counter() - start

    seconds(3)
    small, large = min(seconds(12), seconds(13)), min(seconds(50), seconds(51))
    assert large < small * (50 / 12) * 2.5


# -- control by the host ----------------------------------------------------------------------
def test_m3_the_same_loop_by_line_and_as_a_graph(capsys):
    """MXNet's loop: prints in eager code fire at each step; the symbolic one gives the same."""
    def program(a):
        def step(b, i):
            print("step", i)
            return b * 2 + a, b.sum()

        return ag.scan(step, a * 0, ag.arange(4))

    a = rng().normal(size=3)
    last, sums = program(ag.tensor(a))
    assert capsys.readouterr().out.split("\n")[:-1] == [f"step tensor({i})" for i in range(4)]
    x = T.dvector("x")
    f = ag.function([x], list(program(x)))
    for got, expected in zip(f(a), (last, sums), strict=True):
        np.testing.assert_allclose(got, expected)


def test_o4_gradients_of_loops_that_end_by_value():
    """The gradient of a while loop, and its gradient, as graphs."""
    x = T.dscalar("x")

    def power(x):
        return ag.while_loop(lambda y: y < 100.0, lambda y: y * x, x)

    y = power(x)
    g = T.grad(y, x)
    h = T.grad(g, x)
    f = ag.function([x], [y, g, h])
    for value, n in ((2.0, 7), (3.0, 5), (200.0, 1)):
        np.testing.assert_allclose(
            f(value), [value**n, n * value ** (n - 1), n * (n - 1) * value ** (n - 2)], 1e-10
        )
    eager = ag.grad(ag.grad(power))(ag.tensor(3.0, dtype="float64"))
    np.testing.assert_allclose(eager, 20 * 27.0)


def test_f20_a_recursive_network_over_trees():
    """Shapes of computation that only data tell: eagerly as they come, and as one loop."""
    w = ag.tensor(rng().normal(size=(4, 8)) * 0.5, requires_grad=True)
    leaves = ag.tensor(rng().normal(size=(5, 4)))

    def join(a, b):
        return ag.tanh(w @ ag.concat([a, b]))

    def encode(tree):
        return leaves[tree] if isinstance(tree, int) else join(*map(encode, tree))

    tree = ((0, 1), (2, (3, 4)))
    encode(tree).sum().backward()
    expected, w.grad = w.grad, None

    # The same tree as rows of a table: two children, the result goes behind the leaves.
    table = ag.tensor(np.array([[0, 1], [3, 4], [2, 6], [5, 7]]))

    def loss(table):
        def step(nodes, row):
            children, place = row
            new = join(ag.take(nodes, children[0], 0), ag.take(nodes, children[1], 0))
            return ag.where((ag.arange(9) == place)[:, None], new, nodes), None

        start = ag.concat([leaves, ag.zeros((4, 4), dtype="float64")])
        nodes, _ = ag.scan(step, start, (table, ag.arange(5, 9)))
        return nodes[-1].sum()

    for f in (loss, ag.jit(loss)):
        value = f(table)
        np.testing.assert_allclose(value.detach(), encode(tree).sum().detach())
        value.backward()
        np.testing.assert_allclose(w.grad, expected, 1e-10)
        w.grad = None


def test_f20_a_list_that_grows():
    """Shapes change from step to step: plain Python, eagerly; unrolled where it is compiled."""
    def f(x):
        rows = [x]
        while len(rows) < 6:
            rows.append(ag.stack(rows).mean(0) * 2 + 1)
        return ag.concat(rows)

    x = ag.tensor(rng().normal(size=3), requires_grad=True)
    f(x).sum().backward()
    expected, x.grad = x.grad, None
    g = ag.jit(f)
    np.testing.assert_allclose(g(x).detach(), f(x).detach())
    g(x).sum().backward()
    np.testing.assert_allclose(x.grad, expected)


def test_f20_attention_in_a_loop():
    """A decoder that attends to what it has written so far."""
    n, d = 6, 4
    q, x = rng().normal(size=(d, d)), rng().normal(size=(n, d))

    def f(q, x):
        def step(memory, row):
            r, t = row
            scores = memory @ (q @ r)
            weights = ag.softmax(ag.where(ag.arange(n) <= t, scores, -1e9))
            new = ag.tanh(weights @ memory + r)
            return ag.where((ag.arange(n) == t + 1)[:, None], new, memory), new

        return ag.scan(step, ag.zeros((n, d), dtype="float64"), (x, ag.arange(n)))[1]

    points = ag.tensor(q), ag.tensor(x)
    np.testing.assert_allclose(ag.jit(f)(*points), f(*points), 1e-10)
    g = ag.grad(lambda *p: (f(*p) ** 2).sum(), argnums=(0, 1))
    for a, b in zip(g(*points), ag.jit(g)(*points), strict=True):
        np.testing.assert_allclose(a, b, 1e-9)
    ag.testing.check_grads(lambda *p: (f(*p) ** 2).sum(), [q, x], order=1)
