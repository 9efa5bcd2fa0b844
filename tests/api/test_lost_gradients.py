"""No gradient is cut without a word where NumPy or SciPy gets a value that is followed."""

import array
import cmath
import contextlib
import copy
import ctypes
import dataclasses
import functools
import io
import itertools
import json
import logging
import math
import operator
import pickle
import statistics
import struct
import types
from math import hypot

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import agnesi as ag
from agnesi.core.support.errors import GradientError
from agnesi.core.support.tree import flatten


def _put(array, index, value):
    array[index] = value


def _loop(f):
    """Call it often enough for Python to specialize the instruction."""
    def call(x):
        for _ in range(20):
            y = x[0].detach()
            if _ == 19:
                y = x[0]
            f(y)
    return call


def _aliased(x):
    e = math.exp
    return e(x[0])


PARTIAL = functools.partial(float)
TABLE = {"exp": math.exp, "float": float}
LOSING = {
    "np.array of a list": lambda x: np.array([x[0], x[1]]),
    "np.asarray": np.asarray,
    "np.array": np.array,
    "np.array with float": lambda x: np.array([x[0], x[1]], dtype=float),
    "np.ascontiguousarray": np.ascontiguousarray,
    "np.full": lambda x: np.full((2, 2), x[0]),
    "np.full of an array": lambda x: np.full(2, x),
    "np.sum of a list": lambda x: np.sum([x[0], x[1]]),
    "an element": lambda x: _put(np.zeros(2), 0, x[0]),
    "elements": lambda x: _put(np.zeros(2), slice(None), x),
    "+= of an element": lambda x: _put(np.zeros(2), 0, x[0] + 1),
    "a slice": lambda x: np.zeros(2).__setitem__(slice(None), x),
    "__setitem__": lambda x: np.zeros(2).__setitem__(0, x[0]),
    "setitem": lambda x: operator.setitem(np.zeros(2), 0, x[0]),
    "fill": lambda x: np.zeros(2).fill(x[0]),
    "put": lambda x: np.zeros(2).put(0, x[0]),
    "itemset of a memory": lambda x: _put(memoryview(bytearray(8)).cast("d"), 0, x[0]),
    "fromiter": lambda x: np.fromiter(x, float),
    "fromiter of a generator": lambda x: np.fromiter((y * 2 for y in x), np.float64, 2),
    "np.from_dlpack": np.from_dlpack,
    "np.random.normal": lambda x: np.random.default_rng(0).normal(x[0]),
    "np.vectorize": lambda x: np.vectorize(math.exp)(x),
    "np.frompyfunc": lambda x: np.frompyfunc(math.exp, 1, 1)(np.array([x[0], None])[:1]),
    "np.poly1d": lambda x: np.poly1d([x[0], 1.0])(2.0),
    "np.interp": lambda x: np.interp(x[0].item(), [0.0, 1.0], [x[0], x[1]]),
    "logsumexp": scipy.special.logsumexp,
    "logpdf": scipy.stats.norm.logpdf,
    "quad": lambda x: scipy.integrate.quad(lambda t: t * x[0], 0, 1),
    "float() in SciPy": lambda x: scipy.signal.iirnotch(x[0] / 4, 2.0),
    "expm": lambda x: scipy.linalg.expm(x * np.eye(2, dtype=np.float32)),
    "math.exp": lambda x: math.exp(x[0]),
    "math.exp often": _loop(lambda y: math.exp(y)),
    "math.exp by another name": _aliased,
    "hypot": lambda x: hypot(x[0], 1.0),
    "cmath.exp": lambda x: cmath.exp(x[0]),
    "math.fsum": lambda x: math.fsum([x[0], x[1]]),
    "math.log of two": lambda x: math.log(x[0], 2),
    "math.log to a base": lambda x: math.log(2.0, x[1]),
    "math.pow": lambda x: math.pow(2.0, x[1]),
    "math.dist": lambda x: math.dist([x[0]], [0.0]),
    "math.prod": lambda x: math.prod([math.sin(x[0]), 2.0]),
    "math.ldexp": lambda x: math.ldexp(x[0], 2),
    "an imported module": lambda x: __import__("math").exp(x[0]),
    "getattr": lambda x: getattr(math, "exp")(x[0]),  # noqa: B009
    "an entry": lambda x: TABLE["exp"](x[0]),
    "what a condition gives": lambda x: (math.exp if x is not None else math.sin)(x[0]),
    "an argument with a condition": lambda x: math.exp(x[0] if x is not None else float("nan")),
    "an argument by *": lambda x: math.hypot(*x),
    "keywords by **": lambda x: math.isclose(1.0, 2.0, **{"rel_tol": math.exp(x[0])}),
    "partial": lambda x: functools.partial(math.exp)(x[0]),
    "a partial of all": lambda x: functools.partial(math.exp, x[0])(),
    "map": lambda x: [*map(math.exp, x)],
    "a list of map": lambda x: list(map(math.exp, x)),
    "a sum of map": lambda x: sum(map(math.exp, x)),
    "a loop over map": lambda x: [y for y in map(math.exp, x)],
    "two maps": lambda x: (list(map(float, [1.0])), list(map(math.exp, x))),
    "starmap": lambda x: list(itertools.starmap(math.pow, [(x[0], 2.0)])),
    "accumulate": lambda x: list(itertools.accumulate(x, math.hypot)),
    "reduce": lambda x: functools.reduce(math.hypot, x),
    "operator.call": lambda x: operator.methodcaller("__float__")(x[0]),
    "statistics.fmean": lambda x: statistics.fmean([x[0], x[1]]),
    "NormalDist": lambda x: statistics.NormalDist(x[0], 1.0),
    "array.array": lambda x: array.array("d", [x[0]]),
    "append to an array": lambda x: array.array("d").append(x[0]),
    "struct.pack": lambda x: struct.pack("d", x[0]),
    "ctypes": lambda x: ctypes.c_double(x[0]),
    "exec": lambda x: exec("import math\nmath.exp(x)", {"x": x[0]}),
    "eval": lambda x: eval("math.exp(x)", {"math": math, "x": x[0]}),
}


