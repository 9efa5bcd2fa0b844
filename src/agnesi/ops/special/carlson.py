"""The derivative of Carlson's integral of the second kind, by his duplication theorem.

B. C. Carlson, Computing elliptic integrals by duplication, Numerische Mathematik 33, 1979.  The
steps are differentiated, so that all terms have one sign, and operands may be equal.
"""

from __future__ import annotations

from typing import Any

#: Each divides what is left by 16; operands that are 1e300 apart take ten more.
_MOST_STEPS = 40
_NOTHING_LEFT = 1e-18
#: Instead of a root of 0, by which the slope of 0 is divided.
_TINY = 1e-290


def slope_of_rd(m: Any, x: Any, y: Any, z: Any) -> Any:
    """The derivative of ``elliprd(x, y, z)`` to ``x``: -inf at 0."""

    def step(_: Any, values: Any, x: Any) -> Any:
        __, total, scale, x, y, z, dx, dy, dz = values
        roots = a, b, c = [m.maximum(m.sqrt(v), _TINY) for v in (x, y, z)]
        rise = a * (b + c) + b * c
        change = (dx * ((b + c) / a) + dy * ((a + c) / b) + dz * ((a + b) / c)) * 0.5
        high = z + rise
        total = total - scale * ((0.5 * dz / z + (dz + change) / high) / (roots[2] * high)) * 3.0
        x, y, z = (0.25 * (v + rise) for v in (x, y, z))
        dx, dy, dz = (0.25 * (v + change) for v in (dx, dy, dz))
        scale = scale * 0.25
        more = scale * (m.abs(x - z) + m.abs(y - z)) > _NOTHING_LEFT * z
        return [found(total, scale, x, y, z, dx, dy, dz), total, scale, x, y, z, dx, dy, dz], more

    def found(total: Any, scale: Any, x: Any, y: Any, z: Any, dx: Any, dy: Any, dz: Any) -> Any:
        mean = 0.2 * (x + y + 3.0 * z)
        return total - 1.5 * scale * (0.2 * (dx + dy + 3.0 * dz)) / (mean * mean * m.sqrt(mean))

    nothing = (x + y + z) * 0.0
    x, y, z = x + nothing, y + nothing, z + nothing
    start = (nothing, nothing + 1.0, x, y, z, nothing + 1.0, nothing, nothing)
    wanted = m.logical_and(m.minimum(x, y) >= 0.0, z > 0.0)
    total = m.steps(_MOST_STEPS, wanted, (x,), (nothing, *start), step)
    total = m.where(m.equal(x, 0.0), -float("inf"), total)
    return m.where(wanted, total, float("nan"))
