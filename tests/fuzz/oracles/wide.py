"""Programs in wider floats, whose results tell how far off those of narrow floats are anyway."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

import agnesi as ag
from tests.fuzz.pool import REFUSED
from tests.fuzz.program import Body, Input, Program, Step
from tests.fuzz.run import Case

#: How many times as far from the wide result as the eager one another may be.
FACTOR = 8
#: Functions give the default floats of these.
WHOLE = re.compile(r"'(u?int\d+|bool)'")
NARROW = re.compile(r"'(float16|bfloat16|float32|complex64)'")


def as_near(case: Case, place: int, found: np.ndarray, eager: np.ndarray,
            where: np.ndarray) -> bool:
    """Whether a result is about as near to that in wide floats as the eager one is."""
    is_narrow = NARROW.search(case.program.source) or WHOLE.search(case.program.source)
    if not is_narrow or eager.dtype.kind not in "fcV":
        return False
    try:
        with ag.config(default_float="float64"):
            wide = replace(case, program=widened(case.program)).expected()[place]
    except REFUSED:
        return False
    if wide.shape != eager.shape:
        return False
    to = "complex128" if eager.dtype.kind == "c" else "float64"
    f, e, w = (a.astype(to)[where] for a in (found, eager, wide))
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(f - w) <= FACTOR * np.abs(e - w)))


def widened(program: Program) -> Program:
    """The same program of float64 and complex128 only."""
    return replace(program, inputs=tuple(map(_input, program.inputs)), body=_body(program.body))


def _text(text: str) -> str:
    return NARROW.sub(lambda m: "'complex128'" if m[1] == "complex64" else "'float64'", text)


def _input(x: Input) -> Input:
    name = x.array.dtype.name
    if f"'{name}'" == _text(f"'{name}'"):
        return x
    return replace(x, array=x.array.astype(_text(f"'{name}'")[1:-1]), made=_text(x.made))


def _body(body: Body) -> Body:
    return replace(body, steps=tuple(map(_step, body.steps)))


def _step(step: Step) -> Step:
    return replace(step, text=_text(step.text), functions=tuple(map(_body, step.functions)))
