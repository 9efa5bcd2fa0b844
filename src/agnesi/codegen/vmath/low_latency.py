"""Low-latency functions of scalars: shorter chains of dependent instructions.

Lanes hide latencies, a single number does not: each operation of a program on numbers waits for the
one before.  So polynomials are evaluated by halves, and a branch, which the processor predicts,
leaves out the reduction of small arguments.  Whole vectors have no use for either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.llvm.builder import Builder, Value, const, vector
from agnesi.codegen.vmath import hyperbolic, trig
from agnesi.codegen.vmath.explog import exp_bounded
from agnesi.codegen.vmath.lane import Lane, mad, outlined, rarely, through_double
from agnesi.codegen.vmath.reduction import is_huge, reduce_near

# (sin x - x) / x^3 and (cos x - 1 + z/2) / z^2 in z = x^2 on |x| <= 1, relative errors of the
# functions 2^-59.
_SIN = (
    -0.16666666666666666, 0.008333333333333134, -0.0001984126984109975, 2.7557319155039837e-06,
    -2.5052093411044064e-08, 1.6057253435126392e-10, -7.535984203050527e-13,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.0013888888888888584, 2.480158730139182e-05, -2.7557319160037177e-07,
    2.0876745249344297e-09, -1.1469520758509889e-11, 4.711533564503919e-14,
)  # fmt: skip
# (tanh x - x) / x^3 in z = x^2 on |x| <= 1, relative error 2^-54.9.
_TANH = (
    -0.333333333333333, 0.1333333333332897, -0.0539682539664473, 0.021869488498041878,
    -0.008863235047931607, 0.0035921240340514816, -0.0014558112769566566, 0.0005899311123904576,
    -0.0002388318721488955, 9.62251368779914e-05, -3.806001901719797e-05, 1.4276024714468441e-05,
    -4.755391428404066e-06, 1.270165141423134e-06, -2.327114179525071e-07, 2.1269938460119846e-08,
)  # fmt: skip


def _by_halves(x: Lane, coefficients: Sequence[float]) -> Lane:
    """Evaluate a polynomial by Estrin's scheme: terms in pairs, pairs of pairs, and so on."""
    terms = [x.like(c) for c in coefficients]
    powers = [x]  # first of all: instructions that are ready go in the order in which they stand
    while 1 << len(powers) < len(terms):
        powers.append(powers[-1] * powers[-1])
    for power in powers:
        odd = terms[-1:] if len(terms) % 2 else []
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [mad(power, high, low) for low, high in pairs] + odd
    return terms[0]


def _either(condition: Lane, yes: Callable[[], Lane], no: Callable[[], Lane]) -> Lane:
    """Select by a branch, so that only one of the two values is computed."""
    b = condition.b
    first, second, after = b.label("yes"), b.label("no"), b.label("after")
    b.cbr(condition.v, first, second)
    ways = []
    for label, way in ((first, yes), (second, no)):
        b.open_block(label)
        found = way().v
        ways.append((found, b.block))
        b.br(after)
    b.open_block(after)
    return Lane(b, b.phi(ways[0][0].type, ways))


def _is_small(x: Lane) -> Lane:
    """Return whether ``0 < |x| <= 1``: the polynomials of odd functions lose the sign of zero."""
    size = x.abs().bits() - 1
    return Lane(x.b, x.b.icmp("ult", size.v, x.like(1.0).bits().v))


def _odd(x: Lane, coefficients: Sequence[float]) -> Lane:
    """``x + x^3 p(x^2)``."""
    z = x * x
    return mad(x * z, _by_halves(z, coefficients), x)


def _even(x: Lane) -> Lane:
    """The cosine of a small number: the rounding of ``1 - z/2`` is not lost."""
    z = x * x
    first = mad(z, -0.5, 1.0)
    error = mad(z, -0.5, 1.0 - first)
    return first + mad(z * z, _by_halves(z, _COS), error)


def _in_vector(x: Lane) -> Lane:
    """The scalar in a vector register, which saves moves between kinds of registers."""
    type_ = vector(x.type, 2)
    first = f"insertelement {const(type_, 0)}, {x.v}, i64 0"
    return Lane(x.b, x.b.value(type_, first))


def _reduced_small(x: Lane, r: Lane, n: Lane) -> Lane:
    """``(-1)^n`` times ``sin(r)``, with the sign of ``x`` on top."""
    z = r * r
    # The largest term comes last, so that its rounding is all that counts.
    p = mad(z, _by_halves(z, trig.SIN[1:]), trig.SIN[0])
    found = _in_vector(mad(r * z, p, r))
    signs = _in_vector(n) << 63 ^ _in_vector(x).sign_bits()
    return Lane(x.b, x.b.extract(found.flip(signs).v, 0))


def sin(x: Lane) -> Lane:
    size = x.abs()

    def reduced() -> Lane:
        r, _, n = reduce_near(size, 1.0)
        return rarely("sin.distant", is_huge(size), _reduced_small(x, r, n),
                      lambda x: trig.sine_far(x.abs()).flip(x.sign_bits()), x)

    return _either(_is_small(x), lambda: _odd(x, _SIN), reduced)


def cos(x: Lane) -> Lane:
    size = x.abs()

    def reduced() -> Lane:
        r, _, n = reduce_near(size, 1.0, 0.5)
        return rarely("cos.far", is_huge(size), _reduced_small(-size, r, n), trig.cosine_far, size)

    return _either(size <= 1.0, lambda: _even(x), reduced)


def sine_and_cosine(x: Lane) -> tuple[Lane, Lane]:
    """Sine and cosine by one call of an outlined function, which returns them in two registers."""
    b, label, pair = x.b, "sincos.f64", "{ double, double }"
    if label not in b.module:
        inner = Builder(b.module, label, [(x.type, "x")], pair, attributes="nounwind noinline")
        y = Lane(inner, inner.parameters[0])
        ways = [(lambda: _odd(y, _SIN), lambda: outlined("sin", sin, y)),
                (lambda: _even(y), lambda: outlined("cos", cos, y))]
        near = _is_small(y)
        results = Value("poison", pair)
        for i, (small, large) in enumerate(ways):
            found = _either(near, small, large).v
            results = inner.value(pair, f"insertvalue {results}, {found}, {i}")
        inner.finish(results)
    both = b.call(pair, label, x.v)
    sine, cosine = (Lane(b, b.value(x.type, f"extractvalue {both}, {i}")) for i in (0, 1))
    return sine, cosine


def _tanh_far(x: Lane) -> Lane:
    """The hyperbolic tangent for |x| > 1 as 1 minus a small term; right at 0, too."""
    e = exp_bounded(x.abs().least_of(20.0) * 2.0)
    return (1.0 - 2.0 / (e + 1.0)).copysign(x)


def tanh(x: Lane) -> Lane:
    if x.double:
        return _either(_is_small(x), lambda: _odd(x, _TANH),
                       lambda: outlined("tanh.far", _tanh_far, x))
    return _either(_is_small(x), lambda: through_double(lambda y: _odd(y, _TANH), x),
                   lambda: outlined("tanh.far", hyperbolic.tanh, x))


def _of_both(function: Callable[[Lane], Lane]) -> Callable[[Lane], Lane]:
    """For float32 too, which hardly takes longer than float64."""
    return lambda x: function(x) if x.double else through_double(function, x)


FUNCTIONS: dict[str, Callable[[Lane], Lane]] = {
    "sin": _of_both(sin), "cos": _of_both(cos), "tanh": tanh,
}
