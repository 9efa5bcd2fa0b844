"""The error function, its complement and its inverse."""

from __future__ import annotations

import math

from agnesi.codegen.vmath import avx512
from agnesi.codegen.vmath.explog import (
    EXP2,
    MAGIC,
    exp_parts,
    log,
    log1p,
    one_plus,
    power_of_two,
    scale,
    to_nearest,
)
from agnesi.codegen.vmath.lane import (
    Lane,
    mad,
    poly,
    quick_sum,
    residual,
    select,
    through_double,
    two_product,
)
from agnesi.codegen.vmath.tables import ERF, ERF_AT
from agnesi.core.ir.coefficients import ERFC_TAIL

# erf(x)/x - 1 in z = x^2 for |x| <= 1, relative error of erf 2^-29.4.
_SMALL_SINGLE = (
    0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026,
    0.005187162198126316, -0.0007997853099368513, 7.806903158780187e-05,
)  # fmt: skip
# log2(erfc(x)) on [0.85, 3.95], error relative to erf 2^-33.0.
_LOG2_ERFC = (
    0.0002229212550446391, -1.6294023990631104, -0.9140222668647766, -0.1558828502893448,
    0.036020658910274506, -0.005932931788265705, 0.0006090484093874693, -2.887655864469707e-05,
)  # fmt: skip
# erf(x)/x in z = x^2 for |x| <= 1, relative error 2^-55.9.
_SMALL = (
    1.1283791670955126, -0.37612638903183343, 0.11283791670936943, -0.026866170641956726,
    0.005223977596704378, -0.000854832548329254, 0.00012055280454283884,
    -1.4924465257498809e-05, 1.6444153784847849e-06, -1.6184091423485045e-07,
    1.3617504054610193e-08, -7.610057486283284e-10,
)  # fmt: skip
# erfc(x) exp(x^2) (1 + 2x) in t = (x - 2.5) / (x + 2.5), x in [0.45, 10.5], error 2^-34.8.
_TAIL_SINGLE = (
    1.2648381843662084, -0.12235676311049647, -0.09902453883350426, 0.15762992509997803,
    -0.10296709305173325, 0.032760712657095334, 0.0009324286154191194, -0.004380118882634098,
    0.0004887131727612997, 0.0006223565662425392, -8.057422266937681e-05, -9.034440390616214e-05,
)  # fmt: skip
# erfinv(x)/x in w = -log(1-x^2) on [0, 6], relative error 2^-21.6.
_INVERSE_SMALL = (
    0.8862266532275126, 0.23202229095705118, 0.011505545069365198, -0.0022514656521347987,
    -0.00020611523506007946, 8.60897289539986e-05, -8.810199060572554e-06,
    3.102943853044614e-07, 1.2260935089301058e-09,
)  # fmt: skip
# erfinv(x) in the square root of w on [2.43, 6.1], relative error 2^-22.6.
_INVERSE_TAIL = (
    0.1574428182375575, 0.5909191890018684, 0.21423019638015314, -0.062139608757168986,
    0.011030979219889655, -0.001192235594889584, 7.216447201982502e-05, -1.8768842674142027e-06,
)  # fmt: skip
# The same for float32, where no step follows: erfinv(x)/x on [0, 6], relative error 2^-31.7.
_INVERSE_SMALL_SINGLE = (
    0.8862269257106311, 0.23201365277252792, 0.01154946055540079, -0.0023354851924844333,
    -0.00012744759842456637, 4.6146867476358685e-05, 2.147824841082907e-06,
    -9.34979354029442e-07, -1.2620253526062432e-07, 6.192393860840519e-08,
    -8.586401654302545e-09, 5.636989762438931e-10, -1.5040999564369834e-11,
)  # fmt: skip
# And erfinv(x) in the square root of w on [2.43, 4.1], relative error 2^-30.2.
_INVERSE_TAIL_SINGLE = (
    -0.10967250752186519, 1.2248252644281277, -0.44014009375998414, 0.3217855792307097,
    -0.12905525761108005, 0.031373612876866915, -0.004640227851901742, 0.0003863657628357831,
    -1.3948937248553842e-05,
)  # fmt: skip


def _erf_in_pieces(x: Lane) -> Lane:
    """Return ``erf`` in float32 with AVX-512: a polynomial around the nearest of 32 points, whose
    coefficients are looked up in registers.
    """
    size = x.abs().least_of(3.9374)
    index = (size + MAGIC["float"] / 8).bits()  # 8 |x|, rounded
    d = size - avx512.lookup(index, ERF_AT)
    at, *rest = (avx512.lookup(index, row) for row in ERF)
    result = rest[-1]
    for c in rest[-2::-1]:
        result = mad(d, result, c)
    return mad(d, result, select(size > 0.0625, at, size)).copysign(x)


