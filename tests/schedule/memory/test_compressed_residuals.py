"""Values that lie idle kept in half precision: half the memory, nearly the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.nn.functional import dropout
from agnesi.ops.random.generators import Generator
from agnesi.schedule.memory import compressed_residuals
from tests.fuzz.program import Program
from tests.fuzz.samples import each
from tests.schedule.memory.test_memory import checked


def gradients(n: int, noise: bool = False, **settings: Any) -> tuple[list[np.ndarray], Any]:
    """The gradients of a deep net, and the compiled function that made them."""
    rng = np.random.default_rng(n)
    ws = [ag.tensor((rng.standard_normal((64, 64)) * 0.15).astype("float32"), requires_grad=True)
          for _ in range(n)]
    g = Generator(1)

    @ag.jit(keep_grads=True, **settings)
    def step(x: Any) -> Any:
        h = x
        for w in ws:
            h = ag.relu(h @ w) if w is ws[2] else ag.tanh(h @ w)
            h = dropout(h, 0.2, generator=g) if noise else h
        loss = (h * h).mean()
        loss.backward()
        return loss

    loss = step(ag.tensor(rng.standard_normal((256, 64)).astype("float32")))
    return [loss.numpy(), *(w.grad.numpy() for w in ws)], step


@pytest.mark.long
def test_half_the_memory():
    plain, small = gradients(32)[1], gradients(32, save_dtype="float16")[1]
    assert small.plan().arena_bytes < 0.6 * plain.plan().arena_bytes
    checked(small)


@pytest.mark.parametrize("noise", [False, True])
def test_gradients_are_close(noise):
    expected, found = gradients(12, noise)[0], gradients(12, noise, save_dtype="float16")[0]
    assert expected[0] == found[0]  # the forward pass is the same
    for e, f in zip(expected, found, strict=True):
        assert np.abs(e - f).max() <= 2e-3 * np.abs(e).max()
    assert any((e != f).any() for e, f in zip(expected, found, strict=True))


def test_off_by_default_and_by_config():
    plain = gradients(8)[1].plan().arena_bytes
    with ag.config(save_dtype="float16"):
        small = gradients(8)[1].plan().arena_bytes
        assert gradients(8, save_dtype="")[1].plan().arena_bytes == plain
    assert small < 0.8 * plain
    with pytest.raises(ValueError, match="save_dtype"):
        gradients(8, save_dtype="int8")


@pytest.mark.long
def test_with_a_memory_limit():
    limit = gradients(16, save_dtype="float16")[1].plan().planned_bytes - 5 * 32768
    found, step = gradients(16, save_dtype="float16", memory_limit=limit)
    assert step.plan().planned_bytes <= limit
    for e, f in zip(gradients(16)[0], found, strict=True):
        assert np.abs(e - f).max() <= 2e-3 * np.abs(e).max()
    checked(step)


def test_random_programs():
    def check(program: Program) -> None:
        expected = ag.jit(program.function())(*map(ag.tensor, program.arrays()))
        before = compressed_residuals._LEAST_BYTES, compressed_residuals._LEAST_GAP
        compressed_residuals._LEAST_BYTES, compressed_residuals._LEAST_GAP = 1, 1
        try:
            compiled = ag.jit(program.function(), save_dtype="float32")
            found = compiled(*map(ag.tensor, program.arrays()))
        finally:
            compressed_residuals._LEAST_BYTES, compressed_residuals._LEAST_GAP = before
        checked(compiled)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-2, atol=1e-2)

    each(check, dtypes=["float64"], kind="smooth")


def test_dtypes_may_be_given_themselves():
    for dtype in (ag.float16, ag.bfloat16, np.float16, np.dtype("float32")):
        f = ag.jit(ag.exp, save_dtype=dtype)
        assert f.settings.save_dtype == np.dtype(dtype).name
    with pytest.raises(ValueError, match=r"save_dtype must be 'float16', .* not 'int8'"):
        ag.jit(ag.exp, save_dtype=np.int8)
