"""grad, vjp, jvp, jacobian, hessian: on functions, computed tensors and symbolic graphs."""

from dataclasses import dataclass

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def f64(*values):
    return ag.tensor(values, dtype="float64")


def cube(x):
    return x**3


def test_third_derivative():
    x = ag.tensor(2.0)
    assert [ag.grad(cube)(x).item(), ag.grad(ag.grad(cube))(x).item()] == [12, 12]
    assert ag.grad(ag.grad(ag.grad(cube)))(x).item() == 6
    assert not ag.grad(cube)(x).requires_grad


def test_perturbations_are_not_confused():
    assert ag.grad(lambda x: x * ag.grad(lambda y: x + y)(1.0))(1.0).item() == 1
    inner = lambda x: ag.jvp(lambda y: x + y, (1.0,), (1.0,))[1]  # noqa: E731
    assert ag.jvp(lambda x: x * inner(x), (1.0,), (1.0,))[1].item() == 1
    assert ag.grad(lambda x: x * ag.jvp(lambda y: x * y, (3.0,), (1.0,))[1])(2.0).item() == 4


def test_closures_over_parameters_record():
    w = f64(2.0).requires_grad_()
    g = ag.grad(lambda x: (w * x * x).sum())(f64(3.0))
    assert g.tolist() == [12]
    g.sum().backward()
    assert w.grad.tolist() == [6]
    with ag.no_grad():
        assert not ag.grad(lambda x: (w * x).sum())(f64(3.0)).requires_grad


def test_arguments_that_require_grad_are_left_alone():
    x = f64(1.0, 2.0).requires_grad_()
    g = ag.grad(lambda v: (v**3).sum())(x)
    assert x.grad is None
    g.sum().backward()
    assert x.grad.tolist() == [6, 12]


@dataclass(frozen=True)
class Layer:
    w: object
    b: object


def test_nests_of_arguments():
    layer = Layer(f64(1.0, 2.0), {"shift": (f64(3.0), None)})

    def loss(layer, x):
        return (layer.w * x + layer.b["shift"][0]).sum()

    value, (g, gx) = ag.value_and_grad(loss, (0, 1))(layer, f64(5.0, 6.0))
    assert value.item() == 23
    assert isinstance(g, Layer) and g.w.tolist() == [5, 6] and gx.tolist() == [1, 2]
    assert g.b["shift"][0].tolist() == [2] and g.b["shift"][1] is None


def test_aux():
    g, aux = ag.grad(lambda x: ((x * x).sum(), {"x": x}), has_aux=True)(f64(3.0))
    assert g.tolist() == [6] and aux["x"].tolist() == [3]
    (y, aux), g = ag.value_and_grad(lambda x: ((x * x).sum(), 7), has_aux=True)(f64(3.0))
    assert (y.item(), aux, g.tolist()) == (9, 7, [6])


def test_a_function_that_ignores_its_argument_has_gradient_zero():
    assert ag.grad(lambda x: ag.ones(()))(f64(1.0, 2.0)).tolist() == [0, 0]


def test_grad_of_computed_tensors_and_intermediates():
    a = f64(1.0, 2.0).requires_grad_()
    b = a * 3
    c = (b * b).sum()
    ga, gb = ag.grad(c, [a, b])
    assert ga.tolist() == [18, 36] and gb.tolist() == [6, 12]
    assert ag.grad(c, c).item() == 1 and a.grad is None
    assert ag.grad(c, a, consider_constant=[b], disconnected="none") is None


def test_disconnected():
    a, b = f64(1.0).requires_grad_(), f64(1.0).requires_grad_()
    with pytest.raises(ag.GradientError, match="does not depend on"):
        ag.grad((a * 2).sum(), b)
    assert ag.grad((a * 2).sum(), b, disconnected="zero").tolist() == [0]
    with pytest.raises(ag.GradientError, match="requires_grad=True"):
        ag.grad((a * 2).sum(), f64(1.0))
    with pytest.raises(ValueError, match="disconnected must be"):
        ag.grad((a * 2).sum(), b, disconnected="zeros")


