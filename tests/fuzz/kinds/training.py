"""Random steps of training: layers, an optimizer, what a user writes around them.

A step is a function of Python, called some times eagerly and compiled, as those of
``statements.py``; losses, parameters and buffers are the same afterwards.  Draws of dropout are of
one seed in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.kinds.statements import Script, Text
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME

WAY = BY_NAME["training"]
#: Layers of rows of ``n`` numbers, and how many numbers they make of one.
FLAT = (
    *2 * (("Linear({n}, 3)", 3), ("Linear({n}, 4)", 4)), ("Linear({n}, 1, bias=False)", 1),
    ("BatchNorm1d({n})", 0), ("BatchNorm1d({n}, affine=False, momentum=None)", 0),
    ("BatchNorm1d({n}, track_running_stats=False)", 0), ("LayerNorm({n})", 0),
    ("RMSNorm({n})", 0), ("GroupNorm(1, {n})", 0), ("Dropout(0.4)", 0), ("AlphaDropout(0.3)", 0),
    ("Tanh()", 0), ("GELU()", 0), ("SiLU()", 0), ("Softplus()", 0), ("ELU()", 0), ("PReLU()", 0),
    ("LeakyReLU(0.1)", 0), ("Softmax(-1)", 0), ("LogSoftmax(-1)", 0), ("Identity()", 0),
    ("RReLU()", 0), ("Maxout({n}, 2, 2)", 2),
)
#: Layers of channels of lines of ``n`` numbers: 2 rows, 2 channels.
LINES = (
    ("Conv1d(2, 2, 2, padding='same')", 0), ("Conv1d(2, 2, 3, padding=1, groups=2)", 0),
    ("BatchNorm1d(2)", 0), ("InstanceNorm1d(2, affine=True)", 0), ("GroupNorm(2, 2)", 0),
    ("LayerNorm({n})", 0), ("MaxPool1d(3, 1, 1)", 0), ("AvgPool1d(3, 1, 1)", 0),
    ("AdaptiveAvgPool1d(3)", 3), ("Dropout1d(0.4)", 0), ("ConvTranspose1d(2, 2, 1)", 0),
    ("Upsample(scale_factor=2)", -2), ("Linear({n}, 3)", 3), ("Tanh()", 0), ("GELU()", 0),
    ("TransformerEncoderLayer({n}, 1, 4, dropout=0.2, batch_first=True)", 0),
    ("LocalResponseNorm(2)", 0), ("ReflectionPad1d((1, 0))", -1),
)
#: Optimizers, whose small numbers keep rounding from deciding where to go.
OPTIMIZERS = (
    *2 * ("SGD({p}, lr=0.1)",), "SGD({p}, lr=0.1, momentum=0.9)",
    "SGD({p}, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01)",
    "SGD({p}, lr=0.05, momentum=0.8, dampening=0.1, maximize=True)",
    *2 * ("Adam({p}, lr=0.01, eps=0.01)",), "Adam({p}, lr=0.01, eps=0.01, amsgrad=True)",
    "AdamW({p}, lr=0.01, eps=0.01, weight_decay=0.1)", "NAdam({p}, lr=0.01, eps=0.01)",
    "RAdam({p}, lr=0.01, eps=0.01)", "Adamax({p}, lr=0.01, eps=0.01)",
    "RMSprop({p}, lr=0.01, eps=0.01, centered=True, momentum=0.5)", "ASGD({p}, lr=0.05)",
    "Adagrad({p}, lr=0.05, eps=0.01, lr_decay=0.1)", "Adadelta({p}, lr=0.5, eps=0.01)",
    "Lamb({p}, lr=0.01, eps=0.01, weight_decay=0.1)",
    "SGD([dict(params={p}[:1], lr=0.2), dict(params={p}[1:])], lr=0.1, momentum=0.5)",
)
LOSSES = (
    "(y ** 2).mean()", "F.mse_loss(y, ag.sin(ag.arange(y.numel())).reshape(y.shape))",
    "F.smooth_l1_loss(y, y.detach() * 0.5 + s)", "y.tanh().sum() + n * y.mean()",
    "F.cross_entropy(y.reshape(2, -1), ag.arange(2) % y.reshape(2, -1).shape[1])",
    "ag.logsumexp(y) * s - y.reshape(-1)[0]",
    "F.binary_cross_entropy_with_logits(y, ag.full(y.shape, 0.3))",
)
#: What may stand before and behind a step.
BEFORE = (
    "if n > 1: net.eval()", "net.train(n % 2 == 0)", "optimizer.param_groups[0]['lr'] *= 0.9",
    "held.calls += 1", "m1.requires_grad_(n != 2)", "x = x + ag.random.normal(size=(3,))",
    "if held.calls == 1: net.eval()", "held.calls = held.calls + n",
)
BETWEEN = (
    "ag.nn.utils.clip_grad_norm_(params, 1.0)", "ag.nn.utils.clip_grad_value_(params, 0.5)",
    "if loss > 1: loss = loss * 0.5", "loss = loss + 0.01 * sum((p ** 2).sum() for p in params)",
    "if not loss < 50: return loss", "loss = ag.where(ag.isfinite(loss), loss, 0.0)",
)
BEHIND = (
    "scheduler.step()", "held.best = min(held.best, loss.item())",
    "held.losses.append(float(loss))",
    "with ag.no_grad():\n    params[0].mul_(0.99)", "params[0].data.clamp_(-2, 2)",
    "held.mean = held.mean * 0.9 + y.detach() * 0.1", "held.last = y.detach()",
    "with ag.no_grad():\n    for p in params: p -= 0.01 * p",
    "held.norm = sum(float((p.grad ** 2).sum()) for p in params if p.grad is not None)",
    "optimizer.zero_grad(set_to_none=False)", "net.zero_grad()",
)
SCHEDULERS = ("StepLR(optimizer, 2)", "ExponentialLR(optimizer, 0.9)",
              "CosineAnnealingLR(optimizer, 4)", "LambdaLR(optimizer, lambda k: 1 / (1 + k))",
              "OneCycleLR(optimizer, 0.1, total_steps=9, cycle_momentum=False)",
              "LinearLR(optimizer)")


def training(seed: Any) -> Script:
    """A random step of training."""
    d = Draw(np.random.default_rng([*np.ravel(seed), 3]))
    around, forward = _model(d)
    double = d.chance(0.7)
    around += ["net.double()"] * double + [
        "params = list(net.parameters())",
        f"optimizer = ag.optim.{d.one(OPTIMIZERS).format(p='params')}",
        f"scheduler = ag.optim.lr_scheduler.{d.one(SCHEDULERS)}",
        "held = types.SimpleNamespace(calls=0, best=9.0, losses=[], mean=0.0, last=None, norm=0.0,",
        "                             params=params, buffers=list(net.buffers()))"]
    lines = [*_some(d, BEFORE, 0.3), "y = t.to(params[0].dtype)", *forward,
             f"loss = {d.one(LOSSES)}", *_some(d, BETWEEN[2:], 0.25), "optimizer.zero_grad()",
             "loss.backward()", *_some(d, BETWEEN[:2], 0.3), "optimizer.step()",
             *_some(d, BEHIND, 0.6), "return loss, y, x"]
    seed = d.below(1 << 30)
    nudge, near = (1e-9, 1e-5) if double else (1e-5, 1e-3)
    return Script(Text(tuple(lines), seed, tuple(around), nudge, near), WAY)


def _some(d: Draw, of: tuple[str, ...], p: float) -> list[str]:
    """Lines of some statements."""
    return [line for _ in range(2) if d.chance(p) for line in d.one(of).split("\n")]


def _model(d: Draw) -> tuple[list[str], list[str]]:
    """Lines that make layers, and those that call them on two rows of three numbers."""
    around = ["F = ag.nn.functional", "ag.manual_seed(7)", "net = ag.nn.ModuleDict()",
              "m1 = net['m1'] = ag.nn.Linear(3, 3)"]
    forward, n, lines = ["y = m1(y)"], 3, False
    for k in range(2, 4 + d.below(4)):
        if not lines and n == 4 and d.chance(0.6):
            forward.append("y = y.reshape(2, 2, 2)")
            n, lines = 2, True
        form, size = d.one(LINES if lines else FLAT)
        around.append(f"m{k} = net['m{k}'] = ag.nn.{form.format(n=n)}")
        call = f"m{k}(y)"
        if not size and d.chance(0.3):
            call = d.one(["y + m{k}(y)", "m{k}(y) * y.mean()", "ag.checkpoint(m{k}, y)",
                          "m{k}(m{k}(y))", "(m{k}(y) if n % 2 else y)"]).format(k=k)
        forward.append(f"y = {call}")
        n = size if size > 0 else n + 1 if size == -1 else 2 * n if size == -2 else n
    return around, forward
