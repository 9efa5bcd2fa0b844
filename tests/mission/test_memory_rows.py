"""Rows about memory: F19 on the captioner, F22, F24, F25, measured by the pool as it is used."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from benchmarks.models.language import VOCABULARY, Captions, captioner

pytestmark = pytest.mark.usefixtures("little_to_collect")

SIZES = Captions(4, frames=12, features=128, length=8, width=64)


def training_step(model: Any, **settings: Any) -> Any:
    sgd = ag.optim.SGD(model.parameters(), lr=0.1)

    @ag.jit(**settings)
    def step(*batch: Any) -> Any:
        sgd.zero_grad()
        loss = ag.cross_entropy(model(*batch[:-1]), batch[-1])
        loss.backward()
        sgd.step()
        return loss

    return step


def batch() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    frames = rng.standard_normal((SIZES.batch, SIZES.frames, SIZES.features)).astype(np.float32)
    words, labels = rng.integers(0, VOCABULARY, (2, SIZES.length, SIZES.batch))
    return ag.tensor(frames), ag.tensor(words), ag.tensor(labels.reshape(-1))


def peak(step: Any, arguments: tuple[Any, ...]) -> int:
    """Bytes of the pool that a call takes, beyond what there was."""
    step(*arguments)
    gc.collect()  # what earlier tests left must not go while this is measured
    before = ag.memory_stats(reset_peak=True)["live"]
    step(*arguments)
    return ag.memory_stats()["peak"] - before


@pytest.mark.long
def test_f19_fast_compile_on_the_captioner():
    """The program that ran out of memory with it: at most 1.2 times that of fast_run."""
    used, losses = {}, {}
    for preset in ("fast_compile", "fast_run"):
        ag.manual_seed(0)
        model = captioner(ag, SIZES)
        step = training_step(model, optimizer=preset)
        used[preset] = peak(step, batch())
        losses[preset] = float(step(*batch()))
    assert used["fast_compile"] <= 1.2 * used["fast_run"]
    np.testing.assert_allclose(losses["fast_compile"], losses["fast_run"], rtol=1e-4)


def deep(layers: int, width: int, cuts: bool) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(layers)
    ws = [ag.tensor((rng.standard_normal((width, width)) / width**0.5).astype("float32"),
                    requires_grad=True) for _ in range(layers)]
    each = round(layers**0.5)

    def part(h: Any, start: int) -> Any:
        for w in ws[start: start + each]:
            h = ag.tanh(h @ w)
        return h

    @ag.jit(keep_grads=True)
    def step(x: Any) -> Any:
        h = x
        for start in range(0, layers, each):
            h = ag.checkpoint(part, h, start) if cuts else part(h, start)
        loss = (h * h).mean()
        loss.backward()
        return loss

    return step, ws


@pytest.mark.native_plans  # products that are nests are added up in the order of their clusters
@pytest.mark.share(5)
@pytest.mark.parametrize("layers", [16, 64])
def test_f24_checkpoints_need_the_root_of_the_memory(layers):
    x = ag.ones((256, 64))
    used, gradients = {}, {}
    for cuts in (False, True):
        step, ws = deep(layers, 64, cuts)
        used[cuts] = peak(step, (x,))
        for w in ws:
            w.grad = None
        step(x)
        gradients[cuts] = [w.grad.numpy() for w in ws]
    for plain, again in zip(gradients[False], gradients[True], strict=True):
        np.testing.assert_array_equal(plain, again)  # bit for bit
    kept = 256 * 64 * 4
    weights = 64 * 64 * 4 * layers
    assert used[True] - weights <= (2 * layers**0.5 + 4) * kept
    assert used[False] >= layers * kept  # some of them in the memory of the results


@pytest.mark.long
def test_f25_half_precision_between_the_passes_halves_what_is_measured():
    step, _ = deep(64, 64, cuts=False)
    x = ag.ones((512, 64))
    rest = 64 * 64 * 64 * 4  # gradients, which are results
    plain = peak(step, (x,)) - rest
    with ag.config(save_dtype="float16"):
        small, _ = deep(64, 64, cuts=False)
        assert peak(small, (x,)) - rest <= 0.55 * plain
