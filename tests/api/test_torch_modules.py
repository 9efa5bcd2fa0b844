"""PyTorch's smaller modules: derivatives by function, mixed precision, scripts, stacked modules."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.autograd import functional as F
from agnesi.core.support import migration_hints
from agnesi.func import functional_call, grad_and_value, stack_module_state, vmap

X, Y = ag.tensor([1.0, 2.0]), ag.tensor([[0.5, 1.0, 2.0], [3.0, 2.0, 1.0]])


def test_derivatives_of_functions_and_operands():
    def both(x: Any, y: Any) -> Any:
        return x @ y, ag.sin(x)

    (a, b), (c, d) = F.jacobian(both, (X, Y))
    assert a.shape == (3, 2) and b.shape == (3, 2, 3) and c.shape == (2, 2) and d.shape == (2, 2, 3)
    assert np.array_equal(a, Y.T) and np.allclose(c, np.diag(np.cos(X)))
    for strategy in ("reverse-mode", "forward-mode"):
        assert np.array_equal(F.jacobian(lambda x: x @ Y, X, strategy=strategy), Y.T)
    cost = lambda x, y: (x @ y).sum() * x.prod()  # noqa: E731
    found, vectors = F.hessian(cost, (X, Y)), (ag.ones(2), ag.ones((2, 3)))
    for product in (F.hvp, F.vhp):
        value, (p, q) = product(cost, (X, Y), vectors)
        assert value == cost(X, Y)
        assert np.allclose(p, found[0][0].sum(1) + found[0][1].sum((1, 2)))
        assert np.allclose(q, found[1][0].sum(2) + found[1][1].sum((2, 3)))
    _, (p, q) = F.vjp(both, (X, Y), (ag.ones(3), ag.ones(2)))
    assert np.allclose(p, Y.sum(1) + ag.cos(X)) and np.array_equal(q, np.outer(X, [1, 1, 1]))
    _, (p, q) = F.jvp(both, (X, Y), vectors)
    assert np.allclose(p, Y.sum(0) + X.sum()) and np.allclose(q, ag.cos(X))
    with pytest.raises(ag.GradientError, match="v may be left out for a scalar only"):
        F.vjp(both, (X, Y))
    with pytest.raises(ValueError, match="'reverse-mode' or 'forward-mode'"):
        F.jacobian(cost, (X, Y), strategy="both")


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_are_differentiated_only_where_that_is_wanted(compiled: bool):
    def slope(x: Any) -> Any:
        return F.hessian(lambda x: (x**4).sum(), x, create_graph=True).sum()

    run = ag.jit(slope) if compiled else slope
    x = X.clone().requires_grad_()
    run(x).backward()
    assert np.allclose(x.grad, 24 * X)
    assert not F.jacobian(lambda x: x * x, x).requires_grad


def test_scaled_losses_give_the_same_steps_and_leave_out_those_that_overflow():
    w = ag.tensor([1.0], requires_grad=True)
    optimizer, scaler = ag.optim.SGD([w], 0.5), ag.amp.GradScaler("cpu", growth_interval=1)
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.item() == 3 * 65536
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == -0.5 and scaler.get_scale() == 2 * 65536
    w.grad = ag.tensor([math.inf])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert w.item() == -0.5 and scaler.get_scale() == 65536
    other = ag.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    for idle in (ag.amp.GradScaler(), ag.cuda.amp.GradScaler()):
        w.grad = ag.tensor([1.0])
        before = w.item()
        assert idle.scale(w) is w and not idle.is_enabled() and idle.state_dict() == {}
        idle.unscale_(optimizer)
        idle.step(optimizer)
        idle.update()
        assert w.item() == before - 0.5


def test_regions_of_fewer_bits_are_those_of_gpus(recwarn: Any):
    with ag.amp.autocast("cuda", dtype=ag.float16), ag.cuda.amp.autocast(enabled=True):
        assert (ag.ones(2) @ ag.ones(2)).dtype == "float32"
    assert not recwarn.list
    with pytest.warns(UserWarning, match="operands keep their dtypes"):
        ag.amp.autocast("cpu", ag.bfloat16)
    assert ag.amp.autocast("cuda")(lambda: 3)() == 3


def test_scripts_are_compiled_functions_and_modules_with_a_compiled_forward():
    f = ag.jit.script(lambda x: x * 2)
    assert f(X).tolist() == [2, 4] and "explain" in dir(f)
    net = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    traced = ag.jit.trace(net.eval(), X)
    assert traced is net and len([*net.parameters()]) == 2
    traced(X).sum().backward()
    assert np.array_equal(net[0].weight.grad, np.outer([1, 1, 1], X))


def test_modules_are_stacked_and_called_with_tensors():
    nets = [nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval() for _ in range(3)]
    weights, buffers = stack_module_state(nets)
    assert weights["0.weight"].shape == (3, 3, 2) and buffers["1.running_mean"].shape == (3, 3)
    x = ag.ones((4, 2))
    for run in (lambda f: f, ag.jit):
        found = run(vmap(lambda w, b: functional_call(nets[0], (w, b), (x,))))(weights, buffers)
        assert np.allclose(found.detach(), np.stack([n(x).detach() for n in nets]), atol=1e-6)
    g, y = grad_and_value(lambda w: functional_call(nets[0], {"1.bias": w}, x).sum())(ag.ones(3))
    assert g.tolist() == [4, 4, 4] and y.ndim == 0
    with pytest.raises(ValueError, match="modules of one class"):
        stack_module_state([nets[0], nn.Linear(2, 3)])


@pytest.mark.parametrize(("path", "name", "told"), [
    ("agnesi", "onnx", "`ag.jit(f).c_function()`"), ("agnesi.fx", "symbolic_trace", "f.graph"),
    ("agnesi.hub", "load", "ag.saving.load_file"), ("agnesi.linalg", "matrix_exp", "linalg.expm"),
    ("agnesi.nn.parallel", "DistributedDataParallel", "ag.distributed.data_parallel"),
    ("agnesi.utils.data", "get_worker_info", "workers share"), ("agnesi.jit", "script", "`ag.jit`"),
])
def test_imports_of_other_paths_tell_what_stands_for_them(path: str, name: str, told: str):
    with pytest.raises(ImportError) as caught:
        exec(f"from {path} import {name}", {})
    assert told in str(caught.value)
    with pytest.raises(ImportError, match="surely_not_there"):
        importlib.import_module("agnesi.surely_not_there")


def test_formulas_for_transforms_that_are_told_are_right():
    x = np.random.default_rng(0).normal(size=(3, 4)) + 1j
    np.testing.assert_allclose(ag.fft.irfft2(ag.conj(ag.tensor(x)), norm="forward")[0],
                               np.fft.hfft(np.fft.fft(x, axis=0))[0], atol=1e-12)
    assert "hfft2" in migration_hints.table("module 'agnesi.fft'")
