"""Objects whose ``__getattr__`` raises another error than AttributeError: settings of programs.

Modules that another thread is still importing, which lack names.
"""

from __future__ import annotations

import importlib.machinery
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.foreign import imported


class Config(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def config():
    return Config(rate=2.0, weight=ag.ones(2))


def test_settings_are_arguments_and_are_around():
    x, settings = ag.tensor([1.0, 2.0]), config()
    assert ag.jit(lambda c, x: c.rate * x * c.weight)(settings, x).tolist() == [2.0, 4.0]
    assert ag.jit(lambda x: settings.rate * x)(x).tolist() == [2.0, 4.0]
    assert ag.vmap(lambda v: v * settings.rate)(x).tolist() == [2.0, 4.0]
    assert ag.grad(lambda x: (x * settings.rate).sum())(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("wrong", [
    lambda x, c: ag.tensor(c), lambda x, c: x + c, lambda x, c: ag.sum(c),
    lambda x, c: x[c], lambda x, c: ag.zeros(c), lambda x, c: ag.stack(c),
    lambda x, c: ag.optim.SGD(c), lambda x, c: ag.nn.Linear(2, 2)(c),
    lambda x, c: ag.grad(lambda c: c.weight.sum())(c), lambda x, c: ag.jit(ag.sum)(c)])
def test_settings_in_the_place_of_a_tensor_are_told(wrong):
    with pytest.raises((TypeError, IndexError), match=r"rate|elements have dtype <U1"):
        wrong(ag.ones(2), config())


@pytest.mark.parametrize("name", [
    "numpy.random", "random", "logging", "decimal", "numpy.ma", "numpy._core.printoptions"])
def test_what_another_thread_imports_is_not_there_yet(name, monkeypatch):
    """A thread that compiles meanwhile sees the module in the table, without its names."""
    half = ModuleType(name)
    half.__spec__ = importlib.machinery.ModuleSpec(name, None)
    half.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, name, half)
    assert imported(name) is None
    f = ag.jit(lambda x: ag.while_loop(lambda c: c < 3, lambda c: c + x, x))
    np.testing.assert_array_equal(f(ag.ones(())).numpy(), 3)
    np.testing.assert_array_equal(ag.jit(lambda x: x * 2)(np.ones(2)).numpy(), [2, 2])
    half.__spec__._initializing = False
    assert imported(name) is half


def test_modules_are_taken_from_the_table_when_they_are_whole():
    """``sys.modules.get`` of a name that is written there gives what lacks names, too."""
    root = Path(ag.__file__).parent
    found = [path.relative_to(root) for path in root.rglob("*.py")
             if re.search(r'sys\.modules\.get\(\s*f?"', path.read_text())]
    assert found == []
