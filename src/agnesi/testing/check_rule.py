"""Checks of rewrite rules: both sides are run and compared, at extreme values with mpmath."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.graph import FunctionGraph, constant
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.rewrite.engine import outside_traces
from agnesi.rewrite.pattern import Pattern, filled
from agnesi.rewrite.rules import PatternRule, Rule
from agnesi.rewrite.trial import closed, difference, samples_of

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
    nodes = [closed(t.node).outputs[0] for t in samples if t.node is not None]
    if isinstance(rule, PatternRule):
        nodes += list(samples_of(rule))
    rng = np.random.default_rng(seed)
    tried = 0
    with outside_traces():
        for node in nodes:
            new = rule(node)
            if new is not None:
                tried += 1
                if text := difference(rule.name, node, new, rng):
                    raise AssertionError(text)
            elif not isinstance(rule, PatternRule):
                raise AssertionError(f"rule {rule.name!r} does not fire at {node}")
    if not tried:
        raise AssertionError(f"rule {rule.name!r} fires at none of its samples")
    if precise:
        _check_extremes(rule)
    return tried


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
        "atanh": mp.atanh, "erf": mp.erf, "erfc": mp.erfc, "ndtr": mp.ncdf,
        "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
        "log2": lambda x: mp.log(x, 2), "log10": mp.log10,
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
        "log_one_minus_exp": lambda x: mp.log(1 - mp.exp(x)),
    }
    positive = pattern.op.name in ("log", "log2", "log10")
    if any(isinstance(a, mp.mpc) for a in args) or (positive and args[0] <= 0):
        raise ValueError(f"{pattern.op.name} is not real there")
    return functions[pattern.op.name](*args)
