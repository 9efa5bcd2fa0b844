"""Checks of rewrite rules: both sides are run and compared, at extreme values with mpmath."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.graph import FunctionGraph, constant
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node, leaves
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.rewrite.engine import outside_traces
from agnesi.rewrite.pattern import Pattern, filled, sizes_in
from agnesi.rewrite.rules import PatternRule, Rule

_DTYPES = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int32, dtypes.uint8, dtypes.bool_,
    dtypes.complex128,
)
_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (((3, 4),), ((3, 1), (4,), (1, 1)), ((),))
_TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-11, "complex128": 1e-11}
_EXTREMES = (0.0, 1e-20, 1e-8, 1e-3, 0.5, 1.0, 3.0, 20.0, 60.0, 300.0, 710.0, 1000.0)


def check_rule(rule: Rule, samples: Sequence[Tensor] = (), *, precise: bool = False,
               seed: int = 0) -> int:
    """Check that a rewrite rule keeps types and values; returns how many cases it was tried on.

    :param rule: A pattern rule, which makes its own samples in several dtypes and shapes, or a
        function rule with samples.
    :param samples: Symbolic results at which the rule must fire.
    :param precise: For pattern rules: the replacement must be right where the pattern overflows or
        cancels, measured against mpmath.
    :param seed: Seed of the random values.
    :returns: At least 1.
    :raises AssertionError: Where types or values differ, or the rule does not fire.
    :raises TypeError: If ``precise`` is asked of a function rule.
    :see: rewrite.rewrite_rule, rewrite.variables

    >>> import agnesi as ag
    >>> from agnesi.rewrite import pattern_rule, variables
    >>> x = variables("x")
    >>> check_rule(pattern_rule(ag.exp(x) * ag.exp(-x), 1, name="one", stage="canonicalize")) > 0
    True
    """
    nodes = [_closed(t.node).outputs[0] for t in samples if t.node is not None]
    if isinstance(rule, PatternRule):
        nodes += list(_samples(rule))
    rng = np.random.default_rng(seed)
    tried = 0
    with outside_traces():
        for node in nodes:
            new = rule(node)
            if new is not None:
                tried += 1
                _check_case(rule, node, new, rng)
            elif not isinstance(rule, PatternRule):
                raise AssertionError(f"rule {rule.name!r} does not fire at {node}")
    if not tried:
        raise AssertionError(f"rule {rule.name!r} fires at none of its samples")
    if precise:
        _check_extremes(rule)
    return tried


def _closed(*nodes: Node) -> FunctionGraph:
    return FunctionGraph([n for n in leaves(nodes) if n.value is None and n.handle is None], nodes)


def _samples(rule: PatternRule) -> Iterator[Node]:
    """The pattern over inputs of many types; variables that must be numbers are numbers."""
    names, own = sorted(rule.pattern.names()), rule.pattern.shapes()
    for dtype, shapes in itertools.product(_DTYPES, _shapes(names, own)):
        some = 2.5 if dtype.kind in "fc" else 2
        for number, value in [(None, 0.0), *[(n, v) for n in names if n not in own
                                             for v in (some, 0)]]:
            bound = {
                name: constant(np.asarray(value).astype(dtype)) if name == number
                else Node(None, (), shape, dtype, name=name)
                for name, shape in zip(names, shapes, strict=True)
            }
            sizes = sizes_in(rule.pattern, bound)
            node = filled(rule.pattern, bound, next(iter(bound.values())), sizes)
            if node is not None:
                yield node


def _shapes(names: Sequence[str], own: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Shapes of variables: any, or of different sizes for those that have axes."""
    dims = list(dict.fromkeys(n for shape in own.values() for n in shape))
    for shapes in _SHAPES if len(own) < len(names) else _SHAPES[-1:]:
        free = dict(zip(names, itertools.cycle(shapes), strict=False))
        for numbers in (range(2, 2 + len(dims)), range(1 + len(dims), 1, -1)):
            sizes = dict(zip(dims, numbers, strict=True))
            with_axes = {name: tuple([n if isinstance(n, int) else sizes[n] for n in shape])
                         for name, shape in own.items()}
            yield list((free | with_axes).values())
            if not dims:
                break


def _check_case(rule: Rule, old: Node, new: Node, rng: np.random.Generator) -> None:
    if old.dtype != new.dtype or old.shape != new.shape:
        raise AssertionError(f"rule {rule.name!r} changes the type of {old} to that of {new}")
    graph = _closed(old, new)
    for spread in (1.0, 0.0):
        values = [_random(n, rng, spread) for n in graph.inputs]
        with np.errstate(all="ignore"):
            before, after = interpret(graph, values)
        known = np.isfinite(before)
        tolerance = _TOLERANCE.get(old.dtype.name, 0)
        # Cancellation costs the pattern digits in proportion to what it subtracts.
        scale = tolerance * max(1.0, *(float(np.abs(v).max(initial=0)) for v in values), 1.0)
        if not np.allclose(before[known], after[known], rtol=tolerance, atol=scale):
            raise AssertionError(
                f"rule {rule.name!r} changes {old.dtype} values: {before} became {after} for "
                f"inputs {values}"
            )


