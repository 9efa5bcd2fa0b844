"""Options of every public class: what is none of the things they may be is refused in the words of
the class and the option, at the user's line; what converts exactly goes on working."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from tests.docstrings.numpydoc import parse
from tests.errors.lambdas import check
from tests.errors.option_samples import OPTIMIZER, W, classes, needed, said, wrong
from tests.errors.test_arguments import example, functions

CLASSES = classes()


def refused(name: str, kind: type, option: str, value: Any) -> str:
    """What is wrong with how a wrong value is refused, or nothing."""
    given = {**needed(name, kind), option: value}
    try:
        kind(**given)  # the line
    except Exception as error:
        text, _, place = str(error).partition("\n  at ")
        line = refused.__code__.co_firstlineno + 4
        good = isinstance(error, (TypeError, ValueError)) and place == f"{__file__}:{line}"
        return "" if good and name in text and option in text else f"{error!r}"
    return "accepted"


def default(kind: type, option: str) -> Any:
    return inspect.signature(kind).parameters[option].default


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CLASSES)
def test_wrong_options_are_refused(name: str) -> None:
    kind = CLASSES[name]
    kind(**needed(name, kind))
    found = [(option, value, text) for option, told in said(kind)
             for value in wrong(option, told, default(kind, option))
             if (text := refused(name, kind, option, value))]
    assert not found


def alike(value: Any) -> list[Any]:
    """Values that convert exactly to one."""
    if isinstance(value, bool):
        return [np.bool_(value), int(value)]
    if isinstance(value, int):
        return [np.int64(value), np.int32(value), np.array(value), ag.tensor(value)]
    if isinstance(value, float) and math.isfinite(value):
        return [np.float64(value), np.array(value), ag.tensor(value, dtype="float64"),
                *([int(value)] if value.is_integer() else [])]
    return []


@pytest.mark.share(8)
@pytest.mark.parametrize("name", CLASSES)
def test_what_converts_exactly_is_taken(name: str) -> None:
    kind = CLASSES[name]
    base = needed(name, kind)
    for option, _ in said(kind):
        given = base.get(option, default(kind, option))
        for value in alike(given) if option != "last_epoch" else ():
            kind(**{**base, option: value})


class Wider(nn.LayerNorm):
    """A user's subclass, which hands on what it is given."""

    def __init__(self, eps: Any) -> None:
        super().__init__(4, eps)


CASES = [
    (lambda: nn.LayerNorm(4, eps="a"), TypeError, "LayerNorm: eps must be a number, not 'a'"),
    (lambda: nn.LayerNorm(4, eps=-1), ValueError, "LayerNorm: eps must be at least 0, not -1"),
    (lambda: nn.LayerNorm(4, eps=math.inf), ValueError,
     "LayerNorm: eps must be at least 0 and finite, not inf"),
    (lambda: nn.HuberLoss(delta=-1), ValueError, "HuberLoss: delta must be at least 0, not -1"),
    (lambda: nn.BatchNorm1d(4, momentum=2), ValueError,
     "BatchNorm1d: momentum must be in [0, 1] or None, not 2"),
    (lambda: nn.Dropout(ag.ones(3)), TypeError, "Dropout: p must be a number, not float32[3]; make "
     "it first, and then call it: Dropout(...)(x)"),
    (lambda: nn.Conv2d(1, 2, (3, 2.5)), ValueError, "Conv2d: kernel_size must be an integer in the "
     "place of 2.5, not (3, 2.5)"),
    (lambda: nn.Conv2d(1, 2, 3, stride=0), ValueError,
     "Conv2d: stride must be at least 1, not 0"),
    (lambda: nn.GELU("erf"), ValueError, "GELU: approximate must be 'none' or 'tanh', not 'erf'"),
    (lambda: nn.Transformer(4, 2, activation="silu"), ValueError,
     "Transformer: activation must be 'relu', 'gelu' or a function, not 'silu'"),
    (lambda: optim.Adam([W], betas=0.9), TypeError, "Adam: betas must be two numbers, not 0.9"),
    (lambda: optim.Adam([W], betas=(0.9, 1.0)), ValueError, "Adam: betas must be two numbers, with "
     "one in [0, 1) in the place of 1.0, not (0.9, 1.0)"),
    (lambda: optim.lr_scheduler.StepLR(OPTIMIZER, 2, gamma="a"), TypeError,
     "StepLR: gamma must be a number, not 'a'"),
    (lambda: optim.lr_scheduler.MultiStepLR(OPTIMIZER, [2, "a"]), ValueError, "MultiStepLR: "
     "milestones must be an integer in the place of 'a', not [2, 'a']"),
    (lambda: ag.distributions.Normal("a", 1.0), TypeError, "Normal: loc must be a tensor, an "
     "array, a number or a list of numbers, not 'a'"),
    (lambda: ag.data.DataLoader([1], batch_size=0), ValueError,
     "DataLoader: batch_size must be at least 1 or None, not 0"),
]


@pytest.mark.parametrize(("made", "kind", "text"), CASES)
def test_texts(made: Any, kind: Any, text: str) -> None:
    check(made, kind, text)


#: Options of functions that have a wider meaning than what is said of them in short.
_WIDER = {("bernoulli", "p"), ("interp", "period"), ("softplus", "beta"), ("matrix_norm", "ord")}


def functions_with_options() -> Iterator[tuple[str, Any, list[tuple[str, str]]]]:
    """Public functions, with their options that are flags, words or numbers."""
    for name, f in functions():
        known = inspect.signature(f).parameters
        found = [(option, entry.kind) for entry in parse(inspect.getdoc(f) or "").entries(
                     "Parameters") for option in entry.names
                 if option in known and known[option].default is not inspect.Parameter.empty
                 and (entry.kind in ("bool", "float") or entry.kind[0] == "{")
                 and (name, option) not in _WIDER and "with_indices" not in name]
        if found:
            yield name, f, found


def unlike(option: str, kind: str) -> list[Any]:
    """Values that an option of a function cannot have."""
    if kind == "bool":
        return ["yes", 2, 0.5, [], object()]
    if kind == "float":
        return ["a", [1.0, "a"], {}, True, *([-1.0] if option in ("eps", "rtol", "atol") else [])]
    return ["nonsense", 3.5, []]


@pytest.mark.share(4)
@pytest.mark.parametrize("part", range(8))
def test_functions_refuse_wrong_options(part: int) -> None:
    wrong, count = [], 0
    for name, f, options in list(functions_with_options())[part::8]:
        found = example(f)
        for option, kind in options if found is not None else ():
            known = inspect.signature(f).parameters
            by_name = known[option].kind is inspect.Parameter.KEYWORD_ONLY
            place = 100 if by_name else [*known].index(option)
            for value in unlike(option, kind):
                args, keywords = list(found[0]), dict(found[1])
                if place < len(args):
                    args[place] = value
                else:
                    keywords[option] = value
                count += 1
                try:
                    f(*args, **keywords)
                except (TypeError, ValueError) as error:
                    if option not in str(error) or f"\n  at {__file__}" not in str(error):
                        wrong.append((name, option, value, str(error)))
                else:
                    wrong.append((name, option, value, "accepted"))
    assert count > 50
    assert wrong == []
