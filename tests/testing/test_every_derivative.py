"""Derivatives of all public functions to all operands that may be tensors of floats.

Each is right beside finite differences, in both modes, of both orders, on values and traced; or
asking for it is an error; or it is on a list, with the mathematical reason.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributions
from agnesi.core.support import dtypes, tree
from tests.compiler.ways import interpreted
from tests.testing import families
from tests.testing.calls import (
    WITHOUT,
    Call,
    Path,
    call_of,
    copied,
    functions,
    instance_call,
    operands,
    put,
)

Arrays = list[np.ndarray]
#: Functions that have no derivative to operands of theirs although results depend on them.
REASONS = {
    "stop_gradient detach": "that is what it is for",
    "special.obl_ang1_cv special.obl_rad1_cv special.pro_ang1_cv special.pro_rad1_cv "
    "special.pro_rad2_cv":
        "the equation that gives the second derivative holds for characteristic values alone",
}
#: The same to complex operands.
COMPLEX_REASONS = {
    "linalg.eig linalg.eigh linalg.orth linalg.svd svd":
        "vectors have no phase of their own, and LAPACK's depends on the last digits",
}
EXCEPTIONS = {name: why for names, why in REASONS.items() for name in names.split()}
COMPLEX_EXCEPTIONS = EXCEPTIONS | {
    name: why for names, why in COMPLEX_REASONS.items() for name in names.split()}
#: Functions that read one triangle: gradients are those among symmetric matrices.
SYMMETRIC = frozenset("""
    linalg.cho_factor linalg.cholesky linalg.eigh linalg.eigvalsh linalg.pinvh