def _random(node: Node, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Values of both signs, or (for no spread) in (0.1, 2), where all functions are defined."""
    kind = node.dtype.kind
    if kind == "b":
        return np.asarray(rng.integers(0, 2, node.shape)).astype(bool)
    if kind in "iu":
        return np.asarray(rng.integers(1, 9, node.shape)).astype(node.dtype)
    values = rng.normal(size=node.shape) if spread else rng.uniform(0.1, 2, node.shape)
    if kind == "c":
        values = values + 1j * rng.uniform(0.1, 1, node.shape)
    return np.asarray(values).astype(node.dtype)


# -- extreme values ---------------------------------------------------------------------------
def _check_extremes(rule: Rule) -> None:
    if not isinstance(rule, PatternRule):
        raise TypeError(f"rule {rule.name!r} has no pattern to compute in high precision")
    names = sorted(rule.pattern.names())
    inputs = {n: Node(None, (), (1,), dtypes.float64, name=n) for n in names}
    number = None if rule.when is None or rule.when(**inputs) else names[0]
    if number is not None:  # it stands for one
        names = names[1:]
        inputs[number] = constant(np.asarray(0.5))
    if not names:
        return
    values = [s * v for v in _EXTREMES for s in (1, -1)]
    points = np.asarray(list(itertools.product(values, repeat=len(names))), np.float64)
    inputs |= {n: Node(None, (), (len(points),), dtypes.float64, name=n) for n in names}
    new = filled(rule.replacement, inputs, inputs[names[0]])
    if new is None:
        raise AssertionError(f"rule {rule.name!r} does not take float64")
    columns = [np.ascontiguousarray(c) for c in points.T]
    (got,) = interpret(FunctionGraph([inputs[n] for n in names], [new]), columns)
    for point, value in zip(points, np.broadcast_to(got, len(points)), strict=True):
        at = dict(zip(names, point, strict=True))
        exact = _exact(rule.pattern, at if number is None else {**at, number: 0.5})
        if exact is not None and not np.isclose(value, exact, rtol=1e-13, atol=1e-300):
            raise AssertionError(
                f"rule {rule.name!r} gives {value} at {at}, where {exact} is right"
            )


def _exact(pattern: Pattern, at: dict[str, float]) -> float | None:
    """The pattern's value from 700 digits; None where it is not defined or not representable."""
    value = exact_value(pattern, at)
    return value if value is not None and np.isfinite(value) else None


def exact_value(pattern: Pattern, at: dict[str, Any], digits: int = 700) -> float | None:
    """The pattern's value from so many digits, rounded; None where it is not defined."""
    mpmath: Any = importlib.import_module("mpmath")
    with mpmath.workdps(digits):
        try:
            exact = _evaluate(pattern, at, mpmath)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        return None if isinstance(exact, mpmath.mpc) or mpmath.isnan(exact) else float(exact)


def _evaluate(pattern: Pattern, at: dict[str, float], mp: Any) -> Any:
    if pattern.name:
        return mp.mpf(at[pattern.name])
    if pattern.op is None:
        return mp.mpf(pattern.value)
    args = [_evaluate(a, at, mp) for a in pattern.args]
    functions = {
        "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "negative": lambda x: -x,
        "multiply": lambda a, b: a * b, "divide": lambda a, b: a / b,
        "safe_multiply": lambda a, b: a * b, "safe_divide": lambda a, b: a / b,
        "reciprocal": lambda x: 1 / x, "square": lambda x: x * x, "abs": abs,
        "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1,
        "log": mp.log, "log1p": mp.log1p, "sqrt": mp.sqrt,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "tanh": mp.tanh, "positive": lambda x: x,
        "maximum": max, "minimum": min, "sinh": mp.sinh, "cosh": mp.cosh, "sin": mp.sin,
        "cos": mp.cos, "tan": mp.tan, "atan": mp.atan, "acos": mp.acos, "acosh": mp.acosh,
        "atanh": mp.atanh, "erf": mp.erf,
        "erfc": mp.erfc, "ndtr": mp.ncdf, "log2": lambda x: mp.log(x, 2), "log10": mp.log10,
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
        "log_one_minus_exp": lambda x: mp.log(1 - mp.exp(x)),
    }
    positive = pattern.op.name in ("log", "log2", "log10")
    if any(isinstance(a, mp.mpc) for a in args) or (positive and args[0] <= 0):
        raise ValueError(f"{pattern.op.name} is not real there")
    return functions[pattern.op.name](*args)
