"""scan, while_loop, fori_loop, cond and map: the same on values, compiled, as graphs, interpreted.

The rows of the mission that these show are named in the tests of ``tests/mission``.
"""

import dataclasses
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.support import tree
from tests.compiler.ways import interpreted

WAYS = ["eager", "jit", "interpreted", "symbolic"]


def run(way, f, *args):
    """The leaves of ``f``'s result, computed in one of the ways."""
    arrays = [np.asarray(a) for a in args]
    if way == "symbolic":
        inputs = [T.tensor(a.dtype, a.shape) for a in arrays]
        leaves, _ = tree.flatten(f(*inputs))
        return ag.function(inputs, leaves)(*arrays)
    tensors = [ag.tensor(a) for a in arrays]
    with interpreted(way == "interpreted"):
        result = f(*tensors) if way == "eager" else ag.jit(f)(*tensors)
    return [leaf.numpy() for leaf in tree.flatten(result)[0]]


def check(f, args, expected, grads=False):
    """All ways give what is expected, and the gradients of the sum of all results agree."""
    for way in WAYS:
        for got, wanted in zip(run(way, f, *args), expected, strict=True):
            np.testing.assert_allclose(got, wanted, 1e-12, 1e-12, err_msg=way)
            assert got.shape == np.shape(wanted)
    if grads:
        places = tuple(i for i, a in enumerate(args) if np.asarray(a).dtype.kind == "f")

        def slope(*xs):
            return ag.grad(lambda *xs: total(f(*xs)), argnums=places)(*xs)

        found = [run(way, slope, *args) for way in WAYS[:3]]
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def total(nest):
    parts = [x.sum() for x in tree.flatten(nest)[0] if x.dtype.kind == "f"]
    result = parts[0]
    for p in parts[1:]:
        result = result + p
    return result


def rng():
    return np.random.default_rng(0)


# -- scan -------------------------------------------------------------------------------------
def test_cumulative_sums():
    x = rng().normal(size=(5, 3))
    check(lambda x: ag.scan(lambda c, r: (c + r, c + r), ag.zeros(3, dtype="float64"), x), [x],
          [x.sum(0), x.cumsum(0)], grads=True)


@pytest.mark.parametrize("length", [0, 1, 4])
def test_any_number_of_rows(length):
    x = rng().normal(size=(length, 3))
    check(lambda x: ag.scan(lambda c, r: (c * 0.5 + r, c * r), x.sum(0) * 0, x), [x],
          _halves(x), grads=True)


def _halves(x):
    c, rows = np.zeros(3), np.zeros_like(x)
    for t, r in enumerate(x):
        c, rows[t] = c * 0.5 + r, c * r
    return [c, rows]


def test_powers_by_steps_without_sequences():
    a = rng().normal(size=(3, 3))

    def power(a):
        return ag.scan(lambda p, _: (p @ a, None), ag.identity_like(a), length=5)[0]

    check(power, [a], [np.linalg.matrix_power(a, 5)], grads=True)


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class State:
    h: object
    n: object


def test_carries_rows_and_results_are_nests():
    x, y = rng().normal(size=(4, 2)), rng().normal(size=4)

    def f(x, y):
        def step(state, row):
            (u, v), h = (row["x"], row["rest"][0]), state.a.h
            h = h * 0.5 + u * v
            following = Pair(State(h, state.a.n + 1), state.b + h.sum())
            return following, {"h": h, "none": None, "both": (h.sum(), u)}

        return ag.scan(step, Pair(State(x[0] * 0, 0), 0.0), {"x": x, "rest": [y]})

    h, hs, s = np.zeros(2), [], 0.0
    for u, v in zip(x, y, strict=True):
        h = h * 0.5 + u * v
        hs.append(h)
        s += h.sum()
    hs = np.array(hs)
    check(f, [x, y], [h, 4, s, hs, hs.sum(1), x], grads=True)
    last, rows = f(ag.tensor(x), ag.tensor(y))
    assert isinstance(last, Pair) and isinstance(last.a, State) and rows["none"] is None


