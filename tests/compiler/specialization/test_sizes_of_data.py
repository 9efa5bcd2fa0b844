"""Results whose size is data: eager against compiled, for some, one, none and all elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.compilation.compiled import Compiled
from tests.compiler.specialization.sizes_of_data import (
    MATRICES,
    PLACES,
    VECTORS,
    M,
    V,
    arrays,
    operands,
)

PROGRAMS = {**VECTORS, **MATRICES, **PLACES}
#: Programs that need an element have versions of their own for none and for one.
FEW = 5


def _same(made: Any, program: Any, way: Any = lambda x: x) -> None:
    """A compiled function against the eager one, which may refuse an operand."""
    for x in operands(program):
        try:
            expected = arrays(way(ag.tensor(x)))
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                made(ag.tensor(x))
            continue
        for a, b in zip(arrays(made(ag.tensor(x))), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=str(x), strict=True)


def _variable(program: Any) -> Any:
    return T.vector("v") if program.__code__.co_varnames[1] == "v" else T.matrix("m")


@pytest.mark.share(18)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    program = PROGRAMS[name]
    compiled = ag.jit(lambda x: program(ag, x))
    _same(compiled, program, lambda x: program(ag, x))
    versions = compiled.explain().count("trace")
    _same(compiled, program, lambda x: program(ag, x))
    assert compiled.explain().count("trace") == versions <= FEW
    x = _variable(program)
    _same(ag.function([x], program(T, x)), program, lambda x: program(ag, x))


@pytest.mark.share(24)
@pytest.mark.parametrize("name", {**VECTORS, **MATRICES})
def test_gradients(name: str) -> None:
    program = PROGRAMS[name]

    def loss(t: Any, x: Any) -> Any:
        y = program(t, x)
        return (y * y * 0.5).sum() + (y * x.sum()).sum()

    gradient = ag.grad(lambda x: loss(ag, x))
    _same(ag.jit(gradient), program, gradient)
    x = _variable(program)
    _same(ag.function([x], T.grad(loss(T, x), x)), program, gradient)


BEGIN = ag.tensor(0.0, dtype="float64")
BODIES: dict[str, Any] = {
    "scan": lambda f, x: ag.scan(lambda c, _: (c + f(x), c), BEGIN, ag.arange(3)),
    "while": lambda f, x: ag.while_loop(lambda c: c < 9, lambda c: c + 1 + f(x), BEGIN),
    "map": lambda f, x: ag.map(lambda r: r + f(x), x),
    "branch": lambda f, x: ag.cond(x.sum() > 0, lambda: f(x), lambda: -f(x)),
    "scan in a branch": lambda f, x: ag.cond(
        x.sum() > 0, lambda: BODIES["scan"](f, x)[0], lambda: -f(x)),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("body", BODIES)
def test_bodies_select_from_outside(body: str) -> None:
    """What data of a body decides, which is computed outside before the loop."""
    for f in (lambda x: ag.max(x[x > 0] * 2, initial=1), lambda x: ag.unique(x * x).sum() ** 2,
              lambda x: ag.sort(x[x > 0][x[x > 0] < 3]).sum() ** 2):
        compiled = ag.jit(lambda x, f=f: BODIES[body](f, x))
        for x in (V, -V, V * 0):
            found, expected = compiled(ag.tensor(x)), BODIES[body](f, ag.tensor(x))
            for a, b in zip(arrays(found), arrays(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, strict=True)


@pytest.mark.native_plans
def test_one_version_for_all_sizes() -> None:
    for program in (VECTORS["mask"], VECTORS["sort"], PLACES["nonzero"], VECTORS["unique"],
                    VECTORS["joined"]):
        compiled = ag.jit(lambda x, p=program: p(ag, x))
        for x in operands(VECTORS["mask"]):
            compiled(ag.tensor(x))
        assert compiled.explain().count("trace") == 1, compiled.explain()
    assert ag.jit(lambda x: x[x > 0].sum())(ag.tensor(V)) == V[V > 0].sum()


@pytest.mark.native_plans
def test_operands_of_other_sizes_take_no_new_code(monkeypatch: pytest.MonkeyPatch) -> None:
    made, compile_ = [], Compiled.__post_init__
    monkeypatch.setattr(Compiled, "__post_init__", lambda self: (made.append(self), compile_(self)))
    for program in (VECTORS["mask of a mask"], VECTORS["unique"], MATRICES["rows"]):
        compiled = ag.jit(lambda x, p=program: p(ag, x))
        for n in (10, 11, 20, 35, 17, 40, 64):
            if n == 35:
                made.clear()
            x = ag.tensor(np.cos(np.arange(n * 3.0)).reshape((n, 3) if program in
                          MATRICES.values() else -1) * 3)
            np.testing.assert_allclose(compiled(x), program(ag, x), rtol=1e-12)
        assert not made


def test_what_is_dear_is_computed_once() -> None:
    w = ag.tensor(np.cos(np.arange(12.0)).reshape(3, 4))

    def program(x: Any) -> Any:
        h = x @ w
        return ag.sort(h[h > 0]) * h.sum()

    compiled = ag.jit(program)
    x = ag.tensor(np.sin(np.arange(15.0)).reshape(5, 3))
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(compiled(x * sign), program(x * sign), rtol=1e-12)
    assert "matmul" not in str(compiled.graph)
    slope = ag.grad(lambda x: (program(x) ** 2).sum())
    np.testing.assert_allclose(ag.jit(slope)(x), slope(x), rtol=1e-12)


def test_what_is_summed_needs_no_size() -> None:
    rows = ag.vmap(lambda r: ag.mean(r[r > 0]))(ag.tensor(V[None] * [[1.0], [2.0]]))
    np.testing.assert_allclose(rows, [V[V > 0].mean(), 2 * V[V > 0].mean()])
    steps = ag.jit(lambda x: ag.scan(lambda c, r: (c + x[x > r].sum(), c), 0.0 * x[0], x)[0])
    np.testing.assert_allclose(steps(ag.tensor(V)), sum(V[r < V].sum() for r in V))


def test_changes_under_masks() -> None:
    def program(x: Any, y: Any) -> Any:
        x[x > 1] = y[y > 1]
        x[x < 0] += 10.0
        return ag.index_put(x, x > 12, 0.0), ag.index_put(x, x > 3, 1.0, accumulate=True)

    compiled = ag.jit(program)
    for y in (V + 0.25, V[::-1] + 0.25):
        mine, theirs = ag.tensor(V), ag.tensor(V)
        for a, b in zip(compiled(mine, ag.tensor(y)), program(theirs, ag.tensor(y)), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(mine, theirs)
    with pytest.raises(ValueError, match="rows, but the mask does not hold at as many"):
        compiled(ag.tensor(V), ag.tensor(V + 9))
    x, m = T.vector("x"), T.matrix("m")
    changed = ag.function([x, m], [
        T.set_subtensor(x[x > 2], 9.0), T.inc_subtensor(x[x > 2], x[x > 2]),
        T.set_subtensor(m[1:, m[0] > 0], 9.0),
        T.grad((T.set_subtensor(x[x > 2], 1.0) ** 2).sum(), x),
    ])
    put, added, columns, slope = changed(V, M)
    np.testing.assert_array_equal(put, np.where(V > 2, 9.0, V))
    np.testing.assert_array_equal(added, np.where(V > 2, 2 * V, V))
    expected = M.copy()
    expected[1:, M[0] > 0] = 9.0
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(slope, np.where(V > 2, 0, 2 * V))


@pytest.mark.parametrize("f", [
    lambda v: ag.cumsum(v[v > 0]).sum(), lambda v: ag.unique(v).shape[0] * v.sum(),
    lambda v: ag.sort(v[v > 0])[0]])
def test_examples_that_find_sizes_of_their_own_are_computed_one_by_one(f: Any) -> None:
    rows, x, m = ag.tensor([V, -V + 2]), T.vector("x"), T.matrix("m")
    wanted, slopes = [f(r) for r in rows], [ag.grad(f)(r) for r in rows]
    compiled = ag.function([x], f(x))
    np.testing.assert_allclose(ag.vmap(compiled)(rows), wanted, rtol=1e-6)
    ys = ag.vmap(f)(m)
    values, found = ag.function([m], [ys, T.grad(ys.sum(), m)])(rows)
    np.testing.assert_allclose(values, wanted, rtol=1e-6)
    np.testing.assert_allclose(found, slopes, rtol=1e-6)


def test_examples_must_have_one_size() -> None:
    with pytest.raises(ag.TraceError, match="differs between the examples"):
        ag.vmap(lambda r: ag.cumsum(r[r > 0]))(ag.tensor([V, V * 0]))
    with pytest.raises(ag.TraceError, match="differs between the examples"):  # draws once
        ag.vmap(lambda r: ag.cumsum((r + ag.rand(r.shape))[r > 0]).sum())(ag.tensor([V, -V + 2]))
    with pytest.raises(ag.TraceError, match="a mask selects differs between the examples"):
        ag.vmap(lambda r: r[r > 0])(ag.ones((2, 3)))
    with pytest.raises(ag.TraceError, match="differs between the examples"):
        ag.jit(ag.vmap(ag.unique))(ag.ones((2, 3)))
    m = ag.tensor(V > 0)
    for way in (ag.vmap, lambda f: ag.jit(ag.vmap(f))):
        found = way(lambda r: ag.sort(r[m]))(ag.tensor([V, -V]))
        np.testing.assert_array_equal(found, [np.sort(V[V > 0]), np.sort(-V[V > 0])])
        found = way(_sum_behind_a_change)(ag.tensor([V, -V]))
        np.testing.assert_allclose(found, [_sum_behind_a_change(ag.tensor(v)) for v in (V, -V)])
    with (pytest.warns(RuntimeWarning, match="Sum it up there"),
          pytest.raises(ag.ShapeError, match=r"shapes \(1,\) and \(5,\) differ")):  # eagerly, too
        ag.jit(lambda x: ag.scan(lambda c, r: (c, ag.sort(x[x > r])), 0.0, x))(ag.tensor(V))


def test_recorded_calls() -> None:
    w = ag.tensor(V, requires_grad=True)
    compiled = ag.jit(lambda x: (w[x > 0] ** 2)[:2].sum())
    for x in (V, -V):
        w.grad = None
        compiled(ag.tensor(x)).backward()
        expected = np.where((x > 0) & (np.cumsum(x > 0) <= 2), 2 * V, 0)
        np.testing.assert_array_equal(w.grad, expected)


def test_a_count_of_results_of_other_sizes_is_a_size() -> None:
    x = T.dvector("x")
    tiled = ag.tile(x, (ag.unique(x) > 0.4).sum())
    f = ag.function([x], [tiled, T.grad(tiled.sum(), x)])
    g = f.copy()
    for value, n in (([1.0, 1.0, 0.5], 2), ([0.0, 1.0, -1.0], 1), ([0.0], 0)):
        for found, slope in (f(value), g(value)):
            np.testing.assert_array_equal(found, np.tile(value, n))
            np.testing.assert_array_equal(slope, np.full(len(value), n))


def test_steps_of_jitted_loops_find_sizes() -> None:
    def loop(x: Any) -> Any:
        return ag.scan(lambda c, r: (c + x[x > r].sum() / (x[x > c].shape[0] + 1), c), 0.0, x)[0]

    compiled, slope = ag.jit(loop), ag.jit(ag.grad(loop))
    for v in (V, -V[:3]):
        x = ag.tensor(v)
        np.testing.assert_allclose(compiled(x), loop(x), rtol=1e-6)
        np.testing.assert_allclose(slope(x), ag.grad(loop)(x), rtol=1e-6, atol=1e-9)
    assert compiled.specialisations
    with pytest.warns(RuntimeWarning, match="Sum it up there"):  # medians need to know sizes
        found = ag.jit(lambda x: ag.map(lambda r: ag.median(x[x >= r]), x))(ag.tensor(V))
    np.testing.assert_allclose(found, [np.median(V[v <= V]) for v in V])


def _sum_behind_a_change(r: Any) -> Any:
    found = ag.cumsum(r[r > 0])[-1:].sum()
    r[r == r] += 1
    return found + r.sum()
