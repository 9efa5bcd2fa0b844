"""Texts among arguments that no code looks at cost no version; what looks at one gets it."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag

X = np.arange(3.0)
NAMES = [f"file{i}.png" for i in range(12)]
LOG: list[Any] = []


class Kept:
    """Keeps what it is given."""

    last: Any = None


KEPT = Kept()


def trains(w: Any, batch: Any, name: str) -> Any:
    loss = ((w * batch["x"]) ** 2).sum()
    g = ag.grad(loss, w)
    with ag.no_grad():
        w.sub_(0.01 * g)
    return loss.detach()


def keeps(w: Any, batch: Any, name: str) -> Any:
    KEPT.last = name
    return batch["x"]


def caught(name: str) -> int:
    try:
        return len("".join([name]))
    except TypeError:
        return 7


def suppressed(name: str) -> int:
    with contextlib.suppress(TypeError):
        return len("".join([name]))
    return 7


def stacked(name: str) -> int:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(TypeError))
        return name in "file3.png"
    return 7


class Leaves:
    """A block that no error leaves."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> bool:
        return True


def left(name: str) -> int:
    with Leaves():
        return len("".join([name]))
    return 7


def catches(w: Any, batch: Any, name: str) -> Any:
    try:
        return batch["x"] * len("".join(["a", name]))
    except TypeError:
        return batch["x"] * 0


PASSED_OVER = {
    "unused": lambda w, batch, name: batch["x"] * 2,
    "none": lambda w, batch, name: batch["x"] if name is None else batch["x"] * 2,
    "handed on": lambda w, batch, name: (lambda b, n: b["x"] + 1)(batch, name),
    "trains": trains,
    "recorded": lambda w, batch, name: (w * batch["x"]).sum(),
}
LOOKED_AT = {
    "length": lambda w, batch, name: batch["x"] * len(name),
    "equal": lambda w, batch, name: batch["x"] if name == "file3.png" else batch["x"] * 2,
    "found": lambda w, batch, name: batch["x"] * {"file4.png": 3.0}.get(name, 1.0),
    "among": lambda w, batch, name: batch["x"] * ("4" in name),
    "inside": lambda w, batch, name: batch["x"] * (name in "file4.png file5.png"),
    "joined": lambda w, batch, name: batch["x"] * len("".join([name, batch["name"]])),
    "class": lambda w, batch, name: batch["x"] if type(name) is str else -batch["x"],
    "kind": lambda w, batch, name: batch["x"] if isinstance(name, str) else -batch["x"],
    "returned": lambda w, batch, name: (batch["x"], name),
    "appended": lambda w, batch, name: (LOG.append(name), batch["x"])[1],
    "nested": lambda w, batch, name: (batch["x"], {"all": [batch["name"]]}),
    "keeps": keeps, "catches": catches,
    **{f.__name__: lambda w, batch, name, f=f: batch["x"] * f(name)
       for f in (caught, suppressed, left, stacked)},
}


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("name", [*PASSED_OVER, *LOOKED_AT])
def test_they_mean_what_they_do_eagerly(name: str) -> None:
    function = {**PASSED_OVER, **LOOKED_AT}[name]
    found, made = [], []
    for f in (function, ag.jit(function)):
        LOG.clear()
        w, out = ag.tensor(X, requires_grad=True), []
        for text in (*NAMES, None) if name == "none" else NAMES[:7]:
            y = f(w, {"x": ag.tensor(X), "name": f"{text}!"}, text)
            if isinstance(y, ag.Tensor) and y.requires_grad:
                y.backward()
            out.append([v.tolist() if isinstance(v, ag.Tensor) else v for v in ag.tree.leaves(y)])
        found.append([out, list(LOG), KEPT.last, w.tolist(), w.grad is None or w.grad.tolist()])
        made.append(f)
    assert found[0] == found[1]
    if name in PASSED_OVER:
        assert len(made[1].specialisations) <= 4


class Scaled(ag.nn.Module):
    def forward(self, x: Any, name: str) -> Any:
        return x * 2


class Called:
    def __call__(self, x: Any, name: str) -> Any:
        return x * 2


@pytest.mark.parametrize("function", [
    Scaled(), Called(), functools.partial(lambda k, x, name: x * k, 2.0)])
def test_all_that_is_called_passes_over_them(function: Any) -> None:
    f = ag.jit(function)
    for name in NAMES:
        assert f(ag.tensor(X), name).tolist() == [0, 2, 4]
    assert len(f.specialisations) <= 3


def test_other_things_in_their_place_are_no_texts() -> None:
    f, x = ag.jit(lambda x, name: x * 2), ag.tensor(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in (*NAMES, 3, None, 2.5, *NAMES):
            assert f(x, name).tolist() == [0, 2, 4]
