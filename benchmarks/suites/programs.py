"""Array programs on shapes that nothing was tuned for, jitted, beside JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.models.programs import Program, Words, programs

TITLE = "array programs on shapes that nothing was tuned for"
THREADS = (1, 2)
GOAL = 1.0


def run(context: Context) -> list[Result]:
    return context.measure_all(_case(program) for program in programs())


def _case(program: Program) -> Case:
    return Case(
        program.name, lambda: _expected(program),
        {OURS: lambda: _agnesi(program), "jax": lambda: _jax(program)},
        rtol=2e-3, atol=1e-2, goal=GOAL,
    )


def _agnesi(program: Program) -> Contender:
    ag = peers.agnesi()
    words = Words(
        ag, ag.softmax, ag.log_softmax, ag.logsumexp, ag.sigmoid, ag.nn.functional.relu,
        ag.special.erf, ag.special.gammaln,
        lambda v, i, n: ag.index_add(ag.zeros(n, dtype=v.dtype), 0, i, v),
    )
    fn = _derived(program, words, ag.value_and_grad)
    return Contender(ag.jit(fn), tuple(map(ag.tensor, program.arrays)),
                     answer=lambda: ag.tree.leaves(fn(*map(ag.tensor, program.arrays))))


def _jax(program: Program) -> Contender:
    jax = peers.jax()
    fn = jax.jit(_derived(program, _jax_words(), jax.value_and_grad))
    args = peers.jax_arrays(*program.arrays)
    return Contender(lambda: jax.block_until_ready(fn(*args)),
                     answer=lambda: jax.tree.leaves(fn(*args)))


def _jax_words() -> Words:
    jax = peers.jax()
    nn, special = jax.nn, jax.scipy.special
    return Words(
        jax.numpy, nn.softmax, nn.log_softmax, special.logsumexp, nn.sigmoid, nn.relu,
        special.erf, special.gammaln,
        lambda v, i, n: jax.ops.segment_sum(v, i, num_segments=n),
    )


def _derived(program: Program, words: Words, derive: Callable[..., Any]) -> Callable[..., Any]:
    """The program, or its value and gradient."""
    fn = program.build(words)
    return fn if program.wrt is None else derive(fn, program.wrt)  # type: ignore[no-any-return]


def _expected(program: Program) -> list[np.ndarray]:
    """JAX's results in double precision, in the dtypes of single precision."""
    jax = peers.jax()
    fn = _derived(program, _jax_words(), jax.value_and_grad)
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in program.arrays]
    found = [np.asarray(leaf) for leaf in jax.tree.leaves(fn(*peers.jax_arrays(*wide)))]
    return [a.astype(np.float32) if a.dtype == np.float64 else a for a in found]
