"""Loops in Theano's words: taps, updates, until, n_steps by value, ifelse."""

import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def rng():
    return np.random.default_rng(0)


def test_taps_of_outputs_and_sequences():
    """``h[t] = x[t-1] * x[t+1] + h[t-1] + 0.5 h[t-3]``."""
    x, first = T.dmatrix("x"), T.dmatrix("first")
    h, updates = T.scan(
        lambda before, after, old, last: before * after + last + 0.5 * old,
        dict(input=x, taps=[-1, 1]), dict(initial=first, taps=[-3, -1]),
    )
    assert updates == {}
    f = ag.function([x, first], [h, *T.grad((h * h).sum(), [x, first])])
    a, b = rng().normal(size=(6, 2)), rng().normal(size=(3, 2))
    rows = list(b)
    for t in range(1, 5):
        rows.append(a[t - 1] * a[t + 1] + rows[-1] + 0.5 * rows[-3])
    value, *grads = f(a, b)
    np.testing.assert_allclose(value, rows[3:])

    def cost(x, first):
        hs, _ = T.scan(
            lambda before, after, old, last: before * after + last + 0.5 * old,
            dict(input=x, taps=[-1, 1]), dict(initial=first, taps=[-3, -1]),
        )
        return (hs * hs).sum()

    ag.testing.check_grads(cost, [a, b], order=2)
    for g, e in zip(grads, ag.grad(cost, argnums=(0, 1))(ag.tensor(a), ag.tensor(b)), strict=True):
        np.testing.assert_allclose(g, e, 1e-10)


def test_several_outputs_and_their_order():
    x = T.dvector("x")
    (doubled, total), _ = T.scan(lambda r, c, k: [r * k, c + r], x, [None, 0.0], [3.0])
    f = ag.function([x], [doubled, total])
    a = rng().normal(size=5)
    for got, expected in zip(f(a), (a * 3, a.cumsum()), strict=True):
        np.testing.assert_allclose(got, expected)


def test_the_shorter_sequence_decides():
    a, b = np.arange(5.0), np.arange(3.0)
    sums, _ = T.scan(lambda x, y: x + y, [ag.tensor(a), ag.tensor(b)])
    np.testing.assert_array_equal(sums, [0, 2, 4])


@pytest.mark.parametrize("rows", [(5, 3), (3, 5), (4, 4)])
def test_the_shorter_of_sequences_of_unknown_sizes_decides(rows):
    x, y = T.dvector("x"), T.dvector("y")
    h, _ = T.scan(lambda before, y, h: h + before * y,
                  [dict(input=x, taps=[-1]), y], 0.0)
    m, n = rows
    a, b = rng().normal(size=m), rng().normal(size=n)
    steps = min(m - 1, n)
    value, g = ag.function([x, y], [h, T.grad(h[-1], y)])(a, b)
    np.testing.assert_allclose(value, np.cumsum(a[:steps] * b[:steps]))
    np.testing.assert_allclose(g, np.pad(a[:steps], (0, n - steps)))


def test_backwards_is_in_the_order_of_the_steps():
    x = ag.tensor(np.arange(4.0))
    sums, _ = T.scan(lambda r, c: c + r, x, 0.0, go_backwards=True)
    np.testing.assert_array_equal(sums, [3, 5, 6, 6])
    some, _ = T.scan(lambda r, c: c + r, x, 0.0, n_steps=2, go_backwards=True)
    np.testing.assert_array_equal(some, [3, 5])


def test_n_steps_is_the_value_of_an_input():
    a, k = T.dmatrix("a"), T.lscalar("k")
    powers, _ = T.scan(lambda p, a: p @ a, outputs_info=T.identity_like(a), non_sequences=a,
                       n_steps=k, strict=True)
    f = ag.function([a, k], [powers[-1], T.grad(powers[-1].sum(), a), powers])
    m = rng().normal(size=(2, 2))
    for n in (1, 3, 7, 3):
        last, slope, rows = f(m, n)
        np.testing.assert_allclose(last, np.linalg.matrix_power(m, n))
        eps = 1e-6
        for i, j in np.ndindex(2, 2):
            e = np.zeros((2, 2))
            e[i, j] = eps
            up, down = (np.linalg.matrix_power(m + s * e, n).sum() for s in (1, -1))
            np.testing.assert_allclose(slope[i, j], (up - down) / (2 * eps), 1e-5, 1e-7)
        assert rows.shape == (n, 2, 2)