""".split())
ALL = dict(functions())
EPS, RTOL, ATOL = 1e-6, 2e-5, 1e-7
GROUPS = 16


@pytest.fixture(autouse=True)
def traced_only():
    """Doubles; compiled functions are traced, and run by the interpreter as they were written."""
    settings = {"default_float": "float64", "optimizer": "None"}
    before = {k: getattr(ag.config, k) for k in settings}
    for k, v in settings.items():
        setattr(ag.config, k, v)
    quiet = contextlib.redirect_stdout(io.StringIO())
    with interpreted(), warnings.catch_warnings(), np.errstate(all="ignore"), quiet:
        warnings.simplefilter("ignore")
        yield
    for k, v in before.items():
        setattr(ag.config, k, v)


def floats(results: Any) -> list[ag.Tensor]:
    results = results.data if hasattr(results, "with_data") else results
    leaves = tree.flatten(results)[0] if isinstance(
        results, ag.Tensor | list | tuple | dict) else []
    return [t for t in leaves if isinstance(t, ag.Tensor) and dtypes.is_inexact(t.dtype)]


class Case:
    """A function of some operands of a call, the others held."""

    def __init__(self, f: Callable[..., Any], call: Call, paths: Sequence[Path]) -> None:
        self.f, self.call, self.paths = f, call, paths

    def __call__(self, *xs: Any) -> tuple[ag.Tensor, ...]:
        args, keywords = copied(self.call)
        for path, x in zip(self.paths, xs, strict=True):
            (args, keywords) = put((args, keywords), path, x)
        return tuple(floats(self.f(*args, **keywords)))

    def values(self, xs: Arrays) -> Arrays:
        with ag.no_grad():
            return [np.array(t.array) for t in self(*map(ag.tensor, xs))]


def accepted(f: Callable[..., Any], call: Call) -> list[tuple[Path, np.ndarray]]:
    """The operands that may be tensors of floats, and that numbers come out for."""
    return [(path, value) for path, value in operands(f, call) if _goes(f, call, path, value)]


def _goes(f: Callable[..., Any], call: Call, path: Path, value: np.ndarray) -> bool:
    with contextlib.suppress(Exception):
        return bool(Case(f, call, [path]).values([np.asarray(value)]))
    return False


def nearby(values: Arrays, symmetric: bool) -> list[Arrays]:
    """Points at which a function may be smooth: near those of the example, and general ones."""
    random = np.random.default_rng(0)

    def made(draw: Callable[[np.ndarray], Any]) -> Arrays:
        return [_like(draw(np.where(np.isfinite(v), v, 1.0)), v, symmetric) for v in values]

    return [
        made(lambda v: v + 0.02 * np.maximum(np.abs(v), 0.5) * random.uniform(0.3, 1, v.shape)),
        made(lambda v: v * 0.93 - 0.011 * random.uniform(0.5, 1, v.shape)),
        made(lambda v: random.uniform(0.2, 0.8, v.shape)),
        made(lambda v: random.uniform(1.2, 1.8, v.shape)),
    ]


def _like(x: Any, v: np.ndarray, symmetric: bool) -> np.ndarray:
    x = np.asarray(x, v.dtype)
    return (x + x.swapaxes(-1, -2).conj()) / 2 if symmetric and x.ndim > 1 else x


def point(case: Case, values: Arrays, symmetric: bool) -> Arrays | None:
    """Where the function is defined and smooth, with its surroundings."""
    for xs in nearby(values, symmetric):
        with contextlib.suppress(Exception):
            found = case.values(xs)
            if not all(np.isfinite(v).all() for v in found):
                continue
            ds, weights = draws(xs, 5, symmetric), draws(found, 6)
            near, far = (difference(case.values, xs, ds, weights, eps) for eps in (EPS, 30 * EPS))
            if abs(near - far) <= 1e-3 * max(1.0, abs(near)):
                return xs
    return None


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    return float(sum(np.vdot(np.asarray(x), np.asarray(y)).real for x, y in zip(a, b, strict=True)))


def draws(likes: Arrays, seed: int, symmetric: bool = False) -> Arrays:
    random = np.random.default_rng(seed)
    return [_like(random.normal(size=v.shape) + (
        1j * random.normal(size=v.shape) if v.dtype.kind == "c" else 0), v, symmetric)
        for v in likes]


def difference(f: Callable[[Arrays], Arrays], xs: Arrays, ds: Arrays, weights: Arrays,
               eps: float = EPS) -> float:
    up, down = (f([x + s * d for x, d in zip(xs, ds, strict=True)]) for s in (eps, -eps))
    return inner(weights, [(u - v) / (2 * eps) for u, v in zip(up, down, strict=True)])


def close(found: float, expected: float) -> bool:
    return bool(abs(found - expected) <= ATOL + RTOL * abs(expected))


class Derivatives:
    """Derivatives of a case at a point, beside differences."""

    def __init__(self, case: Case, xs: Arrays, symmetric: bool) -> None:
        self.case, self.xs, self.symmetric = case, xs, symmetric
        self.ds = draws(xs, 1, symmetric)
        self.weights = draws(case.values(xs), 2)
        self.expected = difference(case.values, xs, self.ds, self.weights)

    def pulled(self, *xs: ag.Tensor) -> list[ag.Tensor]:
        pullback = ag.vjp(self.case, *xs)[1]
        return list(pullback(tuple(map(ag.tensor, self.weights))))

    def pushed(self, *xs: ag.Tensor) -> Any:
        return ag.jvp(self.case, xs, [ag.tensor(d) for d in self.ds])[1]

    def both(self, *xs: ag.Tensor) -> Any:
        return self.pulled(*xs), self.pushed(*xs)

    def faults(self) -> list[str]:
        """What is wrong; a GradientError passes through."""
        tensors = list(map(ag.tensor, self.xs))
        found = []
        for mode, run in (("", self.both), ("traced ", ag.jit(self.both))):
            try:
                pulled, pushed = run(*tensors)
            except TypeError:  # values that decide sizes or ways are not known in a trace
                if not mode:
                    raise
                continue
            for way, slope in (("vjp", inner(pulled, self.ds)),
                               ("jvp", inner(self.weights, pushed))):
                if not close(slope, self.expected):
                    found.append(f"{mode}{way} {slope:.8g}, difference {self.expected:.8g}")
        return found or self.second(tensors)

    def second(self, tensors: list[ag.Tensor]) -> list[str]:
        """The same for the gradient."""
        def values(xs: Arrays) -> Arrays:
            return [np.array(t.array) for t in self.pulled(*map(ag.tensor, xs))]

        ds, weights = (draws(self.xs, seed, self.symmetric) for seed in (3, 4))
        expected = difference(values, self.xs, ds, weights)
        pullback = ag.vjp(self.pulled, *tensors)[1]
        back = inner(pullback(list(map(ag.tensor, weights))), ds)
        along = inner(weights, ag.jvp(self.pulled, tensors, list(map(ag.tensor, ds)))[1])
        scale = max(1.0, abs(expected))
        return [f"{way} of vjp {slope:.8g}, difference {expected:.8g}"
                for way, slope in (("vjp", back), ("jvp", along))
                if not abs(slope - expected) <= 1e-4 * scale]


def faults_of(name: str, turned: bool = False) -> list[str]:
    """What is wrong with a function's derivatives."""
    call = call_of(name, ALL[name])
    return [] if call is None else faults(ALL[name], call, name in SYMMETRIC, turned)


