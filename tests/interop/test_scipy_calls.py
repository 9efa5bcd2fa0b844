"""Tensors given to SciPy's functions: no gradient is cut, and what is named in the error computes
the same."""

from __future__ import annotations

import functools
import importlib
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.stats

import agnesi as ag
from agnesi.api.tensor.scipy_calls import DISTRIBUTIONS, METHODS, SAME
from agnesi.core.support.errors import GradientError, TraceError
from agnesi.core.support.tree import flatten

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
V = np.array([0.3, 0.6, 0.9])
N = np.array([1, 2, 3])
BANDS = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]])
#: Operands, of which each function takes some.
OPERANDS = [
    (A,), (V,), (A, V), (A, A), (A, A, A), (V, V), (V, 2.0), (3,), (4,), (2, 3), (3, 0.5), (A, 2),
    (3, 0.5, 0.7), (2, V), (N, V), (N, 1), ((1, 1), BANDS, V), (BANDS[:2], V), ((A, N * 0), V),
    (N[1:], V), (V, V[:2]), (4, 2), (V, N[:2]), (2, 3, 0.5), (1, 2, V, V), (V, 3, 3), (3, 3, V),
    ((A, True), V), (2, 3, V)]
#: Whose results may differ: in the signs of vectors, in what is not read of a matrix, in residuals.
OTHER = {("scipy.linalg", name) for name in ("cho_factor", "eigh", "lstsq", "rq")}
SHARED = [(module, name) for module, (namespace, names) in SAME.items()
          for name in names or importlib.import_module(module).__all__
          if hasattr(importlib.import_module(f"agnesi.{namespace}".rstrip(".")), name)
          and not isinstance(getattr(importlib.import_module(module), name), (np.ufunc, type))
          and name != "cholesky"]  # upper there, see below


def theirs(module, name):
    return getattr(importlib.import_module(module), name)


def own(module, name):
    return getattr(importlib.import_module(f"agnesi.{SAME[module][0]}".rstrip(".")), name)


def tensors(operands, made=ag.tensor):
    return tuple(tensors(o, made) if isinstance(o, tuple) else
                 made(o) if isinstance(o, np.ndarray) else o for o in operands)


def equal(expected, found):
    pairs = [[np.asarray(x) for x in flatten(r)[0]] for r in (expected, found)]
    return len(pairs[0]) == len(pairs[1]) and all(
        a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-7, equal_nan=True)
        for a, b in zip(*pairs, strict=True))


@functools.cache
def shared(module, name):
    """The first operands of which both compute the same."""
    for operands in OPERANDS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = theirs(module, name)(*tensors(operands, np.copy))
            found = own(module, name)(*tensors(operands))
        except Exception:  # not of these operands: others are tried
            continue
        if (module, name) in OTHER or equal(expected, found):
            return operands
    pytest.fail(f"{name} is never the same")


@pytest.mark.parametrize(("module", "name"), SHARED)
def test_functions_of_the_same_name_compute_the_same(module, name):
    assert shared(module, name)


def differentiated(function):
    """Ways of calling a function on what a gradient flows through."""
    def total(x):
        function(x)
        return x.sum()

    return (ag.grad(total), lambda x: total(ag.tensor(x, requires_grad=True) * 1.0),
            lambda x: ag.jvp(total, (x,), (x,)))


@pytest.mark.parametrize(("module", "name"), SHARED)
def test_the_error_names_our_function(module, name):
    operands = shared(module, name)
    if not any(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in flatten(operands)[0]):
        return
    results, function = [], theirs(module, name)

    def call(scale):
        given = tensors(operands, lambda x: x * scale if x.dtype.kind == "f" else ag.tensor(x))
        results.append(function(*given))

    public = f"{module}.{function.__name__}"  # one of two names
    written = ".".join(filter(None, ("ag", SAME[module][0], function.__name__)))
    one, refused = ag.tensor(1.0, dtype="float64"), False
    for way in differentiated(call):
        try:
            way(one)
        except GradientError as error:
            refused = True
            assert f"{public} would lose the gradient" in str(error)
            assert f"write {written}, or x.detach()" in str(error)
        except AttributeError as error:
            assert "'Tensor' object has no attribute 'strides'; use" in str(error)
        else:
            assert isinstance(flatten(results[-1])[0][0], ag.Tensor)
    if name == "companion":  # writes into an array, and so runs eagerly under jit
        return
    for traced in (ag.jit(call), lambda x: ag.vmap(call)(x[None])) if refused else ():
        with pytest.raises(TraceError) as found:
            traced(one)
        assert f"{public} needs the value of" in str(found.value)
        assert f"Write {written}, or ag.callback" in str(found.value)


