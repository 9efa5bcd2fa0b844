"""Calls on ten numbers or so, as programs of PyTorch write them, as text for both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Expressions that gradients flow through: of vectors ``x``, ``y`` and ``p`` (positive) of ten
#: numbers, ``a`` of 2 x 5, ``b`` of 5 x 2, ``row`` of 1 x 10, an ``image``, and parameters.
RECORDED = """
x + y; x - y; x * y; x / y; x + 1.5; 1.5 + x; x * 2.5; 1 - x; 1 / p; x / 3; -x; x ** 2; p ** 1.5
p ** y; m.maximum(x, y); m.minimum(x, y); m.atan2(x, y); m.fmod(x, p); m.hypot(x, y)
m.where(mask, x, y); m.exp(x); m.tanh(x); m.sigmoid(x); m.relu(x); m.sin(x); m.cos(x); m.abs(x)
m.erf(x); m.expm1(x); m.tan(x); m.atan(x); m.sinh(x); m.square(x)
m.log(p); m.sqrt(p); m.rsqrt(p); m.log1p(p); m.reciprocal(p); m.lgamma(p); m.digamma(p)
F.gelu(x); F.silu(x); F.softplus(x); F.elu(x); F.leaky_relu(x); F.selu(x); F.hardtanh(x)
F.logsigmoid(x); F.mish(x); F.hardswish(x); m.clamp(x, -1, 1); x.clamp(min=0)
m.sum(x); m.mean(x); m.max(x); m.min(x); m.prod(x); m.std(x, correction=0); m.var(x, correction=0)
m.linalg.norm(x); m.logsumexp(x, 0); x.sum(0); x.mean(0); m.cumsum(x, 0); m.softmax(x, 0)
m.log_softmax(x, 0); m.sort(x, dim=0)[0]; m.topk(x, 3)[0]; a.sum(1); a.mean(1, keepdim=True)
a.amax(1); a.t(); a.T; a.permute(1, 0); a.reshape(5, 2); a.view(10); a.flatten(); x.unsqueeze(0)
row.squeeze(0); x.expand(3, 10); m.broadcast_to(x, (3, 10)); m.flip(x, (0,)); m.roll(x, 1)
m.tril(a); x.contiguous(); x.clone(); x[3]; x[-1]; x[2:7]; x[::2]; a[0]; a[:, 1]; a[1, 2]; x[None]
a[..., 0]; x[places]; x[mask]; x[[1, 3]]; m.index_select(x, 0, places); m.gather(x, 0, places)
m.take(x, places); x.masked_fill(mask, 0.0); m.masked_select(x, mask)
m.scatter_add(x, 0, places, z); m.index_add(x, 0, places, z); m.cat((x, y)); m.stack((x, y))
m.cat([x, y, x, y]); m.chunk(x, 2)[0]; m.unbind(a)[0]; a @ b; m.dot(x, y); a @ z5; m.outer(x, y)
m.einsum('ij,jk->ik', a, b); m.addmm(square, a, b); F.linear(a, weight, bias)
F.layer_norm(a, (5,), z5, z5); F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y)
F.cross_entropy(a, labels); F.nll_loss(a, labels); F.binary_cross_entropy_with_logits(x, p)
F.embedding(labels, b); F.conv2d(image, kernel); F.max_pool2d(image, 2); F.avg_pool2d(image, 2)
F.conv1d(signal, taps); F.pad(x, (1, 1)); F.normalize(x, dim=0)
F.cosine_similarity(x, y, dim=0); F.batch_norm(a, None, None, z5, z5, True)
"""
#: Those that no gradient flows through.
PLAIN = """
m.sign(x); m.floor(x); m.round(x)
x < y; x == y; x > 0; mask & mask; ~mask; m.isnan(x); m.allclose(x, x); m.argmax(x); m.any(mask)
m.all(mask); m.argsort(x); number.item(); float(number); bool(number); x[3].item(); x.tolist()
x.numpy(); len(x); x.shape; list(x); m.tensor([1.0, 2.0, 3.0]); m.tensor(array); m.from_numpy(array)
m.as_tensor(array); m.tensor(1.0); m.zeros(10); m.ones(2, 5); m.full((10,), 2.5); m.arange(10)
m.linspace(0, 1, 10); m.eye(3); m.zeros_like(x); m.ones_like(x); x.detach(); x.to(m.float64)
x.double(); x.long(); x.equal(x); x.numel(); m.unique(x); m.bincount(places)
m.searchsorted(row[0], x); m.count_nonzero(x); x.max().item(); F.one_hot(labels, 5); x.add_(0.0)
x.mul_(1.0); x.sub_(zeros); x.add_(zeros, alpha=0.1); x.zero_(); x.fill_(1.0); x.copy_(y)
x.clamp_(-1, 1); x.relu_(); x.lerp_(x, 0.1); x.addcmul_(zeros, zeros, value=0.1)
m.nonzero(x, as_tuple=False)
"""
#: Statements, which have no results to compare.
STATEMENTS = """
x[3] = 1.0; x[2:5] = 0.0; x[mask] = 0.0; x += 0.0
"""
#: Draws, which are not compared.
DRAWS = """
m.rand(10); m.randn(10); m.randint(0, 5, (10,)); m.randperm(10); m.randn_like(x); m.empty(10)
m.normal(0.0, 1.0, (10,)); m.bernoulli(chances); m.multinomial(chances, 1); x.uniform_(0, 1)
x.normal_(0, 1); F.dropout(x, 0.5)
"""


def texts(group: str) -> list[str]:
    """The calls of a group."""
    return [call.strip() for line in group.strip().splitlines() for call in line.split(";")
            if call.strip()]


def operands(m: Any, recording: bool) -> dict[str, Any]:
    """What the names in calls stand for, as tensors of a library."""
    draw = np.random.default_rng(0).standard_normal
    shapes = {"x": 10, "y": 10, "p": 10, "a": (2, 5), "b": (5, 2), "row": (1, 10), "z": 3, "z5": 5,
              "square": (2, 2), "weight": (3, 5), "bias": 3, "image": (1, 1, 4, 4),
              "kernel": (1, 1, 2, 2), "signal": (1, 1, 10), "taps": (1, 1, 2)}
    arrays = {name: np.asarray(draw(shape), np.float32) for name, shape in shapes.items()}
    arrays["p"] = np.abs(arrays["p"]) + np.float32(0.5)
    arrays["row"] = np.sort(arrays["row"])
    found = {name: m.tensor(data, requires_grad=recording) for name, data in arrays.items()}
    return found | {
        "m": m, "F": m.nn.functional, "array": arrays["x"], "mask": m.tensor(arrays["y"] > 0),
        "places": m.tensor(np.array([1, 3, 5])), "labels": m.tensor(np.array([1, 3])),
        "number": m.tensor(np.float32(1.5)), "zeros": m.tensor(np.zeros(10, np.float32)),
        "chances": m.tensor(np.full(10, 0.3, np.float32)),
    }


def forward(call: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A function that makes the call, an expression or a statement."""
    expression = call in texts(RECORDED + PLAIN + DRAWS)
    scope = dict(names)
    begin = "return " if expression else "global x; "
    exec(f"def run():\n    {begin}{call}", scope)
    run: Callable[[], Any] = scope["run"]
    return run


def backward(call: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A function that makes the call and computes the gradients of its result's sum."""
    run, m = forward(call, names), names["m"]
    leaves = [x for name, x in names.items() if name in call and getattr(x, "requires_grad", False)]
    seed = m.ones_like(run()).detach()

    def step() -> Any:
        for x in leaves:
            x.grad = None
        run().backward(seed)
        return [x.grad for x in leaves if x.grad is not None]

    return step
