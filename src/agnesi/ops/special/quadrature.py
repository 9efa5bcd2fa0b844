"""Tables that a few numbers determine: rules of Gauss' kind, zeros of functions, Bernoulli numbers.

SciPy computes them when they are requested; they are constants, to which nothing has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.integers import integer, step_count
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.creation import tensor
from agnesi.ops.elementwise.formula import from_scipy

__all__ = [
    "ai_zeros", "bei_zeros", "beip_zeros", "ber_zeros", "bernoulli", "berp_zeros", "bi_zeros",
    "erf_zeros", "euler", "fresnel_zeros", "fresnelc_zeros", "fresnels_zeros", "jn_zeros",
    "jnjnp_zeros", "jnp_zeros", "jnyn_zeros", "kei_zeros", "keip_zeros", "kelvin_zeros",
    "ker_zeros", "kerp_zeros", "roots_chebyc", "roots_chebys", "roots_chebyt", "roots_chebyu",
    "roots_gegenbauer", "roots_genlaguerre", "roots_hermite", "roots_hermitenorm", "roots_jacobi",
    "roots_laguerre", "roots_legendre", "roots_sh_chebyt", "roots_sh_chebyu", "roots_sh_jacobi",
    "roots_sh_legendre", "y0_zeros", "y1_zeros", "y1p_zeros", "yn_zeros", "ynp_zeros",
]

#: Points of a rule, at most; the tables of SciPy's that they come from are as long.
_MOST_POINTS = 1 << 24


class Quadrature(NamedTuple):
    """Points and weights: the integral of ``f`` is about the sum of ``w * f(x)``."""

    x: Tensor
    w: Tensor


def _made(x: Any) -> Tensor:
    x = np.asarray(x)
    if x.dtype.kind == "i":
        return tensor(x)
    dtype = dtypes.config.float_dtype
    return tensor(x, dtype=dtypes.complex_of(dtype) if x.dtype.kind == "c" else dtype)


_DOC = """{summary}

    :param {parameters}
    :returns{returns}
    :raises TypeError: If a number that counts is no integer.
    :raises ValueError: If it is too small.
    :see: {kin}

    >>> {example}
    {result}
    """


def _named(function: Callable[..., Any], name: str, **texts: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(**texts)
    return public(function)


def _rule(name: str, polynomials: str, parameters: str, numbers: str = "") -> Callable[..., Any]:
    """Roots of orthogonal polynomials and weights, in SciPy's order of parameters."""
    def rule(n: int, /, *more: float) -> Quadrature:
        points, weights = from_scipy(name)(step_count(n, "n", 1, _MOST_POINTS), *more)
        return Quadrature(_made(points), _made(weights))

    given = f"3{', ' if numbers else ''}{numbers}"
    more = f"{parameters.removeprefix(' and ').removeprefix(', ')}, one after the other."
    none = "The rule has no more parameters."
    return _named(
        rule, name,
        summary=f"Points and weights of the rule by the roots of {polynomials}.",
        parameters="n: The degree; positive.\n    :param *more: "
                   + (more[0].upper() + more[1:] if numbers else none),
        returns=" x, w: Points and weights, ``n`` of each.",
        kin=name.replace("roots_", "eval_"), example=f"ag.special.{name}({given}).x.shape",
        result="(3,)",
    )


roots_legendre = _rule("roots_legendre", "Legendre's polynomials", "")
roots_sh_legendre = _rule("roots_sh_legendre", "Legendre's polynomials on [0, 1]", "")
roots_chebyt = _rule("roots_chebyt", "Chebyshev's polynomials of the first kind", "")
roots_chebyu = _rule("roots_chebyu", "Chebyshev's polynomials of the second kind", "")
roots_chebyc = _rule("roots_chebyc", "Chebyshev's first kind on [-2, 2]", "")
roots_chebys = _rule("roots_chebys", "Chebyshev's second kind on [-2, 2]", "")
roots_sh_chebyt = _rule("roots_sh_chebyt", "Chebyshev's first kind on [0, 1]", "")
roots_sh_chebyu = _rule("roots_sh_chebyu", "Chebyshev's second kind on [0, 1]", "")
roots_hermite = _rule("roots_hermite", "the physicists' Hermite polynomials", "")
roots_hermitenorm = _rule("roots_hermitenorm", "the statisticians' Hermite polynomials", "")
roots_laguerre = _rule("roots_laguerre", "Laguerre's polynomials", "")
roots_genlaguerre = _rule(
    "roots_genlaguerre", "generalized Laguerre polynomials", " and alpha", "0.5")
roots_gegenbauer = _rule("roots_gegenbauer", "Gegenbauer's polynomials", " and alpha", "0.5")
roots_jacobi = _rule("roots_jacobi", "Jacobi's polynomials", ", alpha and beta", "0.5, 1.5")
roots_sh_jacobi = _rule("roots_sh_jacobi", "Jacobi's polynomials on [0, 1]", ", p and q",
                        "2.0, 1.5")