@pytest.mark.parametrize("how", LOSING)
def test_what_would_lose_a_gradient_is_refused(how):
    def f(x):
        LOSING[how](x)
        return (x * x).sum()

    x = ag.tensor([1.0, 2.0])
    refused = pytest.raises((GradientError, ValueError, TypeError, BufferError, struct.error))
    for run in (ag.grad(f), ag.value_and_grad(f), lambda x: ag.vjp(f, x),
                lambda x: ag.jvp(f, (x,), (x,)),
                lambda x: f(ag.tensor(x, requires_grad=True) * 1)):
        with refused as found:
            run(x)
        if isinstance(found.value, struct.error):  # which hides why
            continue
        error = found.value if isinstance(found.value, GradientError) else found.value.__cause__
        assert "would lose the gradient" in str(error)
        assert "ag.asarray" in str(error) or "write ag." in str(error)
        assert "detach()" in str(error)


@pytest.mark.parametrize("function", [math.exp, math.atan, cmath.exp])
def test_functions_of_math_are_refused_in_compiled_gradients(function):
    for f in (lambda x: x * math.exp(x), lambda x: x * math.atan(x), lambda x: x * function(x)):
        with pytest.raises(GradientError, match="would lose the gradient"):
            ag.jit(ag.grad(f))(ag.tensor(1.0))


class _Meter:
    kind, kinds = float, (int, float)

    def __init__(self):
        self.convert, self.sum = float, 0.0

    def update(self, value):
        self.sum += self.convert(value) + self.kind(value) + self.kinds[1](value)


def _logged(y):
    logged = io.StringIO()
    log = logging.Logger("losses")
    log.addHandler(logging.StreamHandler(logged))
    log.info("%.1f, %5.2f of %d", y, y, 2)
    log.warning(f"{y:.2f}")
    return logged.getvalue()


def _met(y):
    meter = _Meter()
    meter.update(y)
    return meter.sum


