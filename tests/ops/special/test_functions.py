"""Special functions: derivatives, names, and those that are made of others."""

import pickle
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import agnesi as ag
from agnesi import special
from agnesi.ops.base.elementwise import TABLE
from agnesi.ops.elementwise import formula
from agnesi.ops.special import quadrature
from agnesi.testing import check_grads, samples

rng = np.random.default_rng(3)
A, B = rng.uniform(0.5, 4, (2, 3)), rng.uniform(0.5, 4, (2, 3))
P = rng.uniform(0.1, 0.9, (2, 3))


@pytest.mark.parametrize("name, operands", [
    ("gammainc", (A, B)), ("gammaincc", (A, B)), ("gammaincinv", (A, P)),
    ("betainc", (A, B, P)), ("betaincinv", (A, B, P)),
])
def test_derivatives_to_shapes(name, operands):
    check_grads(getattr(special, name), operands, order=1)


#: Functions with derivatives to some operands (by place), of which second ones are not known.
@pytest.mark.parametrize("name, operands, free", [
    ("gdtr", (1.5, 2.0, 0.8), (0, 1, 2)), ("gdtrc", (1.5, 2.0, 0.8), (0, 1, 2)),
    ("gdtria", (0.4, 1.5, 1.2), (0, 2)), ("gdtrix", (1.5, 2.0, 0.4), (0, 2)),
    ("btdtria", (0.4, 1.5, 0.5), (0, 1, 2)), ("btdtrib", (1.5, 0.4, 0.5), (0, 1, 2)),
    ("chdtr", (3.0, 1.2), (0, 1)), ("chdtrc", (3.0, 1.2), (0, 1)),
    ("chndtr", (1.5, 3.0, 0.7), (0, 2)), ("chndtrix", (0.4, 3.0, 0.7), (0,)),
    ("ncfdtr", (3.0, 4.0, 0.7, 1.0), (3,)), ("ncfdtri", (3.0, 4.0, 0.7, 0.4), (3,)),
    ("nctdtr", (3.0, 1.0, 0.8), (2,)), ("nctdtrit", (3.0, 1.0, 0.4), (2,)),
    ("kolmogorov", (0.8,), (0,)), ("kolmogi", (0.4,), (0,)), ("smirnov", (4.0, 0.4), (1,)),
    ("smirnovi", (4.0, 0.3), (1,)), ("tklmbda", (0.3, 1.5), (0,)),
    ("elliprc", (0.7, 1.5), (0, 1)), ("betaincc", (1.5, 2.5, 0.4), (0, 1, 2)),
    ("betainccinv", (1.5, 2.5, 0.4), (0, 1, 2)), ("gammainccinv", (1.5, 0.4), (0, 1)),
])
def test_first_derivatives(name, operands, free):
    def function(*xs):
        full = list(operands)
        for i, x in zip(free, xs, strict=True):
            full[i] = x
        return getattr(special, name)(*full)

    check_grads(function, [np.array([operands[i]]) for i in free], order=1)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit])
def test_slopes_where_scipys_densities_end_the_process(run):
    freedom, shift = ag.tensor([1000.0, 1e-30, -1.0]), ag.tensor([1000.0, -1.0, 0.5])
    slope = run(ag.grad(lambda x: special.nctdtr(freedom, shift, x).sum()))
    found = slope(ag.tensor([-1.0, -1.0, 1.0])).numpy()
    assert found[0] == 0 and np.isnan(found[2])
    slope = run(ag.grad(lambda x: special.ncfdtr(3.0, 3.0, ag.zeros(2), x).sum()))
    np.testing.assert_allclose(slope(ag.tensor([0.0, -1.0])), [0.0, np.nan], atol=1e-9)


def test_where_the_derivative_is_not_known():
    for name, operands in (("bdtrik", (0.6, 5.0, 0.4)), ("besselpoly", (1.0, 1.0, 0.5))):
        with pytest.raises(ag.GradientError, match=f"{name} has no derivative to its parameters"):
            ag.grad(getattr(special, name))(*operands)


def test_derivatives_that_are_not_known_say_so():
    with pytest.raises(ag.GradientError, match="jv has no derivative to its order"):
        ag.grad(special.jv)(2.0, 1.0)