def test_backwards():
    x = rng().normal(size=(5, 3))
    expected = np.zeros_like(x)
    c = np.zeros(3)
    for t in range(5)[::-1]:
        expected[t] = c = c * 0.9 + x[t]
    check(lambda x: ag.scan(lambda c, r: (c * 0.9 + r, c * 0.9 + r), x[0] * 0, x, reverse=True),
          [x], [c, expected], grads=True)


def test_fewer_steps_than_rows():
    x = np.arange(6.0)
    check(lambda x: ag.scan(lambda c, r: (c + r, c + r), 0.0, x, 4), [x], [6, [0, 1, 3, 6]],
          grads=True)


@pytest.mark.share(4)
@pytest.mark.parametrize("limit", [2.5, 0.0, 99.0])
@pytest.mark.parametrize("reverse", [False, True])
def test_until(limit, reverse):
    x = np.arange(6.0)

    def f(x):
        return ag.scan(lambda c, r: (c + r, (c + r) * r), 0.0, x, until=lambda c: c > limit,
                       reverse=reverse)

    rows, c, steps = np.zeros(6), 0.0, 0
    order = range(6)[::-1] if reverse else range(6)
    for t in order:
        c, steps = c + x[t], steps + 1
        rows[t] = c * x[t]
        if c > limit:
            break
    rest = rows[t]
    for t in order[steps:]:
        rows[t] = rest
    check(f, [x], [c, rows, steps], grads=True)


def test_steps_that_a_value_tells():
    x = np.arange(6.0)

    def bounded(x, n):
        return ag.scan(lambda c, r: (c + r * r, c + r), 0.0, x, n)

    for n in (0, 1, 4, 6):
        c = np.cumsum(x * x)[n - 1] if n else 0.0
        rows = np.where(np.arange(6) < n, np.concatenate([[0], np.cumsum(x * x)[:-1]]) + x, 0)
        for way in WAYS[1:]:
            got = run(way, bounded, x, n)
            np.testing.assert_array_equal(got[0], c)
            np.testing.assert_array_equal(got[1], rows)

    def free(x, n):
        return ag.scan(lambda c, _: (c * x, None), ag.ones_like(x), length=n)[0]

    for n in (0, 1, 5):
        check(free, [x, n], [x ** n])


def test_the_dtype_of_numbers_follows_from_the_body():
    x = np.arange(3, dtype="float64")
    for way in WAYS:
        last, rows = run(way, lambda x: ag.scan(lambda c, r: (c + r, c), 0.1, x), x)
        assert last == 3.1 and rows.dtype == np.float64
        last, _ = run(way, lambda x: ag.scan(lambda c, r: (c + r, c), 0, x.astype("float32")), x)
        assert last.dtype == np.float32
        last, count = run(way, lambda x: ag.scan(lambda c, r: ((c[0] + r, c[1] + 1), None),
                                                 (0.0, 0), x)[0], x)
        assert count.dtype == np.int64 and count == 3


def test_gradients_flow_through_what_the_body_captures():
    w = ag.tensor(rng().normal(size=(3, 3)), requires_grad=True)
    b = ag.tensor(np.zeros(3), requires_grad=True)
    x, h = ag.tensor(rng().normal(size=(5, 3))), ag.zeros(3, dtype="float64")

    def loss(h, x):
        last, hs = ag.scan(lambda h, r: (ag.tanh(h @ w + r + b),) * 2, h, x)
        return (last * last).sum() + hs.sum()

    grads = []
    for f in (loss, ag.jit(loss)):
        w.grad = b.grad = None
        f(h, x).backward()
        grads.append((w.grad.numpy(), b.grad.numpy()))
    np.testing.assert_allclose(grads[0][0], grads[1][0], 1e-12)
    np.testing.assert_allclose(grads[0][1], grads[1][1], 1e-12)