BY_NAME = {
    "item": lambda y: y.item(), "float": float, "float often": lambda y: [
        float(y) for _ in range(20)], "float, said": lambda y: float(y),
    "of a condition": lambda y: float(y if y is not None else 0.0),
    "in a call": lambda y: max(1.0, float(y), 2.0), "int": lambda y: int(y),
    "complex": lambda y: complex(y), "two": lambda y: complex(y, y), "bool": lambda y: bool(y),
    "NumPy's": lambda y: np.float64(y), "NumPy's float32": lambda y: np.float32(y),
    "builtins": lambda y: __builtins__["float"](y), "an entry": lambda y: TABLE["float"](y),
    "another name": lambda y, f=float: f(y), "partial": lambda y: PARTIAL(y),
    "*": lambda y: float(*[y]), "new": lambda y: float.__new__(float, y), "meters": _met,
    "%": lambda y: "%.3f" % y, "%, several": lambda y: "%d: %.3f" % (1, y),  # noqa: UP031
    "% of a dict": lambda y: "%(loss).3f" % {"loss": y}, "f-text": lambda y: f"{y:.3f} {y}",  # noqa: UP031
    "operator.mod": lambda y: operator.mod("%.3f", y), "format": lambda y: format(y, ".3f"),
    "text.format": lambda y: "{:.3f} {}".format(y, y), "print": lambda y: print("%.3f" % y, y),  # noqa: UP031, UP032
    "logging": _logged, "round": lambda y: round(float(y), 2), "str": str, "repr": repr,
    "map": lambda y: [*map(float, [y])], "list of map": lambda y: list(map(float, [y])),
    "sum of map": lambda y: sum(map(float, [y, y])), "generator": lambda y: sum(
        float(z) for z in [y, y]),
    "sorted": lambda y: sorted([y, y], key=float), "max": lambda y: max([y, y], key=float),
    "decisions": lambda y: (math.isnan(y), math.floor(y), math.isclose(y, 2.0)),
    "json": lambda y: json.dumps({"loss": y}, default=float),
    "append": lambda y: [].append(float(y)), "detach": lambda y: math.exp(y.detach()),
    "exec": lambda y: exec("print(float(y), '%.2f' % y)", {"y": y}), "tolist": lambda y: y.tolist(),
}


@pytest.mark.parametrize("how", BY_NAME)
def test_numbers_that_are_asked_for_by_name(how):
    def f(x):
        BY_NAME[how](x[0] * x[1])
        return (x * x).sum()

    x = ag.tensor([1.0, 2.0])
    assert ag.grad(f)(x).tolist() == [2.0, 4.0]
    assert ag.jvp(f, (x,), (x,))[1].item() == 10.0
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    f(w).backward()
    assert w.grad.tolist() == [2.0, 4.0]


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


COPIES = {
    "copy.copy": copy.copy, "__copy__": lambda y: y.__copy__(), "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda y: copy.deepcopy([y])[0],
    "deepcopy of a dict": lambda y: copy.deepcopy({"a": (y,)})["a"][0],
    "replace": lambda y: dataclasses.replace(Held(y)).value,
    "a copied object": lambda y: copy.copy(Held(y)).value,
    "a deep copy of an object": lambda y: copy.deepcopy(Held(y)).value,
}


@dataclasses.dataclass
class Held:
    value: object


@pytest.mark.parametrize("how", COPIES)
def test_gradients_flow_through_copies(how):
    def f(x):
        return (COPIES[how](x) * COPIES[how](x * 2)).sum()

    x = ag.tensor([1.0, 2.0])
    for call in (ag.grad(f), ag.jit(ag.grad(f)), lambda x: ag.vjp(f, x)[1](ag.tensor(1.0))[0]):
        assert call(x).tolist() == [4.0, 8.0]
    assert ag.jvp(f, (x,), (x,))[1].item() == 20.0
    assert ag.vmap(ag.grad(f))(ag.ones(2, 3)).tolist() == [[4.0] * 3] * 2
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    COPIES[how](w * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]


def test_deep_copies_are_in_memory_of_their_own():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    z = copy.deepcopy(y)
    z.add_(1)
    assert y.tolist() == [2.0, 4.0] and z.tolist() == [3.0, 5.0] and z.requires_grad
    with pytest.raises(GradientError, match=r"(?s)deepcopy .*clone.*test_lost_gradients"):
        copy.deepcopy([y, y[:1]])


def test_a_pickle_of_what_is_differentiated_is_refused():
    for f in (lambda x: pickle.dumps(x), lambda x: pickle.dumps([x * 2])):
        with pytest.raises(GradientError, match=r"pickle would lose .*x\.detach\(\)"):
            ag.grad(f)(ag.ones(2))


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
