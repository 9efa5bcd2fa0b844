"""Learn a dictionary in which signals are sums of few atoms, and find the atoms that made them.

    python examples/sparse_coding.py [signals]

Signals are made of planted atoms.  Codes are found by FISTA, 60 steps in one compiled ``scan``; the
dictionary follows the gradient at these codes, and its atoms keep the length 1.  Prints the mean
error, and how many of the planted atoms were found.
"""

from __future__ import annotations

import sys

import numpy as np

import agnesi as ag

ATOMS, SIZE, USED, PENALTY = 16, 12, 2, 0.1


def planted(signals: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A dictionary of unit rows, and signals that are sums of ``USED`` of them and some noise."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((ATOMS, SIZE))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = np.zeros((signals, ATOMS))
    for row in codes:
        row[rng.choice(ATOMS, USED, replace=False)] = rng.choice([-1, 1], USED) * rng.uniform(
            1, 2, USED)
    return atoms, codes @ atoms + 0.01 * rng.standard_normal((signals, SIZE))


@ag.jit
def encode(x: ag.Tensor, atoms: ag.Tensor) -> ag.Tensor:
    """Codes that make ``|x - codes @ atoms|^2 / 2 + PENALTY * |codes|_1`` small, by FISTA."""
    size = 1 / ag.sum(ag.linalg.matrix_norm(atoms @ atoms.T))

    def step(carry, _):
        code, ahead, t = carry
        moved = ahead - size * ((ahead @ atoms - x) @ atoms.T)
        new = ag.sign(moved) * ag.maximum(ag.abs(moved) - size * PENALTY, 0)
        after = (1 + ag.sqrt(1 + 4 * t * t)) / 2
        return (new, new + (t - 1) / after * (new - code), after), None

    start = ag.zeros((len(x), len(atoms)), dtype=x.dtype)
    (code, _, _), _ = ag.scan(step, (start, start, ag.ones((), dtype=x.dtype)), None, length=60)
    return code


@ag.jit
def improve(x: ag.Tensor, atoms: ag.Tensor, rate: float) -> tuple[ag.Tensor, ag.Tensor]:
    """The dictionary one step on, and the mean square of what codes leave."""
    codes = ag.stop_gradient(encode(x, atoms))

    def error(atoms):
        return ag.mean(ag.sum((x - codes @ atoms) ** 2, 1))

    left, slope = ag.value_and_grad(error)(atoms)
    moved = atoms - rate * slope
    return moved / ag.linalg.vector_norm(moved, axis=1, keepdims=True), left


def recovered(found: np.ndarray, atoms: np.ndarray) -> int:
    """How many planted atoms lie within eight degrees of a found one, or of its negative."""
    return int((np.abs(atoms @ found.T).max(1) > 0.99).sum())


def main(signals: int = 2000, epochs: int = 40) -> tuple[int, float]:
    """Learn; returns how many atoms were found, and the last mean error."""
    atoms, x = planted(signals)
    rng = np.random.default_rng(1)
    start = x[rng.choice(signals, ATOMS, replace=False)]
    learned = ag.tensor(start / np.linalg.norm(start, axis=1, keepdims=True))
    left = float("nan")
    for epoch in range(epochs):
        for batch in np.split(rng.permutation(signals), signals // 200):
            learned, error = improve(x[batch], learned, 2.0)
        left = float(error)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: error {left:.5f}, "
                  f"{recovered(np.asarray(learned), atoms)} of {ATOMS} atoms found")
    return recovered(np.asarray(learned), atoms), left


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
