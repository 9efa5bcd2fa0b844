"""Every public layer and loss: compiled as eagerly, in every float, copied, saved, told by path."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.support.tree import flatten
from tests.nn.layer_samples import SAMPLES, drawn, public

CLOSE = {"float64": 1e-8, "float32": 1e-3, "float16": 3e-2}


def made(name: str, dtype: str = "float64") -> nn.Module:
    """The layer, in a mode in which it draws nothing."""
    ag.manual_seed(0)
    module = SAMPLES[name].make(dtype)
    return module.eval() if SAMPLES[name].noisy else module


def called(name: str, module: Any, xs: Any) -> list[ag.Tensor]:
    """The tensors that a call gives."""
    y = module(tuple(xs)) if SAMPLES[name].table else module(*xs)
    return [t for t in flatten(y)[0] if isinstance(t, ag.Tensor)]


def loss_of(name: str, module: nn.Module, xs: Any) -> Any:
    """One number of all float results, each element weighted by another factor."""
    total: Any = 0.0
    for t in called(name, module, xs):
        if t.dtype.kind == "f":
            wide = t.astype("float32") if t.dtype == "float16" else t
            weights = ag.cos(ag.arange(float(t.size)).reshape(t.shape)).astype(wide.dtype)
            total = total + (wide * weights).sum()
    return total


def floats(xs: Any) -> list[int]:
    return [i for i, x in enumerate(xs) if x.dtype.kind == "f"]


def arrays(ts: Any) -> list[np.ndarray]:
    return [t.detach().numpy() for t in ts]


def test_the_table_has_every_public_layer() -> None:
    assert set(public()) == set(SAMPLES)


@pytest.mark.share(40)
@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", SAMPLES)
def test_compiled_is_as_eager_and_keeps_the_dtype(name: str, dtype: str) -> None:
    module, xs = made(name, dtype), drawn(name, 2, dtype)
    state = module.state_dict()
    where = floats(xs)
    eager = called(name, module, xs)
    assert {str(t.dtype) for t in eager if t.dtype.kind == "f"} <= {dtype}

    def step(*xs: ag.Tensor) -> tuple[Any, Any]:
        def loss(*given: ag.Tensor) -> Any:
            filled = list(xs)
            for i, x in zip(where, given, strict=True):
                filled[i] = x
            return loss_of(name, module, filled)

        slopes = ag.grad(loss, tuple(range(len(where))))(*[xs[i] for i in where]) if where else ()
        return called(name, module, xs), slopes

    found = []
    for run in (step, ag.jit(step)):
        module.load_state_dict(state)
        values, slopes = run(*xs)
        found.append([*arrays(values), *arrays(slopes)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.share(12)
@pytest.mark.parametrize("name", [n for n, s in SAMPLES.items() if not callable(s.inputs[0])])
def test_second_derivatives_are_differences_of_first_ones(name: str) -> None:
    module, (x, *rest) = made(name), drawn(name)
    direction = ag.tensor(np.random.default_rng(1).standard_normal(x.shape))
    state = module.state_dict()

    def slope(x: ag.Tensor) -> ag.Tensor:
        module.load_state_dict(state)
        return ag.grad(lambda x: loss_of(name, module, [x, *rest]))(x)

    _, second = ag.jvp(slope, (x,), (direction,))
    step = 1e-5
    moved = [slope(x + s * step * direction).detach().numpy() for s in (1, -1)]
    np.testing.assert_allclose(second.detach().numpy(), (moved[0] - moved[1]) / 2 / step,
                               rtol=1e-4, atol=1e-6)


@pytest.mark.share(16)
@pytest.mark.parametrize("count", [1, 0])
@pytest.mark.parametrize("name", SAMPLES)
def test_one_sample_and_none(name: str, count: int) -> None:
    """Results have as many samples as there are, compiled as well."""
    two, some = (arrays(called(name, made(name), drawn(name, n))) for n in (2, count))
    for a, b in zip(two, some, strict=True):
        assert a.ndim == b.ndim and all(m in (n, count, n // 2 * count) for n, m in
                                        zip(a.shape, b.shape, strict=True)), (a.shape, b.shape)
    if count == 0:
        module = made(name)
        compiled = ag.jit(lambda *xs: called(name, module, xs))(*drawn(name, 0))
        assert [t.shape for t in compiled] == [a.shape for a in some]


@pytest.mark.share(8)
@pytest.mark.parametrize("name", SAMPLES)
def test_copies_pickles_and_states_compute_the_same(name: str) -> None:
    module, xs = made(name).eval(), drawn(name)
    wanted = arrays(called(name, module, xs))
    ag.manual_seed(1)
    other = SAMPLES[name].make("float64").eval()
    other.load_state_dict(module.state_dict())
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), other):
        assert repr(twin) == repr(module) and repr(module).startswith(
            f"{name.removeprefix('Lazy')}(")
        for a, b in zip(wanted, arrays(called(name, twin, xs)), strict=True):
            np.testing.assert_array_equal(a, b)


class Inner(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer

    def forward(self, *xs: Any) -> Any:
        return self.layer(*xs)


class Outer(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        self.encoder = nn.Sequential(nn.Identity(), Inner(layer))

    def forward(self, *xs: Any) -> Any:
        return self.encoder[1](*xs)


@pytest.mark.share(8)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_shape_that_does_not_fit_names_the_path(name: str) -> None:
    """What takes any shape gives a result; all else names the layer in the model."""
    model, xs = Outer(made(name)), drawn(name)
    xs[0] = ag.ones((3, 2, 1, 1, 1, 1, 1, 1, 7))
    try:
        model(tuple(xs)) if SAMPLES[name].table else model(*xs)
    except Exception as error:
        assert "encoder.1.layer" in str(error), error


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("layer", "kind"), [
    (nn.Softmax(dim=4), np.exceptions.AxisError), (nn.LogSoftmax(dim=-3), np.exceptions.AxisError),
    (nn.Linear(4, 3), ag.ShapeError)])
def test_errors_that_keep_their_text_aside_name_the_path_too(layer, kind, compiled):
    model: Any = Outer(layer)
    with pytest.raises(kind, match=r"^encoder\.1\.layer, ") as caught:
        (ag.jit(model) if compiled else model)(ag.ones((2, 5)))
    assert str(caught.value).count("test_every_layer.py") == 1
