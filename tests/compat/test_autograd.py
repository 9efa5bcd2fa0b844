"""Programs in autograd's words: values, derivatives, functions of one's own, and what differs."""

from __future__ import annotations

import copy

import numpy as onp
import pytest
import scipy.integrate
import scipy.signal
import scipy.stats

import agnesi as ag
import agnesi.compat.autograd.misc
import agnesi.compat.autograd.numpy as np
from agnesi.compat import autograd
from agnesi.compat.autograd import elementwise_grad, grad, hessian, jacobian
from agnesi.compat.autograd.extend import defjvp, defvjp, primitive
from agnesi.compat.autograd.misc import const_graph, flatten
from agnesi.compat.autograd.misc.fixed_points import fixed_point
from agnesi.compat.autograd.misc.optimizers import adam, rmsprop, sgd
from agnesi.compat.autograd.numpy import linalg
from agnesi.compat.autograd.scipy import integrate, signal, special, stats
from agnesi.compat.autograd.scipy.linalg import sqrtm
from agnesi.compat.autograd.test_util import check_grads, combo_check

RNG = onp.random.default_rng(0)
X = RNG.standard_normal((3, 4))
V = RNG.standard_normal(4)


@pytest.fixture(autouse=True)
def _seeded():
    onp.random.seed(0)


def test_arrays_stay_arrays_and_gradients_are_like_their_arguments():
    assert type(np.sin(V)) is onp.ndarray
    assert np.zeros(2).dtype == onp.float64
    assert isinstance(grad(np.sin)(1.0), float)
    found = grad(lambda p: np.sum(p["w"] * p["b"][0] ** 2))({"w": V, "b": (2.0, "name")})
    assert onp.allclose(found["w"], 4.0) and onp.allclose(found["b"][0], 4 * V.sum())
    assert found["b"][1] == "name"
    for kind in ("float16", "float32", "float64", "longdouble"):
        assert grad(lambda x: np.sum(x**2))(V.astype(kind)).dtype == onp.dtype(kind)


def test_operators_agree_with_formulas():
    assert onp.isclose(grad(grad(grad(lambda x: x**5)))(2.0), 5 * 4 * 3 * 2.0**2)
    assert onp.allclose(jacobian(lambda x: np.dot(X, x))(V), X)
    H = RNG.standard_normal((4, 4))
    quadratic = hessian(lambda x: np.dot(np.dot(x, H), x))(V)
    assert onp.allclose(quadratic, H + H.T)
    product = autograd.hessian_vector_product(lambda x: np.dot(np.dot(x, H), x))
    assert onp.allclose(product(V, V + 1), (H + H.T) @ (V + 1))
    assert onp.allclose(elementwise_grad(np.tanh)(X), 1 - onp.tanh(X) ** 2)
    value, move = autograd.make_jvp(np.sin)(V)(onp.ones(4))
    assert onp.allclose(move, onp.cos(V)) and onp.allclose(value, onp.sin(V))
    assert onp.allclose(autograd.make_ggnvp(lambda x: np.dot(X, x))(V)(V), X.T @ (X @ V))
    both = grad(lambda a, b: a * b**2, argnum=(0, 1))(3.0, 2.0)
    assert both == (4.0, 12.0)
    assert autograd.multigrad_dict(lambda a, b=2.0: a * b)(3.0) == {"a": 2.0, "b": 3.0}
    assert autograd.grad_named(lambda a, b: a * b, "b")(3.0, 2.0) == 3.0
    assert grad(lambda x: x, 0).__name__ == "grad_of_<lambda>_wrt_argnum_0"


def test_complex_gradients_follow_autograds_convention():
    assert onp.isclose(autograd.holomorphic_grad(lambda z: z**3)(1 + 2j), 3 * (1 + 2j) ** 2)
    assert onp.isclose(grad(lambda z: np.real(z * (3 - 1j)))(1 + 0j), 3 - 1j)
    check_grads(lambda z: np.abs(np.sin(z)))(0.5 + 0.3j)
    with pytest.raises(TypeError, match="scalar-output"):
        grad(lambda x: x * 1j)(1.0)