def test_a_training_step_with_a_loop():
    """Gradients, and the update of what the loop captures, in one compiled step."""
    x = ag.tensor(rng().normal(size=(5, 3)))
    losses = []
    for compiled in (False, True):
        w = ag.tensor(np.eye(3), requires_grad=True)
        optimizer = ag.optim.SGD([w], lr=0.1)

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            h, _ = ag.scan(lambda h, r: (ag.tanh(h @ w + r), None), x[0] * 0, x)
            loss = ((h - 0.5) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        f = ag.jit(step) if compiled else step
        losses.append([float(f(x)) for _ in range(5)])
    np.testing.assert_allclose(*losses, 1e-10)
    assert losses[0][-1] < losses[0][0]


# -- kinds of gradients -----------------------------------------------------------------------
@pytest.mark.share(4)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [1, 3, 7, 9])
def test_truncated_gradients(steps, reverse):
    """Gradients of the last steps only; everything else stays as it is."""
    x = rng().normal(size=(7, 2))

    def f(x, cut):
        last, ys = ag.scan(lambda c, r: (ag.sin(c + r), c * r), x[0] * 0, x, reverse=reverse,
                           truncate_gradient=cut)
        return last, ys

    whole = run("eager", lambda x: f(x, None), x)
    check(lambda x: f(x, steps), [x], whole, grads=True)
    (g,) = run("jit", ag.grad(lambda x: total(f(x, steps))), x)
    touched = np.abs(g).sum(1) > 0
    np.testing.assert_array_equal(
        touched, (np.arange(7)[::-1] if not reverse else np.arange(7)) < steps
    )


@pytest.mark.share(8)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length, every", [(9, True), (7, 3), (4, 9), (5, 1), (1, True)])
def test_checkpoints_change_nothing(length, every, reverse):
    x = rng().normal(size=(length, 2))
    w = rng().normal(size=(2, 2))

    def f(x, w, **how):
        return ag.scan(lambda c, r: (ag.tanh(c @ w + r), c * r), x[0] * 0, x, reverse=reverse,
                       **how)

    expected = run("eager", f, x, w)
    plain = run("eager", ag.grad(lambda *a: total(f(*a)), argnums=(0, 1)), x, w)
    for way in WAYS[:3]:
        found = run(way, lambda *xs: f(*xs, checkpoint=every), x, w)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-12)
        g = ag.grad(lambda *a: total(f(*a, checkpoint=every)), argnums=(0, 1))
        for a, b in zip(run(way, g, x, w), plain, strict=True):
            np.testing.assert_allclose(a, b, 1e-10)


def test_checkpoints_take_memory_for_the_root_of_the_steps():
    def peak(n, every):
        w = ag.tensor(np.full(500, 0.5, "float32"), requires_grad=True)

        def gradient(h):
            last, _ = ag.scan(lambda h, _: (ag.tanh(ag.sin(h * w) + w), None), h, length=n,
                              checkpoint=every)
            return ag.grad(last.sum(), w)

        f = ag.jit(gradient)
        f(ag.ones(500))
        return f.specialisations[0].compiled.recipe.arena_bytes

    whole, small = [[peak(n, every) for n in (256, 4096)] for every in (False, True)]
    assert whole[1] > 12 * whole[0] and small[1] < 6 * small[0]
    assert small[1] < whole[1] / 20


@pytest.mark.parametrize("where", ["inside", "around"])
def test_checkpointed_functions(where):
    """``ag.checkpoint`` of a step, and of the whole loop."""
    w = rng().normal(size=(2, 2))

    def loop(step, x, w):
        return ag.scan(lambda c, r: (step(c, r, w), None), x[0] * 0, x)[0]

    def cell(c, r, w):
        return ag.tanh(c @ w + ag.sin(r))

    def f(x, w):
        if where == "around":
            return ag.checkpoint(lambda x, w: loop(cell, x, w), x, w).sum()
        return loop(lambda *xs: ag.checkpoint(cell, *xs), x, w).sum()

    x = rng().normal(size=(5, 2))
    expected = run("eager", ag.grad(lambda x, w: loop(cell, x, w).sum(), argnums=(0, 1)), x, w)
    for way in WAYS[:3]:
        found = run(way, ag.grad(f, argnums=(0, 1)), x, w)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-10)


# -- state ------------------------------------------------------------------------------------
def test_random_numbers_advance_from_step_to_step():
    def f(x):
        return ag.scan(lambda c, r: (c + ag.random.uniform(size=(), dtype="float64") * r,
                                     ag.random.normal(size=2)), 0.0, x)

    results = []
    for way in WAYS[:3]:
        ag.manual_seed(3)
        first = run(way, f, np.ones(4))
        results.append([*first, *run(way, f, np.ones(4))])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, 1e-6)
    assert len(np.unique(results[0][1])) == 8


