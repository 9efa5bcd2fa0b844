"""Each operation whose result has a size that data decides, in each way to run it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import toposort
from tests.compiler.specialization.births import (
    BIRTHS,
    REDUCTIONS,
    VALUES,
    WAYS,
    outcome,
    reduced_in_steps,
)

#: Sizes that no operand bounds.
UNBOUNDED = frozenset(("repeat", "repeat(x, n)", "zeros((n,))", "full((n, 2))"))


@pytest.mark.share(20)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("birth", BIRTHS)
def test_ways_agree_with_eager_or_say_what_to_write(birth: str, way: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind, why = outcome(birth, way)
    assert len(caught) == (way == "scan unreduced" and birth in UNBOUNDED)
    if birth == "set_subtensor" or way != "vmap unreduced":
        assert kind == "same", why
        return
    assert kind == "refused", why
    assert "between the examples" in why and "sum it up" in why and "ag.where" in why
    assert "births.py:" in why
    assert why.count("TraceError") == 1


@pytest.mark.share(40)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("birth", BIRTHS)
def test_steps_reduce_what_only_they_know_the_size_of(birth: str, reduction: str) -> None:
    for found, expected in reduced_in_steps(birth, reduction):
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_size_without_a_bound_in_a_body_is_found_by_steps_under_jit_and_in_graphs() -> None:
    def steps(n: Any) -> Any:
        return ag.scan(lambda c, _: (c + ag.arange(c + n).sum(), c), n, ag.arange(3))[0]
    compiled, n = ag.jit(steps), T.lscalar("n")
    for number in (3, 2):
        assert int(compiled(ag.tensor(number))) == int(steps(ag.tensor(number)))
    assert compiled.specialisations
    assert int(ag.function([n], steps(n))(3)) == int(steps(ag.tensor(3)))


def _per_selected(x: Any, c: Any) -> Any:
    chosen = x[x > c]
    return (chosen * ag.arange(chosen.shape[0])).sum() / (chosen.shape[0] + 1)


def _selecting(**options: Any) -> Any:
    def f(v: Any) -> Any:
        counted = options | ({"length": ag.argmax(v)} if "length" in options else {})
        return ag.scan(lambda c, r: (c * 0.5 + _per_selected(v, c), c * r), v[0], v, **counted)[1]
    return f


def _halves(x: Any) -> Any:
    parts = x * ag.tensor([0.5, 0.25], dtype="float64")
    return parts[ag.abs(parts) > 0.3]


#: Loops of declared graphs whose steps read sizes that only they know.
STEPPED: dict[str, Any] = {
    "scan": _selecting(),
    "reverse": lambda v: ag.scan(lambda c, r: (c * 0.1 + _per_selected(v, r), c + v[:2]),
                                 v[:2], v, reverse=True)[1],
    "until": _selecting(until=lambda c: c > 0.8),
    "until, reverse": _selecting(until=lambda c: c > 0.8, reverse=True),
    "counted, reverse": _selecting(length=None, reverse=True),
    "counted, until": _selecting(length=None, until=lambda c: c > 0.8),
    "while_loop": lambda v: ag.while_loop(
        lambda s: v[v < s[0]].shape[0] > s[1],
        lambda s: (s[0] * 0.5 + _per_selected(v, s[0]), s[1] + 1), (v.max(), ag.argmax(v) * 0))[0],
    "fori_loop": lambda v: ag.fori_loop(
        0, ag.argmax(v), lambda i, c: c * 0.1 + _per_selected(v, c) * i, v[0]),
    "nested": lambda v: ag.scan(lambda c, r: (c + ag.scan(lambda d, q: (
        d * 0.5 + _per_selected(v, d), d), c, v[:2])[0] * r, c), v[0], v[:3])[0],
    "growing": lambda v: ag.while_loop(
        lambda s: s[1] < 3, lambda s: (ag.concat([s[0], v[v > s[1]]]), s[1] + 1),
        (ag.zeros(1, dtype="float64"), ag.tensor(0)))[0],
    "growing by what is read": lambda v: ag.while_loop(
        lambda s: s[0].shape[0] + s[1] < 9,
        lambda s: (ag.concat([s[0], s[0][-1:] * 0.5 + s[0].sum() * 0.1, v[v > 5 + s[0].mean()]]),
                   s[1] + 1), (v[:2] * 0.1, ag.tensor(0)))[0],
    "queue": lambda v: ag.while_loop(lambda s: s[1] < s[0].shape[0], lambda s: (
        ag.concat([s[0], _halves(s[0][s[1]])]), s[1] + 1), (v[:1], ag.tensor(0)))[0],
    "born outside": lambda v: (lambda y: ag.scan(lambda c, r: (
        c * 0.1 + _per_selected(y, c) / y.shape[0], c * r), y[0], y)[1])(v[v > 0]),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("loop", STEPPED)
def test_steps_of_declared_loops_are_called_where_only_they_know_sizes(loop: str) -> None:
    v, f = T.dvector("v"), STEPPED[loop]

    def loss(v: Any) -> Any:
        return (f(v) ** 2).sum()

    def slope(v: Any, g: Any) -> Any:
        return (g * ag.arange(v.shape[0])).sum()
    y, g = f(v), T.grad(loss(v), v)
    compiled = ag.function([v], [y, g, T.grad(slope(v, g), v), T.Rop(y, v, ag.cos(v))])
    for x in VALUES[::2]:
        x = ag.tensor(x)
        wanted = (f(x), ag.grad(loss)(x), ag.grad(lambda x: slope(x, ag.grad(loss)(x)))(x),
                  ag.jvp(f, (x,), (ag.cos(x),))[1])
        for found, expected in zip(compiled(x), wanted, strict=True):
            np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9, atol=1e-12)


def test_a_list_grows_until_its_own_length_ends_the_loop() -> None:
    """Sizes of its steps are told by an input that the step's graph has as a copy."""
    def f(v: Any) -> Any:
        return ag.while_loop(lambda s: s[0].shape[0] + s[1] < 9,
                             lambda s: (ag.concat([s[0], s[0][-1:] * 0.5]), s[1] + 1),
                             (v[:2], ag.tensor(0)))[0]
    v = T.dvector("v")
    np.testing.assert_array_equal(ag.function([v], f(v))(VALUES[0]), f(ag.tensor(VALUES[0])))


