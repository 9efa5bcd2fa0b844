"""Programs with noise in them: every inexact value is changed by a few roundings.

How far results move tells how far rounding may move them; what does not move must be equal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

import agnesi as ag
from tests.fuzz.pool import Value, small_whole
from tests.fuzz.program import NAME, Program, Step, written

#: Noise in units of the last place, by how coarse floats are.
ROUNDINGS, HALF_ROUNDINGS = 64, 4
HALF = ("float16", "bfloat16")
#: Steps that round numbers near 1 on the way.
INSIDE = re.compile(r"\b[123] [+-] |- ag\.|softmax|logaddexp|sample\(|"
                    r"ag\.(nn|fft|linalg|distributions)\.|ag\.(grad|jac|jvp|hessian)")

#: What functions within a program return by a rounded operation.
ROUNDED = re.compile(r"ag\.(tanh|exp|sin|cos|sqrt|log\w*|softmax|sigmoid|mean)\(| / ")

#: Steps whose results may be either of two zeros.
EXTREMES = re.compile(r"max|min|clip|relu|sort|topk|ptp|median|quantile|percentile|unique")

#: Quotients that may be NaN and are read within a step.
HIDDEN = re.compile(r"nan_to_num\((\S+ / \w+(?:\(\w+\))?)\)")

#: Functions whose results are above zero, though floats end there, and those that keep a sign.
_ABOVE_ZERO = frozenset("exp exp2 softmax sigmoid".split())
_KEEP_SIGN = frozenset("sum mean max min sqrt copy reshape".split())


def exact_names(program: Program) -> set[str]:
    """Names of values that are whole numbers, computed by exact steps only.

    A statement makes inexact what shares memory with what it changes.
    """
    known: dict[str, Any] = {}
    inexact: set[str] = set()

    def seen(**values: Any) -> None:
        for name, value in values.items():
            known[name] = value
            if not small_whole(Value(name, value)):
                inexact.add(name)

    arguments = dict(zip(program.body.parameters, program.arguments(ag), strict=True))
    seen(**arguments)
    steps = {id(s): s for s in program.steps}

    def after(number: int, values: dict[str, Any]) -> None:
        step = steps[number]
        tainted = not step.exact or any(n in inexact for n in step.reads)
        if step.out:
            seen(**{n: values[n] for n in step.out})
            inexact.update(n for n in step.out if (tainted and _is_float(values[n])) or tainted)
        else:
            for name, value in known.items():
                near = tainted and _shares(value, [v for v in values.values()])
                if near or not small_whole(Value(name, value)):
                    inexact.add(name)

    def line(step: Step) -> str:
        names = step.out or [n for n in step.reads if n in known_names]
        pairs = ", ".join(f"{n!r}: {n}" for n in names)
        return f"{written(step)}; after_({id(step)}, {{{pairs}}})"

    known_names = {*program.body.parameters, *(n for s in program.steps for n in s.out)}
    with np.errstate(all="ignore"):
        program.function({"after_": after}, line)(*arguments.values())
    return known_names - inexact


def _is_float(value: Any) -> bool:
    return Value("", value).kind in "fc"


def _shares(value: Any, others: list[Any]) -> bool:
    arrays = [np.asarray(o) for o in others]
    return any(np.may_share_memory(np.asarray(value), a) for a in arrays)


def noisy(program: Program, exact: set[str], rng: np.random.Generator, real: bool = False,
          zeros: bool = True) -> Any:
    """The function of a program, with noise on what is not exact and on what such steps read.

    What nothing promises is drawn anew at each step: the sign of NaN, and with ``zeros`` that of
    zeros that are extremes.  ``real``: where there is no number may be any.
    """
    above = _above_zero(program.steps)

    def noise(x: Any) -> Any:
        return disturbed(x, rng)

    def far(x: Any) -> Any:
        return disturbed(x, rng, inside=True)

    def near_zero(x: Any) -> Any:
        return underflowing(x, rng, above=False)

    def under(x: Any) -> Any:
        return underflowing(x, rng, above=True)

    def free(x: Any) -> Any:
        return chosen(x, rng, real)

    def signed(x: Any) -> Any:
        return chosen(x, rng, real, zeros)

    top = {n for s in program.steps for n in s.out} | {*program.body.parameters}

    def line(step: Step) -> str:
        if step.view:
            return written(step)
        if not step.exact:
            def read(found: Any) -> str:
                return f"noise_({found[0]})" if found[0] in top else found[0]

            targets = "" if step.out else step.text.split("=")[0]
            text = step.text if targets else NAME.sub(read, step.text)
            step = replace(step, text=text)
        if step.out and any(n not in exact for n in step.out):
            how = "far_" if INSIDE.search(step.text) else "noise_"
            step = _around("under_" if above & {*step.out} else "near_zero_", _around(how, step))
        changed = None if step.out else NAME.search(step.text)
        if changed and changed[0] in top:
            how = "stir_" if changed[0] not in exact else "redraw_"
            return f"{written(step)}; {how}({changed[0]})"
        return written(_opened(step) if step.out else step)

    def inner(step: Step) -> str:
        if len(step.out) != 1 or (step.exact and step.view):
            return written(step)
        opened = _opened(step)
        how = "far_" if INSIDE.search(step.text) else "noise_"
        return written(opened if step.exact else _around(how, opened))

    inputs = [n for n in program.body.parameters if n not in exact]
    first = [] if program.changes else [f"{n} = noise_({n})" for n in inputs]
    returned = ["noise_({})" if n not in exact else "{}" for n in program.body.returns]
    known = {"noise_": noise, "far_": far, "free_": free, "signed_": signed,
             "stir_": lambda x: stir(x, lambda y: signed(noise(y))),
             "redraw_": lambda x: stir(x, signed), "under_": under, "near_zero_": near_zero}
    known["rounded_"] = lambda found: tuple(map(noise, found)) if isinstance(
        found, tuple) else noise(found)
    return program.function(known, line, first, f"({', '.join(returned)},)", inner,
                            lambda text: f"rounded_({text})" if ROUNDED.search(text) else text)


def _around(how: str, step: Step) -> Step:
    """The step with a function around each result."""
    many = f"tuple(map({how}, {{}}))" if len(step.out) > 1 else f"{how}({{}})"
    return replace(step, text=many.format(step.text))


def _opened(step: Step) -> Step:
    """The step with what nothing promises of its results, and within it, drawn anew."""
    inside = replace(step, text=HIDDEN.sub(r"nan_to_num(free_(\1))", step.text))
    return _around("signed_" if EXTREMES.search(step.text) else "free_", inside)


def chosen(x: Any, rng: np.random.Generator, real: bool, zeros: bool = False) -> Any:
    """A float tensor whose NaNs have other signs, or are numbers; perhaps zeros, too."""
    if not isinstance(x, ag.Tensor) or Value("", x).kind != "f":
        return x
    other = ag.asarray(rng.random(x.shape) < 0.5)
    none = ag.isnan(x)
    if real:
        number = ag.asarray(np.asarray(rng.normal(size=x.shape) * 4).astype(x.dtype))
        x = ag.where(none & other, number, x)
        other = ag.asarray(rng.random(x.shape) < 0.5)
    return ag.where((none | (x == 0) if zeros else none) & other, -x, x)


def disturbed(x: Any, rng: np.random.Generator, inside: bool = False) -> Any:
    """A float tensor, each element changed by some roundings; anything else as it is.

    ``inside``: of numbers near 1, too, which were computed on the way.
    """
    if not isinstance(x, ag.Tensor) or Value("", x).kind not in "fc":
        return x
    few = HALF_ROUNDINGS if x.dtype.name in HALF else ROUNDINGS
    step = few * epsilon(x.dtype)

    def random() -> Any:
        n = rng.uniform(-1, 1, x.shape)
        return step * (n + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else n)

    y = x * ag.asarray(np.asarray(1 + random()).astype(x.dtype))
    return y + ag.asarray(np.asarray(random()).astype(x.dtype)) if inside else y


def underflowing(x: Any, rng: np.random.Generator, above: bool) -> Any:
    """A float tensor with some of its subnormal numbers flushed to zero; with ``above``, where all
    are above zero, some zeros are the least number instead."""
    if not isinstance(x, ag.Tensor) or Value("", x).kind != "f":
        return x
    least = float(ml_dtypes.finfo(x.dtype).smallest_normal)
    other = ag.asarray(rng.random(x.shape) < 0.5)
    x = ag.where((abs(x) < least) & other, x * 0, x)
    other = ag.asarray(rng.random(x.shape) < 0.5)
    return ag.where((x == 0) & other, x + least, x) if above else x


def _above_zero(steps: Sequence[Step]) -> set[str]:
    """Names of values that are above zero in exact numbers: those of exponentials."""
    names: set[str] = set()
    for step in steps:
        if len(step.out) == 1 and _is_above_zero(ast.parse(step.text, mode="eval").body, names):
            names.add(step.out[0])
    return names


def _is_above_zero(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and node.value > 0
    if isinstance(node, ast.Subscript):
        return _is_above_zero(node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult, ast.Div)):
        return _is_above_zero(node.left, names) and _is_above_zero(node.right, names)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner, called = node.func.value, node.func.attr
    if called in _ABOVE_ZERO:
        return True
    of_library = isinstance(owner, ast.Name) and owner.id == "ag"
    first = node.args[0] if of_library and node.args else owner
    return called in _KEEP_SIGN and _is_above_zero(first, names)


def stir(x: Any, how: Callable[[Any], Any]) -> None:
    """Change a tensor where it lies, as a statement leaves it."""
    if isinstance(x, ag.Tensor) and x.array is not None:
        x.array[...] = np.asarray(how(x).detach())


def epsilon(dtype: Any) -> float:
    """The step from 1 to the next number."""
    return float(ml_dtypes.finfo(dtype).eps)
