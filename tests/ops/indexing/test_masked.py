"""``x[mask]`` in compiled code: changed, put back and summed up as eagerly, gradients too."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

MASK = np.array([[True, False, True], [False, True, False]])


def added(x: Any, m: Any, v: Any) -> Any:
    x[m] += v[0]
    return x


def scaled_by_itself(x: Any, m: Any, v: Any) -> Any:
    x[m] *= x[m]
    return x


def as_many_values(x: Any, m: Any, v: Any) -> Any:
    x[m] = v
    return x


def as_many_values_added(x: Any, m: Any, v: Any) -> Any:
    x[m] -= v * 2
    return x


def from_an_expression(x: Any, m: Any, v: Any) -> Any:
    x[x > 1.5] = (2 * x[x > 1.5] - 1) / v[1]
    return x


def roots_of_what_has_some(x: Any, m: Any, v: Any) -> Any:
    x = x - 2.5
    x[x > 0] = x[x > 0].sqrt().log()
    return x


def rows(x: Any, m: Any, v: Any) -> Any:
    x[m[:, 0]] = v
    return x


def rows_of_rows(x: Any, m: Any, v: Any) -> Any:
    x[m[:, 0]] += v.reshape(1, 3)
    return x


def columns(x: Any, m: Any, v: Any) -> Any:
    x[:, m[0]] *= v[2]
    return x


def of_one_row(x: Any, m: Any, v: Any) -> Any:
    x[1, ~m[0]] = 7.0
    return x


def of_a_view(x: Any, m: Any, v: Any) -> Any:
    y = x.T[::-1]
    y[m.T] -= 3
    return x


def other_entries(x: Any, m: Any, v: Any) -> Any:
    x[m] = ag.stack([x, 2 * x])[1][m] if False else x[m] ** 2
    return x


def sums(x: Any, m: Any, v: Any) -> Any:
    part = x[m] * v[0]
    return part.sum() + x[m].mean() * 3 + (x[m] > 1).any() + (x[m] + 1).prod()


def pure(x: Any, m: Any, v: Any) -> Any:
    return ag.index_put(x, m, v) + ag.index_put(x, ~m, v, accumulate=True)


def nothing(x: Any, m: Any, v: Any) -> Any:
    x[x > 100] += v[0]
    return x


PROGRAMS = [
    added, scaled_by_itself, as_many_values, as_many_values_added, from_an_expression,
    roots_of_what_has_some, rows, rows_of_rows, columns, of_one_row, of_a_view, other_entries,
    sums, pure, nothing,
]


def operands() -> tuple[Any, ...]:
    x = np.arange(6.0).reshape(2, 3) + 0.25
    return ag.tensor(x), ag.tensor(MASK), ag.tensor([2.0, -3.0, 0.5], dtype="float64")


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_as_eagerly(program: Any) -> None:
    expected, x = program(*operands()), operands()
    compiled = ag.jit(program)
    for _ in range(2):
        x = operands()
        np.testing.assert_allclose(compiled(*x), expected, rtol=1e-14)
    changed = operands()
    program(*changed)
    np.testing.assert_allclose(x[0], changed[0], rtol=1e-14)


@pytest.mark.share(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program: Any) -> None:
    weights = ag.tensor(np.cos(np.arange(6.0)).reshape(2, 3))

    def loss(x: Any, m: Any, v: Any) -> Any:
        return (program(x * 1, m, v) * weights).sum()

    gradient = ag.grad(loss, argnums=(0, 2), disconnected="zero")
    for a, b in zip(ag.jit(gradient)(*operands()), gradient(*operands()), strict=True):
        assert np.isfinite(b).all()
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_number_of_values_is_checked_when_it_is_known() -> None:
    compiled = ag.jit(as_many_values)
    x, m, v = operands()
    assert compiled(x, m, v)[0, 0] == 2
    with pytest.raises(ValueError, match=r"setitem.*3 rows, but the mask does not hold at as many"):
        compiled(x, ~m & False, v)
    with pytest.raises(ag.ShapeError, match=r"the value has shape \(2, 3\), the indexed region"):
        ag.jit(lambda x, m: x.__setitem__(m, x))(x, m)


@pytest.mark.parametrize("use", [
    lambda s: s, lambda s: s.reshape(-1), lambda s: ag.sum(s, 0), lambda s: s[0], ag.sort,
    lambda s: ag.concat([s, s]), lambda s: s.max(), lambda s: s.mean(axis=0),
    lambda s: ag.exp(s) * ag.arange(s.shape[0]),
])
def test_what_has_a_size_in_calls_has_none_for_each_example(use: Any) -> None:
    def program(x: Any, m: Any) -> Any:
        part = x[m]
        return use(part)

    x, m = operands()[:2]
    np.testing.assert_allclose(ag.jit(program)(x, m), program(x, m), rtol=1e-14)
    line = program.__code__.co_firstlineno + 1
    if use(ag.ones(2)).shape == ():
        return  # sums work on all elements
    with pytest.raises(ag.TraceError) as caught:
        ag.vmap(program)(x, m)
    assert re.match(r"getitem\(float64\[[36]\], bool\[[36]\]\): how many", str(caught.value))
    assert f"{__file__}:{line}" in str(caught.value)


def test_other_masks_give_as_many_values() -> None:
    def program(x: Any, m: Any) -> Any:
        x[m] = x[~m] + 1
        return x

    compiled = ag.jit(program)
    np.testing.assert_allclose(compiled(*operands()[:2]), program(*operands()[:2]), rtol=1e-14)
    for way in (program, compiled):
        with pytest.raises(ValueError):
            way(operands()[0], ag.tensor(MASK) & ag.tensor(MASK[0]))
    with pytest.raises(IndexError, match=r"the mask has shape \(3, 2\)"):
        ag.jit(lambda x, m: x[m.T].sum())(*operands()[:2])


def test_dtypes_stay() -> None:
    def program(x: Any, m: Any) -> Any:
        x[m] += 1.5
        return x

    for way in (program, ag.jit(program)):
        with pytest.raises(ag.DTypeError, match="does not fit into int64"):
            way(ag.ones((2, 3), dtype="int64"), ag.tensor(MASK))


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("shape", [(0,), (0, 4), "columns"])
def test_masks_without_elements_choose_nothing_of_axes_of_any_size(n: int, shape: Any) -> None:
    """As in NumPy, read, written and added to, eagerly and compiled."""
    a = np.arange(n * 4.0).reshape(n, 4)
    mask = np.zeros((n, 0) if shape == "columns" else shape, bool)

    def written(x: Any, m: Any) -> Any:
        y = x + 0
        y[m] = 3.0
        return y, ag.index_put(x, m, 2.0, accumulate=True), x[m].sum()

    for wrap in (lambda f: f, ag.jit):
        assert wrap(lambda x, m: x[m])(ag.tensor(a), ag.tensor(mask)).shape == a[mask].shape
        new, more, total = wrap(written)(ag.tensor(a), ag.tensor(mask))
        np.testing.assert_array_equal(new.numpy(), a)
        np.testing.assert_array_equal(more.numpy(), a)
        assert float(total) == 0


@pytest.mark.share(2)
@pytest.mark.parametrize("reduce", [
    lambda x: ag.max(x[x > 0], initial=1.0), lambda x: x[x > 0].min(), lambda x: x[x > 0].mean(),
    lambda x: ag.prod(x[x < 1] * 2), lambda x: (x[x > 0] > 1).any() * 1.0])
@pytest.mark.parametrize("loop", [
    lambda body: ag.fori_loop(0, 3, lambda i, c: c + body(i), 0.0),
    lambda body: ag.scan(lambda c, i: (c + body(i), c), 0.0, ag.arange(3))[0],
    lambda body: ag.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + body(c[0])),
                               (ag.tensor(0), 0.0))[1],
    lambda body: ag.cond(body(1) > 0, lambda: body(2), lambda: body(0))])
@pytest.mark.parametrize("changing", [False, True])
def test_reductions_in_loops_of_examples(reduce: Any, loop: Any, changing: bool) -> None:
    """What a mask selects in a body that is traced within ``vmap`` has no size there."""
    rows = ag.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, 4.0]])

    def program(x: Any) -> Any:
        return loop(lambda i: reduce(x + i if changing else x))

    wanted = [float(program(row)) for row in rows]
    np.testing.assert_allclose(ag.vmap(program)(rows).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(ag.jit(ag.vmap(program))(rows).numpy(), wanted, rtol=1e-6)


#: Of elements ``m`` that a mask selects around a loop or branch, whose body is the first to look.
IN_BODIES = {
    "one of them": lambda m, v: ag.fori_loop(
        0, 3, lambda i, c: c + ag.cumsum(m * 2)[0], v.sum()),
    "in a branch": lambda m, v: ag.cond(v[0] > 0, lambda: m[::-1][0], lambda: v[0]),
    "carried and read": lambda m, v: ag.scan(
        lambda c, i: (c * 2 + m, c.sum()), m, ag.arange(3.0))[1].sum(),
    "until": lambda m, v: ag.while_loop(
        lambda s: s[1].sum() < 100, lambda s: (s[0] + 1, s[1] * 2), (0, m))[1].sum(),
    "in a loop in a loop": lambda m, v: ag.fori_loop(0, 3, lambda i, c: ag.fori_loop(
        0, 2, lambda j, d: d + m[j], c), v.sum()),
    "for each example": lambda m, v: ag.vmap(
        lambda a: ag.fori_loop(0, 2, lambda i, c: c + m[0] * a, a))(v).sum(),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", IN_BODIES)
def test_elements_that_a_body_is_the_first_to_look_at(name):
    def f(v):
        m = v[v > 0]
        return IN_BODIES[name](m, v), m

    x, values = T.dvector("x"), np.array([1.5, -2.0, 3.0])
    t = ag.tensor(values, requires_grad=True)
    wanted, elements = f(t)
    wanted.backward()
    y, m = f(x)
    for found in (ag.function([x], [y, m, T.grad(y, x)])(values),
                  ag.jit(lambda v: (*f(v), ag.grad(lambda v: f(v)[0])(v)))(ag.tensor(values))):
        for a, b in zip(found, (wanted.detach(), elements.detach(), t.grad), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)


@pytest.mark.parametrize("shape, count, holds", [
    ((0, 4), 0, True), ((2, 0), 0, False), ((3,), 0, False), ((3,), 3, True), ((3,), 1, False)])
def test_masks_that_hold_nowhere_take_no_values(shape, count, holds):
    def f(x, m, v):
        x, y = x * 1, x * 2
        x[m], y[m] = v, y[m] + v
        return x, y

    given = ag.ones(shape), ag.full(shape, holds), ag.zeros(count)
    for e, c in zip(f(*given), ag.jit(f)(*given), strict=True):
        assert e.shape == c.shape and e.tolist() == c.tolist()
    with pytest.raises(ValueError, match=r"2 rows|has shape"):
        ag.jit(lambda x, m, v: x.__setitem__(m, v))(ag.zeros(3), ag.full((3,), False), ag.ones(2))


@pytest.mark.parametrize("shape", [(2, 0), (2, 1), (3, 2)])
def test_leading_ones_of_values_under_a_mask_are_dropped(shape):
    def f(x, v):
        x = x * 1
        x[x > 5] = v
        return x

    x = ag.ones(shape)
    x[:1] = 9
    v = ag.arange(float(shape[1])).reshape(1, -1)
    np.testing.assert_array_equal(ag.jit(f)(x, v), f(x, v))
