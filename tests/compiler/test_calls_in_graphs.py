"""Compiled functions called inside of other graphs: declared, traced, differentiated, mapped."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

x, y, z = T.vector("x"), T.vector("y"), T.vector("z")
A = np.array([1.0, 2.0])


def fma():
    return ag.function([x, y], x * y + 1, name="fma")


def test_functions_are_operations_of_declared_graphs():
    f = fma()
    total = f(z * 2, y=z).sum()
    assert "fma" in str(ag.inspect.listing(total))
    g = ag.function([z], [total, T.grad(total, z)])
    assert g(A)[0] == 12 and g(A)[1].tolist() == [4, 8]
    rows, _ = T.scan(lambda r: f(T.stack([r, r]), [1.0, 2.0]).sum(), z)
    assert ag.function([z], rows)(A).tolist() == [5, 8]
    matrix = T.matrix("m")
    mean = ag.function([matrix], matrix / matrix.shape[0])
    assert ag.function([matrix], mean(matrix.T))(np.ones((2, 3))).tolist() == [[1 / 3] * 2] * 3


@pytest.mark.parametrize("warm", [False, True])
def test_functions_run_under_every_transformation(warm):
    f, a = fma(), ag.tensor(A)
    if warm:  # native code takes calls by then
        for _ in range(3):
            f(A, A)
    total = lambda v: f(v, v).sum()  # noqa: E731
    assert total(a) == ag.jit(total)(a) == 7
    for compiled in (lambda g: g, ag.jit):
        assert compiled(ag.grad(total))(a).tolist() == [2, 4]
        assert compiled(ag.jacfwd(lambda v: f(v, v)))(a).tolist() == [[2, 0], [0, 4]]
        assert compiled(ag.hessian(total))(a).tolist() == [[2, 0], [0, 2]]
        assert compiled(ag.vmap(total))(ag.stack([a, a + 1])).tolist() == [7, 15]
    w = ag.tensor(A, requires_grad=True)
    (f(w, A) * 2).sum().backward()
    assert w.grad.tolist() == [2, 4]
    assert type(f(a, A)) is np.ndarray and (f(a, A) + 1.0).tolist() == [3, 6]


def test_what_a_call_reads_and_changes_is_state_of_the_function_around():
    w, n = ag.shared(2.0), ag.shared(0)
    scale = ag.function([x], {"y": x * w}, updates={n: n + 1})
    for _ in range(3):
        scale(A)
    step = ag.jit(lambda v: scale(v)["y"] + scale(A)["y"])
    a = ag.tensor(A)
    assert step(a).tolist() == [4, 8] and n.get_value() == 5
    w.set_value(10.0)
    assert step(a).tolist() == [20, 40] and n.get_value() == 7
    with pytest.raises(ag.TraceError, match=r"function changes state.*declared graph"):
        scale(z)
    assert n.get_value() == 7
    twice = ag.jit(lambda v: ag.scan(lambda c, _: (scale(c)["y"], None), v, length=2)[0])
    assert twice(a).tolist() == [100, 200] and n.get_value() == 9


def test_sizes_that_are_values_are_those_of_the_graph_around():
    n = T.lscalar("n")
    a, b = ag.tensor([3.0, 0, 2]), ag.tensor([0.0, 1, 5])
    calls = [
        ag.function([x], x[x > 1]), ag.function([x], x[x > 1], givens={x: x * 2}),
        ag.function([x], x[x > 0][x[x > 0] > 1]), ag.function([x], x[x > 1]).copy(),
        ag.function([x], T.sort(x[x > 1]).sum()), ag.function([x], x[x > 1].shape[0]),
        ag.clone(x[x > 1], {x: x * 2}), ag.OpFromGraph([x], T.unique(x)),
        ag.OpFromGraph([x], T.arange(T.sum(x > 1)), inline=True),
    ]
    for call in calls:
        if isinstance(call, ag.Tensor):
            call = ag.function([x], call)
        around = ag.function([z], call(z * 2))
        jitted = ag.jit(lambda v, f=call: f(v * 2))
        for v in (a, b, -a):
            np.testing.assert_array_equal(around(v), call(v * 2))
            np.testing.assert_array_equal(jitted(v), call(v * 2))
    squares = ag.function([x], (x[x > 1] ** 2).sum())
    np.testing.assert_array_equal(ag.jit(ag.grad(squares))(a), [6, 0, 4])
    graph = ag.OpFromGraph([x], T.sort(x[x > 1]))
    np.testing.assert_array_equal(ag.grad(lambda v: (graph(v) ** 2).sum())(a), [6, 0, 4])
    steps = ag.function([x, n], T.arange(n) * x[0])
    np.testing.assert_array_equal(ag.function([z, n], steps(z, n + 1))(a, 2), [0, 3, 6])
    with pytest.raises(ag.TraceError, match=r"no vjp or jvp of its own.*\n  at .*test_calls_in"):
        ag.OpFromGraph([x], x[x > 1], vjp=lambda g, y, x: (x,))


def test_wrong_operands_are_told():
    with pytest.raises(TypeError, match="fma takes 2 arguments"):
        fma()(z)
    with pytest.raises(ag.ShapeError, match="fma: operand 0 must have 1 axes"):
        fma()(T.matrix("m"), z)


@pytest.mark.share(2)
@pytest.mark.parametrize("make", [ag.function, ag.OpFromGraph])
@pytest.mark.parametrize("held", ["tensor", "shared", "parameter", "rows of a scan"])
def test_tensors_in_a_graph_have_values_where_it_is_called_on_values(make, held):
    v, given = T.vector("v", dtype="float32"), ag.tensor([1.0, 2.0, 3.0])
    w = ag.shared(np.arange(3, dtype="float32")) if held == "shared" else ag.arange(
        3.0, requires_grad=held == "parameter")

    def computed(v, w):
        if held == "rows of a scan":
            return ag.scan(lambda c, x: (c + v.sum() * x * v[0], None), ag.tensor(0.0), w)[0]
        return (v * v * w).sum()

    f = make([v], computed(v, w))
    calls = (lambda h: h(given), lambda h: ag.grad(lambda v: h(v))(given),
             lambda h: ag.jvp(lambda v: h(v), (given,), (ag.ones(3),))[1],
             lambda h: ag.vmap(lambda v: h(v))(ag.stack([given, -given])),
             lambda h: ag.jit(ag.grad(lambda v: h(v)))(given))
    for change in (0.0, 5.0, 7.0):
        if held == "shared":
            w.set_value(np.array([change, 1.0, 2.0], "float32"))
        elif held != "parameter":
            w[0] = change
        now = ag.tensor(w.get_value() if held == "shared" else w.detach().numpy().copy())
        for call in calls:
            found, expected = call(f), call(lambda v, now=now: computed(v, now))
            if isinstance(found, ag.Tensor):
                found = found.detach()
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)
    if held == "parameter":
        f(ag.tensor([1.0, 2.0, 3.0], requires_grad=True)).backward()
        assert w.grad.tolist() == [1.0, 4.0, 9.0]
