"""For every rule that is a function: expressions at which it fires."""

import math

import numpy as np

import agnesi as ag
from agnesi.core.dispatch import apply, symbolic
from agnesi.ops.base.convert import Size
from agnesi.ops.base.creation import spread_constant
from agnesi.ops.base.gather.gather_scatter import ScatterAdd, spread
from agnesi.ops.base.slices import Unslice
from agnesi.ops.convolution.pooled import PoolTaps, TapSpread
from agnesi.ops.convolution.windows import Windows
from agnesi.ops.indexing.overlay import Overlay
from agnesi.ops.special.normal import log_ndtr
from agnesi.ops.special.tails import log_cosh, log_erfc


def _softmax(x):
    e = ag.exp(x)
    return e / e.sum(1, keepdims=True)


def _less_sine(x):
    return x - ag.sin(x)


def _growth(x, n):
    """``x**n - 1`` as it is near 1."""
    near = (x > 0) & (abs(n * ag.log(ag.where(x > 0, x, 1))) < 1)
    logarithm = ag.log(ag.where(x > 0, x, 1))
    close = ag.expm1(ag.where(near, n, 0) * ag.where(near, logarithm, 0))
    return ag.where(near, close, ag.where(near, 1, x) ** n - 1)


def _slope_of_log(less, x):
    return 1 / less / x - ag.log(x) / ag.square(less)


def count(n):
    """A size that is a run-time value, as a float."""
    return symbolic(Size(n), ()).astype("float64")


def spread_maxima(image, given):
    """What windows of an image have been given, where they found their maxima."""
    windows = Windows((1, 2), ((0, 0), (1, 0)), (1, 1))
    image = image.reshape((1, 1, 3, 4)) if image.ndim == 2 else image
    taps = apply(PoolTaps(windows, (2, 2)), image)
    return apply(TapSpread(windows, (2, 2), (3, 4)), given[:2, :2].reshape((1, 1, 2, 2)), taps)


def scattered(base, new):
    """Rows of ``new`` added into ``base`` in another order, one of them twice."""
    base = spread_constant((3, 4), base, new.dtype) if isinstance(base, int) else base
    return spread(ScatterAdd, base, new, (0,), 0, [ag.tensor([2, 0, 2])], "add_at")


def beside(x, start, stop, size):
    """``x`` in some columns of a wider matrix."""
    return apply(Unslice(((None, None, 1), (start, stop, 1)), (3, size)), x)


def positive(x):
    """A positive definite matrix."""
    return x @ x.mT + ag.eye(3, dtype="float64")


def batch(x):
    return ag.stack([x, x * 2])


def at_place(x, row, column, size):
    """Zeros, size by size, with a value of shape (3, 4) somewhere."""
    return apply(Unslice(((row, row + 3, 1), (column, column + 4, 1)), (size, size)), x)


