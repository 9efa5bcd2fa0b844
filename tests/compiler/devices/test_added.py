"""A target and a device more, added as the instructions in ``compiler/devices`` say."""

import sys
from types import ModuleType

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import devices
from agnesi.compiler.devices.cpu import backend
from agnesi.compiler.devices.emulated.backend import Grid
from agnesi.core.backend import BACKENDS, DEVICES
from agnesi.core.support.config import CHOICES
from agnesi.core.support.record import replace

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def tables_as_before():
    known, others = dict(BACKENDS), list(DEVICES)
    yield
    BACKENDS.clear()
    BACKENDS.update(known)
    DEVICES[:] = others


def test_a_target_is_a_function_and_a_choice(monkeypatch):
    def narrow():
        return backend.Cpu(replace(backend.native().target, vector_bits=128, name="narrow"))

    monkeypatch.setattr(backend, "narrow", narrow, raising=False)
    monkeypatch.setitem(CHOICES, "target", (*CHOICES["target"], "narrow"))
    devices.register()
    x = ag.tensor(np.linspace(0, 1, 64, dtype="float32"))
    with ag.config(target="narrow", cache=False):
        fast = ag.jit(lambda x: (ag.exp(x) @ x).sum())
        result = fast(x)
    np.testing.assert_allclose(result, np.exp(x.numpy()) @ x.numpy(), rtol=1e-6)
    made = BACKENDS["narrow"]()
    assert made is BACKENDS["narrow"]() and made.target.vector_bits == 128
    assert made.key() != BACKENDS["native"]().key()


def test_a_device_is_a_folder_and_a_line(monkeypatch):
    class Toy(Grid):
        def __init__(self):
            super().__init__()
            self.target = replace(self.target, name="toy")

    module = ModuleType("agnesi.compiler.devices.toy.backend")
    module.toy = Toy
    monkeypatch.setitem(sys.modules, "agnesi.compiler.devices.toy", ModuleType("toy"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(devices._FACTORIES, "toy", "toy.backend:toy")
    devices.register()
    assert DEVICES == ["emulated", "toy"]
    made = BACKENDS["toy"]()
    assert made is BACKENDS["toy"]() and made.target.name == "toy"
    assert made.key() != BACKENDS["emulated"]().key()
