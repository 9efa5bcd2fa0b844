"""Makes programs that fail smaller, as long as they fail in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.program import Body, Input, Program, Step

Fails = Callable[[Any], bool]
SECONDS = 60


def reduced(program: Any, fails: Fails, seconds: float = SECONDS) -> Any:
    """The smallest program found in a time that still fails."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = hasattr(program, "smaller")
        for smaller in program.smaller() if text else _smaller(program):
            if time.monotonic() > end:
                break
            if (text or _runs(smaller)) and fails(smaller):
                program = smaller
                break
        else:
            break
    return program


def _runs(program: Program) -> bool:
    try:
        with np.errstate(all="ignore"):
            program(*program.arguments(ag))
    except Exception:
        return False
    return True


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are simpler by one thing, the largest leaps first."""
    yield from _fewer_outputs(program)
    yield from _without_unused(program)
    yield from _cut(program)
    yield from _without_steps(program)
    yield from _inside(program)
    yield from _without_inputs(program)
    yield from _plain_inputs(program)
    yield from _shorter(program)
    yield from _simpler_values(program)


def _with(program: Program, steps: object = None, returns: object = None) -> Program:
    body = program.body
    changed = replace(body, steps=tuple(steps) if steps is not None else body.steps,
                      returns=tuple(returns) if returns is not None else body.returns)
    return replace(program, body=changed)


def _fewer_outputs(program: Program) -> Iterator[Program]:
    returns = program.body.returns
    if len(returns) > 1:
        for name in returns:
            yield _with(program, returns=[name])
        for i in range(len(returns)):
            yield _with(program, returns=returns[:i] + returns[i + 1:])


def _without_unused(program: Program) -> Iterator[Program]:
    """Without the steps whose values nobody reads, all at once."""
    left = _used(program.steps, program.body.returns)
    if len(left) < len(program.steps):
        yield _with(program, left)


def _used(steps: tuple[Step, ...], returns: tuple[str, ...]) -> list[Step]:
    wanted, left = set(returns), []
    for step in reversed(steps):
        if not step.out or wanted & set(step.out):
            wanted |= set(step.reads)
            left.append(step)
    return left[::-1]


def _cut(program: Program) -> Iterator[Program]:
    """A value of the program becomes an input: what led to it is not needed any more."""
    values = _values(program)
    for i in reversed(range(len(program.steps))):
        step = program.steps[i]
        if len(step.out) != 1 or step.out[0] not in values or step.view:
            continue
        name = f"x{1 + max(int(x.name[1:]) for x in program.inputs)}"
        array = values[step.out[0]]
        if array.size > 5000:
            continue
        renamed = [s.renamed({step.out[0]: name}) for s in program.steps[i + 1:]]
        returns = tuple(name if n == step.out[0] else n for n in program.body.returns)
        left = _used((*program.steps[:i], *renamed), returns)
        if len(left) >= len(program.steps):
            continue
        body = replace(program.body, steps=tuple(left), returns=returns,
                       parameters=(*program.body.parameters, name))
        yield replace(program, inputs=(*program.inputs, Input(name, array)), body=body)


def _values(program: Program) -> dict[str, np.ndarray]:
    """Values that steps bind, where the program does not change any."""
    if program.changes:
        return {}
    names = [n for s in program.steps for n in s.out]
    form = "{" + ", ".join(f"{n!r}: {n}" for n in names) + "}"
    whole = replace(program.body, returns=())
    run = replace(program, body=whole)
    with np.errstate(all="ignore"):
        found = run.function(last=form.replace("{", "{{").replace("}", "}}"))(
            *program.arguments(ag))
    return {n: np.array(t.numpy()) for n, t in found.items() if isinstance(t, ag.Tensor)}


def _without_steps(program: Program) -> Iterator[Program]:
    """Without some steps, readers of which read an operand, or another value, instead."""
    steps = program.steps
    for i in reversed(range(len(steps))):
        step = steps[i]
        if not step.out:
            yield _with(program, steps[:i] + steps[i + 1:])
            continue
        for other in [n for n in step.reads if n not in step.out][:3]:
            yield _replaced(program, i, other)


def _replaced(program: Program, i: int, other: str) -> Program:
    steps = program.steps
    names = dict.fromkeys(steps[i].out, other)
    left = [*steps[:i], *(s.renamed(names) for s in steps[i + 1:])]
    return _with(program, left, [names.get(n, n) for n in program.body.returns])


def _inside(program: Program) -> Iterator[Program]:
    """Functions with fewer steps."""
    for i, step in enumerate(program.steps):
        for j, f in enumerate(step.functions):
            for smaller in _smaller_body(f):
                functions = (*step.functions[:j], smaller, *step.functions[j + 1:])
                changed = replace(step, functions=functions)
                yield _with(program, (*program.steps[:i], changed, *program.steps[i + 1:]))


def _smaller_body(f: Body) -> Iterator[Body]:
    left = _used(f.steps, f.returns)
    if len(left) < len(f.steps):
        yield replace(f, steps=tuple(left))
    for i in reversed(range(len(f.steps))):
        for other in [n for n in f.steps[i].reads if n not in f.steps[i].out][:3]:
            names = dict.fromkeys(f.steps[i].out, other)
            rest = (*f.steps[:i], *(s.renamed(names) for s in f.steps[i + 1:]))
            yield replace(f, steps=rest, returns=tuple(names.get(n, n) for n in f.returns))


def _without_inputs(program: Program) -> Iterator[Program]:
    used = {n for s in program.steps for n in s.reads} | {*program.body.returns}
    used |= {x.of for x in program.inputs if x.of}
    for x in program.inputs:
        if x.name not in used and len(program.inputs) > 1:
            left = tuple(y for y in program.inputs if y is not x)
            yield replace(program, inputs=left, body=replace(
                program.body, parameters=tuple(y.name for y in left)))


def _change(program: Program, old: Input, new: Input) -> Program:
    return replace(program, inputs=tuple(new if x is old else x for x in program.inputs))


def _plain_inputs(program: Program) -> Iterator[Program]:
    """Inputs without views, of their own memory, of the plainest dtype."""
    for x in program.inputs:
        if x.of or x.view or x.made or x.number:
            value = program.arguments(np)[[y.name for y in program.inputs].index(x.name)]
            if not (x.made and np.size(value) > 5000):
                yield _change(program, x, Input(x.name, np.array(value, order="C")))
        if not x.of and not x.made and x.array.dtype.name in ("float16", "bfloat16", "float32"):
            yield _change(program, x, replace(x, array=x.array.astype("float64")))


def _shorter(program: Program) -> Iterator[Program]:
    """Axes of inputs cut, several inputs at once where they have the size."""
    sizes = sorted({n for x in program.inputs if not x.of for n in x.array.shape if n > 1},
                   reverse=True)
    for n in sizes:
        for m in sorted({1, 2, n // 2, n - 1} - {0, n}):
            yield replace(program, inputs=tuple(_cut_input(x, n, m) for x in program.inputs))
    for x in program.inputs:
        for axis, n in enumerate(x.array.shape):
            if x.of:
                continue
            for m in sorted({1, n // 2, n - 1} - {0, n}) if n > 1 else ():
                key = (slice(None),) * axis + (slice(0, m),)
                yield _change(program, x, replace(x, array=x.array[key].copy(), made=""))
        if x.array.ndim and not x.of and x.array.shape[0] == 1:
            yield _change(program, x, replace(x, array=x.array[0].copy(), made=""))


def _cut_input(x: Input, n: int, m: int) -> Input:
    if x.of or n not in x.array.shape:
        return x
    key = tuple(slice(0, m) if k == n else slice(None) for k in x.array.shape)
    return replace(x, array=x.array[key].copy(), made="")


def _simpler_values(program: Program) -> Iterator[Program]:
    """Numbers replaced by simpler ones, all at once, then one by one."""
    for x in program.inputs:
        if x.of or x.made or x.array.dtype.kind == "b":
            continue
        a = x.array
        with np.errstate(all="ignore"):
            simple = [np.zeros_like(a), np.ones_like(a), (a * 0 + 2).astype(a.dtype)]
            if a.dtype.kind in "fV":
                rounded = np.round(a.astype("float64")).astype(a.dtype)
                tenths = np.round(a.astype("float64") * 10) / 10
                simple += [rounded, tenths.astype(a.dtype)]
        for b in simple:
            if _weight(b) < _weight(a):
                yield _change(program, x, replace(x, array=b))
        if 1 < a.size <= 12:
            for at in np.ndindex(a.shape):
                for v in (0, 1):
                    b = a.copy()
                    b[at] = v
                    if _weight(b) < _weight(a):
                        yield _change(program, x, replace(x, array=b))


def _weight(a: np.ndarray) -> int:
    """How long a number is to read."""
    return len(repr(a.astype("float64" if a.dtype.kind == "V" else a.dtype).tolist()).replace(
        "0.0", "").replace("1.0", "1"))
