"""Slopes whose terms cancel or overflow, beside mpmath: eagerly and compiled."""

import mpmath as mp
import numpy as np
import pytest

import agnesi as ag
from agnesi import special


def scaled(bessel, order, sign):
    return lambda x: bessel(order, x) * mp.exp(sign * abs(x))


#: Function, reference, operands.
CASES = {
    "i0e": (special.i0e, scaled(mp.besseli, 0, -1), (-1e15, -300.0, -8.5, 0.4, 20.0, 1e4)),
    "i1e": (special.i1e, scaled(mp.besseli, 1, -1), (-1e15, -300.0, -8.5, 0.4, 20.0, 1e4)),
    "k0e": (special.k0e, scaled(mp.besselk, 0, 1), (0.3, 2.5, 20.0, 1e4)),
    "k1e": (special.k1e, scaled(mp.besselk, 1, 1), (0.3, 2.5, 20.0, 1e4)),
    "ive": (lambda x: special.ive(4.5, x), scaled(mp.besseli, 4.5, -1), (3.0, 30.0, 600.0, 1e9)),
    "kve": (lambda x: special.kve(4.5, x), scaled(mp.besselk, 4.5, 1), (3.0, 30.0, 600.0, 1e9)),
    **{f"airye {i}": (lambda x, i=i: special.airye(x)[i],
                      lambda x, i=i: (mp.airyai, mp.airybi)[i > 1](x, derivative=i % 2) * mp.exp(
                          (1 - 2 * (i > 1)) * mp.sqrt(x) * x * 2 / 3), (12.0, 90.0, 2e4))
       for i in range(4)},
    "boxcox": (lambda x: special.boxcox(1.15, x), lambda x: (mp.mpf(1.15) ** x - 1) / x,
               (-4.0, 0.6, 2.0)),
    "inv_boxcox": (lambda x: special.inv_boxcox(0.22, x),
                   lambda x: mp.exp(mp.log1p(mp.mpf(0.22) * x) / x), (0.67, 1.5)),
    "kolmogorov": (special.kolmogorov, lambda x: 2 * mp.nsum(
        lambda k: (-1) ** (int(k) - 1) * mp.exp(-2 * (k * x) ** 2), [1, 30]), (0.83, 1.0, 4.0)),
    "dawsn": (special.dawsn, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
              (-30.0, -7.0, -5.0, 0.3, 6.0, 12.0)),
    "sinc": (ag.sinc, lambda x: mp.sin(mp.pi * x) / (mp.pi * x),
             (-0.3, -1e-3, 1e-9, 3e-5, 0.01, 0.2, 2.7)),
    "asinh": (ag.asinh, mp.asinh, (-1e200, -3.0, 1e-9, 1e160)),
    "exprel": (special.exprel, lambda x: mp.expm1(x) / x, (-800.0, -0.9, 0.3, 0.499, 1.5, 600.0)),
    "ellipk": (special.ellipk, mp.ellipk, (-50.0, -0.17, 0.2, 0.999)),
    "ellipkm1": (special.ellipkm1, lambda x: mp.ellipk(1 - x), (1e-9, 0.8, 1.6, 1e9)),
    "ellipkinc": (lambda x: special.ellipkinc(0.24, x), lambda x: mp.ellipf(mp.mpf(0.24), x),
                  (-2.0, 1e-9, 0.9)),
    "ellipkinc beyond a period": (lambda x: special.ellipkinc(-8.2, x),
                                  lambda x: mp.ellipf(mp.mpf(-8.2), x), (-2.0, 1e-9, 0.9)),
    "ellipeinc": (lambda x: special.ellipeinc(8.2, x), lambda x: mp.ellipe(mp.mpf(8.2), x),
                  (-2.0, 1e-9, 0.9)),
    "agm": (lambda x: special.agm(x, 0.01), lambda x: mp.agm(x, mp.mpf(0.01)),
            (1e-180, 1e-6, 0.02, 86.0, 1e180)),
    "elliprc": (lambda x: special.elliprc(0.3, x), lambda x: mp.elliprc(mp.mpf(0.3), x),
                (-1.0, 0.01, 0.29, 0.4)),
    "betaln": (lambda x: special.betaln(x, 0.19), lambda x: mp.log(mp.beta(x, mp.mpf(0.19))),
               (1e-9, 0.5, 822.0, 1e12)),
    "rgamma": (special.rgamma, mp.rgamma, (-8 + 7e-13, -3 - 1e-9, -0.7, 3.5)),
}


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_slopes(name, wrap):
    function, reference, xs = CASES[name]
    found = wrap(ag.grad(lambda x: function(x).sum()))(ag.tensor(xs, dtype="float64")).tolist()
    for x, y in zip(xs, found, strict=True):
        with mp.workdps(60):
            at = mp.mpf(x)
            h = mp.mpf(10) ** -20 * min(abs(at), 1)
        with mp.workdps(800 if abs(x) > 1e15 else 150):
            want = (reference(at + h) - reference(at - h)) / (2 * h)
        assert abs(y - want) <= 20 * mp.mpf(float(np.spacing(abs(float(want))))), (x, y, want)


