"""Checks for functions and operations of one's own.

In: operations, rules, functions, with samples. Out: nothing, or an AssertionError that says what
differs.
What must hold: a wrong value, gradient, shape rule or lowering is found by its check.
"""

from __future__ import annotations

from agnesi.autograd.differences import check_grads as check_grads
from agnesi.core.keywords import strictly as _strictly
from agnesi.testing.check_rule import check_rule as check_rule
from agnesi.testing.closeness import assert_close as assert_close
from agnesi.testing.numerical import assert_allclose as assert_allclose
from agnesi.testing.numerical import numerical_grad as numerical_grad
from agnesi.testing.operations import check_op as check_op

_strictly(__name__)
