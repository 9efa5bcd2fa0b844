"""Lists and dicts whose parts code reads and replaces, with changes from outside, in both modes."""

import copy
import warnings
from collections import Counter

import pytest

import agnesi as ag

READS = ("s[0]", "s[1]", "s[0] * s[1]", "len(s)", "(lambda t: t[0])(s)", "both(s)", "other()",
         "s[1:2][0]", "s[0] if s[0] > 2 else 1", "s[2]['k']", "s[3].sum()", "float(s[0])",
         "s[i]", "sum(s[j] for j in range(2))", "d[k]", "d.get(k, 0)", "sum(d[q] for q in 'ab')",
         "c[k]")
WRITES = ("s[0] += 1", "s[0] = s[1]", "s[0] = float(y)", "s[0] = y", "s[1] *= 2", "s[-1] = 3",
          "s[0], s[1] = s[1], s[0]", "s.append(1.0)", "s[2]['k'] += 1", "s[3] = s[3] * 2",
          "s[3].add_(1)", "t = s; t[0] = 5", "put(s)", "del s[5:]", "s[1] = int(y > 0)",
         "s[i] += 1",
         "for j in range(2): s[j] = s[j] * 0.5", "d[k] += float(y)", "d['z' + k] = y; d['e'] = 1",
         "for q in list(d): d[q] = d[q] * 2", "s[i], d[k] = d[k], s[i]", "s[i:i + 1] = [3.5]",
         "c[k] += 1; c['q'] += 2", "s[-1] = s[-2]")
OUTSIDE = ("pass", "s[0] = 3.5", "s[1] = -0.0", "s[0] = 1", "s[0] = True", "s.append(2)",
           "s[2]['k'] = 9", "s[3].fill_(2)", "d['a'] = 2.5", "globals().update(i=1)",
           "globals().update(k='b')", "d['n'] = 1", "pass")
SOURCE = """
def both(l):
    return l[0] + l[1]

def put(l):
    l[1] = l[1] + 1

def other():
    return s[1] * 3

def step(x):
    y = x.sum()
    {first}
    z = x * {read} + y
    {second}
    return z + ({other})
"""


def _run(source, outside, compiled):
    space = {"s": [1.0, 2, {"k": 3}, ag.ones(2), 0.5], "d": {"a": 1.0, "b": 2.0}, "c": Counter(),
             "i": 0, "k": "a", "ag": ag}
    exec(source, space)
    step, log = space["step"], []
    step = ag.jit(step) if compiled else step
    for i, change in enumerate(outside):
        log.append(step(ag.tensor([1.0, 2.0 + i])).tolist())
        log.append([repr(v) for v in (space["s"], space["d"], list(space["c"].items()))])
        exec(change, space)
    return log


@pytest.mark.share(4)
@pytest.mark.parametrize("n", range(len(WRITES)))
def test_elements_of_lists_are_what_they_are_eagerly(n):
    first, second = WRITES[n], WRITES[n * 5 % len(WRITES)]
    for read, other in ((READS[n % 18], READS[n * 5 % 18]), (READS[(n + 7) % 18], "s[0]")):
        source = SOURCE.format(first=first, second=second, read=read, other=other)
        for outside in (OUTSIDE[n % 7:n % 7 + 6], ["pass"] * 5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it runs eagerly before long where it must
                assert _run(source, outside, True) == _run(source, outside, False), source


def test_what_is_an_argument_already_is_not_made_one_again():
    """A number in the dict steers Python; then one in the list varies, which shifts."""
    def run(compiled):
        s, part, d, log = [1.0, 2, {"k": 3}, 0.5], slice(0, 2), {"a": 1.0, "b": 2.0}, []

        def step(x):
            t = s
            t[0] = 5
            y = x.sum() + s[part][0]
            s[2]["k"] += 1
            d.pop("b", None)
            return x * float(s[0]) + y

        step = ag.jit(step) if compiled else step
        for change in (len, lambda s: d.update(a=2.5), len, lambda s: s.insert(0, 1.5)):
            log.append((step(ag.ones(2)).tolist(), repr(s)))
            change(s)
        with pytest.raises(TypeError, match="not subscriptable"):
            step(ag.ones(2))
        return log

    assert run(True) == run(False)


def test_what_lies_in_a_nest_that_is_another_one_each_time_changes_once():
    held = {"counts": [{"n": 2.0}], "rest": (1.0, [3.0])}

    def f(x):
        held["counts"][0]["n"] += 1
        return x + held["counts"][0]["n"]

    jitted, x = ag.jit(f), ag.ones(())
    for i in range(6):
        if i in (1, 2, 4):
            held = copy.deepcopy(held)
        assert jitted(x).item() == i + 4
        assert held["counts"][0]["n"] == i + 3
