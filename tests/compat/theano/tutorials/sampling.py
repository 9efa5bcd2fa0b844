"""Hybrid Monte Carlo as Theano's tutorial writes it."""

from __future__ import annotations

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams


def kinetic_energy(vel):
    return 0.5 * (vel ** 2).sum(axis=1)


def simulate_dynamics(initial_pos, initial_vel, stepsize, n_steps, energy_fn):
    """Leapfrog steps, the first and last of which are half ones."""
    def leapfrog(pos, vel, step):
        vel = vel - step * T.grad(energy_fn(pos).sum(), pos)
        return [pos + step * vel, vel], {}

    vel_half = initial_vel - 0.5 * stepsize * T.grad(energy_fn(initial_pos).sum(), initial_pos)
    pos_full = initial_pos + stepsize * vel_half
    (all_pos, all_vel), updates = theano.scan(leapfrog, outputs_info=[
        dict(initial=pos_full), dict(initial=vel_half)], non_sequences=[stepsize],
        n_steps=n_steps - 1)
    final_pos, final_vel = all_pos[-1], all_vel[-1]
    final_vel = final_vel - 0.5 * stepsize * T.grad(energy_fn(final_pos).sum(), final_pos)
    return final_pos, final_vel, updates


def hmc_move(s_rng, positions, energy_fn, stepsize, n_steps):
    initial_vel = s_rng.normal(size=positions.shape)
    final_pos, final_vel, updates = simulate_dynamics(
        positions, initial_vel, stepsize, n_steps, energy_fn)
    before = energy_fn(positions) + kinetic_energy(initial_vel)
    after = energy_fn(final_pos) + kinetic_energy(final_vel)
    accept = (T.exp(before - after) - s_rng.uniform(size=before.shape)) >= 0
    return accept, final_pos, updates


def sampler(positions, energy_fn, seed=3):
    """A function that draws and adapts its step; the shared positions and step."""
    shared = theano.shared(positions)
    stepsize, acceptance = theano.shared(0.1, "stepsize"), theano.shared(0.9, "acceptance")
    accept, final_pos, updates = hmc_move(RandomStreams(seed), shared, energy_fn, stepsize, 10)
    new_pos = T.switch(accept.dimshuffle(0, *("x",) * (shared.ndim - 1)), final_pos, shared)
    new_step = T.clip(T.switch(acceptance > 0.9, stepsize * 1.02, stepsize * 0.98), 0.001, 0.5)
    updates.update([(shared, new_pos), (stepsize, new_step), (
        acceptance, 0.9 * acceptance + 0.1 * accept.mean(dtype=theano.config.floatX))])
    return theano.function([], [], updates=updates), shared, stepsize