def test_steps_that_draw_numbers_carry_their_state() -> None:
    def f(v: Any) -> Any:
        stream = ag.random.Generator(3)
        return T.scan(lambda r, c: c * 0.5 + _per_selected(v, c) + stream.normal(
            size=(), dtype="float64") * r, v, v[0])
    v = T.dvector("v")
    ys, updates = f(v)
    compiled, x = ag.function([v], ys, updates=updates), ag.tensor(VALUES[0])
    found = compiled(x)
    np.testing.assert_allclose(found, f(x)[0].numpy(), rtol=1e-9)
    assert not np.array_equal(compiled(x), found)


def test_steps_that_change_tensors_in_place_carry_them() -> None:
    def f(v: Any) -> Any:
        total = v * 1

        def step(c: Any, r: Any) -> Any:
            total[0] += r * v[v > c].shape[0]
            return c * 0.5 + total[v > c].sum(), total.sum()
        return *ag.scan(step, v[0], v), total
    v, x = T.dvector("v"), ag.tensor(VALUES[0])
    for found, expected in zip(ag.function([v], list(f(v)))(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9)


def test_what_a_step_selects_and_reshapes_has_its_gradient_under_jit() -> None:
    def loss(x: Any) -> Any:
        def step(c: Any, i: Any) -> Any:
            pairs = x[x > c].reshape((-1, 1)) @ ag.ones((1, 2))
            return ag.tanh(pairs.sum() * 0.3 + c), pairs.shape[0]
        c, sizes = ag.scan(step, x[0], ag.arange(4))
        return c * sizes.sum()
    compiled = ag.jit(ag.value_and_grad(loss))
    x = ag.tensor([0.1, -0.5, 0.3, -1.0])
    for a, b in zip(compiled(x), ag.value_and_grad(loss)(x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_a_size_with_a_bound_is_compiled_in_a_body() -> None:
    bound = ag.jit(lambda n: ag.scan(
        lambda c, _: (c + ag.arange(ag.minimum(c + n, 100)).sum(), c), n, ag.arange(3))[0])
    c = 3
    for _ in range(3):
        c += sum(range(min(c + 3, 100)))
    assert int(bound(ag.tensor(3))) == c


@pytest.mark.parametrize("extreme", [ag.max, ag.min])
def test_extremes_with_an_initial_value_need_no_elements(extreme):
    x = ag.tensor([[0.5, 3.0], [np.nan, np.nan]])

    def f(row):
        return extreme(row[row == row], initial=1.0)

    wanted = [f(row).item() for row in x]
    assert ag.vmap(f)(x).tolist() == ag.jit(ag.vmap(f))(x).tolist() == wanted
    assert ag.vmap(f)(ag.zeros((3, 0))).tolist() == [1.0] * 3
    with pytest.raises(ValueError, match=r"there is no (max|min)"):
        ag.vmap(lambda row: extreme(row[row == row]))(x)


LISTS = {
    "behind": lambda x: lambda c: (c[0] + 1, ag.concat([c[1], x[x > c[0] * 0.3]])),
    "before": lambda x: lambda c: (c[0] + 1, ag.concat([x[x > c[0] * 0.3], c[1]])),
    "slices": lambda x: lambda c: (c[0] + 1, ag.concat([c[1], x[c[0]:c[0] + 2]])),
}


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("list_", LISTS)
def test_a_list_grows_by_what_a_step_finds(list_: str, first: int) -> None:
    """However long the list is at first: the concatenation leaves out one that is empty."""
    def grown(x: Any) -> Any:
        return ag.while_loop(lambda c: c[0] < 3, LISTS[list_](x),
                             (ag.tensor(0), x[:first]))[1]

    x = ag.tensor([1.0, 2.0, -1.0, 3.0, 0.5, -2.0])
    expected, slope = grown(x), ag.grad(lambda x: (grown(x) ** 2).sum())(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(ag.jit(grown)(x), expected)
        np.testing.assert_array_equal(
            ag.jit(ag.grad(lambda x: (grown(x) ** 2).sum()))(x), slope)
    v = T.fvector()
    np.testing.assert_array_equal(ag.function([v], grown(v))(x), expected)


def _thinned(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = x[x < x.max()]
    return x


def test_masks_of_masked_elements_make_graphs_in_proportion() -> None:
    few, many = (len(list(toposort([graph_node(_thinned(T.dvector(), n).sum())]))) for n in (5, 10))
    assert many < 3 * few


@pytest.mark.parametrize("steps", [2, 3, 4, 7])
def test_masks_of_masked_elements_agree(steps: int) -> None:
    x = np.random.default_rng(steps).permutation(np.arange(12.0))
    v = T.dvector()
    y = _thinned(v, steps)
    values, slopes = ag.function([v], [y, T.grad((y * y).sum(), v)])(x)
    jitted = ag.jit(lambda x: _thinned(x, steps))(ag.tensor(x))
    assert values.tolist() == jitted.tolist() == _thinned(x, steps).tolist()
    assert slopes.tolist() == np.where(x < 12 - steps, 2 * x, 0).tolist()


def test_loops_that_leave_out_elements_until_few_remain_compile() -> None:
    @ag.jit
    def thinned(x: Any) -> Any:
        while x.shape[0] > 4:
            x = x[x < x.max()]
        return x

    x = np.random.default_rng(0).permutation(np.arange(16.0))
    assert thinned(ag.tensor(x)).tolist() == x[x < 4].tolist()


@pytest.mark.parametrize("mask", [
    [1, 0, 1], [1, 0, 1, 0, 0], [1, 0], [], [0, 1, 0, 1], [0, 0, 0, 0]])
@pytest.mark.parametrize("axis", [None, 1])
def test_compress_takes_a_mask_of_any_length(mask: list[int], axis: int | None) -> None:
    x = np.arange(6.0).reshape(2, 3)[:2 if axis else 1]
    m, c = T.dmatrix(), T.lvector()
    ways = (lambda c, x: ag.compress(c, x, axis), ag.jit(lambda c, x: ag.compress(c, x, axis)),
            ag.function([c, m], T.compress(c, m, axis)))
    given = np.array(mask, "int64")
    for f in ways:
        if len(mask) > 3 and any(mask[3:]):
            with pytest.raises(IndexError):
                f(given, x)
        else:
            np.testing.assert_array_equal(f(given, x), np.compress(mask, x, axis))