@pytest.mark.parametrize("name, x, slope", [
    ("rgamma", [0.0, -1.0, -2.0], [1, -1, 2]), ("i1", [0.0], [0.5]), ("i1e", [0.0], [0.5]),
    ("exprel", [0.0, 1e-9], [0.5, 0.5]), ("ellipk", [0.0], [np.pi / 8]),
    ("ellipe", [0.0], [-np.pi / 8]), ("log_ndtr", [-1e5, 50.0], [1e5 + 1e-5, 0.0]),
    ("spherical_jn", [0.0], [1 / 3]), ("lambertw", [0.0], [1.0]),
])
def test_derivatives_at_special_points(name, x, slope):
    function = getattr(special, name)
    run = (lambda x: special.spherical_jn(1.0, x)) if name == "spherical_jn" else function
    found = ag.vmap(ag.grad(run))(ag.tensor(np.array(x)))
    np.testing.assert_allclose(found.numpy(), slope, 1e-9, 1e-12)


SHARED = sorted(set(special.__all__) - set(quadrature.__all__) - {
    "trigamma", "gammainc_da", "betainc_da", "betainc_db", "logsumexp", "softmax", "log_softmax",
    "multigammaln", "sici", "lambertw", "spherical_jn", "zeta", "sinc", "factorialk", "diric",
    "sph_harm_y", "sph_legendre_p", "assoc_legendre_p", "kn", "yn", "inv_boxcox1p", "gammasgn",
})
#: Rows whose name is not the function's.
ROWS = {"airy": "airy_ai", "airye": "airye_ai", "ellipj": "ellipj_0", "fresnel": "fresnel_s",
        "shichi": "shi", "itairy": "itairy_0"}


def places(name):
    """Operands on which a function is compared."""
    row = next((TABLE[n] for n in (name, ROWS.get(name), f"{name}_0") if n in TABLE), None)
    if row is not None and row.loop:
        values = samples.operands(row, ((3, 4),) * row.arity)
        return [*(v.astype(int) for v in values[:row.whole]), *values[row.whole:]]
    if name in ("comb", "perm", "factorial2", "assoc_laguerre", "legendre_p", "eval_hermite"):
        whole = np.array([4, 5, 7])
        return {"assoc_laguerre": [A, 3, 0.5], "legendre_p": [3, P], "factorial2": [whole]}.get(
            name, [whole, np.array([2, 5, 9])])
    return None


@pytest.mark.share(2)
@pytest.mark.parametrize("name", SHARED)
def test_names_are_those_of_scipy(name):
    function = getattr(special, name)
    expected = getattr(reference, name)
    doubles = [A, B, P]
    if name == "polygamma":
        doubles[0] = np.array([1.0, 2.0, 3.0])
    known = places(name)
    if name.startswith(("radian", "modfresnel", "kelvin", "hankel", "h1vp", "h2vp")):
        known = [A, B, P][:3 if name == "radian" else 1 if name[0] in "mk" else 2]
    for operands in ([known] if known else [[P], doubles[:2], doubles]):
        try:
            result = expected(*operands)
        except TypeError:
            continue
        found = function(*operands)
        found = found if isinstance(found, tuple) else (found,)
        result = result if isinstance(result, tuple) else (result,)
        for got, wanted in zip(found, result, strict=True):
            tolerance = 1e-12 if got.dtype.itemsize >= 8 else 2e-6
            np.testing.assert_allclose(got.numpy(), wanted, tolerance, 1e-14)
        return
    raise AssertionError(name)


@pytest.mark.parametrize("name", quadrature.__all__)
def test_tables_are_those_of_scipy(name):
    numbers = {"roots_genlaguerre": (4, 0.5), "roots_gegenbauer": (4, 0.5),
               "roots_jacobi": (4, 0.5, 1.5), "roots_sh_jacobi": (4, 2.0, 1.5),
               **dict.fromkeys(("jn_zeros", "jnp_zeros", "yn_zeros", "ynp_zeros", "jnyn_zeros"),
                               (2, 3))}.get(name, (4,))
    expected = getattr(reference, name)(*numbers)
    with ag.config(default_float="float64"):
        found = getattr(special, name)(*numbers)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = found if isinstance(found, tuple) else (found,)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
    with pytest.raises(TypeError):
        getattr(special, name)(*(2.5,) * len(numbers))