def test_vjp_and_jvp_are_dual():
    rng = np.random.default_rng(0)
    x, v, u = (ag.asarray(rng.normal(size=n)) for n in (4, 4, 4))

    def f(x):
        return ag.exp(x) * x.sum() - x[::-1] ** 2

    y, tangent = ag.jvp(f, (x,), (v,))
    z, pullback = ag.vjp(f, x)
    (cotangent,) = pullback(u)
    np.testing.assert_allclose(y, z)
    np.testing.assert_allclose((u * tangent).sum(), (cotangent * v).sum(), rtol=1e-12)


def test_vjp_of_nests():
    y, pullback = ag.vjp(lambda p: {"s": p["a"] * p["b"], "a": p["a"]},
                         {"a": f64(2.0), "b": f64(3.0)})
    (g,) = pullback({"s": f64(1.0), "a": f64(10.0)})
    assert y["s"].tolist() == [6] and g["a"].tolist() == [13] and g["b"].tolist() == [2]
    with pytest.raises(ValueError, match="vjp: the cotangent is float64"):
        pullback(f64(1.0))


def test_jacobian_and_hessian():
    x = f64(1.0, 2.0, 3.0)
    np.testing.assert_allclose(ag.jacobian(lambda x: x * x)(x), np.diag([2.0, 4.0, 6.0]))
    np.testing.assert_allclose(
        ag.hessian(lambda x: (x**3).sum() + x[0] * x[1])(x),
        np.diag([6.0, 12.0, 18.0]) + np.eye(3)[[1, 0, 2]] * [[1], [1], [0]],
    )
    both = ag.jacobian(lambda a, b: a * b, argnums=(0, 1))(f64(1.0, 2.0), f64(3.0, 4.0))
    assert both[0].tolist() == [[3, 0], [0, 4]] and both[1].tolist() == [[1, 0], [0, 2]]


def test_hessian_vector_product():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    x, v = f64(1.0, 2.0), f64(1.0, -1.0)

    def f(x):
        return 0.5 * (x @ ag.asarray(a) @ x) + (x**4).sum()

    expected = (a + np.diag(12 * x.numpy() ** 2)) @ v.numpy()
    np.testing.assert_allclose(ag.jvp(ag.grad(f), (x,), (v,))[1], expected)
    np.testing.assert_allclose(ag.grad(lambda x: (ag.grad(f)(x) * v).sum())(x), expected)
    x.requires_grad_()
    np.testing.assert_allclose(ag.Rop(ag.grad(f(x), x, create_graph=True), x, v), expected)


def test_rop_and_lop():
    x = f64(1.0, 2.0).requires_grad_()
    y = x * x.sum()
    jacobian = np.array([[4.0, 1.0], [2.0, 5.0]])
    v = np.array([1.0, -2.0])
    np.testing.assert_allclose(ag.Rop(y, x, v), jacobian @ v)
    np.testing.assert_allclose(ag.Lop(y, x, v), v @ jacobian)


def test_symbolic_gradients_are_graphs():
    x = T.dvector("x")
    g = T.grad((x**2).sum(), x)
    assert g.shape == x.shape and g.array is None
    h = T.grad(g.sum(), x)
    assert h.shape == x.shape
    assert T.Rop(x * x, x, x).shape == x.shape