def test_slopes_at_ends():
    for dtype in ("float32", "float64"):
        slope = ag.grad(lambda x: special.exprel(x).sum())
        assert slope(ag.tensor([1e4, -np.inf], dtype=dtype)).tolist() == [np.inf, 0]
        slope = ag.grad(lambda x: special.i1e(x).sum())
        assert slope(ag.tensor([1e-45, 0.0, 1e30], dtype=dtype)).tolist()[:2] == [0.5, 0.5]
        for f in (special.i0e, special.k0e, special.k1e, special.dawsn):
            assert ag.grad(lambda x, f=f: f(x).sum())(ag.tensor([np.inf], dtype=dtype)) == 0


def test_digamma_beside_its_poles():
    x = ag.tensor([-8 + 7e-13, -2 - 1e-10], dtype="float64")
    for f in (special.digamma, ag.jit(special.digamma)):
        np.testing.assert_allclose(f(x), [float(mp.digamma(v)) for v in x.tolist()], rtol=1e-14)


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
def test_cotangents_of_small_angles(wrap):
    x = ag.tensor([-1e-12, 1e-5, 3.0, 89.0, 179.5], dtype="float64")
    want = [float(mp.cot(mp.mpf(v) * mp.pi / 180)) for v in x.tolist()]
    np.testing.assert_allclose(wrap(special.cotdg)(x), want, rtol=1e-13)
    ends = ag.tensor([0.0, 90.0, 180.0], dtype="float64")
    assert wrap(special.cotdg)(ends).tolist() == [np.inf, 0, np.inf]
    slopes = wrap(ag.grad(lambda x: special.cotdg(x).sum()))(ends)
    np.testing.assert_allclose(slopes, [-np.inf, -np.pi / 180, -np.inf])


def test_polygamma_of_an_element_does_not_depend_on_others():
    alone = special.polygamma(2, ag.tensor([0.0025], dtype="float64"))
    assert special.polygamma(2, ag.tensor([0.0025, -1e5], dtype="float64"))[0] == alone[0]


