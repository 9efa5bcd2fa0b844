"""The machine that makes random programs finds, reduces and blames faults that are planted."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Nest, Store
from agnesi.core.ir.loops import call
from agnesi.rewrite import forget_rule, rewrite_rule, trial
from agnesi.schedule import passes
from tests.fuzz import uncovered
from tests.fuzz.cases import case, report
from tests.fuzz.check import Slow, Unclear, check, watched
from tests.fuzz.failures import bisect
from tests.fuzz.failures.alone import ends_badly
from tests.fuzz.failures.reduce import reduced
from tests.fuzz.failures.watch import Watch
from tests.fuzz.generator import program
from tests.fuzz.kinds import broad
from tests.fuzz.kinds.statements import CALLS, ERRORS, Script, Text
from tests.fuzz.oracles.exactly import agrees
from tests.fuzz.oracles.nearby import continues
from tests.fuzz.oracles.noise import exact_names, noisy
from tests.fuzz.oracles.oracle import Spread, difference
from tests.fuzz.oracles.wide import as_near
from tests.fuzz.program import Body, Input, Program, Step
from tests.fuzz.run import Case
from tests.fuzz.steps import elementwise
from tests.fuzz.ways import BY_NAME, WAYS

JIT = BY_NAME["jit"]


def first_failure(word, ways, **how):
    """The first of some cases with a word in their program that fails, and how."""
    for seed in range(300):
        found = case((seed, 8), ways, **how)
        if found is None or word not in found.program.source:
            continue
        try:
            failure = check(found)
        except Unclear:
            continue
        if failure is not None:
            return found, failure
    raise AssertionError("nothing was found")


def small(texts, **arrays):
    """A program of some lines, the last of which it returns."""
    inputs = tuple(Input(n, np.asarray(a)) for n, a in arrays.items())
    steps = tuple(Step((f"v{i + 1}",), t, False) for i, t in enumerate(texts))
    return Program(inputs, Body("f", tuple(arrays), steps, (f"v{len(texts)}",)), "wild")


def test_what_is_no_fault_is_none_to_the_machine():
    step = Step((), "x2[1:] -= x2[1:] * 3", False)  # with and without a rounding between
    body = Body("f", ("x1", "x2"), (step,), ("x1",))
    given = Input("x1", np.array(0.0)), Input("x2", np.array([0.0, -1.2]))
    changed = Program(given, body, "wild")
    same = Body("f1", ("v95", "v96"), (), ("x1",), "ag.copy({0})")
    text = "ag.vmap(f1, in_axes=(1, None), out_axes=1)(x2, x3)"
    steps = (Step(("v5",), text, functions=(same,)), Step((), "v5.reshape(-1)[::2] = 3"))
    inputs = [Input(n, np.zeros(s)) for n, s in (("x1", (2,)), ("x2", (1, 2)), ("x3", ()))]
    moved = Program(tuple(inputs), Body("f", ("x1", "x2", "x3"), steps, ("v5",)), "wild")
    assert check(Case(changed, JIT)) is None and check(Case(moved, JIT)) is None


@pytest.fixture
def wrong_rule(monkeypatch):
    monkeypatch.setattr(trial, "check_function", lambda rule: None)

    @rewrite_rule(ops=[ag.sin], name="wrong_sine")
    def erf_of(node):
        return ag.erf(ag.rewrite.tensor_of(node.inputs[0]))

    yield
    forget_rule("wrong_sine")


@pytest.fixture
def wrong_pass(monkeypatch):
    def run(found):
        for kernel in found.kernels:
            if isinstance(kernel, Nest) and any(s.value.op == "minimum" for s in kernel.body):
                kernel.change([Store(s.buffer, s.offset, call("add", s.value, s.value))
                               if s.value.op == "minimum" else s for s in kernel.body])
        return found

    place = [p.name for p in passes.PASSES].index("materialization")
    wrong = (*passes.PASSES[:place], passes.Pass("wrong", run, "things"), *passes.PASSES[place:])
    monkeypatch.setattr(passes, "PASSES", wrong)
    monkeypatch.setattr(bisect, "PASSES", wrong)


def test_a_wrong_rule_is_found_reduced_and_blamed(wrong_rule):
    ways = [JIT, BY_NAME["value_and_grad"]]
    found, failure = first_failure("ag.sin(", ways, kind="smooth", size="tiny",
                                   groups={elementwise.MAKERS: 1})
    text = report(found, failure)
    assert "the rule 'wrong_sine'" in text and "the pass" not in text
    assert "ag.sin" in text and text.count("\n    v") <= 2
    assert failure.kind == "result"


@pytest.mark.long
def test_a_wrong_pass_is_found_reduced_and_blamed(wrong_pass):
    found, failure = first_failure("minimum", [JIT], kind="whole", size="tiny")
    text = report(found, failure)
    assert "it comes from the pass 'wrong'" in text
    assert text.count("\n    v") <= 2


def test_programs_repeat_and_reports_run():
    for seed in range(12):
        found = case((seed, 4))  # of seed 0, nested transforms
        assert found is not None and found.program.source == case((seed, 4)).program.source
        if found.way.name in ("numpy", "theano", "pickle"):
            continue
        space, ends = {}, ERRORS if isinstance(found, Script) else ()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(*ends):
            exec(found.source, space)
        assert ({"run"} if ends else {"expected", "found"}) <= space.keys()


def test_steps_inputs_sizes_and_values_are_reduced():
    x = np.arange(12.0).reshape(3, 4) + 0.5
    big = small(["ag.exp(x1)", "x2 * 2", "v1 + v2", "ag.tanh(v3)", "v4 * v3"], x1=x, x2=x)
    found = reduced(big, lambda p: "tanh" in p.source)
    assert len(found.steps) == 1 and len(found.inputs) == 1
    assert found.inputs[0].array.size == 1 and found.inputs[0].array.item() == 0


def test_slow_and_large_programs_are_stopped():
    with pytest.raises(Slow), watched(0.2):
        while True:
            pass
    with pytest.raises(MemoryError), watched(memory=1 << 26):
        _ = [np.empty(1 << 24) for _ in range(1 << 8)]  # memory that was freed may serve first


@pytest.mark.long
def test_crashes_and_hangs_are_told_apart():
    x = {"x1": np.ones(3)}
    assert ends_badly(Case(small(["__import__('os').abort()"], **x), JIT)) == "crash"
    assert ends_badly(Case(small(["__import__('time').sleep(99)"], **x), JIT), 0.5) == "hang"
    assert ends_badly(Case(small(["x1 + 1"], **x), JIT)) == ""
    assert ends_badly(Case(small(["__import__('os')._exit(0)"], **x), JIT)) == "error"


@pytest.mark.parametrize(("program", "stopped"), [
    ("while True: pass", True), ("__import__('time').sleep(99)", True), ("", False)])
def test_processes_that_work_or_wait_for_too_long_are_stopped(program, stopped):
    process = subprocess.Popen([sys.executable, "-S", "-c", program], text=True)
    watch = Watch(process, 0.1 if stopped else 60)
    process.wait()
    watch.end()
    assert watch.stopped is stopped


def test_the_oracle_allows_rounding_only_where_there_is_some():
    one = np.ones(2)
    assert difference([one], [one + 1e-16], None) is None
    assert difference([one], [np.nextafter(one, 2)], None) is not None
    near = Spread(lambda n: [one + (n + 1) * 1e-15])
    assert difference([one], [one + 1e-15], near) is None
    assert difference([one], [one + 1e-9], near) is not None
    exact = Spread(lambda n: [one])
    assert difference([one], [np.nextafter(one, 2)], exact) is not None
    assert difference([one], [one * np.nan], near) is not None
    assert difference([one * 0], [one * -0.0], Spread(lambda n: [one * 0])) is not None
    assert difference([one], [one.astype("float32")], near) is not None
    assert difference([one], [one + 1e-11], exact, rounded=2.2e-16) is None
    assert difference([one], [one + 1e-8], exact, rounded=2.2e-16) is not None


def test_a_number_for_none_is_right_or_wrong():
    """exp(1000) overflows; the logarithm of it is 1000, and of 0 there is none."""
    found = Case(small(["ag.exp(x1)", "ag.log(v1)"], x1=np.array([1000.0])), JIT)
    everywhere = np.array([True])
    inf = np.array([np.inf])
    assert agrees(found, 0, np.array([1000.0]), inf, everywhere) is True
    assert agrees(found, 0, np.array([1000.1]), inf, everywhere) is False
    near = np.array([999.9])
    assert agrees(found, 0, np.array([1000.01]), near, everywhere) is True
    assert agrees(found, 0, np.array([1000.11]), near, everywhere) is False
    none = Case(small(["x1 / x1"], x1=np.array([0.0])), JIT)
    assert agrees(none, 0, np.array([1.0]), np.array([np.nan]), everywhere) is False


def test_what_narrow_floats_lose_is_told_by_wide_ones():
    """1 - tanh(9)**2 is a few roundings of float32; what is far from it is wrong."""
    lost = Case(small(["1 - ag.tanh(x1)**2"], x1=np.array([9.0], "float32")), JIT)
    eager, everywhere = np.array([0.0], "float32"), np.array([True])
    assert as_near(lost, 0, np.array([2e-7], "float32"), eager, everywhere)
    assert not as_near(lost, 0, np.array([1e-3], "float32"), eager, everywhere)
    assert not as_near(lost, 0, np.array([np.nan], "float32"), eager, everywhere)
    text = "(1 - ag.tanh(x1)**2).astype('complex128') * 1j"
    turned = Case(small([text], x1=np.array([9.0], "float32")), JIT)
    assert as_near(turned, 0, np.array([2e-7j]), np.array([0j]), everywhere)
    assert not as_near(turned, 0, np.array([1e-3j]), np.array([0j]), everywhere)


def test_real_algebra_may_continue_what_a_zero_interrupts():
    """x / x is 1 at all numbers but zero, and 1 is what real algebra says of it there."""
    hidden, everywhere = small(["ag.nan_to_num(x1 / x1)"], x1=np.array([0.0])), np.array([True])
    real = Case(hidden, BY_NAME["real algebra"])
    assert continues(real, 0, np.array([1.0]), everywhere)
    assert not continues(real, 0, np.array([2.0]), everywhere)
    slope = small(["x1 / x2 * x2"], x1=np.array([0.0]), x2=np.array([0.0]))
    assert check(Case(slope, BY_NAME["graph of gradients"])) is None
    beside_none = small(["ag.sqrt(x1)**2"], x1=np.array([0.0, -1.0]))
    assert check(Case(beside_none, BY_NAME["graph of gradients"])) is None


@pytest.mark.parametrize("text", ["ag.nan_to_num(v1)", "ag.isnan(v1)", "ag.nan_to_num(x1 / x1)"])
@pytest.mark.parametrize("value", [0.0, np.inf])
def test_real_algebra_may_have_a_number_where_eager_code_has_none(text, value):
    hidden = small(["x1 / x1", text], x1=np.array([value]))
    case = Case(hidden, BY_NAME["real algebra"])
    assert check(case) is None
    expected = Case(hidden, JIT).expected()[0]
    exact, rng = exact_names(hidden), np.random.default_rng(0)
    assert all(case.expected(noisy(hidden, exact, rng))[0] == expected for _ in range(4))


@pytest.mark.parametrize(("texts", "moves"), [
    (["x1 % x1", "ag.copysign(1.0, v1)"], True), (["x1 % x1", "ag.isnan(v1)"], False),
    (["ag.maximum(x1, -x1)", "1 / v1"], True), (["x1 + x1", "1 / v1"], False)])
def test_signs_that_nothing_promises_are_not_compared(texts, moves):
    """That of NaN, and that of an extreme of two zeros."""
    x = np.array([0.0])
    run, rng = small(texts, x1=x), np.random.default_rng(0)
    found = {str(Case(run, JIT).expected(noisy(run, exact_names(run), rng))[0]) for _ in range(9)}
    assert (len(found) > 1) is moves


def test_every_way_fits_some_programs():
    fitting = set()
    for seed in range(40):
        made = program((seed, 2))
        fitting |= {w.name for w in WAYS if Case(made, w).fits}
    assert fitting == {w.name for w in WAYS}


def test_the_command_line():
    done = subprocess.run([sys.executable, "-m", "tests.fuzz", "--programs", "1", "--seed", "1"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "SEED=1" in done.stdout and "1 programs" in done.stdout


def test_what_is_switched_off_is_named():
    assert replace(Case(program((1, 1)), JIT), exclude=("fusion",)).exclude == ("fusion",)


def test_what_decides_within_rounding_of_a_step_may_have_either_outcome():
    def of(line, seed=1):
        return Script(Text((line, "return (a1,)"), seed))

    def other(number, answer):
        return [[(answer(n),) for n in number], vars(types.SimpleNamespace(
            count=0, best=0.5, last=None, rows=ag.zeros(3, dtype="float64"), seen=[], names={}))]

    root = of("a1 = divmod(math.sqrt(abs(3)) ** 2, 3)[0]")
    assert not root.difference(root.expected(), other(range(CALLS), lambda n: 1.0))
    assert root.difference(root.expected(), other(range(CALLS), lambda n: 2.0))
    for exact in ("a1 = divmod(math.sqrt(abs(4)) ** 2, 4)[0]",
                  "a1 = 1.0 if 0.5 + 0.25 == 0.75 else 0.0", "a1 = 1.0 if n * 2 >= n + n else 0.0"):
        script = of(exact)
        assert script.difference(script.expected(), other(range(CALLS), lambda n: 0.0))


@pytest.mark.parametrize(("first", "free"), [
    ("ag.exp(x1)", True), ("ag.exp(x1) / ag.exp(x1).sum()", True), ("ag.maximum(x1, 0)", False),
])
def test_comparisons_of_what_underflows_may_have_either_outcome(first, free):
    made = small([first, "ag.where(v1 > 0, x1, 0)"], x1=np.array([-1000.5, 0.5]))
    case = Case(made, JIT)
    exact = exact_names(made)
    spread = Spread(lambda n: case.expected(noisy(made, exact, np.random.default_rng(n))))
    eager = case.expected()
    other = [eager[0].copy(), *eager[1:]]
    other[0][0] = -1000.5
    assert eager[0][0] == 0 and (difference(eager, other, spread) is None) is free


def test_what_functions_within_a_program_return_is_rounded_too():
    body = Body("f1", ("v2", "v3"), (), ("v2",), "(ag.tanh({0}), {0} >= 1)")
    step = Step(("v4", "v5"), "ag.scan(f1, x1, x1)", False, functions=(body,))
    made = Program((Input("x1", np.array([9.0, 1.0], "float32")),),
                   Body("f", ("x1",), (step,), ("v5",)), "wild")
    case, exact = Case(made, JIT), exact_names(made)
    eager = case.expected()
    other = [eager[0].copy(), *eager[1:]]
    other[0][1, 0] = ~other[0][1, 0]  # tanh(9) is 1 or the number before
    spread = Spread(lambda n: case.expected(noisy(made, exact, np.random.default_rng(n))))
    assert difference(eager, other, spread) is None
    other[0][0, 0] = ~other[0][0, 0]
    assert difference(eager, other, spread) is not None


def test_lines_of_the_library_run_and_what_they_never_do_is_said():
    for number in range(6):
        found = broad.broad((61, number))
        assert found.source == broad.broad((61, number)).source
        assert number > 1 or check(found) is None
    lines = [*uncovered.uncovered(4, 61)]
    assert any(line.startswith("ag.linalg: ") for line in lines)
    assert "vmap(" in lines[-1] and "parameters never given" in lines[-2]