#: Expressions of x and y, of shape (3, 4), and of a constant of two numbers.
SAMPLES = {
    "fold": [lambda x, y, c: ag.exp(c)],
    "fold_costly": [lambda x, y, c: ag.exp(ag.broadcast_to(c[0], (3,)) + 1)],
    "known_condition": [lambda x, y, c: ag.where(True, x, y), lambda x, y, c: ag.where(x > y, y,
        y)],
    "trivial_broadcast": [
        lambda x, y, c: ag.broadcast_to(ag.broadcast_to(x[:1], (3, 4)), (2, 3, 4)),
    ],
    "late_broadcast": [
        lambda x, y, c: x + ag.broadcast_to(y[:1], (3, 4)),
        lambda x, y, c: ag.exp(ag.broadcast_to(y[:1], (3, 4))),
        lambda x, y, c: ag.broadcast_to(y[:1], (3, 4)).astype("float32"),
    ],
    "trivial_cast": [lambda x, y, c: x.astype("float32").astype("float64").astype("float32")],
    "negative_number": [lambda x, y, c: -(x * 3), lambda x, y, c: -(3 / x)],
    "double_number": [lambda x, y, c: (x + x) * 3, lambda x, y, c: -0.5 * (y + y)],
    "power_by_number": [
        lambda x, y, c: x**10, lambda x, y, c: x**-3, lambda x, y, c: x**-0.5,
        lambda x, y, c: x**2.5, lambda x, y, c: x**-1.5,
    ],
    "cancel_factors": [
        lambda x, y, c: x / (((x * y) / 3) / 5), lambda x, y, c: (x * y) / y,
        lambda x, y, c: ag.square(x) / x, lambda x, y, c: 2 * (3 * x), lambda x, y, c: x / x,
    ],
    "trivial_reshape": [
        lambda x, y, c: x.reshape((4, 3)).reshape((2, 6)),
        lambda x, y, c: ag.broadcast_to(x.sum(), (3, 4)).reshape((4, 3)),
    ],
    "broadcast_of_reshape": [
        lambda x, y, c: ag.broadcast_to(x.sum().reshape((1, 1)), (3, 4)),
    ],
    "trivial_transpose": [
        lambda x, y, c: x.reshape((2, 2, 3)).transpose((1, 2, 0)).transpose((0, 2, 1)),
        lambda x, y, c: ag.permute_dims(x[:1], (1, 0)),
    ],
    "full_slice": [lambda x, y, c: x[:, 0:4]],
    "slice_of_one_number": [
        lambda x, y, c: ag.broadcast_to(x.sum(), (3, 4))[1:, 2],
        lambda x, y, c: ag.broadcast_to(x.sum(), (3, 4))[::-1, ::3],
    ],
    "unwanted_check": [lambda x, y, c: ag.ensure(x * 2, x == x)],
    "update_of_rows": [
        lambda x, y, c: x - scattered(0, y), lambda x, y, c: scattered(0, y) * c[0] + x,
        lambda x, y, c: x - (y * 3 + scattered(scattered(0, y), x) / c[1]) * c[0],
        lambda x, y, c: x + -scattered(0, y) * 2.0,
        lambda x, y, c: x - ag.where(x[0, 0] > 0, scattered(0, y) * c[0], 0.0),
    ],
    "chosen_rows": [
        lambda x, y, c: ag.where(x[0, 0] > 0, scattered(scattered(0, y), x) * y[1, 2], 0.0),
        lambda x, y, c: ag.where(x[:1, :1] < y[0, 0], scattered(0, y), 0.0),
    ],
    "side_by_side": [
        lambda x, y, c: beside(x, 0, 4, 8) + beside(y, 4, 8, 8),
        lambda x, y, c: beside(y, 5, 9, 9) + beside(x, 0, 4, 9),
        lambda x, y, c: apply(Unslice(((None, None, 1), 2, (None, None, 1)), (3, 3, 4)), x)
        + apply(Unslice(((None, None, 1), 0, (None, None, 1)), (3, 3, 4)), y),
    ],
    "sum_of_regions": [
        lambda x, y, c: at_place(x, 0, 0, 64) + at_place(y, 2, 1, 64),
        lambda x, y, c: at_place(x, 3, 1, 66)[1:-1, 1:-1] + at_place(y, 0, 62, 66)[2:, :-2],
        lambda x, y, c: at_place(x, 60, 3, 66)[:64, 1:-1]
        + apply(Overlay(((0, 2), (0, 2)), (64, 64)), x, y),
    ],
    "part_of_regions": [
        lambda x, y, c: apply(Overlay(((0, 0), (2, 1)), (8, 8)), x, y)[1:4, 2:],
        lambda x, y, c: apply(Overlay(((0, 0), (5, 1)), (8, 8)), x, y)[3:, 1:5],
    ],
    "runs_of_rows": [
        lambda x, y, c: ag.pad(ag.tile(x, (1, 6)), (1, 2), "reflect"),
        lambda x, y, c: ag.roll(ag.tile(x, (1, 9)) * 2, 5, 1),
        lambda x, y, c: ag.pad(ag.pad(ag.tile(x, (1, 6)), (1, 1), "edge"), 1, "wrap"),
    ],
    "scaled_operand": [
        lambda x, y, c: ag.matmul(x * 0.5, y.mT), lambda x, y, c: ag.matmul(x, (0.25 * y).mT),
        lambda x, y, c: ag.matmul((y * -0.5).reshape(2, 6), x.reshape(6, 2)),
        lambda x, y, c: ag.matmul(x.mT, y * ag.reciprocal(count(5))),
    ],
    "sum_of_products": [
        lambda x, y, c: ag.matmul(batch(x).mT, batch(y)).sum(0),
        lambda x, y, c: ag.matmul(batch(x), batch(y).mT).sum(0),
        lambda x, y, c: ag.matmul(batch(x)[None], batch(y).mT[None]).sum((0, 1)),
    ],
    "added_to_scattered": [
        lambda x, y, c: scattered(0, y) + x * y, lambda x, y, c: x * y + scattered(0, y),
    ],
    "empty_reduction": [lambda x, y, c: (x[:0] * y[:1]).sum(0), lambda x, y, c: x[:, :0].prod(1)],
    "trivial_reduction": [lambda x, y, c: x[:1].sum(0), lambda x, y, c: x[:, :1].max(1)],
    "nested_reductions": [
        lambda x, y, c: x.sum(0).sum(0), lambda x, y, c: x.max(1).max(0),
        lambda x, y, c: x.sum(0, keepdims=True).sum(1, keepdims=True),
    ],
    "reshape_of_reduction": [
        lambda x, y, c: x.sum(1).reshape((3, 1)),
        lambda x, y, c: x.max(0, keepdims=True).reshape((4,)),
    ],
    "sum_of_broadcast": [
        lambda x, y, c: ag.broadcast_to(x[:1], (3, 4)).sum(0),
        lambda x, y, c: ag.broadcast_to(x[:, :1], (3, 4)).sum(),
        lambda x, y, c: ag.broadcast_to(x, (2, 3, 4)).sum((0, 2), keepdims=True),
    ],
    "invariants_of_while": [
        lambda x, y, c: ag.while_loop(
            lambda a: a.max() < 1e3, lambda a: a + (2e3 + ag.exp(ag.abs(y))), x),
    ],
    "sum_of_product": [
        lambda x, y, c: (x * 3).sum(0), lambda x, y, c: (-x).sum(1),
        lambda x, y, c: (x / ag.exp(y[:, :1])).sum(1), lambda x, y, c: (ag.exp(y[:1]) * x).sum(0),
        lambda x, y, c: (x * ag.exp(y[:, :1])).sum(1, keepdims=True),
    ],
    "log_inside": [
        lambda x, y, c: ag.log(ag.softmax(x)), lambda x, y, c: ag.log(ag.softmax(x)[1:, 2]),
        lambda x, y, c: ag.log(ag.exp(x).sum(1)),
        lambda x, y, c: ag.log(ag.exp(x).sum(0, keepdims=True)),
        lambda x, y, c: ag.log(ag.where(x > y, ag.sigmoid(x), 0.5)),
        lambda x, y, c: ag.log(ag.exp(x) * y), lambda x, y, c: ag.log2(y / ag.exp(x)),
        lambda x, y, c: ag.log(3 * ag.exp(x) + ag.exp(y)), lambda x, y, c: ag.log(ag.exp(x).prod()),
        lambda x, y, c: ag.log(ag.exp(x).mean()), lambda x, y, c: ag.log10(ag.expm1(x)),
        lambda x, y, c: ag.log(ag.exp(x) - ag.exp(y)), lambda x, y, c: ag.log(-ag.expm1(x)),
        lambda x, y, c: ag.log(ag.cosh(x)), lambda x, y, c: ag.log(ag.softmax(x).astype("float32")),
        lambda x, y, c: ag.log(ag.sinh(x)), lambda x, y, c: ag.log(ag.tanh(x)),
        lambda x, y, c: ag.log(ag.sinh(x) * -2), lambda x, y, c: ag.log(ag.erf(x)),
        lambda x, y, c: ag.log((1 - ag.square(ag.tanh(x)))[1:]),
        lambda x, y, c: ag.log(-(ag.exp(x) - ag.exp(y))),
    ],
    "log_beside_large": [
        lambda x, y, c: ag.log1p(ag.cosh(x)), lambda x, y, c: ag.log1p(0.5 * (ag.exp(x) + 1)),
    ],
    "power_less_one": [
        lambda x, y, c: (1 + x) ** y - 1, lambda x, y, c: 1 - x ** y,
        lambda x, y, c: ag.square(1 - x) - 1, lambda x, y, c: x ** 0.25 - 1,
        lambda x, y, c: 3.0 ** x - 1,
    ],
    "log_of_guarded": [
        lambda x, y, c: ag.log(ag.where(y > 0, 1, 1 + x)),
        lambda x, y, c: ag.log(ag.where(y > 0, 1 - x, 2.0)),
    ],
    "log_of_gamma": [lambda x, y, c: ag.log(ag.special.gamma(x))],
    "difference_of_neighbours": [
        lambda x, y, c: ag.special.gammaln(x + 1) - ag.special.gammaln(x),
        lambda x, y, c: ag.special.gammaln(x) - ag.special.gammaln(x + 2),
        lambda x, y, c: ag.special.digamma(x + 1) - ag.special.digamma(x),
    ],
    "log_of_beta": [
        lambda x, y, c: (ag.special.gammaln(x) + ag.special.gammaln(y)
                         - ag.special.gammaln(x + y)),
        lambda x, y, c: (ag.special.gammaln(x + 1) - ag.special.gammaln(y + 1)
                         - ag.special.gammaln(x - y + 1)),
    ],
    "log_of_cosh": [
        lambda x, y, c: (log_cosh(x) + 1.5) - 0.5,
    ],
    "quotient_of_gammas": [
        lambda x, y, c: ag.special.gamma(x) / ag.special.gamma(y),
        lambda x, y, c: ag.exp(-x) * x ** y / ag.special.gamma(y + 1),
    ],
    "complement_of_softmax": [
        lambda x, y, c: 1 - ag.softmax(x), lambda x, y, c: 1 - ag.softmax(x)[:, 1],
    ],
    "log_complement_of_softmax": [lambda x, y, c: ag.log1p(-ag.softmax(x))],
    "root_of_steep": [
        lambda x, y, c: ag.sqrt(ag.erfc(x)), lambda x, y, c: ag.sqrt(ag.sigmoid(x)),
        lambda x, y, c: ag.sqrt(ag.sigmoid(x) * (1 + ag.sigmoid(y))),
    ],
    "root_beside": [
        lambda x, y, c: ag.sqrt(ag.square(x) + 4) - x,
        lambda x, y, c: x + ag.sqrt(ag.square(x) + 4),
        lambda x, y, c: x - ag.sqrt(ag.square(x) - 0.5),
        lambda x, y, c: ag.sqrt(ag.square(x) + y) - x,
    ],
    "log_of_two_cosh": [lambda x, y, c: ag.logaddexp(x, -x), lambda x, y, c: ag.logaddexp(-x, x)],
    "inverse_hyperbolic": [
        lambda x, y, c: ag.log(ag.where(
            x < 0, 1 / (ag.sqrt(ag.square(x) + 1) + ag.abs(x)),
            ag.sqrt(ag.square(x) + 1) + ag.where(x < 0, 0, x)))],
    "difference_of_roots": [
        lambda x, y, c: ag.sqrt(x + 2) - ag.sqrt(x),
        lambda x, y, c: ag.sqrt(2 - x) - ag.sqrt(2 + x),
        lambda x, y, c: ag.sqrt(2 + x) - ag.sqrt(x - 1),
    ],
    "root_of_squares": [
        lambda x, y, c: ag.sqrt(1 + x * x), lambda x, y, c: ag.sqrt(x * x + y * y)],
    "difference_over_a_step": [
        lambda x, y, c: ag.sin(x + y) - ag.sin(x), lambda x, y, c: ag.cos(x) - ag.cos(x - y),
        lambda x, y, c: ag.tan(y + x) - ag.tan(x),
        lambda x, y, c: ag.sin(x + y) - ag.sin(x - y),
        lambda x, y, c: ag.sigmoid(x) - ag.sigmoid(x + y),
        lambda x, y, c: ag.tanh(x + y) - ag.tanh(x),
        lambda x, y, c: ag.softplus(x - y) - ag.softplus(x),
    ],
    "cancel_beside_others": [
        lambda x, y, c: x / (x * x), lambda x, y, c: x * y / (y * y),
        lambda x, y, c: y * x / y / x],
    "power_over_power": [
        lambda x, y, c: ag.square(x) / y, lambda x, y, c: ag.square(x) / (ag.square(y) * y)],
    "square_of_quotient": [lambda x, y, c: 1 / (x * x) / (y * y)],
    "angles_over_a_step": [lambda x, y, c: ag.atan(x) - ag.atan(x + y)],
    "roots_over_a_step": [lambda x, y, c: ag.sqrt(x + y) - ag.sqrt(x)],
    "one_monomial_is_left": [
        lambda x, y, c: ag.square(x + y) - ag.square(x - y),
        lambda x, y, c: 2 * (x + y) - 2 * (x - y), lambda x, y, c: x * x - 2 * x * y + y * y,
        lambda x, y, c: (x + x) * y - (y + y) * x],
    "logs_over_a_step": [
        lambda x, y, c: ag.log(x + y) - ag.log(x), lambda x, y, c: ag.log(x) - ag.log(x - y)],
    "quotients_over_a_step": [
        lambda x, y, c: 1 / x - 1 / (x + y), lambda x, y, c: ag.reciprocal(x - y) - 1 / (x + y),
        lambda x, y, c: 2 / ag.square(x + y) - 2 / ag.square(x),
        lambda x, y, c: -1 / (x + 3) + 1 / x],
    "rest_of_share": [
        lambda x, y, c: 1 - x / (x + y), lambda x, y, c: x / (x - y) - 1,
        lambda x, y, c: 1 / (y + x) - x / ag.square(y + x),
        lambda x, y, c: 1 / (x + y) - (x - y) / ag.square(x + y),
        lambda x, y, c: 2 * x / (x * x + y * y) - 2 * x * (x * x) / ag.square(x * x + y * y)],
    "over_square_of_tanh": [
        lambda x, y, c: (1 - ag.square(ag.tanh(x))) / ag.square(ag.tanh(x)),
        lambda x, y, c: y * (1 - ag.tanh(x) * ag.tanh(x)) / ag.tanh(x) / ag.tanh(x),
    ],
    "logs_of_ratios": [
        lambda x, y, c: x * ag.log(x / y) - (x - y),
        lambda x, y, c: 2 * (ag.log(x / y) * x) + y, lambda x, y, c: x - ag.log(x / y),
    ],
    "difference_of_exponentials": [
        lambda x, y, c: ag.exp(x + 1) - ag.exp(x),
        lambda x, y, c: ag.exp(x / y) - ag.exp(x / (y + 1)),
    ],
    "difference_of_cubes": [
        lambda x, y, c: (x + 1) * (x + 1) * (x + 1) - x * x * x,
        lambda x, y, c: ag.square(x + 2) * (x + 2) - ag.square(x - 1) * (x - 1),
        lambda x, y, c: 3 * ag.square(x + y) - 3 * ag.square(x),
    ],
    "difference_of_powers": [
        lambda x, y, c: (x + 1) ** y - x ** y, lambda x, y, c: (x + y) ** 0.3 - x ** 0.3,
    ],
    "power_beside_one": [
        lambda x, y, c: (1 + x / y) ** y, lambda x, y, c: (y / (y + x)) ** y,
        lambda x, y, c: (1 + x * y) ** (1 / y),
    ],
    "log_of_quotient": [lambda x, y, c: ag.log(x / (x - y))],
    "root_less_one": [
        lambda x, y, c: ag.sqrt((1 + x) / (1 - x)) - 1, lambda x, y, c: 1 - ag.sqrt(1 + x / y),
        lambda x, y, c: ag.reciprocal(ag.sqrt(1 - x / y)) - 1],
    "growth_over_exponent": [
        lambda x, y, c: _growth(x, y) / y, lambda x, y, c: c[0] * (_growth(x, -y) / (y * c[1]))],
    "angle_beside_right_angle": [
        lambda x, y, c: 0.5 + ag.atan(x) / math.pi, lambda x, y, c: ag.atan(x) - math.pi / 2],
    "factors_over_roots": [
        lambda x, y, c: (lambda r: x / r / r * y)(ag.sqrt(x * x + y * y))],
    "log_beyond_range": [
        lambda x, y, c: ag.log(y * 2 / ag.expm1(x)), lambda x, y, c: ag.log(-ag.sinh(x) / y),
        lambda x, y, c: ag.log(x**y / y)],
    "log_of_squares": [
        lambda x, y, c: ag.log1p(x * x / 3), lambda x, y, c: ag.log(x * x + y * y),
        lambda x, y, c: ag.log1p(x * x + 0.5 * y * y)],
    "over_squares": [
        lambda x, y, c: x / (1 + x * x), lambda x, y, c: -(x + x) * y / (2 + x * x),
        lambda x, y, c: y * (x * x - y * y) / (x * x + y * y)],
    "times_over_squares": [lambda x, y, c: 2 / (x * x + y * y) * y],
    "over_one_denominator": [
        lambda x, y, c: 1 / (1 + x * x) - x * x / (1 + x * x) / (1 + x * x),
        lambda x, y, c: y / (x - 1) - (x + 1) / (x - 1) * (y / (x - 1)),
    ],
    "cancelled_terms": [
        lambda x, y, c: x - ag.sin(x), lambda x, y, c: y * ag.cos(x) / x - y * ag.sin(x) / x / x,
        lambda x, y, c: 1 / ag.tanh(x) - 1 / x, lambda x, y, c: _less_sine(x * y),
        lambda x, y, c: _slope_of_log(x - 1, x),
        lambda x, y, c: ag.exp(x) - 1 / (1 - x), lambda x, y, c: ag.log(x + 3) - ag.log(x + 1),
        lambda x, y, c: y / ag.tanh(x) - y,
    ],
    "log_near_one": [
        lambda x, y, c: ag.log(x / (1 + x)), lambda x, y, c: ag.log(ag.cos(x)),
        lambda x, y, c: ag.log(ag.sin(x) / x)],
    "root_less_root": [lambda x, y, c: ag.sqrt(ag.square(x) + 1e-6) - 1e-3],
    "area_over_a_step": [
        lambda x, y, c: ag.erf(x + y) - ag.erf(x), lambda x, y, c: ag.erfc(x) - ag.erfc(x + 1e-3),
        lambda x, y, c: ag.special.ndtr(x + 0.5) - ag.special.ndtr(x - 0.5),
        lambda x, y, c: ag.erf(2 * x) - ag.erf(x),
    ],
    "conjugate_of_root": [
        lambda x, y, c: ag.sqrt(x * x + x + 1) - x,
        lambda x, y, c: x / ag.sqrt(x * x + x) + 0.5 / ag.sqrt(x * x + x) - 1,
        lambda x, y, c: x / ag.sqrt(x * x + y * y) - ag.sign(x),
    ],
    "common_factor": [
        lambda x, y, c: y * ag.exp(x + 1) - y * ag.exp(x),
        lambda x, y, c: 3 * ag.exp(-ag.square(x + y)) - 3 * ag.exp(-ag.square(x)),
        lambda x, y, c: ag.exp(y) * ag.sin(x + y) - ag.exp(y) * ag.sin(x),
    ],
    "complement_of_factor": [
        lambda x, y, c: x - x * ag.tanh(x), lambda x, y, c: y * ag.erf(x) - y,
        lambda x, y, c: ag.sigmoid(x) * y - y, lambda x, y, c: y + y * ag.tanh(x),
        lambda x, y, c: 0.5 * x * ag.erfc(y) - x, lambda x, y, c: x - 0.5 * x * (1 + ag.erf(y)),
    ],
    "divided_difference": [
        lambda x, y, c: (ag.exp(x) - ag.exp(y)) / (x - y),
        lambda x, y, c: (ag.tanh(x) - ag.tanh(y)) / (y - x),
        lambda x, y, c: (ag.sin(x) - ag.sin(y)) / (x - y),
        lambda x, y, c: (ag.atan(x) - ag.atan(y)) / (x - y),
    ],
    "log_of_scaled_tail": [
        lambda x, y, c: log_erfc(x) + ag.square(x), lambda x, y, c: 0.5 * x * x + log_ndtr(x),
        lambda x, y, c: -ag.square(x) - log_erfc(x),
    ],
    "log_of_rest_of_square": [
        lambda x, y, c: ag.log(ag.sigmoid(-x) * (1 + ag.sigmoid(x))),
        lambda x, y, c: ag.log(ag.erfc(x) * ag.erfc(-x)),
    ],
    "complement_of_product": [
        lambda x, y, c: 1 - ag.sigmoid(x) * ag.sigmoid(y),
        lambda x, y, c: 1 - ag.square(ag.square(ag.sigmoid(x))),
    ],
    "over_tail": [
        lambda x, y, c: y / (1 + ag.tanh(x)), lambda x, y, c: y / (ag.erf(x) + 1),
    ],
    "slope_of_mean_softplus": [
        lambda x, y, c: ag.sigmoid(x) / x - ag.softplus(x) / x / x,
    ],
    "log_of_odds": [lambda x, y, c: log_ndtr(x) - log_ndtr(-x)],
    "difference_in_tail": [
        lambda x, y, c: ag.sigmoid(x + 1) - ag.sigmoid(x),
        lambda x, y, c: ag.sigmoid((x + 0.1) * y) - ag.sigmoid((x - 0.1) * y),
        lambda x, y, c: ag.erfc(x) - ag.erfc(x - 2),
    ],
    "difference_of_halves": [lambda x, y, c: 0.5 * ag.erfc(x) - 0.5 * ag.erfc(x + 1)],
    "beside_its_logsum": [
        lambda x, y, c: x - ag.logaddexp(x, y), lambda x, y, c: ag.logaddexp(y, x) - x,
        lambda x, y, c: x - ag.logaddexp(ag.logaddexp(y, x), -x),
        lambda x, y, c: log_cosh(x) - x, lambda x, y, c: x - log_cosh(x),
    ],
    "quotient_of_logsum_less_one": [
        lambda x, y, c: ag.softplus(x) / x - 1, lambda x, y, c: 1 - ag.logaddexp(y, x) / x,
        lambda x, y, c: log_cosh(x) / x - 1,
    ],
    "unseen_sign_of_zero": [lambda x, y, c: ag.exp(x + 0), lambda x, y, c: ag.square(0 + y)],
    "zero_beside_number": [lambda x, y, c: (x + 0) + 1, lambda x, y, c: 2 - (x + 0)],
    "pair_factors": [
        lambda x, y, c: _softmax(x), lambda x, y, c: y / (1 + ag.exp(x)),
        lambda x, y, c: ag.exp(x) / (1 + ag.exp(x)), lambda x, y, c: ag.exp(-x) * ag.sigmoid(x),
        lambda x, y, c: ag.cosh(x) / (1 + ag.cosh(x)), lambda x, y, c: ag.exp(x) / ag.exp(y),
    ],
    "distribute": [
        lambda x, y, c: (y / ag.sigmoid(x) + x) * ag.sigmoid(x),
        lambda x, y, c: (y - x / ag.softmax(x)) * ag.softmax(x),
    ],
    "proportion": [
        lambda x, y, c: y * ag.exp(x) / ag.sum(y * ag.exp(x)),
        lambda x, y, c: (y * ag.exp(x) + x * ag.exp(y)) / (ag.exp(x) + ag.exp(y)),
    ],
    "over_count": [lambda x, y, c: x / count(7), lambda x, y, c: ag.exp(x)[0] / count(3)],
    "over_power_of_two": [lambda x, y, c: x / 4, lambda x, y, c: x / -0.5],
    "product_of_halves": [
        lambda x, y, c: ag.matmul(x.half(), y.mT.half()),
        lambda x, y, c: ag.conv1d(x[None].half(), y[:2, :3, None].half()),
    ],
    "product_of_parts": [lambda x, y, c: ag.matmul(x * 1j, y.mT + 2j)],
    "product_with_inverse": [
        lambda x, y, c: ag.linalg.inv(positive(x)) @ y,
        lambda x, y, c: ag.matmul(y.mT, ag.linalg.inv(positive(x))),
        lambda x, y, c: ag.linalg.inv(batch(positive(x))) @ batch(y),
    ],
    "solution_of_triangle": [
        lambda x, y, c: ag.linalg.solve(ag.tril(positive(x)), y),
        lambda x, y, c: ag.linalg.solve(ag.triu(positive(x), 0), y),
        lambda x, y, c: ag.linalg.solve(ag.linalg.cholesky(positive(x)).mT, y),
    ],
    "determinant_of_triangle": [
        lambda x, y, c: ag.linalg.det(ag.linalg.cholesky(batch(positive(x)))),
    ],
    "logarithm_of_determinant": [
        lambda x, y, c: ag.log(ag.linalg.det(positive(x))),
        lambda x, y, c: ag.log(ag.abs(ag.linalg.det(x[:, :3]))),
    ],
    "trace_of_product": [
        lambda x, y, c: ag.trace(ag.matmul(x, y.mT)),
        lambda x, y, c: ag.linalg.trace(ag.matmul(batch(x), batch(y).mT)),
    ],
    "factor_of_winners": [
        lambda x, y, c: spread_maxima(image := x.reshape((1, 1, 3, 4)), y) * ag.exp(image * c[0]),
        lambda x, y, c: (1 - (image := ag.tanh(x.reshape((1, 1, 3, 4)))))
        * spread_maxima(image, y),
    ],
    "mask_of_winners": [
        lambda x, y, c: ag.where(
            (image := x.reshape((1, 1, 3, 4))) > 0, spread_maxima(image, y), 0
        ),
        lambda x, y, c: ag.where(c[0] > 3, 0, spread_maxima(x, y)),
    ],
    "sum_of_winners": [
        lambda x, y, c: spread_maxima(x, y).sum((0, 2, 3)),
        lambda x, y, c: spread_maxima(x, y).sum((2, 3), keepdims=True),
    ],
    "outer_product": [lambda x, y, c: ag.matmul(x[:, :1], y[:1])],
    "thin_product": [
        lambda x, y, c: ag.matmul(y[:1, :3], ag.exp(x[:, :1] + np.linspace(0, 1, 1 << 16))),
        lambda x, y, c: ag.matmul(
            ag.tanh(x[:1] + np.linspace(0, 1, 1 << 15)[:, None]).reshape(1 << 14, 8),
            y[:2].reshape(8, 1),
        ),
    ],
}
