"""Special functions against mpmath: eagerly, compiled, and without SciPy."""

import functools

import mpmath as mp
import numpy as np
import pytest

import agnesi as ag
from agnesi import special
from agnesi.ops.base.elementwise import TABLE, call
from agnesi.ops.special import incomplete

rng = np.random.default_rng(0)


def spread(low, high, n=40):
    """Numbers of all sizes between two powers of e."""
    return np.exp(rng.uniform(low, high, n))


def quantile(p):
    """Of the normal distribution."""
    p = mp.mpf(p)
    start = float(TABLE["ndtri"].perform(np.asarray(float(p))))
    return mp.findroot(lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / (2 * p)), start)


def kolmogorov_slope(x):
    """By both series, which agree at 60 digits where neither vanishes."""
    k = range(1, 12)
    if x > 0.5:
        return -8 * x * mp.fsum((-1) ** (j - 1) * j * j * mp.exp(-2 * (j * x) ** 2) for j in k)
    a = [(2 * j - 1) ** 2 * mp.pi**2 / 8 / x**2 for j in k]
    return -mp.sqrt(2 * mp.pi) / x**2 * mp.fsum(mp.exp(-p) * (2 * p - 1) for p in a)


def entropy(x, y):
    return x * mp.log(x / y)


POSITIVE, ANY = spread(-12, 5), np.concatenate([spread(-12, 3), -spread(-12, 3)])
UNIT = np.concatenate([rng.uniform(0.001, 0.999, 20), 10.0 ** rng.uniform(-250, -3, 20)])
SHAPES, OTHERS = spread(-4, 8), spread(-4, 8)
#: Name, reference, operands, relative error.
VALUES = {
    "gamma": (mp.gamma, (np.concatenate([spread(-9, 5), rng.uniform(-4.9, 0, 20)]),), 5e-15),
    "rgamma": (mp.rgamma, (rng.uniform(-4.9, 30, 40),), 5e-15),
    "lgamma": (mp.loggamma, (rng.uniform(2.5, 1e5, 40),), 1e-15),
    "digamma": (mp.digamma, (rng.uniform(2, 1e5, 40),), 1e-15),
    "trigamma": (lambda x: mp.psi(1, x), (np.concatenate([POSITIVE, rng.uniform(-3.9, 0, 20)]),),
                 4e-15),
    "beta": (mp.beta, (spread(-3, 3), spread(-3, 3)), 2e-14),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), (SHAPES, OTHERS), 1e-13),
    "erfcx": (lambda x: mp.erfc(x) * mp.exp(x * x), (np.append(rng.uniform(-25, 40, 40), 1e5),),
              1e-15),
    "ndtr": (mp.ncdf, (rng.uniform(-37, 9, 40),), 2e-15),
    "log_ndtr": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (rng.uniform(-90, 6, 40),), 2e-14),
    "ndtri": (quantile, (UNIT,), 3e-15),
    "erfcinv": (lambda y: -quantile(y / 2) / mp.sqrt(2), (UNIT,), 3e-15),
    "i0": (lambda x: mp.besseli(0, x), (ANY,), 3e-15),
    "i1": (lambda x: mp.besseli(1, x), (ANY,), 3e-15),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (ANY,), 3e-15),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (ANY,), 3e-15),
    "k0": (lambda x: mp.besselk(0, x), (POSITIVE,), 3e-15),
    "k1": (lambda x: mp.besselk(1, x), (POSITIVE,), 3e-15),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), (POSITIVE,), 3e-15),
    "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), (POSITIVE,), 3e-15),
    "ellipk": (mp.ellipk, (np.append(rng.uniform(-50, 1, 40), 1 - 1e-13),), 5e-15),
    "ellipe": (mp.ellipe, (np.append(rng.uniform(-50, 1, 40), 1 - 1e-13),), 2e-14),
    "logit": (lambda p: mp.log(p / (1 - p)), (UNIT,), 2e-15),
    "xlog1py": (lambda x, y: x * mp.log1p(y), (ANY, spread(-30, 30, 80)), 2e-15),
    "entr": (lambda x: -x * mp.log(x), (POSITIVE,), 2e-15),
    "rel_entr": (entropy, (SHAPES, OTHERS), 1e-13),
    "huber": (lambda d, r: mp.mpf(r) ** 2 / 2 if abs(r) <= d else d * (abs(r) - d / 2),
              (POSITIVE, POSITIVE[::-1]), 2e-15),
    "pseudo_huber": (lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
                     (POSITIVE, POSITIVE[::-1]), 4e-15),
    "exprel": (lambda x: mp.expm1(x) / x, (ANY,), 2e-15),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True),
                 (spread(-2, 3), spread(-2, 3)), 1e-13),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                (spread(-1, 3), spread(-1, 3), rng.uniform(0.1, 0.9, 40)), 1e-13),
    "j0": (lambda x: mp.besselj(0, x), (rng.uniform(0, 2, 20),), 1e-14),
    "expi": (mp.ei, (rng.uniform(0.5, 9, 20),), 1e-14),
    "lambertw": (mp.lambertw, (np.concatenate([POSITIVE, -np.exp(-1 - spread(-9, 3))]),), 2e-14),
    "lambertw_low": (lambda x: mp.lambertw(x, -1), (-np.exp(-1 - spread(-9, 6)),), 2e-14),
    "airy_ai": (mp.airyai, (rng.uniform(-2, 9, 20),), 5e-14),
    "airye_bi": (lambda x: mp.airybi(x) * mp.exp(-2 * mp.mpf(x) ** 1.5 / 3),
                 (rng.uniform(0.5, 50, 20),), 5e-14),
    "struve": (mp.struveh, (rng.uniform(0, 2, 20), rng.uniform(0.1, 9, 20)), 1e-12),
    "ber": (lambda x: mp.ber(0, x), (rng.uniform(0.1, 2, 20),), 1e-14),
    "elliprf": (mp.elliprf, (SHAPES, OTHERS, POSITIVE), 2e-15),
    "elliprd": (mp.elliprd, (SHAPES, OTHERS, POSITIVE), 3e-15),
    "elliprg": (mp.elliprg, (SHAPES, OTHERS, POSITIVE), 4e-15),
    "ellipkinc": (mp.ellipf, (rng.uniform(0, 1.5, 20), rng.uniform(-3, 0.9, 20)), 4e-15),
    "ellipeinc": (mp.ellipe, (rng.uniform(0, 1.5, 20), rng.uniform(-3, 0.9, 20)), 4e-15),
    "agm": (mp.agm, (SHAPES, OTHERS), 2e-15),
    "hyp2f1": (mp.hyp2f1, (*rng.uniform(0.2, 2, (3, 20)), rng.uniform(-0.9, 0.9, 20)), 1e-12),
    "hyp1f1": (mp.hyp1f1, (*rng.uniform(0.2, 2, (2, 20)), rng.uniform(-5, 5, 20)), 1e-12),
    "expn": (mp.expint, (rng.integers(1, 9, 20).astype(float), POSITIVE[:20]), 4e-15),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-mp.mpf(x) ** 2) * mp.erfi(x),
              (rng.uniform(0, 9, 20),), 4e-15),
    "digamma_gap": (lambda x, h: mp.psi(0, x + h) - mp.psi(0, x), (
        np.concatenate([SHAPES, SHAPES]), np.concatenate([OTHERS, -SHAPES * UNIT])), 4e-15),
    "kolmogp": (kolmogorov_slope, (np.append(rng.uniform(0.1, 3, 30), [0.05, 12.0]),), 4e-14),
    "slope_of_ellipk": (lambda x: mp.diff(mp.ellipk, x, h=1e-20),
                        (np.append(rng.uniform(-50, 1, 20), [-1e-9, 0.2, 1 - 1e-6]),), 3e-15),
    "slope_of_ellipe": (lambda x: mp.diff(mp.ellipe, x, h=1e-20),
                        (np.append(rng.uniform(-50, 1, 20), [-1e-9, 0.2, 1 - 1e-6]),), 3e-15),
    "slope_of_elliprd": (lambda x, y, z: mp.diff(lambda x: mp.elliprd(x, y, z), x, h=x * 1e-20),
                         (SHAPES[:9], np.append(OTHERS[:7], SHAPES[7:9]),
                          np.append(POSITIVE[:7], [SHAPES[7], OTHERS[8]])), 3e-15),
    "spence": (lambda x: mp.polylog(2, 1 - mp.mpf(x)), (rng.uniform(0.05, 0.8, 20),), 1e-14),
    "hurwitz_zeta": (mp.zeta, (rng.uniform(1.1, 20, 20), POSITIVE[:20] + 0.1), 1e-14),
    "riemann_zeta": (mp.zeta, (rng.uniform(-9.5, 20, 40),), 1e-13),
    "polygamma": (lambda n, x: mp.psi(int(n), x), (rng.integers(0, 5, 20).astype(float),
                                                   rng.uniform(2, 30, 20)), 1e-13),
    "boxcox": (lambda x, p: (mp.mpf(x) ** p - 1) / p, (SHAPES, rng.uniform(-2, 2, 40)), 2e-13),
    "inv_boxcox": (lambda y, p: (1 + mp.mpf(y) * p) ** (1 / mp.mpf(p)),
                   (POSITIVE, rng.uniform(0.5, 2, 40)), 2e-14),
    "cosm1": (lambda x: mp.cos(x) - 1, (np.append(rng.uniform(-3, 3, 20), 1e-6),), 2e-15),
    "exp10": (lambda x: mp.mpf(10) ** x, (rng.uniform(-300, 300, 40),), 1e-15),
}