def test_n_steps_inside_of_a_loop():
    """The inner loop's number of steps is an input of the whole."""
    x, k = T.dvector("x"), T.lscalar("k")

    def row(r):
        powers, _ = T.scan(lambda p, b: p * b, outputs_info=T.ones_like(r), non_sequences=r,
                           n_steps=k)
        return powers[-1]

    y, _ = T.scan(row, x)
    f = ag.function([x, k], y, optimizer="None")
    with ag.config(compile=False):
        for n in (1, 3):
            np.testing.assert_allclose(f([1.0, 2.0, 3.0], n), np.array([1.0, 2, 3]) ** n)


def test_n_steps_is_a_size():
    x = T.dmatrix("x")
    powers, _ = T.scan(lambda p: p * 2, outputs_info=1.0, n_steps=x.shape[1])
    f = ag.function([x], powers)
    for n in (1, 4):
        np.testing.assert_array_equal(f(np.zeros((2, n))), 2.0 ** np.arange(1, n + 1))


def test_until():
    limit = T.dscalar("limit")
    powers, _ = T.scan(lambda p: (p * 2, T.until(p * 2 > limit)), outputs_info=1.0, n_steps=8)
    f = ag.function([limit], powers)
    np.testing.assert_array_equal(f(20.0), [2, 4, 8, 16, 32])
    np.testing.assert_array_equal(f(0.0), [2])
    np.testing.assert_array_equal(f(1e9), 2.0 ** np.arange(1, 9))


def stopped(x, limit, weights):
    """Rows, their mean, and their product with weights; eager or symbolic."""
    sums, _ = T.scan(lambda r, c: (T.sin(c + r), T.until(abs(c + r) > limit)), x,
                     T.zeros_like(x[0]))
    return sums, (sums**2).mean(), (sums * weights[: sums.shape[0]]).sum()


def test_rows_of_steps_that_ran_are_all_there_is():
    """Means, products and gradients know of no other rows; few versions for all numbers of them."""
    x, limit, weights = T.dvector("x"), T.dscalar("limit"), T.dvector("weights")
    sums, mean, product = stopped(x, limit, weights)
    slopes = T.grad(mean, x), T.grad(product, x), T.grad(T.grad(mean, x).sum(), x)
    f = ag.function([x, limit, weights], [sums, sums.shape[0], mean, product, *slopes])
    a, w = rng().normal(size=12) * 0.4, rng().normal(size=12)
    numbers = set()
    for bound in (1e9, 1.3, 1.0, 0.8, 0.6, 0.3, 0.05, 1.1, 0.9):
        rows, count, value, other, *gradients = f(a, bound, w)
        t = ag.tensor(a, requires_grad=True)
        eager = stopped(t, ag.tensor(bound, dtype="float64"), ag.tensor(w))
        assert len(rows) == count == len(eager[0])
        numbers.add(int(count))
        np.testing.assert_allclose(rows, eager[0].detach())
        np.testing.assert_allclose((value, other), [float(v) for v in eager[1:]])
        for y, g in zip(eager[1:], gradients, strict=False):
            np.testing.assert_allclose(g, T.grad(y, t), 1e-9, 1e-12)
    assert len(numbers) >= 4 and len(f.specialisations) <= 4


def test_the_last_row_needs_no_count():
    x = T.dvector("x")
    sums, _ = T.scan(lambda r, c: (c + r, T.until(c + r > 1.5)), x, 0.0)
    f = ag.function([x], [sums[-1], T.grad(sums[-1], x)])
    last, slope = f(np.ones(5))
    assert last == 2 and slope.tolist() == [1, 1, 0, 0, 0]
    assert "first_rows" not in str(f.graph) and f._counter is None


def test_gradients_of_one_element_of_unknown_sizes():
    """The gradient begins with a number, and its size is not known yet."""
    x = T.dvector("x")
    assert ag.function([x], T.grad(x[-1], x))(np.ones(3)).tolist() == [0, 0, 1]


