"""One object says what a compilation takes its time for; users choose it by name and see it."""

import re
from pathlib import Path

import pytest

import agnesi as ag
from agnesi.core.support.config import CHOICES
from agnesi.core.support.policy import FAST_RUN, POLICIES
from agnesi.rewrite import STAGES

ROOM = Path(__file__).parents[3] / "src/agnesi"
#: All that is asked of an object somewhere: ``.name``.
ASKED = {name for path in ROOM.rglob("*.py") if path.name != "policy.py"
         for name in re.findall(r"\.([a-z]\w*)\b", path.read_text(encoding="utf-8"))}


def test_each_optimizer_has_a_policy():
    assert set(POLICIES) == set(CHOICES["optimizer"])
    assert all(name == policy.optimizer for name, policy in POLICIES.items())
    assert FAST_RUN.stages == STAGES and POLICIES["None"].stages == ()


def test_a_policy_cannot_be_changed():
    with pytest.raises(AttributeError):
        FAST_RUN.opt_level = 3


@pytest.mark.parametrize("name", [n for n in vars(FAST_RUN) if n not in ("optimizer", "profiled")])
def test_every_decision_is_asked_for_and_differs(name):
    """A field that nothing reads, or that is the same in all policies, decides nothing."""
    assert len({getattr(policy, name) for policy in POLICIES.values()}) > 1
    assert name in ASKED


@pytest.mark.parametrize("optimizer", POLICIES)
def test_functions_tell_their_policy(optimizer):
    f = ag.jit(lambda x: x * 2 + 1, optimizer=optimizer)
    f(ag.ones(3))
    policy = POLICIES[optimizer]
    assert f.plan().policy is policy
    assert f"policy: {policy}" in str(f.plan())
    assert f"compiled for {policy}" in f.explain()
    assert str(policy).startswith(f"{optimizer}: stages ")
    assert ("opt_level 0" in str(policy)) == (optimizer != "fast_run")
