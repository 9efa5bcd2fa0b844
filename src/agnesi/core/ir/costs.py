"""About how much a scalar operation of the loop language takes."""

from __future__ import annotations

HEAVY = frozenset((
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh "
    "acosh atanh sigmoid softplus erf erfc erfinv power lgamma digamma cbrt logaddexp hypot"
).split())
_MEDIUM = frozenset("divide sqrt rsqrt reciprocal floor_divide remainder fmod mulhi".split())


def is_heavy(name: str) -> bool:
    """Whether a scalar operation is worth keeping rather than repeating."""
    return name in HEAVY


def price(name: str) -> int:
    """Rough number of instructions of a scalar operation."""
    if name in HEAVY:
        return 20
    if name in _MEDIUM:
        return 5
    return 0 if name in ("const", "reduce", "size") else 1


def latency(name: str) -> int:
    """Rough number of cycles from the operands of a scalar operation to its result."""
    return 24 if name in HEAVY else 14 if name in _MEDIUM else 4