def test_rules_integrate_what_has_gradients():
    x, w = special.roots_legendre(12)
    slope = ag.grad(lambda a: (w * ag.exp(a * x)).sum())(ag.tensor(0.5, dtype="float64"))
    np.testing.assert_allclose(slope.item(), 2 * (0.5 * np.cosh(0.5) - np.sinh(0.5)) / 0.25, 1e-6)


def test_those_with_other_parameters():
    np.testing.assert_allclose(special.zeta(A + 1).numpy(), reference.zeta(A + 1), 1e-14)
    np.testing.assert_allclose(special.zeta(A + 1, B).numpy(), reference.zeta(A + 1, B), 1e-14)
    found = special.multigammaln(A + 2, 3).numpy()
    np.testing.assert_allclose(found, [[reference.multigammaln(a, 3) for a in r] for r in A + 2])
    for got, expected in zip(special.sici(A), reference.sici(A), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, 1e-14)
    x = -P / 3
    for k in (0, -1):
        np.testing.assert_allclose(special.lambertw(x, k).numpy(), reference.lambertw(x, k).real)
    assert np.isnan(special.lambertw(np.array(-1.0)).numpy())
    for n in (0, 2):
        for slope in (False, True):
            found = special.spherical_jn(n, A, slope).numpy()
            np.testing.assert_allclose(found, reference.spherical_jn(n, A, slope), 1e-12)
            for k in ("yn", "in", "kn"):
                got = getattr(special, f"spherical_{k}")(n, A, slope).numpy()
                wanted = getattr(reference, f"spherical_{k}")(n, A, slope)
                np.testing.assert_allclose(got, wanted, 1e-12)
    whole = np.arange(12)
    found = special.factorialk(whole.astype(float), 3).numpy()
    np.testing.assert_allclose(found, reference.factorialk(whole, 3))
    assert special.gammasgn(ag.tensor([-0.5, 0.5])).tolist() == [-1.0, 1.0]
    for n in (4, 5):
        angles = np.append(np.linspace(-9, 9, 20), np.arange(-3, 3) * 2 * np.pi)
        found = special.diric(angles, n).numpy()
        np.testing.assert_allclose(found, reference.diric(angles, n), 1e-11)
    for n, m in ((3, 2), (4, -2), (2, 0), (5, 5)):
        for norm in (False, True):
            found = special.assoc_legendre_p(n, m, P, norm=norm).numpy()
            wanted = reference.assoc_legendre_p(n, m, P, norm=norm)
            np.testing.assert_allclose(found, wanted, 1e-12)
        found = special.sph_harm_y(n, m, P, 0.7).numpy()
        np.testing.assert_allclose(found, reference.sph_harm_y(n, m, P, 0.7), 1e-12)
    n, m = np.arange(4)[:, None], np.arange(-4, 5)[None]
    found = special.sph_harm_y(n, m, P[:1, :1], 0.4).numpy()
    np.testing.assert_allclose(found, reference.sph_harm_y(n, m, P[:1, :1], 0.4), 1e-12, 1e-15)
    for x, p in ((100.0, 155.0), (0.01, -155.0), (1 + 1e-15, 1e-306), (3.0, 0.5)):
        for add, name in ((0, "boxcox"), (1, "boxcox1p")):
            given_ = ag.tensor([[x - add], [p]], dtype="float64")
            boxed = ag.jit(getattr(special, name))(*given_)
            np.testing.assert_allclose(boxed, getattr(reference, name)(*given_.numpy()), 1e-12)
            back = getattr(special, f"inv_{name}")(boxed, given_[1])
            np.testing.assert_allclose(back, given_[0], 1e-12, 1e-15 * (x < 2))
    with pytest.raises(TypeError, match="whole numbers"):
        special.kn(2.5, A)
    for k in ("kn", "yn"):
        found = getattr(special, k)(2, A).numpy()
        np.testing.assert_allclose(found, getattr(reference, k)(2, A), 1e-13)
    small = special.inv_boxcox1p(P, 1e-300).numpy()
    np.testing.assert_allclose(small, np.expm1(P), 1e-15)
    np.testing.assert_allclose(special.polygamma(0.0, A).numpy(), reference.psi(A), 1e-14)
    for call in (lambda: special.lambertw(A, 1), lambda: special.multigammaln(A, 0)):
        with pytest.raises(ValueError):
            call()


