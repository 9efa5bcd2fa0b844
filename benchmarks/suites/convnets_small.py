"""Training steps of the Torch7 paper's convnets (Table 1): three sizes, batch 1 and 60."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result
from benchmarks.models import convnets
from benchmarks.suites import _training
from benchmarks.suites._training import Task

TITLE = "convnets of Table 1, training step, jit"
THREADS = (1, 2)
GOAL = 3.0
_SHAPES = {32: (5, 2, 2), 96: (7, 3, 3), 256: (7, 5, 4)}


def run(context: Context) -> list[Result]:
    return context.measure_all(map(_case, convnets.TORCH7))


def task_of(net: convnets.Net, part: str = "step") -> Task:
    """Random images and labels for a network."""
    rng = np.random.default_rng(net.pixels + net.batch)
    shape = (net.batch, net.channels, net.pixels, net.pixels)
    images = rng.standard_normal(shape).astype(np.float32)
    labels = rng.integers(0, net.classes, net.batch)
    return Task(f"{net.name} {part}", net.build, (images, labels), part, images=True)


def _case(net: convnets.Net) -> Case:
    task = task_of(net)
    return Case(
        net.name,
        _training.expected(task),
        {**_training.contenders(task), "jax": lambda: with_jax(net, task)},
        rtol=1e-3,
        flops=flops(net),
        goal=GOAL,
        items=net.batch,
    )


def flops(net: convnets.Net) -> int:
    """Forward, gradient to weights, gradient to inputs but for the first layer."""
    kernel, first, second = _SHAPES[net.pixels]
    one = net.pixels - kernel + 1
    two = one // first - kernel + 1
    flat = 16 * (two // second) ** 2
    begin = 6 * kernel**2 * one**2
    rest = 16 * 6 * kernel**2 * two**2 + 120 * flat + 1200
    return 2 * net.batch * (2 * begin + 3 * rest)


def with_jax(net: convnets.Net, task: Task) -> Contender:
    jax = peers.jax()
    lax, jnp = jax.lax, jax.numpy
    _, first, second = _SHAPES[net.pixels]

    def pool(x: Any, size: int) -> Any:
        window = (1, 1, size, size)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    def loss_of(weights: Any, key: Any, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2, w3, b3, w4, b4 = weights
        x = pool(jnp.tanh(lax.conv(x, w1, (1, 1), "VALID") + b1[:, None, None]), first)
        x = pool(jnp.tanh(lax.conv(x, w2, (1, 1), "VALID") + b2[:, None, None]), second)
        x = jnp.tanh(x.reshape(len(x), -1) @ w3.T + b3) @ w4.T + b4
        return _training.jax_cross_entropy(x, labels)

    return _training.with_jax(task, loss_of)
