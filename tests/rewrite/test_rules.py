"""Every rule keeps types and values; stabilising ones are right where the pattern is not."""

import pytest

import agnesi as ag
from agnesi.rewrite import PatternRule, pattern_rule, rules, variables
from agnesi.testing.check_rule import check_rule

PATTERNS = [r for r in rules() if isinstance(r, PatternRule)]


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
