"""The names of NumPy that agnesi has; `make coverage` tells more about them."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[3] / "tools/names.py"
SPEC = importlib.util.spec_from_file_location("names", PATH)
assert SPEC is not None and SPEC.loader is not None
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)


@pytest.mark.parametrize("space", ["numpy", "numpy.linalg", "numpy.fft"])
def test_nearly_all_functions_are_there(space):
    wanted = [n for n in tool.names(space) if tool.reason(space, n) is None]
    missing = [n for n in wanted if tool.ours(space, n) is None]
    assert len(wanted) > 10
    assert len(missing) < 0.05 * len(wanted), missing


def test_every_reason_leaves_something_out():
    for space, reasons in tool.LEFT_OUT.items():
        if space.startswith("numpy"):
            found = {tool.reason(space, name) for name in tool.names(space)}
            assert set(reasons) <= found


@pytest.mark.native_plans
def test_what_is_tried_is_told_apart():
    assert tool.compiles(tool.ag.sin, (tool.X,)) == "native"
    assert tool.compiles(tool.ag.sort, (tool.X,)) == "C"
    assert tool.compiles(tool.ag.unique, (tool.X,)) == "C"
    assert tool.compiles(lambda x: tool.ag.histogram(x, "auto"), (tool.X,)) == "eager"
    assert tool.flows(tool.ag.sin, (tool.X,)) == "yes"
    assert tool.flows(tool.ag.floor, (tool.X,)) == "zero"
    assert tool.flows(tool.ag.argmax, (tool.X,)) == ""
