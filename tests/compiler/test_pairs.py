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
    np.testing.assert_allclose(energy.data, wanted[0], 1e-10)
    np.testing.assert_allclose(gradient.data, wanted[1], 1e-9, 1e-9)
