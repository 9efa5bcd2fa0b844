"""What ``dir`` shows: public names only, and all of them."""

from __future__ import annotations

import importlib
import types
from typing import Any

import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.core.support import settings
from agnesi.core.support.exports import exported

MODULES = {
    name: importlib.import_module(f"agnesi.{name}".rstrip(".")) for name in (
        "metrics", "training", "data.datasets",
        "", "accelerator", "amp", "autograd", "autograd.forward_ad", "autograd.function",
        "autograd.functional", "overrides",
        "backends", "cuda", "cuda.amp", "data", "nn.attention", "nn.parallel", "utils.tensorboard",
        "distributed", "distributions",
        "distributions.constraints", "distributions.transforms",
        "distributions.utils", "fft", "func", "image", "inspect",
        "linalg", "nn",
        "nn.functional", "nn.init", "nn.utils", "nn.utils.parametrizations", "nn.utils.prune",
        "nn.utils.parametrize", "nn.utils.rnn", "nn.utils.stateless", "optim", "optim.flat",
        "optim.lr_scheduler", "optim.swa_utils", "random", "rewrite", "saving", "sklearn", "sparse",
        "special", "symbolic", "testing", "tree", "utils", "utils.checkpoint", "utils.data",
        "utils.dlpack",
    )
}
#: Modules that are public themselves.
PUBLIC = {id(m) for m in MODULES.values()}
W = ag.ones((2, 2), requires_grad=True)
SGD = optim.SGD([W], 0.1)
OBJECTS: dict[str, Any] = {
    "Tensor": W, "Shared": ag.shared(W.numpy()), "Module": nn.Sequential(nn.Linear(2, 3)),
    "Optimizer": SGD, "Scheduler": optim.lr_scheduler.StepLR(SGD, 1), "config": ag.config,
    "Jit": ag.jit(lambda x: x), "Function": ag.function([], ag.shared(1.0) + 1),
    "Generator": ag.random.default_rng(0), "CSR": ag.sparse.csr_from_dense(ag.eye(2)),
}


def names(found: Any) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_")]


@pytest.mark.parametrize("name", MODULES)
def test_modules_show_what_they_offer(name: str) -> None:
    module = MODULES[name]
    assert names(module)
    for word in names(module):
        value = getattr(module, word)
        if isinstance(value, types.ModuleType):
            assert id(value) in PUBLIC, word
            continue
        owner = getattr(value, "__module__", None) or "agnesi"
        assert owner.startswith(("agnesi", "numpy", "ml_dtypes")) or word == "Size", word
        assert not owner.startswith("numpy") or word == "LinAlgError" or "dtype" in dir(value) \
            or hasattr(value, "itemsize"), word


@pytest.mark.parametrize("name", MODULES)
def test_helpers_are_hidden(name: str) -> None:
    hidden = {"annotations", "TYPE_CHECKING", "Any", "NoReturn", "Callable", "at", "typed",
              "no_attribute", "math", "core", "api", "ops", "public", "shown", "as_dtype", "symbol"}
    assert hidden.isdisjoint(dir(MODULES[name]))


def test_names_are_read_from_the_sources() -> None:
    assert {"Linear", "functional", "init"} <= set(dir(nn)) and "linear" not in dir(nn)
    assert {"add", "fft", "vmap", "bfloat16", "nanmean", "eq", "e"} <= set(dir(ag))
    assert {"scalar", "dmatrix", "add", "scan"} <= set(dir(ag.symbolic))
    assert "bytes" in dir(ag.random) and "uniform_" in dir(nn.init)
    assert {"Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"} <= exported("agnesi.optim")


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_show_what_they_offer(name: str) -> None:
    found = OBJECTS[name]
    assert names(found)
    for word in names(found):
        value = getattr(found, word) if name != "Jit" and name != "Function" else None
        assert not isinstance(value, types.ModuleType), word


def test_compiled_functions_and_settings() -> None:
    both = ["asm", "explain", "graph", "ir", "name", "plan", "profile", "rewrites",
            "specialisations"]
    assert names(OBJECTS["Jit"]) == sorted(
        [*both, "c_function", "function", "keep_grads", "mode"])
    assert names(OBJECTS["Function"]) == sorted([*both, "copy", "reoptimize"])
    assert names(ag.config) == sorted(settings.DEFAULTS)


def test_the_class_shows_what_its_tensors_show() -> None:
    assert dir(ag.Tensor) == dir(W) and "softmax" in dir(W)
