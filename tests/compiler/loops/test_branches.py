"""``switch`` and ``associative_scan``, eagerly and compiled."""

import numpy as np
import pytest

import agnesi as ag

BRANCHES = [ag.sin, ag.cos, ag.negative, lambda x: x * x]
SLOPES = [ag.cos, lambda x: -ag.sin(x), lambda x: ag.tensor(-1.0), lambda x: 2 * x]


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3, 9])
def test_switch_runs_one_branch(index):
    x, chosen = ag.tensor(0.5), min(max(index, 0), 3)
    expected, slope = BRANCHES[chosen](x).item(), SLOPES[chosen](x).item()
    run = ag.jit(lambda i, x: ag.switch(i, BRANCHES, x))
    change = ag.jit(ag.grad(lambda x, i: ag.switch(i, BRANCHES, x)))
    for found in (ag.switch(index, BRANCHES, x), run(ag.tensor(index), x)):
        assert found.item() == pytest.approx(expected)
    assert change(x, ag.tensor(index)).item() == pytest.approx(slope)
    many = ag.vmap(lambda i: ag.switch(i, BRANCHES, x))(ag.tensor([index, 1]))
    assert many.tolist() == pytest.approx([expected, BRANCHES[1](x).item()])


def recurrence(before, after):
    """The composition of ``h -> a * h + b``."""
    return before[0] * after[0], after[0] * before[1] + after[1]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 13])
def test_associative_scan_combines_in_order(n):
    a, b = (np.random.default_rng(i).uniform(0.5, 1, (2, n)) for i in range(2))
    h, expected = np.zeros(2), []
    for i in range(n):
        h = a[:, i] * h + b[:, i]
        expected.append(h)
    expected = np.array(expected).T.reshape(2, n)

    def last(a, b, reverse=False):
        return ag.associative_scan(recurrence, (a, b), reverse=reverse, axis=1)[1]

    for run in (last, ag.jit(last)):
        np.testing.assert_allclose(run(ag.tensor(a), ag.tensor(b)), expected)
    turned = last(ag.tensor(a[:, ::-1].copy()), ag.tensor(b[:, ::-1].copy()), reverse=True)
    np.testing.assert_allclose(turned.numpy()[:, ::-1], expected)


def test_associative_scan_has_gradients():
    a, b = ag.tensor([0.5, 0.25, 2.0], dtype="float64"), ag.ones(3, dtype="float64")
    slope = ag.grad(lambda a: ag.associative_scan(recurrence, (a, b))[1].sum())
    for run in (slope, ag.jit(slope)):
        np.testing.assert_allclose(run(a), [0.0, 3.0, 1.25])


def test_what_is_refused():
    with pytest.raises(TypeError, match="no branches"):
        ag.switch(0, [])
    with pytest.raises(TypeError, match="integer scalar, not float32"):
        ag.switch(0.5, BRANCHES, ag.ones(()))
    with pytest.raises(ag.ShapeError, match="one size on axis 0"):
        ag.associative_scan(ag.add, (ag.ones(2), ag.ones(3)))
    with pytest.raises(ag.ShapeError, match="a nest like its operands"):
        ag.associative_scan(lambda a, b: a.sum(), ag.ones(4))


@pytest.mark.share(3)
@pytest.mark.parametrize("branches", [
    (lambda x: x[1:] * 2, lambda x: x),
    (lambda x: x[x > 1], lambda x: ag.concat([x, x * 3])),
    (lambda x: ag.repeat(x, ag.arange(x.shape[0])), lambda x: x[::2]),
    (lambda x: ag.outer(x, x[:2]), lambda x: ag.outer(x[1:], x).sin()),
], ids=["part", "masked", "repeated", "matrix"])
def test_branches_may_return_what_differs_in_size(branches):
    def chosen(x, way):
        return ag.cond(way > 0, *branches, x)

    def slope(x, way):
        return ag.grad(lambda x: (chosen(x, way) ** 2).sum())(x)

    x, way = ag.symbolic.fvector("x"), ag.symbolic.lscalar("way")
    declared = ag.function([x, way], chosen(x, way))
    moved = ag.function([x, way], ag.symbolic.grad((chosen(x, way) ** 2).sum(), x))
    compiled, changed = ag.jit(chosen), ag.jit(slope)
    for n in (2, 4):
        given = ag.arange(n * 1.0)
        for way in (1, -1):
            wanted, by = chosen(given, way).numpy(), slope(given, way).numpy()
            for f in (declared, compiled):
                np.testing.assert_allclose(f(given, ag.tensor(way)), wanted, rtol=1e-6)
            for f in (moved, changed):
                np.testing.assert_allclose(f(given, ag.tensor(way)), by, rtol=1e-6)


def test_floats_in_branches_of_declared_graphs_are_those_around_them():
    v, i = ag.symbolic.dvector("v"), ag.symbolic.lvector("i")
    for then, otherwise in ((lambda: i * 1.0, lambda: i / 3), (lambda: i.mean(), lambda: v.sum())):
        assert ag.cond(v[0] > 0, then, otherwise).dtype == "float64"
    k = ag.tensor([1, 2])
    f = ag.jit(lambda x: ag.cond(x[0] > 0, lambda: k * 1.0, lambda: k / 3))
    assert f(ag.ones(2)).dtype == "float32"
