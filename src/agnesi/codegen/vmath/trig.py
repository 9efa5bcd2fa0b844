"""Circular functions and their inverses."""

from __future__ import annotations

from .explog import to_nearest
from .lane import Lane, mad, poly, rarely

# pi in parts whose products with small integers are exact without fusion.
_PI = {
    "float": (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7, 5.126688e-12),
    "double": (
        3.1415926218032836914, 3.1786509424591713469e-08, 1.2246467864107188502e-16,
        1.2736634327021899816e-24,
    ),
}  # fmt: skip
# (sin r - r) / r^3 in z = r^2 on |r| <= pi/2, relative error 2^-27.2 and 2^-61.7.
_SIN = {
    "float": (
        -0.16666659712791443, 0.008333069272339344, -0.00019809768127743155, 2.60605406765535e-06,
    ),
    "double": (
        -0.16666666666666666, 0.008333333333333217, -0.00019841269841219496,
        2.755731921339562e-06, -2.5052107147890516e-08, 1.6058959257645042e-10,
        -7.643798239687884e-13, 2.739082066267471e-15, -1.6534587521935087e-18,
    ),
}  # fmt: skip


def _sine(r: Lane, low: Lane | None, whole: Lane, model: Lane) -> Lane:
    z = r * r
    p = r * z
    s = mad(p, poly(z, _SIN[r.element]), r)
    return s.flip(whole << (31 if not r.double else 63))


def sin(x: Lane) -> Lane:
    n, whole = to_nearest(x, 0.3183098861837907)
    r = x
    for part in _PI[x.element]:
        r = mad(n, -part, r)
    return _sine(r, None, whole, x)