def faults(f: Callable[..., Any], call: Call, symmetric: bool = False,
           turned: bool = False) -> list[str]:
    """What is wrong with the derivatives to all operands together, or to one after the other.

    Operands that may be complex are, if they are to be ``turned``.
    """
    chosen = accepted(f, call)
    if turned:
        complex_too = [(path, v * np.exp(0.3j)) for path, v in chosen if v.dtype.kind == "f"]
        complex_too = [c for c in complex_too if _goes(f, call, *c)]
        if not complex_too:
            return []
        chosen = list((dict(chosen) | dict(complex_too)).items())
    with contextlib.suppress(Exception):
        together = _faults(f, call, chosen, symmetric)
        if together is not None:
            return together
    found = []  # some have no derivative, or do not go together
    for path, v in chosen:
        try:
            texts = _faults(f, call, [(path, v)], symmetric) or []
            found += [f"{path}: {text}" for text in texts]
        except (ag.GradientError, TypeError) as error:
            if not isinstance(error, ag.GradientError) and "would lose the gra" not in str(error):
                found.append(f"{path}: {error}")
    return found


def _faults(f: Callable[..., Any], call: Call, chosen: list[tuple[Path, np.ndarray]],
            symmetric: bool) -> list[str] | None:
    case = Case(f, call, [path for path, _ in chosen])
    xs = point(case, [np.asarray(v) for _, v in chosen], symmetric) if chosen else None
    if xs is None:
        return None
    generator = ag.random.default_generator()
    before = np.array(generator.state)
    case.values(xs)
    if not np.array_equal(before, generator.state):
        return []  # random numbers: tests/ops/random
    return Derivatives(case, xs, symmetric).faults()


@pytest.mark.share(16)
@pytest.mark.parametrize("group", range(GROUPS))
def test_first_and_second_derivatives(group):
    names = [n for n in sorted(ALL)[group::GROUPS] if n not in EXCEPTIONS]
    assert [f"{name} {text}" for name in names for text in faults_of(name)] == []


@pytest.mark.share(16)
@pytest.mark.parametrize("group", range(GROUPS))
def test_derivatives_to_complex_operands(group):
    names = [n for n in sorted(ALL)[group::GROUPS] if n not in COMPLEX_EXCEPTIONS]
    assert [f"{name} {text}" for name in names for text in faults_of(name, turned=True)] == []


@pytest.mark.share(24)
@pytest.mark.parametrize("name", families.FAMILIES)
def test_derivatives_of_distributions(name):
    assert [f"{what} {text}" for what, function, call in families.functions_of(name)
            for text in faults(function, (call, {}))] == []


#: Other modules with functions of tensors, and classes whose instances are called.
MORE = {"image.": ag.image, "metrics.": ag.metrics, "nn.utils.": ag.nn.utils,
        "nn.utils.rnn.": ag.nn.utils.rnn, "nn.init.": ag.nn.init, "training.": ag.training,
        "autograd.functional.": ag.autograd.functional, "nn.": ag.nn,
        "distributions.transforms.": distributions.transforms}