@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=4),
                     elements=st.floats(-700, 700)), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_sums_of_exponentials(a, keepdims, data):
    axis = data.draw(st.sampled_from([None, *range(a.ndim), tuple(range(a.ndim))]))
    b = data.draw(st.sampled_from([None, np.resize([1.5, 0.0, 2.0], a.shape)]))
    with np.errstate(all="ignore"):
        expected = reference.logsumexp(a, axis=axis, b=b, keepdims=keepdims)
    found = special.logsumexp(a, axis=axis, b=b, keepdims=keepdims)
    np.testing.assert_allclose(found.numpy(), expected, 1e-12, 1e-12)
    if not isinstance(axis, tuple):
        np.testing.assert_allclose(
            special.softmax(a, axis=axis).numpy(), reference.softmax(a, axis=axis), 1e-12)
        np.testing.assert_allclose(
            special.log_softmax(a, axis=axis).numpy(), reference.log_softmax(a, axis=axis), 1e-12,
            1e-12)


def test_signs_of_sums():
    value, sign = special.logsumexp([1.0, 2.0], b=[1.0, -1.0], return_sign=True)
    expected = reference.logsumexp([1.0, 2.0], b=[1.0, -1.0], return_sign=True)
    np.testing.assert_allclose([float(value), float(sign)], expected, 1e-6)


def test_shapes_are_broadcast_and_integers_are_floats():
    assert special.betaln(A[:, None], B).shape == (2, 2, 3)
    assert special.ndtr(1).dtype == ag.float32
    assert special.i0e(np.zeros((0, 3))).shape == (0, 3)
    assert ag.vmap(special.gammainc)(A, B).shape == (2, 3)


def test_rows_travel_to_processes_that_have_not_imported_them():
    row = pickle.dumps(formula.TABLE["erfcx"])
    code = f"import pickle, agnesi; print(pickle.loads({row!r}).name)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["erfcx"]


def test_without_scipy_what_needs_it_says_so(monkeypatch):
    monkeypatch.setattr(formula, "in_scipy", lambda name: None)
    with pytest.raises(ImportError, match="jv is computed by SciPy"):
        special.jv(A, B)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", special.__all__)
def test_examples(name):
    import doctest

    function = getattr(special, name)
    finder = doctest.DocTestFinder(recurse=False)
    for test in finder.find(function, name, module=False, globs={}):
        assert test.examples
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
        assert result.failed == 0


@pytest.mark.parametrize("compiled", [lambda f: f, ag.jit])
def test_beta_of_an_infinite_parameter_is_zero(compiled):
    """As SciPy's, whose B(inf, inf) is NaN; so is B(0, inf) here, a pole times zero."""
    x, y = ag.tensor([2.0, np.inf, np.inf, 0.0]), ag.tensor([np.inf, 3.0, np.inf, np.inf])
    np.testing.assert_array_equal(compiled(special.beta)(x, y).numpy(), [0, 0, 0, np.nan])


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_logarithms_of_gammas_next_to_zero(way):
    """The square of the operand is no number there, and both poles meet."""
    x = np.array([-1e-307, -1e-300, -1e-160, -1e-17, 1e-17, 1e-300])
    np.testing.assert_allclose(way(ag.lgamma)(ag.tensor(x)).numpy(), -np.log(abs(x)), rtol=1e-15)
    a, b = np.array([0.0, 0.0, -0.0, 0.0]), np.array([0.0, 2.0, 0.0, np.nan])
    found = way(special.betaln)(ag.tensor(a), ag.tensor(b)).numpy()
    np.testing.assert_array_equal(found, [np.inf] * 3 + [np.nan])


@pytest.mark.parametrize("n", [0, 1, 32])
def test_laguerre_of_whole_degree_loses_no_digits(n: int) -> None:
    x = ag.tensor([0.5, 60.0], dtype="float64")
    exact = [float(mpmath.laguerre(n, 0, v)) for v in x.tolist()]
    slope = [float(-mpmath.laguerre(n - 1, 1, v)) if n else 0.0 for v in x.tolist()]
    for way in (lambda f: f, ag.jit):
        np.testing.assert_allclose(way(lambda x: special.eval_laguerre(n, x))(x), exact, 1e-12)
        np.testing.assert_allclose(
            way(lambda x: special.eval_genlaguerre(n, 0.0, x))(x), exact, 1e-12)
        found = way(ag.grad(lambda x: special.eval_laguerre(n, x).sum()))(x)
        np.testing.assert_allclose(found, slope, 1e-12)