@functools.cache
def exact(name):
    """Computed when a test asks: every process that collects tests imports this file."""
    reference, operands, _ = VALUES[name]
    with mp.workdps(60):
        return [reference(*map(mp.mpf, map(float, point))) for point in zip(*operands, strict=True)]


def agree(name, found, slack=1.0):
    with mp.workdps(60):
        wrong = [abs((mp.mpf(float(f)) - e) / e) for f, e in zip(found, exact(name), strict=True)]
    worst = int(np.argmax([float(w) for w in wrong]))
    point = [x[worst] for x in VALUES[name][1]]
    assert wrong[worst] <= VALUES[name][2] * slack, (name, point, float(wrong[worst]))


@pytest.mark.share(9)
@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    operands = [ag.tensor(x) for x in VALUES[name][1]]
    agree(name, call(TABLE[name], tuple(operands)).numpy())
    agree(name, ag.jit(lambda *xs: call(TABLE[name], xs))(*operands).numpy())


@pytest.mark.share(6)
@pytest.mark.parametrize("name", ["gammainc", "betainc"] + [
    n for n in VALUES if TABLE[n].expand is not None])
def test_values_without_scipy(name, monkeypatch):
    for module in ("elementwise.formula", "special.special"):
        monkeypatch.setattr(f"agnesi.ops.{module}.in_scipy", lambda name: None)
    agree(name, TABLE[name].perform(*VALUES[name][1]), 2.0)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [n for n in VALUES if TABLE[n].expand is not None])
