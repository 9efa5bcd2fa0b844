"""Integer scalars as sizes, bounds, steps and counts of declared programs."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

A, B = np.arange(10.0), np.arange(12.0).reshape(6, 2)
n, k = T.lscalar("n"), T.iscalar("k")
x, m, counts = T.vector("x"), T.matrix("m"), T.ivector("counts")

#: Expressions of variables, what they are of values, and sets of values.
ROWS = {
    "first": (lambda x, n: x[:n], [(A, v) for v in (3, 0, 10, 12, -3, -12)]),
    "behind": (lambda x, n: x[n:], [(A, v) for v in (7, 0, 10, 12, -2)]),
    "last": (lambda x, n: x[-n:], [(A, 1), (A, 0)]),
    "between": (lambda x, n, k: x[n:k], [(A, 2, 5), (A, 5, 2), (A, -4, 99)]),
    "strided": (lambda x, n, k: x[n:k:2], [(A, 1, 20), (A, 3, 4)]),
    "step": (lambda x, n: x[::n], [(A, 3), (A, 1), (A, -4), (A, -1)]),
    "backwards": (lambda x, n: x[n::-1], [(A, 2), (A, -1), (A, 40)]),
    "batch": (lambda x, n, k: x[n * k:(n + 1) * k], [(A, 1, 4), (A, 2, 4), (A, 3, 4)]),
    "rows": (lambda m, n, k: m[n:k, :1], [(B, 1, 3), (B, 4, 9)]),
    "both": (lambda m, n, k: m[n:, k:].sum(), [(B, 1, 1), (B, 9, 0)]),
    "new axis": (lambda m, n: m[None, n:, 0], [(B, 2)]),
    "beside indices": (lambda m, n: m[n:, [1, 0, 1]], [(B, 4)]),
}
MAKERS = {
    "arange": (lambda t, n: t.arange(n), [(4,), (0,), (-2,)]),
    "bounds": (lambda t, n, k: t.arange(n, k, 2), [(1, 8), (8, 1), (-3, 2)]),
    "float bounds": (lambda t, n: t.arange(0.0, n * 0.5, 0.5), [(3,), (0,)]),
    "zeros": (lambda t, n: t.zeros((n, 2)), [(3,), (0,)]),
    "ones": (lambda t, n: t.ones(n), [(3,)]),
    "full": (lambda t, n: t.full((2, n), 7.0), [(3,)]),
    "eye": (lambda t, n: t.eye(n), [(3,), (1,)]),
    "oblong": (lambda t, n, k: t.eye(n, k), [(2, 3)]),
    "linspace": (lambda t, n: t.linspace(0.0, 1.0, n), [(3,), (1,), (0,)]),
    "steps": (lambda t, n, k: t.arange(2, n, k), [(20, 3), (-20, -4), (20, -4), (3, 7)]),
    "bounds and steps": (lambda t, n, k: t.arange(n, k, -n), [(3, -9), (5, 5), (-2, 4)]),
    "float steps": (lambda t, n, k: t.arange(0.0, n, k / 4), [(3, 1), (2, 3)]),
    "ends and their number": (lambda t, n, k: t.linspace(k * 0.5, 9.0, n), [
        (4, 1), (1, 3), (0, 2), (2, 2)]),
    "without the end": (lambda t, n, k: t.linspace(k * 0.5, 9.0, n, endpoint=False), [
        (4, 1), (1, 3)]),
    "powers": (lambda t, n: t.logspace(0.0, 2.0, n), [(3,), (1,), (0,)]),
    "ratios": (lambda t, n: t.geomspace(1.0, 100.0, n), [(3,), (1,), (0,)]),
    "diagonals": (lambda t, n, k: t.eye(n, n + 1, k), [(3, 1), (3, -2), (2, 9)]),
    "table": (lambda t, n: t.tril(t.ones((n, n))), [(3,)]),
}
CHANGES = {
    "reshape": (lambda t, m, n: t.reshape(m, (n, -1)), [(B, 3), (B, 12)]),
    "reshaped": (lambda t, m, n, k: t.reshape(m, (n, k)), [(B, 3, 4)]),
    "tile": (lambda t, x, n: t.tile(x, n), [(A[:2], 3), (A[:2], 0)]),
    "tiles": (lambda t, x, n: t.tile(x, (n, 2)), [(A[:2], 3)]),
    "repeat": (lambda t, x, n: t.repeat(x, n), [(A[:2], 3)]),
    "repeats": (lambda t, x, counts: t.repeat(x, counts), [
        (A[:3], np.int32([2, 0, 1])), (A[:3], np.int32([2]))]),
    "roll": (lambda t, x, n: t.roll(x, n), [(A[:4], 1), (A[:4], -5)]),
    "parts": (lambda t, x, n: t.concatenate([x[n:], x[:n]]), [(A, 3), (A, 0)]),
    "stack": (lambda t, x, n: t.stack([x[:n], x[:n] * 2]), [(A, 3)]),
    "counted": (lambda t, x, n: t.arange(t.sum(x > n)) * 2, [(A, 3)]),
    "element": (lambda t, x, counts: x[counts[0]:counts[1]], [(A, np.int32([2, 5]))]),
    "joined": (lambda t, x, n: x[:n] + t.arange(n), [(A, 4), (A, 1)]),
    "product": (lambda t, x, n: t.dot(x[:n], t.ones(n)), [(A, 4)]),
    "size of a slice": (lambda t, x, n: x[:n].shape[0] + n, [(A, 4)]),
    "half": (lambda t, x, n: x[:(x.shape[0] + n) // 2], [(A, 1)]),
}
_BY_NAME = {"x": x, "m": m, "n": n, "k": k, "counts": counts}


def _check(f, cases, *space):
    names = f.__code__.co_varnames[len(space):f.__code__.co_argcount]
    given = [_BY_NAME[v] for v in names]
    made = ag.function(given, f(*(T for _ in space), *given))
    for values in cases:
        np.testing.assert_allclose(made(*values), f(*space, *values), err_msg=str(values))


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ROWS)
def test_bounds(name):
    _check(*ROWS[name])


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [*MAKERS, *CHANGES])
def test_sizes_and_counts(name):
    _check(*{**MAKERS, **CHANGES}[name], np)


def test_negative_sizes_are_refused():
    f = ag.function([n], T.zeros((n, 2)))
    with pytest.raises(ag.ShapeError, match="n decides the size of a result"):
        f(-1)
    with pytest.raises(ag.MissingInputError, match="must be an input"):
        ag.function([], T.zeros(n))


def test_a_step_of_zero_is_refused_when_it_is_known():
    f = ag.function([n, k], T.arange(0, n, k))
    assert f(7, 3).tolist() == [0, 3, 6]
    with pytest.raises(ValueError, match="the step of arange must not be zero"):
        f(7, 0)
    wrong = pytest.raises(ValueError, match="the step of a slice must not be zero")
    for part in (x[::n], x[k::n], T.set_subtensor(x[:k:n], 0.0)):
        f = ag.function([x, n, k], part, on_unused_input="ignore")
        assert f(A, 2, 4).size
        with wrong:
            f(A, 0, 4)
    with wrong:
        x[n::0]
    with wrong:
        ag.jit(lambda x, n: x[::n])(ag.tensor(A), ag.tensor(0))


def test_any_scalar_is_a_size():
    w = ag.shared(np.array(3))
    f = ag.function([x], [x[:w], T.arange(w), T.zeros(T.argmax(x))], updates={w: w + 1})
    for size in (3, 4):
        first, count, zeros = f(A)
        assert first.shape == count.shape == (size,) and zeros.shape == (9,)
    powers, _ = T.scan(lambda a: a * 2, outputs_info=1.0, n_steps=n * 2 + 1)
    np.testing.assert_array_equal(ag.function([n], powers)(1), [2.0, 4.0, 8.0])


def test_gradients_and_changes_of_parts():
    part = x[n::2]
    f = ag.function([x, n], [
        T.grad((part**2).sum(), x), T.set_subtensor(part, 9.0), T.inc_subtensor(part, part),
        T.grad((T.set_subtensor(part, 2.0) ** 2).sum(), x),
    ])
    for v in (0, 1, 5, 12):
        grad, put, added, other = f(A, v)
        where = np.zeros(10, bool)
        where[v::2] = True
        np.testing.assert_array_equal(grad, np.where(where, 2 * A, 0))
        np.testing.assert_array_equal(put, np.where(where, 9.0, A))
        np.testing.assert_array_equal(added, np.where(where, 2 * A, A))
        np.testing.assert_array_equal(other, np.where(where, 0, 2 * A))
    h = x * 1
    h[:n] = T.ones(n)
    both = T.set_subtensor(m[n:, k:], 9.0), T.inc_subtensor(m[None, n:, 0], 1.0)
    out, put, added = ag.function([x, m, n, k], [h, *both])(A, B, 2, 1)
    np.testing.assert_array_equal(out, [1.0, 1.0, *A[2:]])
    expect = B.copy()
    expect[2:, 1:] = 9.0
    np.testing.assert_array_equal(put, expect)
    np.testing.assert_array_equal(added, B + np.array([[0, 0]] * 2 + [[1, 0]] * 4))


def test_minibatches_of_shared_data_are_one_function():
    data, labels = ag.shared(np.arange(40.0).reshape(20, 2)), ag.shared(np.arange(20))
    y, i = T.lvector("y"), T.lscalar("i")
    loss = (m**2).sum(1).mean() + (m[T.arange(y.shape[0]), 0] * y).sum()
    f = ag.function([i], [loss, T.grad(loss, m)], givens={
        m: data[i * 5:(i + 1) * 5], y: labels[i * 5:(i + 1) * 5],
    })
    for at in (0, 3, 1, 2):
        rows, marks = data.get_value()[5 * at:5 * at + 5], labels.get_value()[5 * at:5 * at + 5]
        found, grad = f(at)
        np.testing.assert_allclose(found, (rows**2).sum(1).mean() + (rows[:, 0] * marks).sum())
        np.testing.assert_allclose(grad, rows * 0.4 + np.stack([marks, 0 * marks], 1))
    assert len(f._made) == 1


def test_sizes_that_change_from_step_to_step_are_summed_over():
    counts = T.lvector()
    sums, _ = T.scan(lambda i: x[:i].sum(), counts)
    wanted = [A[:i].sum() for i in (2, 0, 3)]
    np.testing.assert_allclose(ag.function([x, counts], sums)(A, [2, 0, 3]), wanted)
    rows, _ = T.scan(lambda r, s: r * s[:n].sum(), x, non_sequences=x)
    np.testing.assert_array_equal(ag.function([x, n], rows)(A[:3], 2), A[:3])


# -- under jit --------------------------------------------------------------------------------
@pytest.mark.share(2)
@pytest.mark.parametrize("name", [
    "first", "between", "step", "batch", "both", "arange", "zeros", "linspace", "reshape", "steps",
    "float steps", "ends and their number", "powers", "ratios", "diagonals",
    "repeats", "counted", "joined", "roll",
])
def test_the_same_under_jit(name):
    makers = {**MAKERS, **CHANGES}
    f, cases, *space = ROWS.get(name) or (*makers[name], np)
    made = ag.jit(lambda *args: f(*(ag for _ in space), *args))
    for values in cases:
        found = made(*map(ag.tensor, values))
        np.testing.assert_allclose(found, f(*space, *values), rtol=1e-6, err_msg=str(values))


def test_versions_of_jitted_functions_by_sizes_that_values_tell():
    x = ag.tensor(A, dtype="float32")
    batch = ag.jit(lambda x, i: (x[i * 3:(i + 1) * 3] * 2).sum())
    for i in range(3):
        assert batch(x, ag.tensor(i)) == A[3 * i:3 * i + 3].sum() * 2
    assert batch.explain().count("trace") == 1
    some = ag.jit(lambda x, n: x[:n] * 2)
    for size in (3, 5, 7, 2, 9, 8, 6, 4):
        assert some(x, ag.tensor(size)).tolist() == (A[:size] * 2).tolist()
    assert some.explain().count("trace") <= 3
    twice = ag.jit(lambda x, n: x[:n][:(x[:n] > 0).sum()])
    assert [twice(x, ag.tensor(v)).shape for v in (3, 6, 1)] == [(2,), (5,), (0,)]
    assert twice.explain().count("trace") == 3  # and it does not run eagerly
    assert "stretch" in str(batch.graph)  # neighbours, not places
    with pytest.raises(ag.ShapeError, match="-1 decides the size"):
        ag.jit(lambda n: ag.zeros(n))(ag.tensor(-1))


def test_what_decides_a_size_may_change_besides_the_arguments():
    state, factor = ag.tensor([2]), [1]

    @ag.jit
    def f(x):
        return x[:state[0] * factor[0]]

    x = ag.tensor(A, dtype="float32")
    assert f(x).shape == (2,)
    state[0] = 4
    assert f(x).shape == (4,)
    factor[0] = 2
    assert f(x).shape == (8,)
    factor[0] = 1
    assert f(x).shape == (4,)


def test_gradients_under_jit():
    w = ag.tensor(A[:5], requires_grad=True)
    loss = ag.jit(lambda n: (w[:n] ** 2).sum())
    for size in (3, 2):
        w.grad = None
        loss(ag.tensor(size)).backward()
        assert w.grad.tolist() == [*(2 * A[:size]), *[0.0] * (5 - size)]
    slope = ag.jit(lambda x, n: ag.grad(lambda x: (x[n:] ** 3).sum())(x))
    assert slope(ag.tensor(A[:4]), ag.tensor(2)).tolist() == [0.0, 0.0, 12.0, 27.0]
    sums = ag.jit(lambda x, n: ag.scan(lambda c, r: (c + r * x[:n].sum(), c), 0.0, x)[0])
    assert sums(ag.tensor(A[:4]), ag.tensor(3)) == 18.0


def test_scalars_of_sizes_of_shared_variables_are_sizes():
    """Only the sizes of ``other`` and ``third`` are used, and only by the scalar that tells one."""
    other, third = ag.shared(np.ones((4, 5))), ag.shared(np.ones((3, 2)))
    x = T.matrix("x")
    sizes = [ag.as_tensor(v.shape[0]) for v in (other, third, x)]
    least = ag.stack(sizes).min()
    told = [x[:ag.minimum(x.shape[0], other.shape[0])], x[:least], ag.zeros((least + 1,)),
            T.grad((x[:least] ** 2).sum(), x)[:least], x[:ag.arange(least).sum()],
            x[:ag.minimum(other.sum().astype("int64") // 5, other.shape[0])]]
    f = ag.function([x], told)
    for rows in (9, 2, 3):
        for many in (4, 1):
            other.set_value(np.ones((many, 5)))
            least = min(rows, many, 3)
            wanted = [min(rows, many), least, least + 1, least,
                      min(rows, sum(range(least))), min(rows, many)]
            assert [len(y) for y in f(np.ones((rows, 2)))] == wanted


@pytest.mark.parametrize("ends", [
    lambda n, m: (0, n * m, m), lambda n, m: (n, m), lambda n, m: (0, n, 0.5),
    lambda n, m: (0.5, n), lambda n, m: (n * m, 0, -m), lambda n, m: (0, n, m),
])
@pytest.mark.parametrize("dtype", [None, "float32", "int32"])
def test_sizes_are_steps(ends, dtype):
    x = T.matrix("x")
    f = ag.function([x], ag.arange(*ends(*x.shape), dtype=dtype))
    g = ag.jit(lambda x: ag.arange(*ends(*x.shape), dtype=dtype))
    for shape in ((3, 4), (4, 2), (1, 1), (5, 3)):
        wanted = np.arange(*ends(*shape), dtype=dtype)
        for found in (f(np.ones(shape)), g(ag.ones(shape)).numpy()):
            np.testing.assert_array_equal(found, wanted)


VIEWS = {
    "filled": lambda x, k: x[k:].fill_(7),
    "rows and columns": lambda x, k: x[k:3, k:].mul_(2),
    "of a view": lambda x, k: x[::2][k:].fill_(9),
    "a view of it": lambda x, k: x[k:][:, 1].fill_(5),
    "transposed": lambda x, k: x.T[k:].add_(1),
    "two steps": lambda x, k: x[k:][k:].fill_(3),
    "by an integer": lambda x, k: x[int(k):].fill_(4),
    "backwards": lambda x, k: x[::-1][k:].sub_(1),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_slices_by_values_are_views_that_are_written_through(name, dtype):
    numbers = np.arange(24).reshape(4, 6)
    eager, compiled = (ag.tensor(numbers, dtype=dtype) for _ in range(2))
    step = ag.jit(lambda x, k: VIEWS[name](x, k))
    np.testing.assert_array_equal(step(compiled, ag.tensor(1)), VIEWS[name](eager, ag.tensor(1)))
    np.testing.assert_array_equal(compiled, eager)
    assert not np.array_equal(eager, numbers)


def test_slices_by_values_see_what_is_written_into_their_base():
    def f(x, k):
        y, kept = x[k:], x[k:].clone()
        x[2] = 0
        return y, kept

    x = np.arange(12.0).reshape(4, 3)
    for a, b in zip(ag.jit(f)(ag.tensor(x), ag.tensor(1)), f(ag.tensor(x), ag.tensor(1)),
                    strict=True):
        np.testing.assert_array_equal(a, b)

    def g(x, k):
        z = x * 2
        y = z[k:]
        y *= y
        return (z * z).sum()

    x, k = ag.tensor([1.0, 2.0, 3.0, 4.0]), ag.tensor(1)
    np.testing.assert_allclose(ag.jit(ag.grad(g))(x, k), ag.grad(g)(x, k))


def test_numbers_that_may_have_any_value_are_not_compared_in_traces():
    """The text of the comparison, which there is none of, was looked for."""
    rounded = ag.jit(lambda x, n: ag.around(x, decimals=n))
    for decimals, wanted in ((1, 1.2), (2, 1.23), (0, 1.0), (-1, 0.0)):
        assert rounded(ag.tensor([1.234], dtype="float64"), ag.tensor(decimals)).item() == wanted


def test_windows_whose_sizes_are_values_are_versions() -> None:
    """A value of a trace stayed in the operation, and was asked for when the trace was over."""
    windows = ag.jit(lambda x, n, step: (ag.unfold(x, 0, n, step), ag.sliding_window_view(x, n)))
    for size, step in ((3, 1), (2, 4), (3, 1)):
        found, view = windows(ag.tensor(A), ag.tensor(size), ag.tensor(step))
        wanted = np.lib.stride_tricks.sliding_window_view(A, size)
        np.testing.assert_array_equal(found, wanted[::step])
        np.testing.assert_array_equal(view, wanted)
    with pytest.raises(ag.TraceError, match="needs the value of"):
        ag.unfold(x, 0, n)