def _erf_single(x: Lane) -> Lane:
    if x.avx512:
        return _erf_in_pieces(x)
    size = x.abs()
    power = poly(size.least_of(3.95), _LOG2_ERFC)
    n, whole = to_nearest(power)
    large = 1.0 - one_plus(power - n, EXP2["float"]) * power_of_two(whole)
    z = x * x
    small = mad(size, poly(z, _SMALL_SINGLE), size)
    return select(size < 0.96875, small, large).copysign(x)


def _tail(size: Lane) -> Lane:
    """``erfc`` in float64 for arguments of at least 0.45."""
    x = size.least_of(28.0)
    t = (x - 4.0) / (x + 4.0)
    rest = t * poly(t, ERFC_TAIL[1:])
    top, top_low = quick_sum(t.like(ERFC_TAIL[0]), rest)
    bottom, bottom_low = quick_sum(*_ordered(x + x))
    y = 1.0 / bottom
    q = top * y
    q_low = ((residual(q, bottom, top) - q * bottom_low) + top_low) * y
    square, error = two_product(x, x)
    p, p_low, n, whole = exp_parts(-square)
    # exp(-x^2) = exp(-square) (1 - lost).
    p_low = mad(-p, error, p_low)
    return scale(mad(p, q, mad(p, q_low, p_low * q)), n, whole)


def _ordered(double: Lane) -> tuple[Lane, Lane]:
    """``double`` and one, the larger first."""
    one = double.like(1.0)
    larger = double > 1.0
    return select(larger, double, one), select(larger, one, double)


def erf(x: Lane) -> Lane:
    if not x.double:
        return _erf_single(x)
    size = x.abs()
    z = x * x
    small = size * poly(z, _SMALL)
    return select(size < 1.0, small, 1.0 - _tail(size)).copysign(x)


def _erfc_of_single(x: Lane) -> Lane:
    """``erfc`` in float64 to the digits of float32: nothing that was rounded away is kept."""
    size = x.abs().least_of(10.5)  # what is less is zero in float32
    bottom, double = size + 2.5, mad(size, 2.0, 1.0)
    inverse = 1.0 / (bottom * double)
    t = (size - 2.5) * (double * inverse)
    p, _, n, whole = exp_parts(-(size * size))
    tail = scale(p * poly(t, _TAIL_SINGLE) * (bottom * inverse), n, whole)
    near = 1.0 - x * poly(x * x, _SMALL[:8])
    return select(size < 0.5, near, select(x < 0.0, 2.0 - tail, tail))


def erfc(x: Lane) -> Lane:
    if not x.double:
        return through_double(_erfc_of_single, x)
    size = x.abs()
    near = 1.0 - x * poly(x * x, _SMALL)
    tail = _tail(size.most_of(0.45))
    return select(size < 0.5, near, select(x < 0.0, 2.0 - tail, tail))


def erfinv(x: Lane) -> Lane:
    if not x.double:
        return through_double(_erfinv_single, x)
    size = x.abs()
    rest = 1.0 - size
    w = -select(size < 0.5, log1p(-(size * size)), log(rest * (size + 1.0)))
    first = select(w < 6.0, size * poly(w, _INVERSE_SMALL), poly(w.sqrt(), _INVERSE_TAIL))
    # One step of Halley's method triples the digits.
    near = first * poly(first * first, _SMALL) - size
    error = select(size < 0.5, near, rest - _tail(first.most_of(0.45)))
    growth = _slope(first)
    delta = error * growth
    return _of_sign(first - delta / mad(first, delta, 1.0), x)


def _erfinv_single(x: Lane) -> Lane:
    """``erfinv`` of a float32 number, whose square is exact, to somewhat more than its digits."""
    size = x.abs()
    w = -log(1.0 - size * size)
    near, far = size * poly(w, _INVERSE_SMALL_SINGLE), poly(w.sqrt(), _INVERSE_TAIL_SINGLE)
    return _of_sign(select(w < 6.0, near, far), x)


def _of_sign(y: Lane, x: Lane) -> Lane:
    """``erfinv`` of ``x``, of whose size it is ``y`` inside of (-1, 1)."""
    size = x.abs()
    y = select(size < 1.0, y, select(size.eq(1.0), y.like(math.inf), math.nan))
    return select(size.eq(0.0), size, y.copysign(x))  # of -0.0, too, as SciPy


def _slope(y: Lane) -> Lane:
    """``sqrt(pi)/2 exp(y^2)``, the reciprocal of the derivative of erf."""
    p, _, n, whole = exp_parts(y * y)
    return scale(p * 0.886226925452758, n, whole)
