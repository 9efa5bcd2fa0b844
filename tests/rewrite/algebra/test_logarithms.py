"""Logarithms that go inwards are those of what is written, whatever signs its factors have."""

import itertools

import numpy as np
import pytest

import agnesi as ag

FORMS = {
    "a product in a product": lambda a, b, x: ag.log(a * (b * ag.exp(x))),
    "a quotient by a product": lambda a, b, x: ag.log(a / (b * ag.exp(x))),
    "a size": lambda a, b, x: ag.log(abs(a * ag.exp(x))),
    "a square": lambda a, b, x: ag.log((a * ag.exp(x)) ** 2 + 1),
    "a square of a choice": lambda a, b, x: ag.log(ag.square(ag.where(x > 0, ag.exp(x), b)) + 0.5),
    "a root of a product": lambda a, b, x: ag.log(ag.sqrt(a * (b * ag.exp(x)))),
    "choices": lambda a, b, x: ag.log(ag.where(x > 0, a, ag.exp(x)) * ag.where(x > 0, b, 2.0)),
    "a difference": lambda a, b, x: ag.log((a - b) * (ag.exp(x) - ag.exp(a * x))),
}


@pytest.mark.parametrize("form", FORMS)
def test_factors_of_any_sign(form):
    function = FORMS[form]
    run = ag.jit(ag.value_and_grad(function, argnums=(0, 1, 2)))
    for numbers in itertools.product((-1.5, 2.0), (-0.5, 3.0), (-1.0, 1.0)):
        given = [ag.tensor(np.float64(v)) for v in numbers]
        value, slopes = ag.value_and_grad(function, argnums=(0, 1, 2))(*given)
        found, traced = run(*given)
        np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-12)
        if np.isfinite(float(value)):  # where there is no value, neither has a derivative
            for a, b in zip(traced, slopes, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-13)


def test_a_logarithm_does_not_go_into_itself():
    """That of erfcx of what is positive is its own best form: 37 514 nodes came of one once."""
    f = ag.jit(ag.value_and_grad(lambda x: ag.log(x * ag.special.erfcx(x)).sum()))
    value, slope = f(ag.tensor(np.array([0.5, 40.0])))
    assert len(str(f.graph).splitlines()) < 200
    np.testing.assert_allclose(value.numpy(), -1.7508355095566490, rtol=1e-13)
    assert np.isfinite(slope.numpy()).all()


@pytest.mark.parametrize("form", [
    lambda x: ag.log(-ag.log(ag.sigmoid(x))), lambda x: -ag.log(-ag.log(ag.sigmoid(x) + 0.0)),
    lambda x: ag.log(0 - (0 - ag.softplus(-x))),
], ids=["of a sigmoid", "beside 0", "differences from 0"])
def test_logarithms_of_negated_logarithms(form):
    """Gumbel noise; a difference from 0 is no sum of exponentials, and -inf is no coefficient."""
    x = np.array([-700.0, -2.0, -0.1, 0.0, 2.0, 30.0])
    value, slope = ag.jit(lambda x: (form(x), ag.grad(lambda x: form(x).sum())(x)))(ag.tensor(x))
    inside = np.logaddexp(0, -x)
    sign = -1 if float(value[0]) < 0 else 1
    np.testing.assert_allclose(value.numpy(), sign * np.log(inside), rtol=1e-14)
    np.testing.assert_allclose(slope.numpy(), -sign / (1 + np.exp(x)) / inside, rtol=1e-13)
