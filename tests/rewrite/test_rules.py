"""Every rule keeps types and values; stabilising ones are right where the pattern is not."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.ops.base.expand import sum_to
from agnesi.rewrite import GraphRule, PatternRule, pattern_rule, rules, variables
from agnesi.testing.check_rule import check_rule
from tests.rewrite.samples import SAMPLES

PATTERNS = [r for r in rules() if isinstance(r, PatternRule)]


@pytest.mark.share(6)
@pytest.mark.parametrize("rule", PATTERNS, ids=lambda r: r.name)
def test_pattern_rule(rule):
    assert check_rule(rule, precise=rule.stage == "stabilize") > 0


def test_names_are_unique():
    names = [r.name for r in rules()]
    assert len(set(names)) == len(names)


def test_wrong_rule_is_found():
    x = variables("x")
    wrong = pattern_rule(ag.exp(x) * 2, ag.exp(x + 2), name="wrong", stage="canonicalize")
    with pytest.raises(AssertionError, match="'wrong' changes"):
        check_rule(wrong)


def test_digits_that_a_pattern_loses_in_half_precision_are_no_fault_of_a_rule():
    x = variables("x")
    of_tail = next(r for r in PATTERNS if r.name == "log1p_of_minus_erf")
    assert check_rule(of_tail, precise=True) > 0
    wrong = pattern_rule(
        ag.log1p(-ag.erf(x)), ag.log1p(-ag.erf(x)) * 1.04, name="wrong", stage="stabilize",
        when=lambda x: x.dtype.itemsize == 2
    )
    with pytest.raises(AssertionError, match="'wrong' changes float16"):
        check_rule(wrong)


def test_unstable_rule_is_found():
    x = variables("x")
    unstable = pattern_rule(
        ag.log1p(ag.exp(x)), ag.log(1 + ag.exp(x)), name="unstable", stage="stabilize"
    )
    with pytest.raises(AssertionError, match=r"'unstable' gives .* is right"):
        check_rule(unstable, precise=True)


def test_rule_that_never_fires_is_found():
    x = variables("x")
    never = pattern_rule(
        ag.exp(x), ag.exp(x) + 0, name="never", stage="canonicalize", when=lambda x: False
    )
    with pytest.raises(AssertionError, match="fires at none"):
        check_rule(never)


@pytest.mark.parametrize(
    "rule", [r for r in rules() if not isinstance(r, (PatternRule, GraphRule))],
    ids=lambda r: r.name,
)
def test_function_rule(rule, var, const):
    if rule.name == "sum_to_shape":
        samples = [sum_to(var("x", (2, 3, 4)), shape) for shape in ((3, 4), (3, 1), (), (2, 1, 4))]
    else:
        operands = var("x", (3, 4)), var("y", (3, 4)), const(np.asarray([2.0, 3.0]))
        samples = [build(*operands) for build in SAMPLES[rule.name]]
    assert check_rule(rule, samples) == len(samples)


@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
def test_sums_of_no_elements_are_zero_whatever_their_factors(optimizer):
    """A batch of no images: what normalizes it is NaN, and its gradients are zero."""

    def gradients(x, w, scale):
        def loss(x, w):
            y = ag.nn.functional.batch_norm(x * scale, weight=w, training=True)
            return (y * scale).sum()

        return (*ag.grad(loss, argnums=(0, 1))(x, w), (x * scale).sum(0), (scale + x).prod())

    found = ag.jit(gradients, optimizer=optimizer)(ag.zeros((0, 4)), ag.ones(4), ag.tensor(np.nan))
    for value, expected in zip(found, (np.zeros((0, 4)), np.zeros(4), np.zeros(4), 1), strict=True):
        np.testing.assert_array_equal(value.numpy(), expected)


def test_replacements_whose_type_open_sizes_leave_unknown_are_not_made():
    y, q = T.fmatrix("y"), T.fscalar("q")

    def loss(y, q):
        def step(mean, row):  # of a Kalman filter: the rows have one element, which nothing tells
            error, inverse = row - mean, ag.linalg.inv(ag.exp(q) * ag.eye(1))
            return mean + inverse @ error, error @ inverse @ error
        return ag.scan(step, ag.zeros(1), y)[1].sum()
    rows, slope = ag.tensor([[0.5], [-1.0], [2.0]]), ag.grad(loss, argnums=1)
    found = ag.function([y, q], T.grad(loss(y, q), q))(rows, ag.tensor(0.3))
    np.testing.assert_allclose(found, slope(rows, ag.tensor(0.3)).numpy(), rtol=1e-5)
