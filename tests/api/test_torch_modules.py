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
    ("agnesi", "export", "`ag.jit(f).c_function()`"), ("agnesi.fx", "symbolic_trace", "f.graph"),
    ("agnesi.storage", "x", "ag.saving.load_file"), ("agnesi.linalg", "matrix_exp", "linalg.expm"),
    ("agnesi.utils.data", "DistributedSampler", "ag.distributed.ShardedBatches"),
])
def test_imports_of_other_paths_tell_what_stands_for_them(path: str, name: str, told: str):
    with pytest.raises(ImportError) as caught:
        exec(f"from {path} import {name}", {})
    assert told in str(caught.value)
    with pytest.raises(ImportError, match="surely_not_there"):
        importlib.import_module("agnesi.surely_not_there")


def test_derivatives_are_checked_in_pytorchs_words():
    class Half(ag.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = ag.tensor([0.5, 2.0], dtype="float64", requires_grad=True)
    assert ag.autograd.gradcheck(lambda x, n: x**n, (x, 3)) and ag.autograd.gradgradcheck(ag.exp, x)
    assert not ag.autograd.gradcheck(Half.apply, x, raise_exception=False)
    with pytest.raises(RuntimeError, match="gradcheck: reverse derivative is"):
        ag.autograd.gradcheck(Half.apply, (x,))
    with pytest.raises(RuntimeError, match="no operand requires a gradient"):
        ag.autograd.gradcheck(ag.exp, (x.detach(),))


def test_backends_are_imported_by_their_paths():
    assert importlib.import_module("agnesi.backends.cudnn") is ag.backends.cudnn


#: Calls whose last arguments only PyTorch takes by place, and the same in our words.
BY_PLACE = [
    ("x.topk(2, 1, False)", "x.topk(2, axis=1, largest=False)"),
    ("x.argsort(1, True)", "x.argsort(axis=1, descending=True)"),
    ("x.kthvalue(2, 1, True)", "x.kthvalue(2, axis=1, keepdims=True)"),
    ("ag.quantile(x, 0.5, 1, True)", "ag.quantile(x, 0.5, axis=1, keepdims=True)"),
    ("x.norm(2, 1, True)", "x.norm(2, axis=1, keepdims=True)"),
    ("x.std(1, True)", "x.std(axis=1, correction=1)"),
    ("x.var(1, False, True)", "x.var(axis=1, correction=0, keepdims=True)"),
    ("ag.isclose(x, x, 1e-5, 1e-8, True)", "ag.isclose(x, x, equal_nan=True)"),
    ("ag.linalg.vector_norm(x, 3, 1)", "ag.linalg.vector_norm(x, ord=3, axis=1)"),
    ("ag.linalg.matrix_norm(x, 'nuc')", "ag.linalg.matrix_norm(x, ord='nuc')"),
    ("nn.functional.leaky_relu(x + 0, 0.1, True)", "nn.functional.leaky_relu(x, 0.1)"),
    ("nn.functional.dropout(x + 0, 0.5, False, True)", "x"), ("x.flip(0, 1)", "ag.flip(x, (0, 1))"),
    ("ag.meshgrid([x[0], x[1, :2]])", "ag.meshgrid(x[0], x[1, :2], indexing='ij')"),
    ("ag.zeros(1, np.int64(2))", "ag.zeros((1, 2))"),
    ("ag.div(ag.tensor([7, -7]), 2, rounding_mode='trunc')", "ag.tensor([3, -3])"),
    ("ag.linalg.lstsq(x, x).solution", "ag.linalg.lstsq(x, x).x"),
]


@pytest.mark.parametrize("convert", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_arguments_that_only_pytorch_takes_by_place(convert: Any) -> None:
    names = {"ag": ag, "nn": nn, "np": np}
    for call, same in BY_PLACE:
        found, wanted = (convert(eval(f"lambda x: {text}", names))(Y) for text in (call, same))
        for a, b in zip(ag.tree.leaves(found), ag.tree.leaves(wanted), strict=True):
            assert a.dtype == b.dtype and np.array_equal(a, b), call


def test_numbers_and_arrays_are_no_dtypes():
    for value in (np.int64(2), np.ones(2), ag.ones(2)):
        with pytest.raises(ag.DTypeError, match="unsupported dtype"):
            ag.asarray([1], value)


def test_complex_numbers_are_drawn_in_two_parts():
    for draw, square in ((ag.rand, 2 / 3), (ag.randn, 1.0)):
        z = draw(20_000, dtype="complex64", generator=ag.random.Generator(3))
        parts = ag.view_as_real(z)
        assert z.dtype == ag.complex64 and abs(parts.var(axis=0)[0] - parts.var(axis=0)[1]) < 0.01
        assert abs(ag.abs(z).square().mean() - square) < 0.02
    like = ag.jit(ag.randn_like)(ag.zeros(3, dtype="complex128"))
    assert like.dtype == ag.complex128 and (like.imag != 0).all()
    assert (ag.zeros(3, dtype="complex64").normal_().imag != 0).all()


def test_a_parameter_of_read_only_memory_is_a_copy():
    whole = ag.ones((3, 3))
    p = nn.Parameter(whole.diag())
    p.data[0] = 5.0
    assert p.tolist() == [5, 1, 1] and whole[0, 0] == 1


@pytest.mark.parametrize("convert", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_checkpoints_take_pytorchs_flags(convert: Any) -> None:
    checkpoint = importlib.import_module("agnesi.utils.checkpoint")

    def cost(x: Any) -> Any:
        y = checkpoint.checkpoint(lambda a, b: a * b, x, x + 1, use_reentrant=False)
        return checkpoint.checkpoint_sequential([ag.sin, ag.tanh], 2, y, use_reentrant=False).sum()

    wanted = ag.grad(lambda x: ag.tanh(ag.sin(x * x + x)).sum())(X)
    assert np.allclose(convert(ag.grad(cost))(X), wanted)


def test_kernels_for_attention_are_named_and_change_nothing():
    q, attention = ag.ones((1, 2, 4)), nn.attention
    with attention.sdpa_kernel([attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.MATH]):
        assert nn.functional.scaled_dot_product_attention(q, q, q).shape == (1, 2, 4)
