"""Fixed points of iterations, differentiated implicitly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.compat.autograd.extend import defvjp, primitive
from agnesi.compat.autograd.modes import make_vjp, vspace
from agnesi.core.keywords import strictly as _strictly

Function = Callable[..., Any]


@primitive
def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """The x with ``f(a)(x) = x`` that iteration from ``x0`` leads to.

    Parameters
    ----------
    f : callable
        Takes ``a``, gives the function that is iterated.
    a : nest of arrays
        Gradients flow to it.
    x0 : nest of arrays
    distance : callable
        Of two iterates; iteration ends when it is at most ``tol``.
    tol : float

    Returns
    -------
    nest of arrays
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _pulled(ans: Any, f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Function:
    """The cotangent w with w = g + (df/dx)^T w is a fixed point, too; then it is pulled to a."""
    def reverse(values: Any) -> Function:
        a, x, g = values
        pull_x, _ = make_vjp(f(a), x)
        return lambda w: vspace(g).add(pull_x(w), g)

    def pull(g: Any) -> Any:
        w = fixed_point(reverse, (a, ans, g), vspace(x0).zeros(), distance, tol)
        return make_vjp(lambda a: f(a)(ans), a)[0](w)

    return pull


defvjp(fixed_point, None, _pulled, None)


_strictly(__name__)
