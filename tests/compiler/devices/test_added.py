"""A target and a device more, added as the instructions in ``compiler/devices`` say."""

import re
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


#: Processors that this one is not: vectors of other lengths, other caches, no feature by name (an
#: ARM's are not asked for, so that its code is that of the last one).
OTHERS = {
    "wide": {"vector_bits": 512, "l1": 16 << 10, "l2": 128 << 10, "l3": 1 << 20},
    "plain": {"vector_bits": 128, "l1": 64 << 10, "l2": 1 << 20, "l3": 0, "threads": 3},
}


def _programs(x, w):
    hidden = ag.tanh(x @ w + 1)
    image = ag.reshape(x[:16], (1, 4, 12, -1))
    return (ag.softmax(hidden, 0), ag.erf(x) + ag.log1p(abs(x)), ag.cumsum(x, -1),
            ag.argmax(x, -1), ag.nn.functional.conv2d(image, image[:, :, :3, :3]),
            ag.zeros((5, 33)).index_add(0, ag.tensor([1, 2, 1]), x[:3]))


@pytest.mark.parametrize("name", OTHERS)
def test_code_depends_on_what_the_target_says(name, monkeypatch):
    """Not on the machine: it has no instruction of this one's by name, and is right."""
    texts = []

    class Other(backend.Cpu):
        def emit(self, *args, **keywords):
            text, constants = super().emit(*args, **keywords)
            texts.append(text)
            return text, constants

    target = replace(backend.native().target, name=name, cpu="", features="", **OTHERS[name])
    monkeypatch.setattr(backend, name, lambda: Other(target), raising=False)
    monkeypatch.setitem(CHOICES, "target", (*CHOICES["target"], name))
    devices.register()
    rng = np.random.default_rng(0)
    xs = [ag.tensor(rng.standard_normal(s).astype("float32")) for s in ((48, 33), (33, 21))]
    with ag.config(target=name, cache=False):
        found = ag.jit(_programs)(*xs)
    for y, wanted in zip(found, _programs(*xs), strict=True):
        np.testing.assert_allclose(y, wanted, rtol=2e-3, atol=2e-5)
    assert texts and not [m for t in texts for m in re.findall(r"llvm\.(?:x86|aarch64)\.\w+", t)]
    assert target.lanes(4) == OTHERS[name]["vector_bits"] // 32
    assert any(f"<{target.lanes(4)} x float>" in t for t in texts)


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
