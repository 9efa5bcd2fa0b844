"""Some 200 calls on ten numbers or so, run at once, and their gradients, beside PyTorch: the
geometric means of the ratios, and the ten calls that are behind most."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result, prepare, time_in_turn
from benchmarks.models import small_calls as calls

TITLE = "eager calls on ten numbers, and their gradients"
THREADS = (1,)
GOAL = 1.0
WORST = 10
#: Calls before the first that counts: by then what is wanted often is compiled.  Long calls fewer.
_WARMING_CALLS, _WARMING_SECONDS = 10_500, 2.0


def run(context: Context) -> list[Result]:
    _load_native()
    plain = calls.texts(calls.RECORDED + calls.PLAIN)
    forward = [_case(call, calls.forward, False) for call in plain]
    drawn = [_case(call, calls.forward, False, False)
             for call in calls.texts(calls.DRAWS + calls.STATEMENTS)]
    backward = [_case(call, calls.backward, True) for call in calls.texts(calls.RECORDED)]
    return [*_worst(context, "forward", [*forward, *drawn]),
            *_worst(context, "gradients", backward)]


def _worst(context: Context, what: str, cases: list[Case]) -> list[Result]:
    """The mean of all, and the calls that are behind most."""
    found = [_measured(context, case) for case in cases if re.search(context.cases, case.name)]
    means = Result.mean(context, found, GOAL)
    for mean in means:
        mean.case = f"{what}: {mean.case} of {sum(r.ratio is not None for r in found)}"
    ranked = sorted((r for r in found if r.ratio is not None), key=lambda r: r.ratio or 0)
    wrong = [r for r in found if r.ratio is None]
    for result in (*ranked, *wrong):
        result.case = f"{what}: {result.case}"
    return [*means, *ranked[:WORST], *wrong]


def _measured(context: Context, case: Case) -> Result:
    """The shortest rounds count, for a call takes less than what a busy machine adds."""
    context.note(case.name)
    ready, absent = prepare(case)
    result = Result.empty(context, case.name)
    result.absent.update(absent)
    for who, seconds in time_in_turn(ready, context.quick).items():
        result.add(who, [min(seconds)])
    return result


def _case(call: str, build: Callable[..., Any], recording: bool, compared: bool = True) -> Case:
    answer = None if compared else list

    def contender(m: Any) -> Contender:
        _set_recording(m, recording)
        fn = build(call, calls.operands(m, recording))
        end = time.monotonic() + _WARMING_SECONDS
        for i in range(_WARMING_CALLS):
            fn()
            if i % 100 == 99 and time.monotonic() > end:
                break
        return Contender(fn, answer=answer)

    def expected() -> Any:
        m = peers.torch()
        _set_recording(m, recording)
        found = build(call, calls.operands(m, recording))()
        return [] if not compared or found is None else found

    return Case(call, expected, {OURS: lambda: contender(peers.agnesi()),
                                 "torch": lambda: contender(peers.torch())},
                rtol=1e-4, atol=1e-5)


def _set_recording(m: Any, recording: bool) -> None:
    m.set_grad_enabled(recording)  # cases run one after the other, so this holds for a case


def _load_native() -> None:
    """Wait for the native code of eager operations, as a program has it after some seconds."""
    ag = peers.agnesi()
    x = ag.ones(10)
    for _ in range(1000):
        x + x
    time.sleep(2)