def test_single_precision(name):
    """Computed in double precision and rounded once."""
    operands = [x.astype(np.float32) for x in VALUES[name][1]]
    expected = TABLE[name].perform(*(x.astype(np.float64) for x in operands))
    with np.errstate(over="ignore"):
        expected = expected.astype(np.float32)
    found = ag.jit(lambda *xs: call(TABLE[name], xs))(*map(ag.tensor, operands))
    assert found.dtype == ag.float32
    np.testing.assert_allclose(found.numpy(), expected, 3e-7)


def test_inverses_without_scipy():
    a, b, p = spread(-1, 2, 12), spread(-1, 2, 12), rng.uniform(0.05, 0.95, 12)
    x = incomplete._gammaincinv(a, p)
    np.testing.assert_allclose(special.gammainc(a, x).numpy(), p, 1e-12)
    x = incomplete._betaincinv(a, b, p)
    np.testing.assert_allclose(special.betainc(a, b, x).numpy(), p, 1e-12)
    np.testing.assert_allclose(special.betaincinv(a, b, p).numpy(), x, 1e-10)
    ends = incomplete._gammaincinv(np.ones(3), np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(ends, [0, np.inf, np.nan])


@np.errstate(all="ignore")
def test_edges_without_scipy():
    nan, inf = np.nan, np.inf
    a, x = np.array([1, 1, 1, -1, 2, nan]), np.array([0, inf, -1, 1, nan, 1])
    own = incomplete._VALUES
    np.testing.assert_array_equal(own["gammainc"](a, x), [0, 1, nan, nan, nan, nan])
    np.testing.assert_array_equal(own["gammaincc"](a, x), [1, 0, nan, nan, nan, nan])
    for row in (incomplete.GAMMAINC_DA, incomplete.GAMMAINC_DAA):
        np.testing.assert_array_equal(row.perform(a * 1.0, x * 1.0), [0, 0, nan, nan, nan, nan])
    for row in (incomplete.BETAINC_DA, incomplete.BETAINC_DBB):
        found = row.perform(a * 1.0, np.ones(6), np.array([0.0, 1, -1, 0.5, nan, 0.5]))
        np.testing.assert_array_equal(found, [0, 0, nan, nan, nan, nan])


@pytest.mark.share(2)
@pytest.mark.parametrize("name, x, expected", [
    ("gamma", [0.0, -0.0, -1.0, np.inf, 172.0], [np.inf, -np.inf, np.nan, np.inf, np.inf]),
    ("rgamma", [0.0, -1.0, -2.0, np.inf], [0, 0, 0, 0]),
    ("trigamma", [0.0, -1.0, np.inf], [np.inf, np.inf, 0]),
    ("erfcx", [-30.0, 0.0, np.inf], [np.inf, 1, 0]),
    ("ndtr", [-np.inf, 0.0, np.inf, -50.0], [0, 0.5, 1, 0]),
    ("log_ndtr", [-np.inf, np.inf], [-np.inf, 0]),
    ("ndtri", [0.0, 0.5, 1.0, -0.1, 1.1], [-np.inf, 0, np.inf, np.nan, np.nan]),
    ("erfcinv", [0.0, 1.0, 2.0, 3.0, -5e-324], [np.inf, 0, -np.inf, np.nan, np.nan]),
    ("i0", [np.inf, -np.inf, 800.0], [np.inf] * 3), ("i1", [np.inf, -np.inf], [np.inf, -np.inf]),
    ("k0", [0.0, -1.0, np.inf], [np.inf, np.nan, 0]),
    ("k1e", [0.0, -1.0, np.inf], [np.inf, np.nan, 0]),
    ("ellipk", [1.0, 2.0, -np.inf], [np.inf, np.nan, 0]), ("ellipe", [1.0, 2.0], [1, np.nan]),
    ("logit", [0.0, 1.0, -1.0, 2.0], [-np.inf, np.inf, np.nan, np.nan]),
    ("entr", [0.0, -1.0, np.nan], [0, -np.inf, np.nan]),
    ("exprel", [0.0, 2.5e-323, -5e-324, -np.inf, np.inf], [1, 1, 1, 0, np.inf]),
])
def test_poles_and_ends(name, x, expected):
    for run in (lambda x: call(TABLE[name], (x,)), ag.jit(lambda x: call(TABLE[name], (x,)))):
        np.testing.assert_array_equal(run(ag.tensor(np.array(x))).numpy() + 0.0, expected)


@pytest.mark.parametrize("name", ["erfinv", "i1", "i1e", "cosm1", "rgamma", "ellipk", "ellipe"])
def test_far_ends_and_signs_of_zero_are_as_eagerly(name):
    """Poles far out, parameters of any size, both zeros."""
    x = ag.tensor(np.array([-0.0, 0.0, -1e-5, -171.0, -700.0, -1e5, -1e30, -1e300, np.inf]))
    expected = call(TABLE[name], (x,)).numpy()
    found = ag.jit(lambda x: call(TABLE[name], (x,)))(x).numpy()
    np.testing.assert_allclose(found, expected, 1e-12)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_slopes_of_scaled_tails_keep_their_digits():
    x = ag.tensor([1.0, 7.9, 8.1, 30.0, 1e5, 1e200], dtype="float64")
    exact = [-0.27321201478389856, -0.008831024690637856, -0.008409660222553565,
             -0.0006258354105074841, -5.641895834631278e-11, 0.0]
    slope = ag.grad(lambda x: ag.special.erfcx(x).sum())
    for found in (slope(x), ag.jit(slope)(x)):
        np.testing.assert_allclose(found, exact, rtol=1e-12)
    f = ag.jit(lambda x: ag.exp(x) * ag.erfc(ag.sqrt(x)))
    np.testing.assert_allclose(f(ag.tensor([800.0])), [0.01993467037660262], rtol=1e-6)
    g = ag.jit(lambda x: ag.sqrt(1 + ag.exp(x)))
    y, t = ag.jvp(g, (ag.tensor(800.0, dtype="float64"),), (ag.tensor(1.0, dtype="float64"),))
    np.testing.assert_allclose([y, t], [5.221469689764144e173, 2.610734844882072e173], rtol=1e-12)


@pytest.mark.parametrize("order, parameter", [
    (1.0, np.nan), (1.0, 1e9), (np.inf, 1.0), (2.0 ** 31, 1.0), (1.0, -np.inf)])
def test_mathieu_functions_of_what_scipy_writes_outside_of_its_memory_for(order, parameter):
    for function in (special.mathieu_cem, special.mathieu_modsem2):
        for f in (function, ag.jit(function)):
            assert all(np.isnan(v) for v in f(order, parameter, 0.3))


@pytest.mark.parametrize("c", [np.nan, np.inf, 1e300, 400.0])
def test_spheroidal_functions_of_what_scipy_writes_outside_of_its_memory_for(c):
    for f in (special.obl_ang1, special.pro_rad2, ag.jit(special.obl_rad1)):
        assert all(np.isnan(v) for v in f(0.0, 1.0, c, 0.5))
    assert np.isnan(special.pro_cv(0.0, 1.0, c))
    assert np.isnan(special.obl_rad2_cv(0.0, 1.0, c, 2.0, 0.5)[0])


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
def test_compiled_bessel_functions_lose_no_digits_near_zero(name: str) -> None:
    """Power series have terms of one sign, other than Chebyshev series."""
    x = np.linspace(-8, 8, 161)
    found = ag.jit(getattr(ag.special, name))(ag.tensor(x)).numpy()
    for at, got in zip(x, found, strict=True):
        exact = mp.besseli(int(name[1]), at) * (mp.exp(-abs(at)) if name[2:] else 1)
        assert abs(got - exact) <= 3.5 * np.spacing(abs(float(exact))), (at, got, exact)


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "ndtr"])
def test_single_precision_is_the_rounded_double(name: str) -> None:
    """Its series have fewer terms, and what they leave out is rounded away."""
    x = np.geomspace(1e-6, 40, 4001)
    x = (np.concatenate([-x[::-1], x]) if name[0] != "k" else x).astype(np.float32)
    f = ag.jit(getattr(ag.special, name))
    found = f(ag.from_numpy(x)).numpy().astype(np.float64)
    with np.errstate(over="ignore"):
        known = f(ag.from_numpy(x.astype(np.float64))).numpy().astype(np.float32)
    wrong = np.abs(found - known) > 1e-9 * np.abs(known)
    assert np.all(np.abs(found - known)[wrong] <= np.spacing(np.abs(known))[wrong])
    assert np.count_nonzero(wrong) <= 8


@pytest.mark.parametrize("x", [1e19, np.inf])
def test_kummers_function_ends_where_scipys_does_not(x):
    given = ag.tensor([0.5, x], dtype="float64")
    for f in (ag.special.hyp1f1, ag.jit(ag.special.hyp1f1)):
        found = f(1.2, 2.5, given).numpy()
        np.testing.assert_allclose(found[0], float(mp.hyp1f1(1.2, 2.5, 0.5)), rtol=1e-12)
        assert np.isnan(found[1])
