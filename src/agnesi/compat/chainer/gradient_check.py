"""Gradients by differences, and closeness."""

from agnesi.testing import assert_allclose as assert_allclose
from agnesi.testing import numerical_grad as numerical_grad
