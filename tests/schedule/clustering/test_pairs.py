"""Forces between all pairs of bodies: costly values of pairs, repeated for each component."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from benchmarks.models import science


@pytest.mark.parametrize("bodies", [5, 80])
def test_energy_and_forces(bodies):
    rng = np.random.default_rng(0)
    places, masses = rng.standard_normal((bodies, 3)), rng.uniform(0.5, 1.5, bodies)
    step = ag.jit(ag.value_and_grad(science.energy(ag)))
    energy, gradient = step(ag.tensor(places), ag.tensor(masses))
    wanted = science.energy_by_hand(places, masses)
    np.testing.assert_allclose(energy.array, wanted[0], 1e-10)
    np.testing.assert_allclose(gradient.array, wanted[1], 1e-9, 1e-9)


def test_costly_numbers_of_channels_are_computed_once():
    """Not for every place of the images that they scale."""
    rng = np.random.default_rng(0)
    images, spread = rng.standard_normal((4, 50, 50, 16)), rng.uniform(0.5, 2, 16)
    scaled = ag.jit(lambda x, v: x / ag.sqrt(v + 1e-5))
    got = scaled(ag.tensor(images), ag.tensor(spread))
    np.testing.assert_allclose(got.array, images / np.sqrt(spread + 1e-5), 1e-12)
    assert scaled.plan().arena_bytes == spread.nbytes
