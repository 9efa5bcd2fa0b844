"""Carries of while loops that grow: lists that every step appends to."""

import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def squares(limit):
    def step(carry):
        n, seen = carry
        return n + 1, ag.concat([seen, (n * n)[None]])

    begin = (ag.tensor(0), ag.zeros(0, dtype="int64"))
    return ag.while_loop(lambda carry: carry[0] < limit, step, begin)[1]


def powers(w):
    def step(carry):
        p, seen = carry
        return p * w, ag.concat([seen, p[None]])

    begin = (w, ag.ones(1, dtype=w.dtype))
    return ag.while_loop(lambda carry: carry[0] < 20.0, step, begin)[1]


def test_lists_grow_as_they_do_eagerly():
    f, n = ag.jit(squares), T.lscalar("n")
    g = ag.function([n], squares(n))
    for k in (5, 3, 7, 0, 1, 300):
        expected = [i * i for i in range(k)]
        assert squares(ag.tensor(k)).tolist() == f(ag.tensor(k)).tolist() == expected
        assert g(k).tolist() == expected and f(ag.tensor(k)).dtype == "int64"
    assert len(f.specialisations) <= 5  # its length is a run-time value
    h = ag.jit(lambda k: (squares(k) * 2)[1:].sum() + squares(k).shape[0])
    assert h(ag.tensor(4)) == 2 * (1 + 4 + 9) + 4


def test_gradients_go_through_lists():
    total = lambda w: (powers(w) ** 2).sum()  # noqa: E731
    for value in (2.0, 3.0, 30.0):
        w = ag.tensor(value)
        assert ag.jit(powers)(w).tolist() == powers(w).tolist()
        slope = ag.grad(total)(w)
        np.testing.assert_allclose(ag.jit(ag.grad(total))(w), slope)
        near = [total(ag.tensor(value + h, dtype="float64")).item() for h in (-1e-6, 1e-6)]
        np.testing.assert_allclose((near[1] - near[0]) / 2e-6, slope, rtol=1e-4)