def test_slopes_of_lambertw_far_out():
    slope = ag.grad(lambda x: special.lambertw(x).sum())
    found = slope(ag.tensor([1e200, 0.0, 1e-300], dtype="float64"))
    w = mp.lambertw(mp.mpf(1e200))
    np.testing.assert_allclose(found, [float(w / (mp.mpf(1e200) * (1 + w))), 1, 1], rtol=1e-15)


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
def test_ends_of_single_functions(wrap):
    huber = wrap(special.pseudo_huber)
    delta = ag.tensor([1.5, 1e-300, -1.5, 1.5], dtype="float64")
    r = ag.tensor([1e300, 1e300, 1e300, np.inf], dtype="float64")
    assert huber(delta, r).tolist() == [1.5e300, 1.0, np.inf, np.inf]
    slopes = wrap(ag.grad(special.pseudo_huber, (0, 1)))
    for d, at in ((1.5, 1e-6), (1.5, 2.0), (2.0, 1e18)):
        with mp.workdps(60):
            s = mp.sqrt(1 + (mp.mpf(at) / d) ** 2)
            want = [float(d * (s - 1) ** 2 / s), float(at / s)]
        found = slopes(ag.tensor(d, dtype="float64"), ag.tensor(at, dtype="float64"))
        np.testing.assert_allclose(found, want, rtol=1e-15)
    polynomial = wrap(lambda c: special.hyp1f1(ag.tensor([-2.0, -2.5], dtype="float64"), 1.5, c))
    found = polynomial(ag.tensor(1e12, dtype="float64")).tolist()
    assert np.isclose(found[0], 1e24 * 4 / 15, 1e-10) and np.isnan(found[1])
    ends = wrap(lambda x: special.polygamma(2, x))(ag.tensor([-0.0, 0.0], dtype="float64"))
    assert ends.tolist() == [np.inf, -np.inf]
    tiny = ag.tensor(np.eye(2) * 1e-200)
    powers = wrap(lambda x: ag.linalg.matrix_power(x, -2))(tiny)
    assert powers.tolist() == [[np.inf, 0], [0, np.inf]]


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
def test_slopes_of_carlsons_integral_where_operands_are_equal(wrap):
    for at in ((2.0, 2.0, 2.0), (1.5, 0.4, 1.5), (0.3, 1.2, 1.2)):
        xs = [ag.tensor(v, dtype="float64") for v in at]
        found = wrap(ag.grad(special.elliprd, (0, 1, 2)))(*xs)
        with mp.workdps(50):
            for i, slope in enumerate(found):
                want = mp.diff(mp.elliprd, at, tuple(int(i == j) for j in range(3)))
                assert abs(float(slope) / want - 1) < 2e-15
    second = wrap(ag.grad(ag.grad(lambda x: special.elliprc(x, 0.5))))
    with mp.workdps(50):
        want = mp.diff(lambda x: mp.elliprc(x, mp.mpf(0.5)), 0.5, 2)
    assert abs(float(second(ag.tensor(0.5, dtype="float64"))) / want - 1) < 1e-14


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
def test_slopes_in_single_precision_are_rounded_once(wrap):
    a, x = np.meshgrid([0.7, 2.5, 17.0], [0.3, 2.0, 40.0])
    a, x = (ag.tensor(v, dtype="float32") for v in (a, x))
    for name in ("ive", "kve", "yv", "agm", "gammainc", "betaln", "binom", "boxcox", "stdtr"):
        f = getattr(special, name)
        slope = wrap(ag.grad(lambda x, f=f: f(a, x).sum()))
        wide = ag.grad(lambda x, f=f: f(a.astype("float64"), x).sum())
        with np.errstate(over="ignore"):
            want = wide(x.astype("float64")).numpy().astype(np.float32)
        found = slope(x)
        assert found.dtype == ag.float32
        np.testing.assert_allclose(found, want, rtol=1.2e-7, err_msg=name)


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "compiled"])
def test_slopes_beside_overflow(wrap):
    slope = wrap(ag.grad(lambda x: special.i1(x).sum()))
    assert slope(ag.tensor([-1e30, 1e4], dtype="float64")).tolist() == [np.inf, np.inf]
    slope = wrap(ag.grad(lambda x: special.rgamma(x).sum()))
    assert slope(ag.tensor([5e-324, -1e-310], dtype="float64")).tolist() == [1, 1]
    slope = wrap(ag.grad(lambda x: special.cotdg(x).sum()))(ag.tensor(-1e-15, dtype="float64"))
    assert np.isclose(slope.item(), -180 / np.pi * 1e30)