def test_values_inside_never_change_in_place():
    def f(x):
        y = h = np.exp(x)
        y *= 2
        x += 1
        return np.sum(h * y) + np.sum(x)

    given = V.copy()
    assert onp.allclose(grad(f)(given), 4 * onp.exp(2 * V) + 1)
    assert onp.array_equal(given, V)

    def assigned(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(TypeError, match="cannot be assigned to"):
        grad(assigned)(V)


def test_closed_over_values_of_outer_derivatives_count():
    def f(x):
        return x * grad(lambda y: y * x)(2.0)

    check_grads(f)(1.5)
    for linear in (lambda x: x + 1.0, np.transpose, lambda x: x):
        check_grads(linear)(V)


def test_functions_on_lists_of_traced_values():
    check_grads(lambda x: np.array([x[0], [x[1]][0], 3.0]))(V)
    check_grads(lambda x: np.where(x > 0, x, 2 * x) * np.r_[x[:1], 1:4] + np.c_[x, x][:, 0])(V)
    check_grads(lambda x: np.select([x > 0.5, x > 0], [x, x**2], 1.0))(V)
    check_grads(lambda x: np.mean([np.max(x), x[1] * 2]))(V)
    assert callable(np.any) and np.any is np.any  # a forwarded name hides none of Python's
    assert np.where(True, 1, 2) == 1 and isinstance(np.where(True, 1, 2), int)
    combo_check(np.cross, [0, 1])([X[:, :3]], [X[:, 1:]], axisa=[0, 1], axisb=[1], axisc=[0])
    check_grads(lambda x: x[(0, 1), (2, 3)])(X)
    check_grads(lambda x: np.real_if_close(x * (1 + 0j)))(V)


def test_ufuncs_of_numpy_itself_reach_agnesi():
    for f in (onp.degrees, onp.deg2rad, onp.logaddexp2, onp.sinc):
        call = (lambda x, f=f: f(x, 0.5)) if f is onp.logaddexp2 else f
        check_grads(call)(V)
    assert isinstance(onp.radians(ag.tensor([1.0], requires_grad=True)), ag.Tensor)


@pytest.mark.parametrize("upper", ["L", "U"])
def test_eigh_reads_one_triangle_and_so_do_gradients(upper):
    check_grads(lambda a: linalg.eigh(a, upper)[0])(RNG.standard_normal((4, 4)))
    g = grad(lambda a: linalg.eigh(a, upper)[0][0])(RNG.standard_normal((4, 4)))
    assert onp.allclose(onp.triu(g, 1) if upper == "L" else onp.tril(g, -1), 0)


def test_primitives_have_the_derivatives_that_are_given():
    @primitive
    def scaled(x, factor, power=1):
        assert isinstance(x, (float, onp.ndarray))
        return (factor * x) ** power

    defvjp(scaled, lambda ans, x, factor, power=1:
           lambda g: g * power * factor * (factor * x) ** (power - 1),
           lambda ans, x, factor, power=1: lambda g: np.sum(g * power * ans / factor))
    defjvp(scaled, lambda g, ans, x, factor, power=1:
           g * power * factor * (factor * x) ** (power - 1),
           lambda g, ans, x, factor, power=1: g * power * ans / factor)
    check_grads(lambda x, c: scaled(x, c, power=3), (0, 1))(V, 2.0)
    unknown = primitive(lambda x: 2 * x)
    for derivative in (grad, autograd.deriv):
        with pytest.raises(NotImplementedError, match="not defined"):
            derivative(unknown)(1.0)

    @primitive
    def wrong(x):
        return 2.0 * x

    defvjp(wrong, lambda ans, x: lambda g: g * 2.001)
    with pytest.raises(AssertionError, match="check of wrong failed"):
        check_grads(wrong, modes=["rev"])(1.0)

    @primitive
    def pair(x):
        return x + 1, {"square": x * x}

    defvjp(pair, lambda ans, x: lambda g: g[0] + 2 * x * g[1]["square"])
    check_grads(lambda x: pair(x)[1]["square"] * pair(x)[0], modes=["rev"])(V)


def test_flatten_and_optimizers():
    nest = {"b": (1.0, X), "a": [V, ()]}
    flat, unflatten = flatten(nest)
    assert flat.shape == (1 + 12 + 4,)
    back = unflatten(flat)
    onp.testing.assert_equal(unflatten(onp.asarray(flat)[:, None]), back)
    assert onp.array_equal(back["b"][1], X) and back["b"][0] == 1.0
    check_grads(lambda v: unflatten(v)["b"][1] * 2)(flat)

    def loss(p, i):
        return np.sum((p["w"] - 3.0) ** 2) + p["b"] ** 2

    for optimize, options in ((adam, {"step_size": 0.3}), (sgd, {"step_size": 0.5}),
                              (rmsprop, {"step_size": 0.05})):
        seen = []
        found = optimize(grad(loss), {"w": onp.zeros(2), "b": 1.0}, num_iters=200,
                         callback=lambda p, i, g, seen=seen: seen.append(copy.copy(p)), **options)
        assert len(seen) == 200 and set(seen[0]) == {"w", "b"}
        assert onp.allclose(found["w"], 3.0, atol=0.1) and abs(found["b"]) < 0.1


def test_fixed_points_are_differentiated_implicitly():
    def newton(a):
        return lambda x: 0.5 * (x + a / x)

    def root(a):
        return fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-12)

    assert onp.isclose(root(2.0), onp.sqrt(2))
    assert onp.isclose(grad(root)(2.0), 0.5 / onp.sqrt(2))
    assert onp.isclose(grad(grad(root))(2.0), -0.25 * 2.0**-1.5)