def test_several_lists_of_several_rows():
    def lists(x):
        def step(carry):
            i, rows, numbers = carry
            return i + 1, ag.concat([ag.concat([rows, x * i]), x + i]), ag.concat(
                [numbers, i[None].astype("float32")])

        return ag.while_loop(lambda carry: carry[0] * x.sum() < 10, step,
                             (ag.tensor(0), x, ag.zeros(0)))

    x = ag.tensor([[1.0, 2.0]])
    for found, expected in zip(ag.jit(lists)(x), lists(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def grown(step, begin=None, condition=lambda carry: carry[0] < 4):
    begin = (ag.tensor(0), ag.ones(1)) if begin is None else begin
    return lambda: ag.while_loop(condition, step, begin)


READ = {
    "read": grown(lambda c: (c[0] + 1, ag.concat([c[1], c[1][-1:] * 2]))),
    "carried on": grown(lambda c: (c[0] + c[1].sum(), ag.concat([c[1], ag.ones(1)])),
                        (ag.tensor(0.0), ag.ones(1))),
    "asked for its size": grown(
        lambda c: ag.concat([c, c.sum()[None]]), ag.ones(1), lambda c: c.shape[0] < 4),
    "put behind": grown(lambda c: (c[0] + 1, ag.concat([ag.ones(1), c[1]]))),
    "changed": grown(lambda c: (c[0] + 1, ag.concat([c[1] * 2, ag.ones(1)]))),
}


@pytest.mark.parametrize("name", READ)
def test_lists_that_are_read_while_they_grow_compile(name):
    expected, compiled = READ[name](), ag.jit(READ[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compiled()
    assert "1 specialisation" in compiled.explain()
    for a, b in zip(ag.tree.leaves(found), ag.tree.leaves(expected), strict=True):
        assert a.tolist() == b.tolist()


def test_lists_that_are_read_have_gradients_at_any_size():
    def rows(x):
        return ag.while_loop(lambda c: c[0] < 2, lambda c: (
            c[0] + 1, ag.concat([c[1], ag.tanh(c[1].mean(0, keepdims=True) + c[0])])),
            (ag.tensor(0), x))[1]

    def slope(x):
        return ag.grad(lambda x: (rows(x) ** 2).sum())(x)

    compiled = ag.jit(slope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (2, 3):
            x = ag.tensor(np.linspace(0, 1, 2 * n).reshape(n, 2))
            np.testing.assert_allclose(compiled(x), slope(x), rtol=1e-12)


REFUSED = {
    "indexed by a value": (
        grown(lambda c: (c[0] + 1, ag.concat([c[1], c[1][c[0]][None]]))), "is read in the loop"),
    "random": (grown(lambda c: (c[0] + 1, ag.concat([c[1], ag.rand(1)]))), "the loop runs twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_loops_whose_list_does_more_than_grow_run_eagerly(name):
    loop, told = REFUSED[name]
    ag.manual_seed(0)
    expected = loop()
    ag.manual_seed(0)
    with pytest.warns(RuntimeWarning, match=rf"eagerly, for init.* {told}(.|\n)*test_growing"):
        found = ag.jit(loop)()
    for a, b in zip(ag.tree.leaves(found), ag.tree.leaves(expected), strict=True):
        assert a.tolist() == b.tolist()


APPENDED = {
    "a row": lambda v, i: v[:1] * i, "a vector": lambda v, i: v * i,
    "what a mask selects": lambda v, i: v[v > 0] * i, "what another one did": None,
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", APPENDED)
def test_lists_of_open_sizes_grow(name):
    def f(v):
        begin = v[v > 0] if APPENDED[name] is None else v[:1]
        rows = APPENDED[name] or (lambda v, i: begin * i)
        return ag.while_loop(lambda s: s[0] < 3, lambda s: (
            s[0] + 1, ag.concat([s[1], rows(v, s[0])])), (ag.tensor(0), begin))[1]

    x = ag.symbolic.dvector("x")
    y = f(x)
    call = ag.function([x], [y, ag.symbolic.grad((y ** 2).sum(), x)])
    for values in ([1.0, -2.0, 3.0], [2.0, 4.0]):
        t = ag.tensor(np.array(values), requires_grad=True)
        wanted = f(t)
        (wanted ** 2).sum().backward()
        found, slope = call(values)
        np.testing.assert_allclose(found, wanted.detach())
        np.testing.assert_allclose(slope, t.grad)


def test_lists_that_grow_in_steps_of_another_loop_are_run_eagerly():
    def sums(x):
        return ag.map(lambda v: squares(v).sum(), x)
    with pytest.warns(RuntimeWarning, match="eagerly, for the number of steps is computed in the"):
        assert ag.jit(sums)(ag.tensor([3, 4])).tolist() == sums(ag.tensor([3, 4])).tolist()


def test_other_changes_of_shape_are_refused():
    for step in (lambda c: c[1:], lambda c: c[None], lambda c: ag.zeros((c.shape[0], 2))):
        with pytest.raises(ag.ShapeError, match="the shape must stay"):
            ag.while_loop(lambda c: c.sum() > 1, step, ag.ones(3))
    with pytest.raises(ag.ShapeError, match="may be added, not taken away; carry all 3 and how"):
        ag.while_loop(lambda c: c.sum() > 1, lambda c: c[1:], ag.ones(3))
    for step in (lambda c: c[1:], lambda c: ag.zeros((c.shape[0], 2))):
        with pytest.raises(ag.ShapeError, match="the shape must stay"):
            ag.jit(lambda x, step=step: ag.while_loop(lambda c: c.sum() > 1, step, x))(ag.ones(3))
    with pytest.raises(ag.TraceError, match="differs between the examples"):
        ag.vmap(squares)(ag.tensor([3, 4]))


@pytest.mark.parametrize("counts", [(2, 1, 5), (0, 3, 0, 4)])
def test_gradients_through_lists_that_are_read_hold_for_other_counts_too(counts):
    x, n = T.dvector(), T.lscalar()

    def step(carry):
        i, rows = carry
        return i + 1, ag.concat([rows, (rows[-1] * 0.5)[None]])

    rows = ag.while_loop(lambda carry: carry[0] < n, step, (ag.tensor(0), x))[1]
    slope = ag.function([x, n], T.grad(rows.sum(), x))
    for count in counts:
        assert slope([1.0, 2.0], count).tolist() == [1.0, 2.0 - 0.5 ** count]