def test_n_steps_may_be_computed():
    x, k = T.dvector("x"), T.lscalar("k")
    powers, _ = T.scan(lambda p, x: p * x, outputs_info=T.ones_like(x), non_sequences=x,
                       n_steps=k * 2 + 1)
    f = ag.function([x, k], [powers, T.grad(powers[-1].sum(), x)])
    a = np.array([1.0, 2.0, 0.5])
    for n in (0, 1, 4, 2, 7, 3):
        rows, slope = f(a, n)
        np.testing.assert_allclose(rows, a ** np.arange(1, 2 * n + 2)[:, None])
        np.testing.assert_allclose(slope, (2 * n + 1) * a ** (2 * n))
    assert len(f.specialisations) <= 4
    with pytest.raises(ag.ShapeError, match="must not be -3"):
        f(a, -2)


def test_copies_and_pickles_count_for_themselves():
    x, bound = T.dvector("x"), ag.shared(2.5)
    sums, _ = T.scan(lambda r, c: (c + r, T.until(c + r > bound)), x, 0.0)
    f = ag.function([x], sums, updates={bound: bound + 1})
    assert f(np.ones(9)).tolist() == [1, 2, 3] and f(np.ones(9)).tolist() == [1, 2, 3, 4]
    other = ag.shared(0.5)
    copy = f.copy(swap={bound: other}, updates=False)
    loaded = pickle.loads(pickle.dumps(f))
    for _ in range(2):
        assert copy(np.ones(9)).tolist() == [1]
    assert loaded(np.ones(9)).tolist() == f(np.ones(9)).tolist() == [1, 2, 3, 4, 5]
    f.reoptimize()
    assert f(np.ones(9)).tolist() == [1, 2, 3, 4, 5, 6]


def test_newton_until_it_stands_still():
    a = T.dscalar("a")

    def step(x):
        better = 0.5 * (x + a / x)
        return better, T.until(abs(better - x) < 1e-12)

    roots, _ = T.scan(step, outputs_info=a, n_steps=100)
    f = ag.function([a], [roots[-1], T.grad(roots[-1], a)])
    for value in (2.0, 9.0, 1e6):
        root, slope = f(value)
        np.testing.assert_allclose((root, slope), (value**0.5, 0.5 / value**0.5), 1e-8)


def test_values_may_be_read_where_there_are_some():
    def step(r, c):
        return c + r if float(r) > 0 else c * 2, T.until(c > 5)

    sums, _ = T.scan(step, ag.tensor([1.0, -1.0, 3.0, -1.0, 2.0]), 1.0)
    np.testing.assert_array_equal(sums, [2, 4, 7, 14])
    with pytest.raises(ag.TraceError):
        T.scan(step, T.dvector("x"), 1.0)


def test_updates_of_shared_variables():
    x, total = T.dmatrix("x"), ag.shared(np.zeros(2), "total")
    rows, updates = T.scan(lambda r: (total * 1, {total: total + r}), x)
    f = ag.function([x], rows, updates=updates)
    a = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(f(a), [[0, 0], [0, 1], [2, 4]])
    np.testing.assert_array_equal(total.get_value(), [6, 9])
    np.testing.assert_array_equal(f(a)[0], [6, 9])


def test_updates_of_random_numbers():
    x = T.dmatrix("x")
    noise, updates = T.scan(lambda r: r + ag.random.uniform(size=2, dtype="float64"), x)
    f = ag.function([x], noise, updates=updates)
    ag.manual_seed(0)
    compiled = [f(np.zeros((3, 2))) for _ in range(2)]
    ag.manual_seed(0)
    eager = [
        T.scan(lambda r: r + ag.random.uniform(size=2, dtype="float64"),
               ag.zeros((3, 2)))[0].numpy()
        for _ in range(2)
    ]
    np.testing.assert_allclose(compiled, eager)
    assert len(np.unique(compiled)) == 12


def test_truncated_gradients():
    x = T.dvector("x")
    h, _ = T.scan(lambda r, c: T.sin(c + r), x, T.zeros_like(x[0]), truncate_gradient=2)
    f = ag.function([x], T.grad(h.sum(), x))
    g = f(np.arange(5.0))
    assert (g[:3] == 0).all() and (g[3:] != 0).all()


