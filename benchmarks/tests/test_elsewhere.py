"""What hints say stands for a call of PyTorch, JAX, NumPy or PyTensor computes the same."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim, symbolic
from agnesi.compat.hints import jax as jaxs
from agnesi.compat.hints import jax_libraries, layers, theano
from agnesi.compat.hints import numpy as numpys
from agnesi.compat.hints import torch as torches
from agnesi.core.support import migration_hints
from tests.api.names import foreign

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytensor = pytest.importorskip("pytensor")
pytensor_tensor = pytest.importorskip("pytensor.tensor")
jax.config.update("jax_enable_x64", True)


def _array(value: Any) -> Any:
    """A result as arrays, in lists."""
    if isinstance(value, (tuple, list)):
        return [_array(v) for v in value]
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return np.asarray(value.eval() if hasattr(value, "owner") and not isinstance(
        value, ag.Tensor) else value)


class _Ours:
    """``ag`` in calls of other libraries, where it makes operands."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __getattr__(self, name: str) -> Any:
        function = getattr(ag, name)

        def call(*args: Any) -> Any:
            mine = [a if isinstance(a, (int, tuple, str)) else ag.tensor(_array(a)) for a in args]
            kind = {"dtype": "float64"} if name in ("zeros", "ones") else {}
            return self.make(function(*mine, **kind).numpy())

        return call


LIBRARIES: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "torch": (torches.TORCH, torch, torch.tensor), "nn": (layers.NN, torch.nn, torch.tensor),
    "functional": (layers.FUNCTIONAL, torch.nn.functional, torch.tensor),
    "jax": (jaxs.JAX, jax, jax.numpy.asarray), "lax": (jaxs.LAX, jax.lax, jax.numpy.asarray),
    "jax.nn": (jax_libraries.FUNCTIONAL, jax.nn, jax.numpy.asarray),
    "optax": (jax_libraries.LOSSES, optax, jax.numpy.asarray),
    "numpy": (numpys.NUMPY, np, np.array), "theano": (theano.TENSOR, pytensor_tensor, np.array),
}
ROWS = [(name, *row) for name, (text, *_) in LIBRARIES.items() for row in foreign.calls(text)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LIBRARIES)
def test_what_stands_for_a_call_computes_the_same(name: str) -> None:
    _, library, make = LIBRARIES[name]
    ours = {**foreign.operands(ag.tensor), "ag": ag, "nn": nn, "numpy": np}
    for place, call, code in ROWS:
        if place != name:
            continue
        given = {**foreign.operands(make), "library": library, "ag": _Ours(make)}
        expected = _array(eval(f"library.{call}", given))
        _compare(_array(eval(code, dict(ours))), expected, f"{call} | {code}")


def _compare(found: Any, expected: Any, text: str) -> None:
    assert isinstance(found, list) == isinstance(expected, list), text
    if isinstance(expected, list):
        assert len(found) == len(expected), text
        for a, b in zip(found, expected, strict=True):
            _compare(a, b, text)
        return
    assert found.shape == expected.shape, text
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=text)


#: Libraries' modules and what stands for them here.
NAMESPACES = {
    "torch": (torch, ag, "module 'agnesi'"), "torch.nn": (torch.nn, nn, "module 'agnesi.nn'"),
    "functional": (torch.nn.functional, nn.functional, "module 'agnesi.nn.functional'"),
    "optim": (torch.optim, optim, "module 'agnesi.optim'"),
    "lr_scheduler": (torch.optim.lr_scheduler, optim.lr_scheduler,
                     "module 'agnesi.optim.lr_scheduler'"),
    "jax": (jax, ag, "module 'agnesi'"), "jax.numpy": (jax.numpy, ag, "module 'agnesi'"),
    "jax.lax": (jax.lax, ag, "module 'agnesi'"),
    "jax.nn": (jax.nn, nn.functional, "module 'agnesi.nn.functional'"),
    "jax.nn.initializers": (jax.nn.initializers, nn.init, "module 'agnesi.nn.init'"),
    "jax.tree": (jax.tree, ag.tree, "module 'agnesi.tree'"),
    "jax.tree_util": (jax.tree_util, ag.tree, "module 'agnesi.tree'"),
    "jax.random": (jax.random, ag.random, "module 'agnesi.random'"),
    "optax": (optax, optim, "module 'agnesi.optim'"),
    "numpy": (np, ag, "module 'agnesi'"),
    "pytensor": (pytensor, ag, "module 'agnesi'"),
    "pytensor.tensor": (pytensor_tensor, symbolic, "module 'agnesi.symbolic'"),
    "Tensor": (torch.Tensor, ag.Tensor, "Tensor"),
    "Module": (torch.nn.Module, nn.ReLU(), "Module"),
    "Optimizer": (torch.optim.Optimizer, optim.SGD([ag.ones(1, requires_grad=True)], 0.1),
                  "Optimizer"),
}
#: What these modules import from Python for themselves.
IMPORTED = set("""
    Any Callable Counter Literal Optional Self SupportsFloat TYPE_CHECKING Tensor TypedDict Union
    bisect_right cast inf override partial ref singledispatch wraps Optimizer
""".split())


@pytest.mark.parametrize("name", NAMESPACES)
def test_every_name_that_is_absent_tells_something(name: str) -> None:
    theirs, ours, owner = NAMESPACES[name]
    silent = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for word in dir(theirs):
            if word.startswith("_") or word in IMPORTED or isinstance(
                    getattr(theirs, word, None), types.ModuleType):
                continue
            try:
                getattr(ours, word)
            except AttributeError:
                if not (migration_hints.namesake(owner, word) or migration_hints.hint(owner, word)):
                    silent.append(word)
    assert silent == []
