"""Every rule keeps NaN, infinities and signs of zero, but where exact arithmetic has a number."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi.core.graph import FunctionGraph, constant
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node, leaves
from agnesi.rewrite import GraphRule, PatternRule, pattern_rule, rules, variables
from agnesi.rewrite.engine import outside_traces
from agnesi.rewrite.pattern import filled
from agnesi.testing.check_rule import exact_value
from tests.rewrite.samples import SAMPLES

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-300, 1.0, -1.0, 0.5, -2.0]
HUGE = [1e308, -1e308]
#: What stands for numbers as large where exponentials of them are looked at in 700 digits.
LARGE = [900.0, -900.0]
#: Numbers that variables stand for where rules ask for numbers.
NUMBERS = (2.5, -3.0, 0.5, np.inf, np.nan, 0.0, -0.0)
EXPONENTIAL = set("exp expm1 sigmoid softplus tanh cosh sinh erf erfc ndtr logaddexp".split())
#: Functions that are a number so nearly that no working precision tells by how much they differ.
BOUNDED = {"erf", "ndtr"}
PERIODIC = set("sin cos tan".split())
EXACT = [r.exactly() for r in rules() if "unsafe" not in r.tags]
a, b = variables("a b")
PATTERNS = [r for r in EXACT if isinstance(r, PatternRule)]


def is_exponential(pattern):
    return bool(operations(pattern) & EXPONENTIAL)


def operations(pattern):
    if pattern.op is None:
        return set()
    return {pattern.op.name}.union(*map(operations, pattern.args))


def same(a, b):
    """Where two arrays have the same NaN, infinities, signs of zero and, nearly, numbers."""
    zeros = (a == b) & (np.signbit(a) == np.signbit(b))
    with np.errstate(all="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & np.isclose(a, b, 1e-9, 1e-300)
        near &= (a != 0) & (b != 0)
    return (np.isnan(a) & np.isnan(b)) | zeros | near


def limits(pattern, at):
    """Exact values of a pattern where numbers of several sizes stand for infinities."""
    infinite = [n for n, v in at.items() if np.isinf(v)]
    known, digits = (("1e3", "1e5", "1e7"), 1000) if is_exponential(pattern) else (
        ("1e400", "1e600", "1e800"), 2500)
    for given in itertools.permutations(map(mpmath.mpf, known), len(infinite)):
        sizes = {n: size if at[n] > 0 else -size for n, size in zip(infinite, given, strict=True)}
        yield exact_value(pattern, {**at, **sizes}, digits)


def is_nearer(rule, at, before, after):
    """Whether exact arithmetic has what the rule gives, as a limit where an operand is infinite."""
    if before == 0 and after == 0:  # derivatives do not keep signs of zero
        return bool(operations(rule.pattern) & {"safe_multiply", "safe_divide"})
    if np.isnan(list(at.values())).any():
        return False
    found = list(limits(rule.pattern, at))
    if np.isnan(after):  # where the pattern overflows that has no value
        return np.isinf(before) and found == [None]
    if None in found:
        return np.isinf(after) and is_quotient_by_zero(rule.pattern, at)
    if np.isinf(after):
        return all(np.sign(f) == np.sign(after) and abs(f) > 1e2 for f in found)
    finite = np.isfinite(list(at.values())).all()
    spread = (1e-9, 1e-290) if finite else (2e-2, 2e-2)
    return all(np.isclose(after, f, *spread) for f in found)


def is_quotient_by_zero(pattern, at):
    """Whether a finite value grows beyond all bounds as operands go to their zeros."""
    near = {n: v or math.copysign(1, v) * mpmath.mpf("1e-900") for n, v in at.items()}
    found = exact_value(pattern, near, 2500) if np.isfinite(list(at.values())).all() else None
    return found is not None and abs(found) > 1e300


def firings(rule):
    """The pattern and what it becomes, over variables of many values and over numbers."""
    names = sorted(rule.pattern.names())
    huge = LARGE if is_exponential(rule.pattern) else HUGE
    ops = operations(rule.pattern)
    if ops & PERIODIC or ("log1p" in ops and ops & BOUNDED):
        huge = []  # sums with numbers lose all that tells where they are
    points = np.array(list(itertools.product(SPECIAL + huge, repeat=len(names))))
    for number in (None, *names):
        for value in (0.0,) if number is None else NUMBERS:
            nodes = {
                n: constant(np.float64(value)) if n == number
                else Node(None, (), (len(points),), np.dtype("float64"), name=n) for n in names
            }
            with outside_traces():
                old = filled(rule.pattern, nodes, next(iter(nodes.values())))
                new = None if old is None else rule(old)
            if new is not None:
                columns = {n: np.full(len(points), value) if n == number else points[:, i].copy()
                           for i, n in enumerate(names)}
                yield FunctionGraph([n for n in nodes.values() if n.value is None],
                                    [old, new]), columns


def wrong_cases(rule):
    """Where the replacement is worse than the pattern: operands, value before, and after."""
    for graph, columns in firings(rule):
        with np.errstate(all="ignore"):
            found = interpret(graph, [columns[n.name] for n in graph.inputs])
        a, b = (np.broadcast_to(x, len(next(iter(columns.values())))) for x in found)
        for i in np.flatnonzero(~same(a, b)):
            at = {n: float(x[i]) for n, x in columns.items()}
            if not is_nearer(rule, at, a[i], b[i]):
                yield at, float(a[i]), float(b[i])


@pytest.mark.share(18)
@pytest.mark.parametrize("rule", PATTERNS, ids=lambda r: r.name)
def test_pattern_rule(rule):
    wrong = next(wrong_cases(rule), None)
    assert wrong is None, f"{rule}: at {wrong[0]} {wrong[1]} becomes {wrong[2]}"


def test_most_pattern_rules_fire():
    """Others ask for a proof, or are of whole numbers."""
    silent = {r.name for r in PATTERNS if next(firings(r), None) is None}
    assert len(silent) < len(PATTERNS) / 4, silent


@pytest.mark.parametrize(("pattern", "replacement"), [
    (a * 0, 0), (a / a, 1), (ag.sqrt(a) * ag.sqrt(a), a), (a + 0, a), (a * b + a, a * (b + 1)),
    (ag.exp(a) / ag.exp(a), 1), (a - a + b, b),
])
def test_what_hides_something_is_found(pattern, replacement):
    wrong = pattern_rule(pattern, replacement, name="wrong", stage="canonicalize")
    assert next(wrong_cases(wrong), None) is not None


#: Function rules that stabilise, or change the order of sums: they are tried with exact values in
#: test_stability.py, or their operands in test_rules.py.
NEARER = {
    "log_inside", "pair_factors", "common_factor", "area_over_a_step", "complement_of_factor",
    "distribute", "product_with_inverse", "solution_of_triangle", "scaled_operand",
    "factor_of_winners", "double_number", "beside_its_logsum", "quotient_of_logsum_less_one",
    "root_beside", "log_beside_large",
    "inverse_hyperbolic", "over_one_denominator", "root_of_squares", "log_of_squares",
    "log_of_gamma", "log_of_quotient", "growth_over_exponent", "root_less_one",
    "over_squares", "log_of_guarded", "power_less_one", "difference_of_roots", "proportion",
    "cancelled_terms", "log_near_one", "log_complement_of_softmax", "difference_of_neighbours",
    "one_monomial_is_left", "cancel_beside_others", "difference_over_a_step", "roots_over_a_step",
    "angles_over_a_step",
    "logs_over_a_step", "difference_of_cubes", "rest_of_share", "difference_of_exponentials",
    "over_square_of_tanh", "angle_beside_right_angle", "power_beside_one", "logs_of_ratios",
    "log_of_beta", "log_beyond_range", "quotients_over_a_step", "square_of_quotient",
    "power_over_power", "slope_of_mean_softplus", "divided_difference", "log_of_scaled_tail",
    "log_of_odds",
}
FUNCTIONS = [r for r in EXACT if not isinstance(r, (PatternRule, GraphRule)) and r.name in SAMPLES]


#: Rules that give NaN where what they replace gives a number: exact values are NaN there, as that
#: of log(exp(-inf) * -1), or beyond the range of gamma functions and of matrices.
OWN_NAN = {"log_inside", "log_of_beta", "solution_of_triangle", "product_with_inverse",
           "factor_of_winners"}


def values(rule, var, const):
    """Values before and after a rule at many drawings of special values."""
    for build in SAMPLES[rule.name]:
        t = build(var("x", (3, 4)), var("y", (3, 4)), const(np.asarray([2.0, 3.0])))
        found = [n for n in leaves([t.node]) if n.value is None and n.handle is None]
        node = FunctionGraph(found, [t.node]).outputs[0]
        with outside_traces():
            new = rule(node)
        if new is None or node.dtype.kind != "f":
            continue
        graph = FunctionGraph([n for n in leaves([node, new])
                               if n.value is None and n.handle is None], [node, new])
        rng = np.random.default_rng(0)
        for _ in range(30 if np.prod(node.shape) < 1000 else 3):
            given = [
                np.where(rng.random(n.shape) < 0.15, rng.choice(SPECIAL + HUGE, n.shape),
                         rng.normal(size=n.shape)).astype(n.dtype) for n in graph.inputs
            ]
            with np.errstate(all="ignore"):
                yield np.broadcast_arrays(*interpret(graph, given))


@pytest.mark.share(3)
@pytest.mark.parametrize("rule", FUNCTIONS, ids=lambda r: r.name)
def test_function_rule(rule, var, const):
    found = [*values(rule, var, const)]
    strange = any(not same(a + 0.0, b + 0.0).all() for a, b in found)  # sums lose signs of zero
    assert strange == (rule.name in NEARER)
    own = any((np.isnan(b) & ~np.isnan(a)).any() for a, b in found)
    assert own == (rule.name in OWN_NAN)


def test_exponentials_keep_the_zero_that_comes_first():
    """The derivative of exp(ndtri(q)) at 0 is the gradient 0 over the density 0, which is 0."""
    q = ag.tensor(np.array([0.0, 0.25, 1.0]))
    for function in (ag.exp, ag.erf, ag.special.ndtr, lambda y: ag.exp(-y)):
        slopes = ag.grad(lambda q, f=function: f(ag.special.ndtri(q) * 0.5).sum())
        np.testing.assert_allclose(ag.jit(slopes)(q), slopes(q), rtol=1e-9)


@pytest.mark.parametrize("function", [
    lambda x, y, z: ag.log(y * z / (ag.exp(x) - 1)), lambda x, y, z: ag.log(-ag.sinh(x) / y * z),
    lambda x, y, z: ag.log(x**y / z), lambda x, y, z: ag.log(ag.exp(x) * y * z),
])
def test_logarithms_of_products_keep_what_is_undefined(function):
    """Signs that make a product negative, and infinite operands, are not lost in sizes."""
    some = [0.0, -0.0, 1.0, -3.0, 0.5, *SPECIAL, 800.0, -800.0, 1e200, 1e308]
    points = np.array(list(itertools.product(some, some, some)))
    operands = list(map(ag.tensor, points.T.copy()))
    with np.errstate(all="ignore"):
        eager, compiled = function(*operands).numpy(), ag.jit(function)(*operands).numpy()
    infinite = ~np.isfinite(points).all(1)
    assert np.isnan(compiled)[infinite & np.isnan(eager)].all()
    assert not np.isnan(compiled)[~np.isnan(eager)].any()


def test_logarithms_of_quotients_beyond_all_numbers():
    """Those of negative quotients are undefined, and those of others finite; NaN is NaN."""
    some = [1e-300, -1e-300, 0.5, -0.5, 3.0, 1e308, -1e308, math.nan]
    x, y = map(np.array, zip(*itertools.product(some, some), strict=True))
    found = ag.jit(lambda x, y: x - ag.log(x / y))(ag.tensor(x), ag.tensor(y)).numpy()
    with np.errstate(all="ignore"):
        exact = x - (np.log(abs(x)) - np.log(abs(y)))
    np.testing.assert_allclose(found, np.where(x * np.sign(y) > 0, exact, math.nan), 1e-14)
