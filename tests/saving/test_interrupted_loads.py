"""A state that is loaded while Ctrl-C comes is taken over wholly, or not at all."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.ops.arrays import loading
from agnesi.optim import states

#: The files whose lines are interrupted.
FILES = (loading.__file__, states.__file__)


def lines_of(action: Callable[[], Any], interrupted: int = 0) -> int:
    """Count the lines that an action runs in these files; raise KeyboardInterrupt at one."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            count += 1
            if count == interrupted:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def flat(state: Any) -> str:
    if "param_groups" in state:
        kept = {i: {n: np.asarray(t).tolist() for n, t in held.items()}
                for i, held in state["state"].items()}
        return repr((kept, state["param_groups"]))
    return repr({n: t.tolist() for n, t in state.items()})


def network() -> tuple[Any, Any, Any]:
    net, other = (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)) for _ in range(2))
    return net, net.state_dict(), other.state_dict()


def optimizer() -> tuple[Any, Any, Any]:
    w, b = ag.ones(2, requires_grad=True), ag.ones(3, requires_grad=True)
    found = ag.optim.Adam([{"params": [w]}, {"params": [b], "lr": 0.5}], lr=0.1)
    begun = copy.deepcopy(found.state_dict())
    (w.sum() + b.sum()).backward()
    found.step()
    found.param_groups[1]["lr"] = 0.25
    return found, begun, copy.deepcopy(found.state_dict())


@pytest.mark.parametrize("make", [network, optimizer])
def test_loads_are_whole_or_nothing(make: Any) -> None:
    owner, first, second = make()
    first = copy.deepcopy(first)
    owner.load_state_dict(first)
    known = {flat(first), flat(second)}
    count = lines_of(lambda: owner.load_state_dict(second))
    assert flat(owner.state_dict()) == flat(second) and count > 50
    seen = set()
    for line in range(1, count + 1, 7):
        owner.load_state_dict(first)
        with pytest.raises(KeyboardInterrupt):
            lines_of(lambda: owner.load_state_dict(second), line)
        seen.add(flat(owner.state_dict()))
    assert seen == known
