"""Ranges whose ends are tensors: values, derivatives, and where they are known late."""

import functools
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

#: Functions of ends, NumPy's of the same, and ends.
RANGES = {
    "linspace": (lambda xp, a, b: xp.linspace(a, b, 5), (1.25, 2.0)),
    "linspace without the end": (
        lambda xp, a, b: xp.linspace(a, b, 4, endpoint=False), (1.25, -2.0)),
    "linspace of one": (lambda xp, a, b: xp.linspace(a, b, 1), (1.25, 2.0)),
    "logspace": (lambda xp, a, b, c: xp.logspace(a, b, 5, base=c), (0.25, 2.0, 3.0)),
    "geomspace": (lambda xp, a, b: xp.geomspace(a, b, 5), (1.25, 2.0)),
    "fftfreq": (lambda xp, d: xp.fft.fftfreq(5, d), (0.3,)),
    "rfftfreq": (lambda xp, d: xp.fft.rfftfreq(6, d), (0.3,)),
    "kaiser": (lambda xp, beta: xp.kaiser(6, beta), (2.5,)),
    "kaiser of one": (lambda xp, beta: xp.kaiser(1, beta), (2.5,)),
    "correction": (lambda xp, c: xp.var(np.array([1.0, 2.0, 4.0]), ddof=c), (0.5,)),
    "correction of deviations": (
        lambda xp, c: xp.std(np.array([[1.0, 2.0, 4.0]]), axis=1, ddof=c), (0.5,)),
}


@pytest.fixture(autouse=True)
def doubles():
    before, ag.config.default_float = ag.config.default_float, "float64"
    yield
    ag.config.default_float = before


@pytest.mark.share(4)
@pytest.mark.parametrize("name", RANGES)
def test_values_and_derivatives(name):
    f, ends = RANGES[name]
    expected = f(np, *ends)
    tensors = [ag.tensor(e, requires_grad=True) for e in ends]
    symbols = [T.dscalar() for _ in ends]
    for found in (f(ag, *ends), f(ag, *tensors), ag.jit(lambda *xs: f(ag, *xs))(*ends),
                  ag.function(symbols, f(ag, *symbols))(*ends)):
        np.testing.assert_allclose(np.asarray(found.detach() if isinstance(found, ag.Tensor)
                                              else found), expected, rtol=1e-14, atol=1e-300)
    ag.testing.check_grads(lambda *xs: f(ag, *xs), ends)
    if name.endswith("of one"):
        return
    slope = ag.jit(ag.grad(lambda *xs: (f(ag, *xs) ** 2).sum(), len(ends) - 1))(*ends)
    h = 1e-6
    up, down = (float((f(np, *ends[:-1], ends[-1] + s) ** 2).sum()) for s in (h, -h))
    np.testing.assert_allclose(float(slope), (up - down) / (2 * h), rtol=1e-6)


def test_steps_of_arange():
    ag.testing.check_grads(lambda a, s: ag.arange(a, 4.9, s), (0.5, 0.7))
    a = ag.tensor(0.5, requires_grad=True)
    np.testing.assert_array_equal(ag.arange(a, 3.0).detach(), [0.5, 1.5, 2.5])
    assert ag.grad(lambda b: ag.arange(0.0, b).sum() + b)(2.5).item() == 1  # piecewise constant
    np.testing.assert_array_equal(ag.jit(lambda: ag.arange(a, 3.0))().detach(), [0.5, 1.5, 2.5])


def test_captured_ends_are_read_when_the_code_runs():
    end = ag.tensor(2.0)
    f = ag.jit(lambda: ag.linspace(0.0, end, 3))
    assert f().tolist() == [0.0, 1.0, 2.0]
    end.fill_(4.0)
    assert f().tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
def test_lengths_of_windows_are_whole(name):
    more = (2.0,) if name == "kaiser" else ()
    with pytest.raises(TypeError, match=name):
        getattr(ag, name)(ag.tensor(3.5), *more)


def test_ends_are_real_numbers():
    with pytest.raises(TypeError, match="linspace"):
        ag.jit(lambda a, b: ag.linspace(a, b, 3))(ag.tensor(1j), 2.0)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
@pytest.mark.parametrize("options", [{}, {"endpoint": False}, {"axis": -1}, {"num": 1}], ids=str)
def test_ranges_between_arrays_are_numpys(name: str, options: dict[str, Any]) -> None:
    f, theirs = getattr(ag, name), getattr(np, name)
    options = {"num": 4, **options}
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 3.0])
    for start, stop in ((a, b), (a, 5.0), (1.0, b), (a[:1, :1], 2.0)):
        want = theirs(start, stop, **options)
        call = functools.partial(f, **options)
        for found in (call(start, stop), ag.jit(call)(ag.asarray(start), ag.asarray(stop))):
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-5)
            assert found.shape == want.shape
    slope = ag.grad(lambda s: f(s, b, num=3).sum())(ag.ones(2))
    assert slope.shape == (2,) and (slope.numpy() > 0).all()


@pytest.mark.parametrize("ends", [
    (5,), (0,), (-3,), (2, 9, 3), (9, 2, -3), (9, 2), ((1 << 60) - 2, 1 << 60),
    ((1 << 63) - 3, (1 << 63) - 1), (-(1 << 63), -(1 << 63) + 2), (0, 1 << 62, 1 << 61),
])
def test_ranges_of_integers_are_numpys_up_to_the_ends_of_int64(ends: tuple[int, ...]) -> None:
    found = ag.arange(*ends)
    np.testing.assert_array_equal(found, np.arange(*ends))
    assert found.dtype == "int64"