#: Their functions that have none, and why.
MORE_REASONS = {
    "nn.utils.get_total_norm": "nothing is recorded in it, as in PyTorch",
    "nn.init.constant_ nn.init.dirac_ nn.init.eye_ nn.init.ones_ nn.init.zeros_":
        "the operand itself comes back, overwritten without a record",
    "autograd.functional.hessian autograd.functional.hvp autograd.functional.jacobian "
    "autograd.functional.jvp autograd.functional.vhp autograd.functional.vjp":
        "results are cut off without create_graph=True",
}
#: Their examples draw more numbers than the interpreter can.
LARGE = {"nn.init.kaiming_normal_", "nn.SparseLinear"}
MORE_EXCEPTIONS = {name for names in MORE_REASONS for name in names.split()}
CALLED = ALL | {prefix + name: getattr(place, name) for prefix, place in MORE.items()
                for name in dir(place) if name[0] != "_" and callable(getattr(place, name))
                and (prefix != "nn." or isinstance(getattr(place, name), type))}
_NAMES = {id(f): name for name, f in reversed(CALLED.items())}
_KNOWN = {id(CALLED[name]) for name in LARGE | MORE_EXCEPTIONS}
FURTHER_NAMES = sorted(name for i, name in _NAMES.items() if name not in ALL and i not in _KNOWN)


def further_call(name):
    """A function and its call, of a class one of its instances; None where an example has none."""
    f = CALLED[name]
    if not isinstance(f, type):
        call = call_of(name, f) if f.__doc__ else None
        return call and (f, call)
    found = None if f in (ag.nn.Graph, ag.nn.Sequential) else instance_call(f)
    if found is not None and isinstance(found[0], ag.nn.Module):
        found[0].double().eval()
    return found and ((lambda *xs, **keywords: found[0](*xs, **keywords)), found[1])


@pytest.mark.share(16)
@pytest.mark.parametrize("group", range(GROUPS))
def test_derivatives_of_layers_and_of_other_modules(group):
    found = {name: further_call(name) for name in FURTHER_NAMES[group::GROUPS]}
    assert sum(call is not None for call in found.values()) > 5
    assert [f"{name} {text}" for name, call in found.items() if call
            for text in faults(*call)] == []


@pytest.mark.parametrize("name", sorted(MORE_EXCEPTIONS))
def test_further_exceptions_are_needed(name):
    assert faults(*further_call(name))


def test_all_distributions_have_calls():
    kinds = {n: kind for n in dir(distributions)
             if isinstance(kind := getattr(distributions, n), type)}
    found = {n for n, kind in kinds.items() if issubclass(kind, distributions.Distribution)}
    assert found - families.COMPOSED == set(families.FAMILIES)


@pytest.mark.parametrize("name", COMPLEX_EXCEPTIONS)
def test_exceptions_are_needed(name):
    assert faults_of(name, turned=name not in EXCEPTIONS)


def test_all_functions_have_calls():
    assert {name for name, f in ALL.items() if call_of(name, f) is None} <= WITHOUT


def constant_when_traced(x: ag.Tensor) -> ag.Tensor:
    return x * (2.0 if x.array is None else x)


PLANTED = {
    "a zero": lambda x: ag.stop_gradient(x) + 1,
    "a factor": lambda x: x * ag.stop_gradient(x),
    "a zero beside others": lambda x, y: x * ag.stop_gradient(y),
    "a zero of second order": ag.op(lambda x: x**3, vjp=lambda g, y, x: 3 * g * x.detach() ** 2),
    "a constant in traces": constant_when_traced,
    "forward mode alone": ag.op(lambda x: x**2, vjp=lambda g, y, x: 2 * g * x,
                                jvp=lambda ts, y, x: ts[0] * x),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name):
    f = PLANTED[name]
    call: Call = ((ag.tensor([0.5, 1.5]),) * (1 + ("others" in name)), {})
    assert faults(f, call)