def test_symbolic_integers_have_no_gradient():
    x, i = T.dvector("x"), T.lvector("i")
    with pytest.raises(ag.GradientError, match=r"'i', int64\[.*\] is of integers"):
        T.grad((x * i).sum(), i)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ag.grad(lambda x: x)(f64(1.0, 2.0)), ag.GradientError, "a scalar, not"),
        (lambda: ag.grad(lambda x: 3)(f64(1.0)), TypeError, "must return a tensor, not 3; float"),
        (lambda: ag.grad(cube)(ag.tensor([1, 2])), TypeError, r"respect to int64\[2\]"),
        (lambda: ag.grad(cube, argnums=1)(f64(1.0)), ValueError, "argnums names argument 1"),
        (lambda: ag.grad(cube)("x"), TypeError, "respect to 'x'"),
        (lambda: ag.grad(f64(1.0)), TypeError, "needs the tensors"),
        (lambda: ag.grad(f64(1.0), "w"), TypeError, "takes tensors"),
        (lambda: ag.jvp(cube, (f64(1.0),), (f64(1.0, 2.0),)), ag.GradientError, "the tangent is"),
        (lambda: ag.jvp(cube, (f64(1.0),), ()), ValueError, r"the tangents are \(\), the primals"),
    ],
)
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_forward_mode_reads_what_rules_read():
    """Values that were changed since do no harm where the derivative does not need them."""
    def f(x):
        y = ag.copy(x)
        y[ag.tensor([0])] = y[:1] * 2
        return y.sum()

    x = ag.tensor([1.0, 2.0])
    for run in (lambda g: g, ag.jit):
        value, tangent = run(lambda x: ag.jvp(f, (x,), (x * 3,)))(x)
        assert (value.item(), tangent.item()) == (4, 12)

    def wrong(x):
        y = x * 1
        z = y * y
        with ag.no_grad():
            y[0] = 1
        return z.sum()

    with pytest.raises(ag.GradientError, match="was changed in place afterwards"):
        ag.jvp(wrong, (x,), (x,))


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_second_derivatives_of_vectors_are_those_of_each_element(run):
    def f(w, x):
        return {"y": ag.tanh(w @ x), "z": (x**3).sum()}

    w, x = ag.tensor(np.arange(6.0).reshape(2, 3) / 9), ag.tensor([0.1, -0.2, 0.3], dtype="float64")
    found = run(ag.hessian(f, 1))(w, x)
    assert found["y"].shape == (2, 3, 3)
    for i in range(2):
        alone = ag.hessian(lambda x, i=i: f(w, x)["y"][i])(x)
        np.testing.assert_allclose(found["y"][i], alone, rtol=1e-12)
    np.testing.assert_allclose(found["z"], np.diag(6 * x.numpy()), rtol=1e-12)
    assert ag.func.vmap(run(ag.hessian(f, 1)), (None, 0))(w, x[None])["y"].shape == (1, 2, 3, 3)


@pytest.mark.parametrize("f", [
    lambda x: x**2 * x.sum(), lambda x: ag.outer(x, x), lambda x: x[1:] * x[:-1],
    lambda x: (x**3).sum(), lambda x: ag.cumsum(x) * x,
    lambda x: ag.scan(lambda c, v: (c * v + 1, c * v), ag.ones((), dtype=x.dtype), x)[1]])
def test_all_derivatives_where_sizes_are_open(f):
    x = T.vector("x")
    total = lambda x: (f(x) ** 2).sum()  # noqa: E731
    compiled = ag.function([x], [
        ag.jacobian(f)(x), ag.jacfwd(f)(x), T.jacobian(f(x), x), ag.hessian(total)(x),
        T.hessian(total(x), x)])
    for n in (3, 2, 4):
        v = np.random.default_rng(n).standard_normal(n)
        first, second = (d(f64(*v)).numpy() for d in (ag.jacobian(f), ag.hessian(total)))
        for found, wanted in zip(compiled(v), (first,) * 3 + (second,) * 2, strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_derivatives_of_expressions_to_several():
    x, a = T.vector("x"), T.vector("a")
    f = ag.function([x, a], T.jacobian(x * a.sum(), [x, a]))
    assert [j.shape for j in f([1.0, 2.0], [1.0, 2.0, 3.0])] == [(2, 2), (2, 3)]
    with pytest.raises(ag.GradientError, match="does not depend on 'a'"):
        T.jacobian(x * 2, a)
    zeros = ag.function([x, a], T.jacobian(x * 2, a, disconnected="zero"), on_unused_input="ignore")
    assert zeros([1.0, 2.0], [1.0]).tolist() == [[0.0], [0.0]]
    with pytest.raises(ag.GradientError, match="not a scalar"):
        T.hessian(x * 2, x)
