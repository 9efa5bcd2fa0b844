"""Gradients by differences, and closeness."""

from agnesi.core.keywords import strictly as _strictly
from agnesi.testing import assert_allclose as assert_allclose
from agnesi.testing import numerical_grad as numerical_grad

_strictly(__name__)
