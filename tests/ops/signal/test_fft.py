"""Fourier transforms against NumPy, as adjoints of each other, compiled, batched and symbolic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.core.support.errors import ShapeError
from agnesi.ops.signal.fourier import Fft, RealFft, RealIfft

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 5, 4))
Z = X + 1j * rng.normal(size=X.shape)
NORMS = (None, "backward", "ortho", "forward")
REAL = ("rfft", "ihfft", "rfft2", "rfftn")


def near(found, expected, tolerance=1e-12):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_along_an_axis(name, norm):
    x = X if name in REAL else Z
    for n in (None, 1, 3, 7, 8):
        for axis in (-1, 0, 1):
            if n == 1 and name in ("irfft", "hfft"):
                continue
            expected = getattr(np.fft, name)(x, n, axis, norm)
            near(getattr(ag.fft, name)(x, n, axis, norm), expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
                                  "irfftn"])
def test_over_axes(name, norm):
    x = X if name in REAL else Z
    for s, axes in ((None, (-2, -1)), ((4, 6), (0, 1)), ((3, 3), (2, 1)), ((-1, 3), (0, 2))):
        near(getattr(ag.fft, name)(x, s, axes, norm), getattr(np.fft, name)(x, s, axes, norm))
    near(getattr(ag.fft, name)(x), getattr(np.fft, name)(x))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_one_number_is_one_axis_and_one_size(name):
    f, x = getattr(ag.fft, name), ag.tensor(X)
    for one, several in ((f(x, dim=1), f(x, dim=(1,))), (f(x, 5), f(x, (5,))),
                         (f(x, -1, 1), f(x, (-1,), (1,))), (f(x, s=6, axes=-2), f(x, (6,), (-2,)))):
        np.testing.assert_array_equal(one, several)
    near(ag.jit(lambda x: f(x, x.shape[1], 1))(x), f(x, (5,), (1,)).numpy())


def test_an_axis_may_come_twice():
    near(ag.fft.fftn(Z, axes=(1, 1)), np.fft.fft(np.fft.fft(Z, axis=1), axis=1))


@pytest.mark.parametrize("dtype, real, spectral", [
    ("float16", "float32", "complex64"), ("float32", "float32", "complex64"),
    ("float64", "float64", "complex128"), ("int16", "float32", "complex64"),
])
def test_precision_stays(dtype, real, spectral):
    x = np.arange(6).astype(dtype)
    assert ag.fft.fft(x).dtype == spectral and ag.fft.rfft(x).dtype == spectral
    assert ag.fft.irfft(ag.fft.rfft(x)).dtype == real and ag.fft.hfft(x).dtype == real


def test_examples_may_be_none():
    nothing = np.zeros((0, 4))
    assert ag.fft.fft(nothing).shape == (0, 4) and ag.fft.rfft(nothing).shape == (0, 3)
    assert ag.fft.irfft(nothing, 5).shape == (0, 5)


@pytest.mark.parametrize("call, error, words", [
    (lambda: ag.fft.fft(np.zeros((2, 0))), ValueError, "at least 1 number"),
    (lambda: ag.fft.fft(X, 0), ValueError, "at least 1 number"),
    (lambda: ag.fft.irfft(Z[..., :1]), ValueError, "at least 1 number, not 0"),
    (lambda: ag.fft.rfft(Z), TypeError, "rfft(complex128[3, 5, 4]): takes real numbers"),
    (lambda: ag.fft.fft(X, norm="no"), ValueError, "none of 'backward', 'ortho', 'forward'"),
    (lambda: ag.fft.fft(X, axis=3), IndexError, "axis 3 is out of range for 3 dimensions"),
    (lambda: ag.fft.fftn(X, (2,), (0, 1)), ValueError, "must be as many"),
    (lambda: ag.fft.rfftn(X, axes=()), ValueError, "at least one axis"),
    (lambda: ag.fft.fftfreq(0), ValueError, "n must be at least 1"),
])
def test_errors(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@given(st.integers(1, 9), st.sampled_from(["backward", "ortho", "forward"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_gradients_are_adjoints(n, norm, twisted):
    """<g, T x> = <T* g, x> as real inner products, for all three operations."""
    half = n // 2 + 1
    real = rng.normal(size=n)
    z, spectrum = (rng.normal(size=m) + 1j * rng.normal(size=m) for m in (n, half))
    for op, x, g in (
        (Fft((-1,), twisted, norm), z, z[::-1] * 1j), (RealFft(-1, norm, twisted), real, spectrum),
        (RealIfft(-1, n, norm, twisted), spectrum, real),
    ):
        x, g = ag.tensor(x), ag.tensor(g)
        (back,) = op.vjp(g, None, x)
        left = np.vdot(g.numpy(), op.perform(x.numpy())).real
        np.testing.assert_allclose(np.vdot(back.numpy(), x.numpy()).real, left, 1e-10, 1e-10)


@pytest.mark.parametrize("n", [4, 5])
def test_gradient_of_power(n):
    """Parseval: the derivative of the energy of a spectrum is known."""
    x = ag.tensor(X[0, 0, :3])
    power = lambda x: (ag.abs(ag.fft.fft(x, n)) ** 2).sum() / n  # noqa: E731
    near(ag.grad(power)(x), 2 * X[0, 0, :3])
    near(ag.jit(ag.grad(power))(x), 2 * X[0, 0, :3])


def test_batched_and_symbolic():
    near(ag.vmap(ag.fft.rfft, in_axes=1)(ag.tensor(X[0])), np.fft.rfft(X[0], axis=0).T)
    T = ag.symbolic
    x = T.matrix("x", dtype="float64")
    f = ag.function([x], ag.fft.irfft(ag.fft.rfft(x, 6) * 2, 6))
    expected = np.fft.irfft(np.fft.rfft(X[0], 6) * 2, 6)
    near(ag.tensor(f(X[0])), expected)
    near(ag.tensor(f(X[0][:2])), expected[:2])


def test_frequencies():
    for n in range(1, 9):
        near(ag.fft.fftfreq(n, 0.5, dtype="float64"), np.fft.fftfreq(n, 0.5))
        near(ag.fft.rfftfreq(n, d=0.1, dtype="float64"), np.fft.rfftfreq(n, 0.1))
    assert ag.fft.fftfreq(3).dtype == ag.float32
    with pytest.raises(TypeError, match="floating"):
        ag.fft.fftfreq(3, dtype="int64")


def test_shifts():
    for axes in (None, 0, (0, 2), ()):
        near(ag.fft.fftshift(X, axes), np.fft.fftshift(X, axes))
        near(ag.fft.ifftshift(ag.fft.fftshift(X, axes), axes), X)


def test_out_takes_the_result():
    out = ag.zeros((3, 5, 3), dtype="complex128")
    assert ag.fft.rfft(X, out=out) is out
    near(out, np.fft.rfft(X))


def test_without_scipy(monkeypatch):
    from agnesi.ops.signal import fourier as module

    monkeypatch.setattr(module, "library", lambda: np.fft)
    near(ag.fft.fftn(Z), np.fft.fftn(Z))
    near(ag.fft.irfft(Z, 5), np.fft.irfft(Z, 5))
    assert ag.fft.rfft(X.astype("float32")).dtype == ag.complex64


@pytest.mark.parametrize("n", [10, 3, 6])
def test_frequencies_that_are_not_those_of_the_length_are_refused(n):
    """As a graph file may say; compiled code wrote beyond its memory."""
    with pytest.raises(ShapeError, match=f"{n} real numbers have {n // 2 + 1} frequencies, not 3"):
        apply(RealIfft(-2, n, "backward"), ag.ones((2, 3, 4), dtype="complex128"))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "ihfft", "fftn", "rfft2"])
def test_few_numbers_pass_by_the_librarys_functions(name, monkeypatch):
    """At once and by the plan of the call, with the same bits."""
    scipy_fft = pytest.importorskip("scipy.fft")
    x = np.random.default_rng(0).normal(size=(3, 5))
    x = x.astype("complex128" if name == "irfft" else "float32")
    wanted = getattr(scipy_fft, name)(x, norm="ortho")
    for own in ("fftn", "ifftn", "rfft", "irfft"):
        monkeypatch.setattr(scipy_fft, own, lambda *call, **options: pytest.fail("the long way"))
    t = ag.tensor(x)
    for _ in range(40):
        found = getattr(ag.fft, name)(t, norm="ortho").numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