def _zeros(name: str, of: str, order: bool = False, several: bool = False) -> Callable[..., Any]:
    """The first zeros of a function; ``order`` comes in front of how many."""
    def zeros(*numbers: int) -> Any:
        if len(numbers) != 1 + order:
            raise TypeError(f"takes {'an order and ' if order else ''}how many, not {numbers}")
        count = step_count(numbers[-1], "how many", 1, _MOST_POINTS)
        orders = [integer(n, "the order") for n in numbers[:-1]]
        found = from_scipy(name)(*orders, count)
        return tuple(map(_made, found)) if isinstance(found, tuple) else _made(found)

    first = "The order, and how many" if order else "How many"
    call = f"ag.special.{name}({'1, 2' if order else '2'})"
    length = _LENGTHS.get(name, "4")
    return _named(
        zeros, name, summary=f"The first {of}.",
        parameters=f"*numbers: {first}; at least one.",
        returns=f": {length} vectors, in this order.\n    :rtype: tuple of Tensor" if several
        else ": A vector.\n    :rtype: Tensor",
        kin=_KIN[name], example=f"len({call})" if several else f"{call}.shape",
        result=length if several else "(2,)")


#: SciPy's functions of zeros, by the function whose zeros these are.
_KIN = {name: function for function, names in {
    "airy": "ai_zeros bi_zeros", "jv": "jn_zeros", "jvp": "jnp_zeros", "yv": "yn_zeros",
    "yvp": "ynp_zeros", "jv, yv": "jnyn_zeros", "jv, jvp": "jnjnp_zeros", "y0": "y0_zeros",
    "y1": "y1_zeros y1p_zeros", "ber": "ber_zeros", "bei": "bei_zeros", "ker": "ker_zeros",
    "kei": "kei_zeros", "berp": "berp_zeros", "beip": "beip_zeros", "kerp": "kerp_zeros",
    "keip": "keip_zeros", "kelvin": "kelvin_zeros", "erf": "erf_zeros",
    "fresnel": "fresnel_zeros fresnelc_zeros fresnels_zeros"}.items() for name in names.split()}
#: How many results some functions have.
_LENGTHS = {"y0_zeros": "2", "y1_zeros": "2", "y1p_zeros": "2", "fresnel_zeros": "2",
            "kelvin_zeros": "8"}
ai_zeros = _zeros("ai_zeros", "zeros of Ai and its derivative, and the values there", several=True)
bi_zeros = _zeros("bi_zeros", "zeros of Bi and its derivative, and the values there", several=True)
jn_zeros = _zeros("jn_zeros", "positive zeros of the Bessel function J", True)
jnp_zeros = _zeros("jnp_zeros", "positive zeros of the derivative of J", True)
yn_zeros = _zeros("yn_zeros", "positive zeros of the Bessel function Y", True)
ynp_zeros = _zeros("ynp_zeros", "positive zeros of the derivative of Y", True)
jnyn_zeros = _zeros("jnyn_zeros", "zeros of J, J', Y and Y'", True, True)
jnjnp_zeros = _zeros("jnjnp_zeros", "zeros of all J and J', in order", several=True)
y0_zeros = _zeros("y0_zeros", "zeros of Y0, and the derivatives there", several=True)
y1_zeros = _zeros("y1_zeros", "zeros of Y1, and the derivatives there", several=True)
y1p_zeros = _zeros("y1p_zeros", "zeros of the derivative of Y1, and the values there", several=True)
ber_zeros = _zeros("ber_zeros", "zeros of ber")
bei_zeros = _zeros("bei_zeros", "zeros of bei")
ker_zeros = _zeros("ker_zeros", "zeros of ker")
kei_zeros = _zeros("kei_zeros", "zeros of kei")
berp_zeros = _zeros("berp_zeros", "zeros of the derivative of ber")
beip_zeros = _zeros("beip_zeros", "zeros of the derivative of bei")
kerp_zeros = _zeros("kerp_zeros", "zeros of the derivative of ker")
keip_zeros = _zeros("keip_zeros", "zeros of the derivative of kei")
kelvin_zeros = _zeros("kelvin_zeros", "zeros of all functions of Kelvin", several=True)
erf_zeros = _zeros("erf_zeros", "complex zeros of erf")
fresnel_zeros = _zeros("fresnel_zeros", "complex zeros of both Fresnel integrals", several=True)
fresnelc_zeros = _zeros("fresnelc_zeros", "complex zeros of the Fresnel integral C")
fresnels_zeros = _zeros("fresnels_zeros", "complex zeros of the Fresnel integral S")


@public
def bernoulli(n: int, /) -> Tensor:
    """Bernoulli's numbers B0 to Bn (DLMF 24.2.1).

    :param n: The last index; not negative.
    :returns: A vector of n + 1 numbers.
    :raises TypeError: If ``n`` is no integer.
    :see: special.euler, special.zeta

    >>> ag.special.bernoulli(2).shape
    (3,)
    """
    return _made(from_scipy("bernoulli")(step_count(n, "n", 0, _MOST_POINTS)))


@public
def euler(n: int, /) -> Tensor:
    """Euler's numbers E0 to En (DLMF 24.2.6).

    :like: bernoulli
    :see: special.bernoulli

    >>> ag.special.euler(4)
    tensor([ 1.,  0., -1.,  0.,  5.])
    """
    return _made(from_scipy("euler")(step_count(n, "n", 0, _MOST_POINTS)))
