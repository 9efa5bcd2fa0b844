"""Checks of derivatives against differences, under autograd's names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from agnesi.compat.autograd.modes import make_jvp, make_vjp, vspace
from agnesi.compat.autograd.wrap_util import get_name, unary_to_nary
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at

Function = Callable[..., Any]
#: Bounds of differences, absolute and relative, and the step of differences.
TOL = RTOL = EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers are about the same."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Function, x: Any) -> Function:
    """Derivatives along directions, by central differences."""
    space, result = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        step = space.scalar_mul(v, EPS / 2)
        above, below = f(space.add(x, step)), f(space.add(x, space.scalar_mul(step, -1.0)))
        return result.scalar_mul(result.add(above, result.scalar_mul(below, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Function, x: Any) -> None:
    """Raise AssertionError unless the reverse derivative of a function is right."""
    vjp, y = make_vjp(f, x)
    space, result = vspace(x), vspace(y)
    v, w = space.randn(), result.randn()
    pulled = space.covector(vjp(result.covector(w)))
    assert vspace(pulled) == space, f"{vspace(pulled)} is no derivative of {space}"
    exact = space.inner_prod(v, pulled)
    numeric = result.inner_prod(w, make_numerical_jvp(f, x)(v))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\n"
        f"analytic: {exact}\nnumeric:  {numeric}")


def check_jvp(f: Function, x: Any) -> None:
    """Raise AssertionError unless the forward derivative of a function is right."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two nests of values are about the same."""
    space = vspace(x)
    assert space == vspace(y), f"VSpace mismatch:\nx: {space}\ny: {vspace(y)}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), (
        f"Value mismatch:\nx: {x}\ny: {y}")


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Any = None, order: int = 2) -> None:
    """Returns a function of arguments that checks derivatives there, up to an order."""
    modes = ["fwd", "rev"] if modes is None else [modes] if isinstance(modes, str) else modes
    if wrong := [m for m in modes if m not in ("fwd", "rev")]:
        raise AssertionError(at(f"check_grads: modes are 'fwd' and 'rev', not {wrong[0]!r}"))
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:
            def pushed(x: Any, v: Any) -> Any:
                return make_jvp(f, x)(v)[1]

            pushed.__name__ = f"jvp_{get_name(f)}"
            check_grads(pushed, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:
            def pulled(x: Any, v: Any) -> Any:
                return make_vjp(f, x)[0](v)

            pulled.__name__ = f"vjp_{get_name(f)}"
            check_grads(pulled, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Function, *args: Any, **keywords: Any) -> Function:
    """A function of lists of arguments that checks derivatives for each combination."""
    def check(*lists: Any, **options: Any) -> None:
        named = [[(name, v) for v in values] for name, values in options.items()]
        for given in itertools.product(*lists):
            for chosen in itertools.product(*named):
                check_grads(fun, *args, **keywords)(*given, **dict(chosen))

    return check


_strictly(__name__)
