"""``theano.tests.unittest_tools``: what tests of one's own operations are written with."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.functions import function
from agnesi.compat.theano.tensor import derivatives
from agnesi.core.keywords import strictly as _strictly


def fetch_seed(pseed: Any = None) -> int:
    """The seed of tests: the given one, or always the same."""
    return 666 if pseed is None else int(pseed)


def seed_rng(pseed: Any = None) -> int:
    """Seed NumPy's old generator."""
    seed = fetch_seed(pseed)
    np.random.seed(seed)
    return seed


def verify_grad(op: Callable[..., Any], pt: Sequence[Any], n_tests: int = 2, rng: Any = None,
                *args: Any, **keywords: Any) -> None:
    """Compare the gradient of an operation with differences."""
    rng = np.random.RandomState(fetch_seed()) if rng is None else rng
    derivatives.verify_grad(op, pt, n_tests, rng, *args, **keywords)


def assert_allclose(expected: Any, value: Any, rtol: float | None = None,
                    atol: float | None = None) -> None:
    """Refuse values that are further apart than their dtype explains."""
    short = any(np.asarray(x).dtype in (np.float32, np.complex64) for x in (expected, value))
    np.testing.assert_allclose(value, expected, (1e-5 if short else 1e-8) if rtol is None else rtol,
                               (1e-5 if short else 1e-8) if atol is None else atol)


class InferShapeTester(unittest.TestCase):
    """Base of tests that compare ``infer_shape`` with what is computed."""

    def setUp(self) -> None:
        seed_rng()

    def _compile_and_check(self, inputs: Sequence[Any], outputs: Sequence[Any],
                           numeric_inputs: Sequence[Any], cls: Any, excluding: Any = None,
                           warn: bool = True, check_topo: bool = True) -> None:
        """Compare the outputs' symbolic shapes with those of their values."""
        values = function(inputs, outputs, on_unused_input="ignore")(*numeric_inputs)
        shapes = function(inputs, [x.shape for x in outputs], on_unused_input="ignore")(
            *numeric_inputs)
        for value, shape in zip(values, shapes, strict=True):
            assert value.shape == tuple(shape), (value.shape, tuple(shape))


_strictly(__name__)