def test_dropout_in_a_loop_is_new_in_every_step():
    layer = ag.nn.Dropout(0.5)
    with ag.config(default_float="float64"):
        f = ag.jit(lambda x: ag.scan(lambda c, r: (c, layer(r)), 0.0, x)[1])
        rows = f(ag.ones((20, 8))).numpy()
    assert len(np.unique(rows, axis=0)) > 15


def test_changes_in_place_are_carried():
    x = np.arange(6.0).reshape(3, 2)
    for way in WAYS[:3]:
        seen, best = ag.zeros(2, dtype="float64"), ag.zeros(2, dtype="float64")

        def f(x, seen=seen, best=best):
            inside = ag.zeros((), dtype="float64")

            def step(c, r):
                fresh = ag.zeros(())
                fresh += 1
                seen.add_(r * fresh)
                best[1:] = ag.maximum(best[1:], r[1:])
                inside.add_(r.sum())
                return c + seen.sum(), inside

            return *ag.scan(step, 0.0, x), inside

        last, rows, inside = run(way, f, x)
        np.testing.assert_array_equal(seen, x.sum(0), err_msg=way)
        np.testing.assert_array_equal(best, [0, 5])
        np.testing.assert_array_equal(last, x.cumsum(0).sum())
        np.testing.assert_array_equal(rows, x.sum(1).cumsum())
        assert inside == x.sum()


