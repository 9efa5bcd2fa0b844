"""``theano.tensor.slinalg``: linear algebra that Theano takes from SciPy."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as _F
from agnesi.api import linalg as _ours
from agnesi.compat.theano.tensor.creation import as_tensor_variable as _as_variable
from agnesi.compat.theano.tensor.opclasses import named as _named
from agnesi.compat.theano.variable import bare as _bare
from agnesi.compat.theano.variable import forwarding as _forwarding
from agnesi.compat.theano.variable import lifted as _lifted
from agnesi.compat.theano.variable import wrapped as _wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import ShapeError as _ShapeError
from agnesi.core.support.errors import at as _at


def solve(a: Any, b: Any, A_structure: str = "general", lower: bool = False,
          overwrite_A: bool = False, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """x with a @ x = b; ``A_structure`` says what is known of ``a``."""
    if A_structure in ("lower_triangular", "upper_triangular"):
        return _lifted(_ours.solve_triangular)(a, b, lower=A_structure == "lower_triangular")
    return _lifted(_ours.solve)(a, b)


def solve_lower_triangular(a: Any, b: Any) -> Any:
    """x with a @ x = b, for ``a`` zero above its diagonal."""
    return _lifted(_ours.solve_triangular)(a, b, lower=True)


def solve_upper_triangular(a: Any, b: Any) -> Any:
    """x with a @ x = b, for ``a`` zero below its diagonal."""
    return _lifted(_ours.solve_triangular)(a, b, lower=False)


def cholesky(a: Any, lower: bool = True, on_error: str = "raise", check_finite: bool = True,
             overwrite_a: bool = False) -> Any:
    """The triangular factor of a symmetric positive definite matrix, of which one half is read."""
    if (matrix := _as_variable(a)).ndim < 2:
        raise _ShapeError(_at(f"cholesky: a must be a matrix, not {matrix.type}"))
    half = _F.tril(_bare(matrix))
    found = _wrapped(_ours.cholesky(half + _F.tril(half, -1).mT))
    return found if lower else found.T


#: Theano's classes of operations, which are called to make one.
Cholesky = _named("Cholesky", "cholesky", makes=lambda lower=True, on_error="raise", **_: (
    lambda x: cholesky(x, lower, on_error)))
Solve = _named("Solve", "solve", "solve_triangular", makes=(
    lambda A_structure="general", lower=False, **_: lambda a, b: solve(a, b, A_structure, lower)))
Expm = _named("Expm", "expm", makes=lambda: _lifted(_ours.expm))
Eigvalsh = _named("Eigvalsh", "eigvalsh", makes=lambda lower=True: _lifted(_ours.eigvalsh))


__getattr__ = _forwarding(__name__, _ours, {})


_strictly(__name__)