@pytest.mark.parametrize("value", [2.0, -2.0])
def test_ifelse(value):
    x = T.dscalar("x")
    y, z = T.ifelse(x > 0, [x * x, T.exp(x)], [-x, x * 3])
    f = ag.function([x], [y, z, *(T.grad(v, x) for v in (y, z))])
    expected = (4, np.exp(2), 4, np.exp(2)) if value > 0 else (2, -6, -1, 3)
    np.testing.assert_allclose(f(value), expected)


def test_what_both_branches_need_is_computed_once():
    """It is computed before, and has a gradient of its own."""
    x = T.dvector("x", shape=(3,))
    h = T.exp(x)
    top, order = T.sort(h), T.cumsum(h)
    y = T.ifelse(h.sum() > 4, (top * h).sum(), (order - h).sum() + top[0])
    f = ag.function([x], [y, *T.grad(y, [x, h])])
    for a in (np.zeros(3), np.array([0.3, 0.9, 0.1])):
        e = np.exp(a)
        value, dx, dh = f(a)
        if e.sum() > 4:
            ranks = np.argsort(np.argsort(e))
            expected, slope = (np.sort(e) * e).sum(), np.sort(e) + e[ranks]
        else:
            expected, slope = (e.cumsum() - e).sum() + e.min(), np.array([2.0, 1, 0])
            slope[e.argmin()] += 1
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(dh, slope)
        np.testing.assert_allclose(dx, slope * e)
    names = [n.op.name for n in f.graph.nodes if n.op is not None]
    assert names.count("exp") == 1


def test_ifelse_in_a_loop():
    x = T.dvector("x")
    y, _ = T.scan(lambda r, c: T.ifelse(r > 0, c + r, c * r), x, 1.0)
    f = ag.function([x], [y, T.grad(y.sum(), x)])
    a = np.array([1.0, -2.0, 3.0])
    value, slope = f(a)
    np.testing.assert_array_equal(value, [2, -4, -1])
    np.testing.assert_array_equal(slope, [1 - 2 - 2, 2 + 2, 1])


def test_ifelse_of_numbers_and_values():
    assert T.ifelse(ag.tensor(0), 1, 2) == 2
    n = T.lscalar("n")
    f = ag.function([n], T.ifelse(n, n * 2, 7))
    assert (f(3), f(0)) == (6, 7)