def test_const_graph_runs_python_once():
    runs = []

    def f(x, y):
        runs.append(x)
        return grad(lambda z: np.sin(z) + 2 * z)(x * y)

    kept = const_graph(f)
    for x, y in ((0.3, 0.5), (1.0, 0.5)):
        assert onp.isclose(kept(x, y), onp.cos(x * y) + 2)
    assert len(runs) == 1


def _positive(*shape):
    return RNG.random(shape) + 1.1


@pytest.mark.parametrize(("name", "functions", "args", "argnums"), [
    ("norm", "pdf logpdf cdf logcdf sf logsf", (V, V + 0.3, 1.5), (0, 1, 2)),
    ("t", "pdf logpdf", (V, _positive(4), V + 0.3, 1.5), (0, 1, 2, 3)),
    ("t", "cdf logcdf", (V, _positive(4), V + 0.3, 1.5), (0, 2)),
    ("gamma", "pdf logpdf", (_positive(4), _positive(4)), (0, 1)),
    ("gamma", "cdf", (_positive(4), _positive(4)), (0,)),
    ("beta", "pdf logpdf", (RNG.random(4), _positive(4), _positive(4)), (0, 1, 2)),
    ("beta", "cdf", (RNG.random(4), _positive(4), _positive(4)), (0,)),
    ("chi2", "pdf logpdf cdf", (_positive(4), 3.0), (0,)),
    ("poisson", "pmf logpmf cdf", (onp.arange(1.0, 5.0), _positive(4)), (1,)),
    ("dirichlet", "pdf logpdf", (onp.array([0.2, 0.3, 0.5]), _positive(3)), (1,)),
])
def test_distributions(name, functions, args, argnums):
    for function in functions.split():
        ours, theirs = (getattr(getattr(m, name), function) for m in (stats, scipy.stats))
        assert onp.allclose(ours(*args), theirs(*args))
        traced = []

        def kept(*a, ours=ours, traced=traced):
            traced.append(ours(*a))
            return traced[-1]

        check_grads(kept, argnums, modes=["rev"], order=1)(*args)
        inside = [t.array for t in traced if isinstance(t, ag.Tensor)]
        assert onp.allclose(inside[0], theirs(*args), rtol=1e-6)


def test_multivariate_normal():
    A = RNG.standard_normal((3, 3))
    cov = A @ A.T + onp.eye(3)
    for f in (stats.multivariate_normal.logpdf, stats.multivariate_normal.pdf):
        check_grads(lambda x, m, c, f=f: f(x, m, (c + c.T) / 2), (0, 1, 2), modes=["rev"],
                    order=1)(X[:, :3], V[:3], cov)
    check_grads(lambda c: stats.multivariate_normal.entropy(V[:3], (c + c.T) / 2), order=1)(cov)
    flat = onp.diag([1.0, 2.0, 0.0])
    x = onp.array([0.3, 0.2, 0.0])
    check_grads(lambda m: stats.multivariate_normal.logpdf(x, m * onp.array([1, 1, 0]), flat,
                                                           allow_singular=True), order=1)(V[:3])


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolve(mode):
    for n, k in ((5, 3), (3, 5), (4, 4)):
        a, b = RNG.standard_normal(n), RNG.standard_normal(k)
        if mode != "same" or n >= k:
            assert onp.allclose(signal.convolve(a, b, mode=mode), scipy.signal.convolve(a, b, mode))
        check_grads(lambda a, b: signal.convolve(a, b, mode=mode), (0, 1), modes=["rev"],
                    order=1)(a, b)
    images, filters = RNG.standard_normal((2, 3, 6)), RNG.standard_normal((3, 4, 2))
    found = signal.convolve(images, filters, axes=([2], [2]), dot_axes=([1], [0]), mode=mode)
    one = sum(scipy.signal.convolve(images[1, i], filters[i, 2], mode) for i in range(3))
    assert onp.allclose(found[1, 2], one)
    with pytest.raises(ValueError, match="not recognized"):
        signal.convolve(a, b, mode="other")


def test_odeint_by_the_adjoint_equation():
    def slope(y, t, rate, shift):
        return -rate * y + np.sin(t) * shift

    def end(y0, t, args):
        return np.sum(integrate.odeint(slope, y0, t, args) ** 2)

    args = (onp.array([0.5, 1.0]), 0.3)
    times = onp.linspace(0.1, 0.5, 3)
    check_grads(end, (0, 1, 2), modes=["rev"], order=1)(V[:2], times, args)


def test_special_and_linear_algebra():
    check_grads(lambda x: special.logsumexp(x, axis=0, b=onp.exp(V)))(V)
    check_grads(special.erf)(0.3 + 0.2j)
    a = RNG.standard_normal((3, 3))
    check_grads(lambda a: sqrtm((a + a.T) / 2), order=1)(a)
    assert autograd.misc.logsumexp(V) == scipy.special.logsumexp(V)