VALUES = {"a": 3, "b": 1.5, "df": 4.0, "s": 0.7, "dfn": 3.0, "dfd": 5.0, "kappa": 1.2, "c": 0.4,
          "mu": 2.2, "n": 5, "p": 0.3}
MANY = {"dirichlet": {"alpha": np.array([1.0, 2.0, 3.0])},
        "multinomial": {"n": 5, "p": np.array([0.2, 0.3, 0.5])},
        "multivariate_normal": {"mean": V, "cov": A}, "wishart": {"df": 4.0, "scale": A}}
POINTS = {"dirichlet": V / V.sum(), "multinomial": np.array([1, 1, 3]), "multivariate_normal": V,
          "wishart": A, "beta": np.array([0.6, 0.9]), "bernoulli": np.array([1.0, 0.0])}


def made(name):
    """A distribution of SciPy's by name, and its parameters."""
    family, written = getattr(scipy.stats, name), DISTRIBUTIONS[name]
    shapes = {n: VALUES[n] for n in (family.shapes or "").split(", ") if n} if hasattr(
        family, "shapes") else MANY[name]
    places = {n: v for n, v in (("loc", 0.25), ("scale", 1.5)) if n in written} if hasattr(
        family, "shapes") else {}
    if name == "rayleigh":
        places["scale"] = 1.5
    return family, {**shapes, **places}


CASES = [(name, method) for name in DISTRIBUTIONS for method in METHODS
         if hasattr(getattr(scipy.stats, name), method)]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_distributions_are_written_in_words_of_ours(name, method):
    family, parameters = made(name)
    points = np.array([0.3, 0.6]) if method in ("ppf", "isf") else POINTS.get(
        name, np.array([1.0, 2.0, 3.0]) if hasattr(family, "pmf") else np.array([1.6, 1.7]))
    expected = getattr(family, method)(points, **parameters)
    with pytest.raises(GradientError) as found:
        ag.grad(lambda x: (getattr(family, method)(points * x, **parameters), x)[1])(1.0)
    text = str(found.value)
    assert text.startswith(f"scipy.stats.{name}.{method} would lose the gradient of ")
    with pytest.raises(TraceError, match=f"scipy.stats.{name}.{method} needs the value of"):
        ag.jit(lambda x: getattr(family(**parameters), method)(points * x))(ag.tensor(1.0))
    if "write ag." not in text:  # ours has none
        assert method not in ("logpdf", "logpmf", "pdf", "pmf")
        return
    code = text.partition("write ")[2].partition(", or x.detach()")[0]
    names = {"ag": ag, "x": points, "k": points, "q": points, **parameters}
    names = {n: ag.tensor(v) if isinstance(v, np.ndarray) else v for n, v in names.items()}
    if name == "lognorm":
        names["scale"] = ag.tensor(names["scale"], dtype="float64")
    np.testing.assert_allclose(eval(code, names), expected, 1e-5)


def test_what_has_another_default_is_written_out():
    with pytest.raises(GradientError, match=r"write ag.linalg.cholesky\(a\).mT, or x.detach"):
        ag.grad(lambda x: (scipy.linalg.cholesky(A * x), x)[1])(1.0)
    np.testing.assert_allclose(ag.linalg.cholesky(ag.tensor(A)).mT.numpy(),
                               scipy.linalg.cholesky(A))


def test_other_functions_of_scipy_are_named():
    x = ag.tensor([1.0, 2.0, 3.0], dtype="float64")
    ways = {
        "scipy.stats.zscore": (scipy.stats.zscore, "write (x - x.mean(0)) / x.std(0), or x.det"),
        "scipy.stats.kendalltau": (lambda x: scipy.stats.kendalltau(x, V), "use functions of ag"),
        "scipy.optimize.nnls": (lambda x: scipy.optimize.nnls(A * x, V), "use functions of ag")}
    for name, (call, advice) in ways.items():
        with pytest.raises(GradientError, match=f"^{name} would lose the gradient") as found:
            ag.grad(lambda x, call=call: (call(x), x.sum())[1])(x)
        assert advice in str(found.value)


def test_what_scipy_calls_is_the_users():
    def f(x):
        return scipy.optimize.brentq(lambda t: np.asarray(x * t - 1.0), 0.1, 3.0) * x

    with pytest.raises(GradientError, match=r"^conversion to a NumPy array would lose"):
        ag.grad(f)(ag.tensor(2.0))