@pytest.mark.parametrize("cut", [0, 2, 5, 6])
def test_truncated_loops_update_shared_variables_and_draw_on(cut):
    count = ag.shared(1.0)
    x = T.dmatrix("x")

    def step(row, last):
        noise = ag.random.uniform(shape=(2,))
        return last * 0.5 + row * count, noise, {count: count + 1}

    found = []
    for steps in (-1, cut):
        ag.manual_seed(0)
        count.set_value(np.float32(1))
        (ys, noise), updates = T.scan(step, sequences=[x], outputs_info=[x[0], None],
                                      truncate_gradient=steps)
        f = ag.function([x], [ys, noise], updates=updates)
        rows = np.arange(12.0).reshape(6, 2)
        found.append([*f(rows), *f(rows), count.get_value()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(np.unique([found[0][1], found[0][3]])) == 24
    assert found[0][-1] == 13


def doubled(v):
    """1 times 2, 4, 8 and so on until it is above v."""
    return T.scan(lambda p: (p * 2, T.until(p * 2 > v)), outputs_info=ag.ones_like(v),
                  n_steps=10)[0]


def test_rows_that_ran_are_all_rows():
    f = ag.jit(doubled)
    for v, rows in ((20.0, 5), (5.0, 3), (100.0, 7), (1e9, 10), (0.0, 1)):
        expected = [2.0**k for k in range(1, rows + 1)]
        assert doubled(ag.tensor(v)).tolist() == f(ag.tensor(v)).tolist() == expected
    assert len(f.specialisations) <= 4
    x = T.scalar("x")
    both = ag.function([x], [doubled(x), doubled(x).shape[0] * 1])
    assert [v.tolist() for v in both(20.0)] == [[2, 4, 8, 16, 32], 5]


READS = {
    "sum": lambda v: (doubled(v) * 3).sum(),
    "last": lambda v: doubled(v)[-1],
    "last of others": lambda v: (doubled(v) + 1)[-1],
    "first": lambda v: ag.sqrt(doubled(v))[0],
    "mean": lambda v: doubled(v).mean(),
    "max": lambda v: (-doubled(v)).max(),
    "weighted": lambda v: (doubled(v) * v).prod(),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("name", READS)
def test_rows_that_ran_in_bodies_branches_and_maps(name):
    read, values = READS[name], [3.0, 20.0, 100.0]
    expected = [read(ag.tensor(v)).item() for v in values]
    xs = T.fvector("xs")
    loop = lambda rows: T.scan(read, sequences=rows)[0]  # noqa: E731
    branch = lambda v: ag.cond(v > 0, lambda: read(v), lambda: v)  # noqa: E731
    for found in (loop(ag.tensor(values)), ag.jit(loop)(ag.tensor(values)),
                  ag.function([xs], loop(xs))(np.float32(values)),
                  ag.vmap(read)(ag.tensor(values)), ag.jit(ag.vmap(read))(ag.tensor(values)),
                  [ag.jit(branch)(ag.tensor(v)).item() for v in values]):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
    slope = ag.grad(lambda w: read(w) * w)
    for v in values:
        np.testing.assert_allclose(ag.jit(slope)(ag.tensor(v)), slope(ag.tensor(v)), rtol=1e-6)


def test_rows_that_ran_in_an_inner_loop_and_are_not_summed_up():
    def loop(rows):
        return T.scan(lambda v: ag.flip(doubled(v)).sum(), sequences=rows)[0]

    rows, xs = ag.tensor([3.0, 20.0]), T.fvector("xs")
    assert ag.jit(loop)(rows).tolist() == loop(rows).tolist()
    assert ag.function([xs], loop(xs))(rows).tolist() == loop(rows).tolist()
    with pytest.raises(ag.TraceError, match="differs between the examples"):
        ag.vmap(doubled)(ag.tensor([3.0, 20.0]))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_sizes_that_a_non_sequence_tells(strict, n):
    def loop(x, k):
        return ag.scan(lambda c, v, x, k: (c + 1, ag.arange(k) * v + x[:k] + c), 0, x,
                       non_sequences=(x, k), strict=strict)[1]

    rows, count = ag.tensor([1.0, 2.0, 3.0]), ag.tensor(n)
    expected = loop(rows, count)
    assert expected.shape == (3, n)
    assert ag.jit(loop)(rows, count).tolist() == expected.tolist()
    x, k = T.fvector("x"), T.lscalar("k")
    assert ag.function([x, k], loop(x, k))(rows, n).tolist() == expected.tolist()
    slope = ag.grad(lambda x, k: (loop(x, k) ** 2).sum())
    assert ag.jit(slope)(rows, count).tolist() == slope(rows, count).tolist()


@pytest.mark.parametrize("steps, backwards", [(0, False), (3, True), (50, False)])
def test_gradients_of_the_last_steps_of_a_loop_that_ends_itself(steps, backwards):
    x, end, a, first = T.dvector(), T.dscalar(), T.dscalar(), T.dscalar()
    h, _ = T.scan(lambda r, c: (a * c + r, T.until(a * c + r > end)), x, first,
                  truncate_gradient=steps, go_backwards=backwards)
    got = ag.function([x, end, a, first], [h, *ag.grad((h**2).sum(), [x, a, first])])
    rows = np.linspace(0.1, 0.9, 12)
    for stop in (0.0, 5.0, 1e9):  # behind the first step, some, all of them
        order = rows[::-1] if backwards else rows
        done = [0.2]
        while len(done) <= len(rows) and (len(done) == 1 or done[-1] <= stop):
            done.append(1.3 * done[-1] + order[len(done) - 1])
        slopes, slope_a, slope = np.zeros(12), 0.0, 0.0
        last = len(done) - 1
        for t in range(last, max(last - steps, 0), -1):
            slope += 2 * done[t]
            slopes[t - 1] = slope
            slope_a += slope * done[t - 1]
            slope *= 1.3
        want = done[1:], slopes[::-1] if backwards else slopes, slope_a, slope * (steps >= last)
        for g, w in zip(got(rows, stop, 1.3, 0.2), want, strict=True):
            np.testing.assert_allclose(g, w)
