"""No gradient is cut without a word where NumPy or SciPy gets a value that is followed."""

import cmath
import contextlib
import io
import math
import pickle
import types
from math import hypot

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import agnesi as ag
from agnesi.core.support.errors import GradientError
from agnesi.core.support.tree import flatten


def _assigned(x):
    array = np.zeros(2)
    array[0] = x[0]


LOSING = {
    "np.array of a list": lambda x: np.array([x[0], x[1]]),
    "np.asarray": np.asarray,
    "np.array": np.array,
    "np.ascontiguousarray": np.ascontiguousarray,
    "np.full": lambda x: np.full((2, 2), x[0]),
    "np.full of an array": lambda x: np.full(2, x),
    "np.sum of a list": lambda x: np.sum([x[0], x[1]]),
    "an element": _assigned,
    "a slice": lambda x: np.zeros(2).__setitem__(slice(None), x),
    "np.from_dlpack": np.from_dlpack,
    "logsumexp": scipy.special.logsumexp,
    "logpdf": scipy.stats.norm.logpdf,
    "math.exp": lambda x: math.exp(x[0]),
    "hypot": lambda x: hypot(x[0], 1.0),
    "cmath.exp": lambda x: cmath.exp(x[0]),
    "math.fsum": lambda x: math.fsum([x[0], x[1]]),
    "float() in SciPy": lambda x: scipy.signal.iirnotch(x[0] / 4, 2.0),
    "expm": lambda x: scipy.linalg.expm(x * np.eye(2, dtype=np.float32)),
}


@pytest.mark.parametrize("how", LOSING)
def test_what_would_lose_a_gradient_is_refused(how):
    def f(x):
        LOSING[how](x)
        return (x * x).sum()

    x = ag.tensor([1.0, 2.0])
    refused = pytest.raises((GradientError, ValueError, TypeError, BufferError))
    for run in (ag.grad(f), ag.value_and_grad(f), lambda x: ag.vjp(f, x),
                lambda x: ag.jvp(f, (x,), (x,)),
                lambda x: f(ag.tensor(x, requires_grad=True) * 1)):
        with refused as found:
            run(x)
        error = found.value if isinstance(found.value, GradientError) else found.value.__cause__
        assert "would lose the gradient" in str(error)
        assert "ag.asarray" in str(error)
        assert "detach()" in str(error)


@pytest.mark.parametrize("function", [math.exp, math.atan, cmath.exp])
def test_functions_of_math_are_refused_in_compiled_gradients(function):
    for f in (lambda x: x * math.exp(x), lambda x: x * math.atan(x), lambda x: x * function(x)):
        with pytest.raises(GradientError, match="would lose the gradient"):
            ag.jit(ag.grad(f))(ag.tensor(1.0))


def test_ways_out_that_are_asked_for_by_name():
    def f(x):
        y = x * x
        assert y[0].item() == float(y[0]) == 4.0
        assert y.tolist() == y.numpy().tolist() == np.asarray(y.detach()).tolist() == [4.0, 9.0]
        assert int(y[0]) == 4
        assert not math.isnan(y[0])
        assert math.floor(y[0]) == math.sqrt(float(y[0])) * 2 == 4
        assert [*map(float, y)] == [4.0, 9.0]
        assert f"{y[0]:.1f}" == "4.0"
        with ag.no_grad():
            assert np.asarray(y).tolist() == [4.0, 9.0]
        return y.sum()

    assert ag.grad(f)(ag.tensor([2.0, 3.0])).tolist() == [4.0, 6.0]
    w = ag.ones(2, requires_grad=True)  # nothing was computed from it yet
    assert np.asarray(w).tolist() == [1.0, 1.0]
    assert np.asarray(pickle.loads(pickle.dumps(w * 2))).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d", "copy"])
def test_functions_that_make_arrays_make_tensors_where_gradients_flow(name):
    function = getattr(np, name)
    x = ag.tensor([1.0, 2.0])
    assert ag.grad(lambda x: (function(x) ** 2).sum())(x).tolist() == [2.0, 4.0]
    assert ag.jit(function)(x).shape == function(x.numpy()).shape
    assert type(function(x)) is np.ndarray


def test_special_functions_of_scipy_are_ours():
    x = ag.tensor([0.5, 1.5])
    for name in ("expit", "gammaln", "erf", "digamma", "xlogy", "betaln"):
        function = getattr(scipy.special, name)
        more = (x,) * (function.nin - 1)
        found = ag.grad(lambda x, f=function, more=more: f(x, *more).sum())(x)
        own = ag.grad(lambda x, n=name, more=more: getattr(ag.special, n)(x, *more).sum())(x)
        assert np.array_equal(found.array, own.array)


FORMS = {
    "x": lambda x: (x,), "x, x": lambda x: (x, x), "[x, x]": lambda x: ([x, x],),
    "x, 1": lambda x: (x, 1), "x[0], x[1]": lambda x: (x[0], x[1]), "array, x": lambda x: (
        np.arange(4.0).reshape(2, 2), x), "x, x, x": lambda x: (x, x, x),
}
#: Results of these follow from shapes and types alone, or from where steps are.
FLAT = {"zeros_like", "ones_like", "empty_like", "spacing", "sign", "floor", "ceil", "trunc",
        "rint", "fix", "round", "around", "finfo", "heaviside", "nextafter", "sinc",
        "real_if_close"}


def _functions():
    for space in (np, np.linalg, np.fft):
        for name, function in vars(space).items():
            if hasattr(function, "_implementation") or (
                    space is np and isinstance(function, np.ufunc)):
                yield f"{space.__name__}.{name}", function
    for name, function in vars(scipy.special).items():
        if isinstance(function, np.ufunc):
            yield f"scipy.special.{name}", function


def _lost(function, arguments):
    """Whether a call gives numbers that know of no gradient."""
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        try:
            result = function(*arguments)
        except Exception:
            return False
    if isinstance(result, types.GeneratorType):
        return False
    return any(
        isinstance(r, (float, complex)) or (
            isinstance(r, (np.ndarray, np.generic)) and r.dtype.kind in "fc")
        for r in flatten(result)[0])


@pytest.mark.filterwarnings("ignore")
def test_no_function_of_numpy_or_scipy_loses_a_gradient(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    w = ag.tensor([[0.5, 0.25], [0.125, 0.75]], requires_grad=True)
    lost, asked = [], 0
    for name, function in _functions():
        for form, arguments in FORMS.items():
            asked += 1
            if name.rpartition(".")[2] not in FLAT and _lost(function, arguments(w * 1.0)):
                lost.append(f"{name}({form})")
    assert lost == []
    assert asked > 3000


@pytest.mark.parametrize("index", [1, [1, 0]])
@pytest.mark.parametrize("held", [np.arange(6.0).reshape(3, 2), [1, 2, 3]], ids=["array", "list"])
def test_an_array_that_is_indexed_by_a_symbol_is_to_be_wrapped(held, index):
    if isinstance(held, list) and isinstance(index, list):
        return
    f = ag.jit(lambda i: held[i])
    with pytest.raises(ag.TraceError, match=r"wrap the array, ag\.asarray\(array\)\[index\]"):
        f(ag.tensor(index))
    wrapped = ag.jit(lambda i: ag.asarray(held)[i])
    assert np.array_equal(wrapped(ag.tensor(index)).numpy(), np.asarray(held)[index])
