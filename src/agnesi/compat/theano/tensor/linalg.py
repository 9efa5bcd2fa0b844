"""``pytensor.tensor.linalg``: linear algebra, with PyTensor's names and parameters."""

from __future__ import annotations

import sys
from typing import Any

from agnesi.api import linalg as _ours
from agnesi.compat.theano.tensor import nlinalg as _nlinalg
from agnesi.compat.theano.tensor import slinalg as _slinalg
from agnesi.compat.theano.tensor.creation import as_tensor_variable as _as_variable
from agnesi.compat.theano.variable import lifted as _lifted


def solve(a: Any, b: Any, *, lower: bool = False, assume_a: str = "gen", b_ndim: int | None = None,
          **options: Any) -> Any:
    """x with a @ x = b, for stacks of matrices; ``b_ndim`` distinguishes vectors from matrices."""
    return _of_vectors(_lifted(_ours.solve), a, b, b_ndim)


def solve_triangular(a: Any, b: Any, *, trans: Any = 0, lower: bool = False,
                     unit_diagonal: bool = False, b_ndim: int | None = None, **options: Any) -> Any:
    """x with a @ x = b, for ``a`` of which one triangle is read."""
    def solved(a: Any, b: Any) -> Any:
        return _lifted(_ours.solve_triangular)(
            a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)

    return _of_vectors(solved, a, b, b_ndim)


def _of_vectors(solved: Any, a: Any, b: Any, b_ndim: int | None) -> Any:
    """The solution for vectors or matrices, by the axes that they have themselves."""
    a, b = _as_variable(a), _as_variable(b)
    if (b_ndim or min(b.ndim, 2)) == 2 or b.ndim == 1:
        return solved(a, b)
    return solved(a, b.dimshuffle(*range(b.ndim), "x"))[..., 0]


def __getattr__(name: str) -> Any:
    for module in (_nlinalg, _slinalg):
        found = getattr(module, name, None)
        if found is not None and not name.startswith("_"):
            return found
    raise AttributeError(f"pytensor.tensor.linalg.{name} is not here")


#: PyTensor's modules of it, whose names are all here.
for _name in ("constructors", "decomposition", "decomposition.cholesky", "decomposition.eigen",
              "decomposition.lu", "decomposition.qr", "decomposition.svd", "inverse", "products",
              "solvers", "solvers.general", "solvers.linear_control", "solvers.lstsq",
              "solvers.psd", "solvers.triangular", "summary"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