def test_the_first_carry_is_left_alone():
    start, x = ag.zeros(2), ag.ones((3, 2))
    ag.scan(lambda c, r: (c.add_(r), c), start, x)
    np.testing.assert_array_equal(start, [0, 0])


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_training_inside_of_a_loop(kind):
    """An epoch is one scan: gradients are made and used up in each step, state is carried."""
    x = rng().normal(size=(12, 4, 3)).astype("float32")
    results = []
    for way in WAYS[:3]:
        ag.manual_seed(0)
        net = ag.nn.Sequential(ag.nn.Linear(3, 5), ag.nn.Tanh(), ag.nn.Dropout(0.5),
                               ag.nn.Linear(5, 1))
        extra = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(ag.optim, kind)(net.parameters(), lr=0.01, **extra)

        def step(count, rows, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((net(rows) - rows.sum(-1, keepdims=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
            return count + 1, loss

        losses = [run(way, lambda x, step=step: ag.scan(step, 0, x), x)[1] for _ in range(2)]
        results.append([*losses, *(p.numpy() for p in net.parameters())])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, 1e-3, 1e-5)
    assert results[0][1].mean() < results[0][0].mean()


def test_updates_while_nothing_is_recorded():
    """Parameters that a step changes are parameters again in the next one."""
    results = []
    for way in WAYS[:3]:
        w = ag.tensor([1.0, 2.0], dtype="float64", requires_grad=True)

        def step(c, r, w=w):
            with ag.enable_grad():
                loss = ((w * r) ** 2).sum()
            (g,) = ag.grad(loss, [w])
            w.sub_(0.1 * g)
            with ag.enable_grad():
                loss = ((w + r) ** 2).sum()
            (g,) = ag.grad(loss, [w])
            w.sub_(0.1 * g)
            return c, loss

        def f(x, step=step):
            with ag.no_grad():
                return ag.scan(step, (), x)[1]

        results.append([*run(way, f, np.arange(6.0).reshape(3, 2)), w.numpy()])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, 1e-12)


def test_gradients_that_a_body_forgets_are_forgotten():
    w = ag.ones(2, requires_grad=True)
    (w * w).sum().backward()

    def step(c, r):
        w.grad = None
        return c, None

    ag.jit(lambda x: ag.scan(step, (), x))(ag.ones((3, 2)))
    assert w.grad is None


def test_what_is_not_recorded_in_a_body_has_no_gradient():
    """Also where the same is computed with a gradient beside it, and in loops inside."""
    x = rng().normal(size=(4, 3))

    def f(x):
        def step(c, r):
            with ag.no_grad():
                scale = ag.exp(c * 0.1)
                inner = ag.scan(lambda s, v: (s * 0.5 + v, None), c.sum(), r)[0]
            same = ag.exp(c * 0.1)
            again = ag.scan(lambda s, v: (s * 0.5 + v, None), c.sum(), r)[0]
            kept = ag.stop_gradient(r) * c + r.detach().sum()
            return ag.tanh(c * scale + r * same + inner * again) + kept, c * scale

        return ag.scan(step, x[0], x)

    check(f, [x], [v.numpy() for v in f(ag.tensor(x))], grads=True)


def test_views_of_what_a_body_carries():
    x = rng().normal(size=(4, 3))

    def f(x):
        table = x * 1

        def step(c, r):
            head = table[0]
            head += r
            table[1:, 0] = c
            part = c[1:]
            part *= 2
            return c + head, table.sum()

        last, sums = ag.scan(step, x[0] * 0, x)
        return last, sums, table

    for way in WAYS[1:3]:
        for a, b in zip(run(way, f, x), run("eager", f, x), strict=True):
            np.testing.assert_allclose(a, b, 1e-12)


def view_changed(x):
    b = x * 2
    v = b[0]

    def step(c, r):
        v.add_(r)
        return c + b.sum(), v * 1

    return *ag.scan(step, 0.0, x), b, v


def seen_through_views(x):
    b = x * 2
    v, t = b[0], b.T
    u = v[1:]

    def step(c, r):
        c = c + u.sum()
        t[1] += r[0]
        return c, t[:, 0] * 1

    return *ag.scan(step, 0.0, x), b, v, u, t


def counted_by_a_view(x):
    b = x * 2
    v = b[0]

    def grow(c):
        b.add_(1)
        return c + v.sum()

    return ag.while_loop(lambda c: v[0] < 10, grow, 0.0), b, v


@pytest.mark.parametrize("program", [view_changed, seen_through_views, counted_by_a_view])
def test_views_of_values_that_a_body_changes(program):
    """What looks into an intermediate result looks again in every step."""
    x = ag.tensor(np.random.default_rng(0).normal(size=(5, 3)))
    for a, b in zip(program(x), ag.jit(program)(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


# -- while and for ----------------------------------------------------------------------------
def test_newton():
    def root(x):
        return ag.while_loop(lambda s: ag.abs(s * s - x) > 1e-12, lambda s: 0.5 * (s + x / s), x)

    check(root, [2.0], [np.sqrt(2.0)])
    for way in WAYS[:3]:
        (g,) = run(way, ag.grad(root), 2.0)
        np.testing.assert_allclose(g, 0.5 / np.sqrt(2.0), 1e-9)


def test_while_carries_nests():
    def collatz(n):
        body = lambda s: {"n": ag.where(s["n"] % 2 == 0, s["n"] // 2, s["n"] * 3 + 1),  # noqa: E731
                          "steps": s["steps"] + 1}
        return ag.while_loop(lambda s: s["n"] != 1, body, {"n": n, "steps": 0})

    check(collatz, [27], [1, 111])
    check(collatz, [1], [1, 0])


def test_random_numbers_in_while():
    results = []
    for way in WAYS[:3]:
        ag.manual_seed(0)
        results.append(run(way, lambda x: ag.while_loop(
            lambda s: s[0] < x, lambda s: (s[0] + ag.random.uniform(size=()), s[1] + 1), (0.0, 0)
        ), np.float32(5)))
    assert results[0] == results[1] == results[2]


def test_fori_loop():
    check(lambda x: ag.fori_loop(2, 6, lambda i, c: c * x + i, x), [np.arange(3.0)],
          [_horner(np.arange(3.0), 2, 6)], grads=True)
    check(lambda x, n: ag.fori_loop(0, n, lambda i, c: c * x + i, x), [np.arange(3.0), 4],
          [_horner(np.arange(3.0), 0, 4)])
    check(lambda x: ag.fori_loop(3, 3, lambda i, c: c * 2, x), [np.arange(3.0)], [np.arange(3.0)])


def test_fori_loop_up_to_a_size():
    x = T.dvector("x")
    f = ag.function([x], ag.fori_loop(0, x.shape[0], lambda i, c: c + x[i] * i, 0.0))
    for n in (1, 4):
        np.testing.assert_allclose(f(np.ones(n) * 2), 2 * np.arange(n).sum())


def _horner(x, lower, upper):
    c = x
    for i in range(lower, upper):
        c = c * x + i
    return c


def test_map():
    x = rng().normal(size=(4, 3, 2))
    check(lambda x: ag.map(lambda m: {"m": m.T @ m, "s": m.sum()}, x), [x],
          [np.einsum("nij,nik->njk", x, x), x.sum((1, 2))], grads=True)


# -- branches ---------------------------------------------------------------------------------
def test_cond():
    def f(x):
        return ag.cond(x.sum() > 0, lambda x: (x * 2, 1.0), lambda x: (x * x, 0), x)

    x = np.arange(3.0)
    check(f, [x], [x * 2, 1], grads=True)
    check(f, [-x], [x * x, 0], grads=True)


def test_branches_capture():
    w = ag.tensor([1.0, 2.0], dtype="float64", requires_grad=True)

    def f(x):
        return ag.cond(x > 0, lambda: w * x, lambda: w * w)

    for value, result, slope in ((3.0, [3, 6], [3, 3]), (-1.0, [1, 4], [2, 4])):
        for way in WAYS[:3]:
            np.testing.assert_array_equal(run(way, f, value)[0], result)
        for g in (f, ag.jit(f)):
            w.grad = None
            g(ag.tensor(value, dtype="float64")).sum().backward()
            np.testing.assert_array_equal(w.grad, slope)


def test_a_branch_that_changes_state():
    for way in WAYS[:3]:
        hits, misses = ag.tensor(0), ag.tensor(0)

        def f(x, hits=hits, misses=misses):
            def hit():
                hits.add_(1)
                return x

            def miss():
                misses.add_(2)
                return -x

            return ag.cond(x > 0, hit, miss)

        for value in (1.0, -1.0, 2.0):
            assert run(way, f, value) == [abs(value)]
        assert (int(hits), int(misses)) == (2, 2)


def test_random_numbers_in_one_branch():
    def f(x):
        return ag.cond(x > 0, lambda: ag.random.uniform(size=()), lambda: ag.zeros(()))

    results = []
    for way in WAYS[:3]:
        ag.manual_seed(1)
        results.append([float(run(way, f, v)[0]) for v in (1.0, -1.0, 1.0)])
    assert results[0] == results[1] == results[2] and results[0][0] != results[0][2]


def test_the_condition_may_be_a_python_bool():
    assert ag.cond(True, lambda x: x, lambda x: -x, 3) == 3
    assert float(ag.jit(lambda x, flag: ag.cond(flag, lambda: x, lambda: -x))(
        ag.tensor(3.0), False)) == -3


# -- one in another ---------------------------------------------------------------------------
def test_a_branch_in_a_loop():
    x = np.array([1.0, -2.0, 3.0, -4.0])

    def f(x):
        return ag.scan(lambda c, r: (ag.cond(r > 0, lambda: c + r, lambda: c * r),) * 2, 1.0, x)

    check(f, [x], _branching(x), grads=True)


def _branching(x):
    c, rows = 1.0, []
    for r in x:
        c = c + r if r > 0 else c * r
        rows.append(c)
    return [c, np.array(rows)]


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_loop_in_a_loop(way):
    """The triple product as two loops, its gradient, and its tangent."""
    a, b, c = (rng().normal(size=s) for s in ((3, 4), (4, 5), (5, 2)))

    def f(a, b, c):
        def row(_, r):
            return (), ag.scan(lambda s, xy: (s + xy[0] * xy[1], None), c[0] * 0, (r @ b, c))[0]

        return ag.scan(row, (), a)[1]

    np.testing.assert_allclose(run(way, f, a, b, c)[0], a @ b @ c, 1e-12)
    g = ag.grad(lambda *xs: ag.sin(f(*xs)).sum(), argnums=(0, 1, 2))
    expected = ag.grad(lambda a, b, c: ag.sin(a @ b @ c).sum(), argnums=(0, 1, 2))
    for x, y in zip(run(way, g, a, b, c), run("eager", expected, a, b, c), strict=True):
        np.testing.assert_allclose(x, y, 1e-10)
    tangent = run(way, lambda *xs: ag.jvp(f, xs, xs)[1], a, b, c)
    np.testing.assert_allclose(tangent[0], 3 * (a @ b @ c), 1e-10)


def test_gradients_inside_of_a_loop():
    """Descent: each step asks for the gradient of what it captures and carries."""
    a = np.array([[2.0, 0.5], [0.5, 1.0]])

    def f(a, x):
        def step(x, _):
            value, g = ag.value_and_grad(lambda x: 0.5 * x @ a @ x)(x)
            return x - 0.1 * g, value

        return ag.scan(step, x, length=4)

    x, values = np.ones(2), []
    for _ in range(4):
        values.append(0.5 * x @ a @ x)
        x = x - 0.05 * (a + a.T) @ x
    check(f, [a, np.ones(2)], [x, values], grads=True)


def test_hessian_of_a_recurrence():
    w, x = rng().normal(size=(2, 2)), rng().normal(size=(4, 2))

    def loss(w, x):
        h, _ = ag.scan(lambda h, r: (ag.tanh(h @ w + r), None), x[0] * 0, x)
        return (h * h).sum()

    def unrolled(w, x):
        h = x[0] * 0
        for r in x:
            h = ag.tanh(h @ w + r)
        return (h * h).sum()

    expected = run("eager", ag.hessian(unrolled), w, x)[0]
    for way in WAYS[:3]:
        np.testing.assert_allclose(run(way, ag.hessian(loss), w, x)[0], expected, 1e-8, 1e-10)


def test_products_with_the_jacobian_are_each_others_transpose():
    w, x = T.dmatrix("w"), T.dmatrix("x")
    _, ys = ag.scan(lambda h, r: (ag.tanh(h @ w + r), ag.sin(h)), x[0] * 0, x)
    u, v = T.dmatrix("u"), T.dmatrix("v")
    forward = (T.Rop(ys, w, u) * v).sum()
    reverse = (T.Lop(ys, w, v) * u).sum()
    f = ag.function([w, x, u, v], [forward, reverse])
    rows, square = rng().normal(size=(4, 2)), rng().normal(size=(2, 2))
    a, b = f(square, rows, rng().normal(size=(2, 2)), rng().normal(size=(4, 2)))
    np.testing.assert_allclose(a, b, 1e-10)


def test_unknown_sizes():
    """One graph serves sequences of any length and width."""
    x = T.dmatrix("x")
    _, sums = ag.scan(lambda c, r: (c + r, c + r), x[0] * 0, x)
    f = ag.function([x], [sums, T.grad((sums * sums).sum(), x)])
    for shape in ((3, 2), (5, 4), (1, 1)):
        a = rng().normal(size=shape)
        value, slope = f(a)
        np.testing.assert_allclose(value, a.cumsum(0))
        np.testing.assert_allclose(slope, 2 * a.cumsum(0)[::-1].cumsum(0)[::-1], 1e-12)


# -- consistency ------------------------------------------------------------------------------
def _samples(*shapes):
    return [rng().normal(size=s) for s in shapes]


@pytest.mark.share(2)
@pytest.mark.parametrize("f, sample", [
    (lambda x, w: ag.scan(lambda c, r: (ag.tanh(c @ w + r), c * r), x[0] * 0, x)[1],
     _samples((4, 3), (3, 3))),
    (lambda x, w: ag.scan(lambda c, r: (ag.tanh(c @ w + r), c * r), x[0] * 0, x, reverse=True,
                          checkpoint=2)[0], _samples((4, 3), (3, 3))),
    (lambda x: ag.scan(lambda c, r: (c * 0.5 + r, c), x[0] * 0, x,
                       until=lambda c: c.sum() > 1e3)[0], _samples((4, 3))),
    (lambda x, w: ag.cond(x.sum() > 0, lambda: ag.sin(x) @ w, lambda: x * w[0]),
     _samples((3,), (3, 3))),
    (lambda x: ag.fori_loop(0, 3, lambda i, c: ag.sin(c) + x * i, x), _samples((2, 3))),
    (lambda x: ag.map(lambda r: ag.softmax(r) * r.max(), x), _samples((3, 4))),
])
def test_everything_that_an_operation_is_checked_for(f, sample):
    """Types, graphs of known and of unknown sizes, expanded and compiled; two derivatives."""
    ag.testing.check_op(f, [sample])


def test_compared_with_eager_code_at_every_call():
    total = ag.zeros(3, dtype="float64")

    def step(c, r):
        total.add_(r)
        return c + ag.random.uniform(size=(), dtype="float64"), total * c

    f = ag.jit(lambda x: ag.scan(step, 0.0, x), mode="compare")
    for _ in range(2):
        f(ag.ones((4, 3), dtype="float64"))
    np.testing.assert_array_equal(total, [8, 8, 8])


def test_copies_and_pickles_keep_loops():
    x = T.dmatrix("x")
    y, _ = T.scan(lambda r, c: T.tanh(r + c), x, T.zeros_like(x[0]))
    f = ag.function([x], [y, T.grad(y.sum(), x)])
    a = rng().normal(size=(4, 3))
    expected = f(a)
    for g in (f.copy(), pickle.loads(pickle.dumps(f))):
        for got, wanted in zip(g(a), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.share(4)
@pytest.mark.parametrize("part", [
    lambda a: ag.linalg.svd(a)[1],
    lambda a: ag.linalg.eigh(a)[0],
    lambda a: ag.linalg.eigh(a)[1] ** 4,
    lambda a: ag.linalg.slogdet(a)[1] * a,
    lambda a: ag.linalg.qr(a)[1] ** 3,
])
def test_steps_back_read_single_results_of_an_operation(part):
    """Of which the step itself may read others."""
    xs = ag.tensor(np.random.default_rng(3).normal(size=(3, 3)))

    def step(c, v):
        return c * 0.5 + part(ag.outer(v, v) + 3 * ag.eye(3, dtype="float64")).sum() * v[0], None

    def cost(xs):
        return ag.scan(step, 0.0, xs)[0]

    def unrolled(xs):
        c = ag.tensor(0.0, dtype="float64")
        for v in xs:
            c, _ = step(c, v)
        return c

    expected = ag.grad(unrolled)(xs).numpy()
    np.testing.assert_allclose(ag.jit(ag.grad(cost))(xs).numpy(), expected, rtol=1e-8)
    second = ag.jit(ag.jacrev(ag.grad(lambda x: cost(ag.stack([x, x])))))
    wanted = ag.jacrev(ag.grad(lambda x: unrolled(ag.stack([x, x]))))
    np.testing.assert_allclose(second(xs[0]).numpy(), wanted(xs[0]).numpy(), rtol=1e-6, atol=1e-9)


def test_python_decides_in_bodies_by_what_they_leave_alone():
    n, x = ag.tensor(3), ag.ones(2)

    def step(s, v):
        made = s + ag.ones((n,)).sum() + (10 if n.item() > 4 else 0)
        return made, made

    def grown(s, v):
        n.add_(1)
        return (s + ag.ones((n,)).sum(),) * 2

    def run(x):
        return ag.scan(step, ag.tensor(0.0), x)[0]

    compiled = ag.jit(run)
    for size, expected in ((3, 6), (5, 30), (3, 6)):
        n.fill_(size)
        assert run(x) == compiled(x) == expected
    with pytest.raises(ag.TraceError, match="ones"):
        ag.jit(lambda x: ag.scan(grown, ag.tensor(0.0), x)[0])(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_tangents_of_the_gradient_of_a_loop_that_reads_no_carry(compiled):
    def f(x, y):
        return (ag.scan(lambda c, u: (ag.tanh(y), u), y, x, reverse=True)[1] * 3).sum()

    def slopes(x, y):
        a, b = ag.grad(f, (0, 1))(x, y)
        return a.sum() + b

    def g(x, y):
        return ag.jvp(slopes, (x, y), (ag.ones_like(x), ag.ones_like(y)))

    value, slope = (ag.jit(g) if compiled else g)(ag.zeros(1), ag.zeros(()))
    assert value.item() == 3 and slope.item() == 0
