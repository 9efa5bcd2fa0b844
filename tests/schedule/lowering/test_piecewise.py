"""Values made of regions (rolls, pads, concatenations) are read where they are used, box by box."""

import numpy as np
import pytest

import agnesi as ag


def _five(u, shift):
    return sum(shift(u, s, axis) for axis in (0, 1) for s in (1, -1)) - 4 * u


def _zeros_around(u):
    inner = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return 0.5 * u + ag.pad(inner, 1)


FORMS = {
    "rolls": (lambda u: u + 0.1 * _five(u, ag.roll), 9),
    "zeros around": (_zeros_around, 9),
    "edges": (lambda u: u - ag.pad(u[1:-1], ((1, 1), (0, 0)), mode="edge"), 3),
    "reflected": (lambda u: u * ag.pad(u[:, 1:-1], ((0, 0), (1, 1)), mode="reflect"), 3),
    "later rows": (lambda u: u - ag.concat([u[3:], ag.zeros((3, 70), dtype="float64")]), 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_stencils_are_one_pass_over_memory(form):
    function, nests = FORMS[form]
    u = ag.tensor(np.random.default_rng(0).standard_normal((70, 70)))
    compiled = ag.jit(function)
    np.testing.assert_allclose(compiled(u).array, function(u).array, rtol=1e-12, atol=1e-12)
    plan = str(compiled.plan())
    assert "temporary" not in plan and 0 < plan.count(": loops") <= nests


@pytest.mark.parametrize("form", [
    lambda u: ag.roll(u * ag.roll(u, 1, 0), 1, 1) - u,  # a roll of a roll: the inner one is kept
    lambda u: (lambda r: ag.roll(r, 1, 1) * r + u)(ag.roll(u, 2, 0)),  # here, and elsewhere
    lambda u: ag.concat([ag.roll(u, 1, 0)[5:], u[:5]]) + ag.roll(u, 3, 1),
    lambda u: ag.flip(ag.pad(u[1:], ((1, 0), (0, 0))), 0) + ag.pad(u[1:], ((0, 1), (0, 0))),
])
def test_values_that_are_read_at_two_places_are_kept(form):
    u = ag.tensor(np.random.default_rng(0).standard_normal((70, 70)))
    np.testing.assert_allclose(ag.jit(form)(u).array, form(u).array, rtol=1e-12, atol=1e-12)
    slope = ag.grad(lambda u: (form(u) ** 2).sum())
    np.testing.assert_allclose(ag.jit(slope)(u).array, slope(u).array, rtol=1e-11, atol=1e-11)


def test_a_loop_of_stencils_keeps_its_states_alone():
    """The adjoint of a roll is one, too."""
    u = ag.tensor(np.random.default_rng(0).standard_normal((70, 70)))

    def energy(u):
        step = lambda c, _: ((c[0] + 0.1 * _five(c[0], ag.roll) - 0.2 * c[1], c[0]), None)  # noqa: E731
        (a, b), _ = ag.scan(step, (u, 0 * u), None, length=3)
        return (a * a + b).sum()

    slope = ag.grad(energy)
    np.testing.assert_allclose(ag.jit(slope)(u).array, slope(u).array, rtol=1e-11, atol=1e-11)

