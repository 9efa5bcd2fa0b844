"""Counts as NumPy's old generator draws them: Poisson, binomial and multinomial numbers.

NumPy's own C functions draw Poisson numbers, and binomial ones of many successes: they are given
the state as a ``bitgen_t``, a table of functions for its next numbers.  Binomial numbers of few
successes are drawn by inversion as ``legacy-distributions.c`` does it, which no library exports:
written here operation by operation, so that all bits of the state behind a draw agree, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.codegen.library.mersenne.twister import STATE
from agnesi.codegen.library.polls import Polls
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64
from agnesi.core.ir.foreign import external

_TRUE = Value("true", "i1")
#: An end of loops that only their condition ends.
_NO_END = i64(1 << 62)
#: The mean from which binomial numbers are drawn by rejection.
_MIN_REJECTION_MEAN = 30.0
#: The greatest mean of a Poisson number that NumPy takes.
_MAX_MEAN = float(2**63 - 1) - 10.0 * float(2**63 - 1) ** 0.5
#: How far the sum of chances may be above 1.
_MAX_SUM = 1.0 + 1e-12
#: NumPy's functions, of these parameters: a state; and trials, probability and a ``binomial_t``.
_POISSON, _BTPE = (external(f"numpy random:random_{n}") for n in ("poisson", "binomial_btpe"))
#: Words of a table of what follows from trials and probability, and stays from draw to draw: those
#: two, the probability of no success, the greatest count; NumPy's ``binomial_t``; its ``bitgen_t``.
_TRIALS, _PROBABILITY, _NO_SUCCESS, _GREATEST = range(4)
_BINOMIAL_T, _BITGEN, _TABLE_WORDS = 4, 28, 33
_INVERSION = [STATE, ("double", "u"), ("i64", "trials"), ("double", "p"), ("ptr", "table")]


class _Real:
    """A float64 value of the function under construction, with C's operators."""

    def __init__(self, b: Builder, value: Value) -> None:
        self.b, self.value = b, value

    def _other(self, x: Any) -> Value:
        if isinstance(x, _Real):
            return x.value
        if isinstance(x, Value):
            return self.b.cast("sitofp", x, "double")
        return const("double", float(x))

    def _op(self, name: str, x: Any, y: Any) -> _Real:
        return _Real(self.b, self.b.op(name, self._other(x), self._other(y)))

    def __add__(self, other: Any) -> _Real:
        return self._op("fadd", self, other)

    def __radd__(self, other: Any) -> _Real:
        return self._op("fadd", other, self)

    def __sub__(self, other: Any) -> _Real:
        return self._op("fsub", self, other)

    def __rsub__(self, other: Any) -> _Real:
        return self._op("fsub", other, self)

    def __mul__(self, other: Any) -> _Real:
        return self._op("fmul", self, other)

    def __rmul__(self, other: Any) -> _Real:
        return self._op("fmul", other, self)

    def __truediv__(self, other: Any) -> _Real:
        return self._op("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> _Real:
        return self._op("fdiv", other, self)

    def is_(self, predicate: str, other: Any) -> Value:
        """Compare: ``olt``, ``oge`` and so on."""
        return self.b.fcmp(predicate, self.value, self._other(other))

    def sqrt(self) -> _Real:
        return _Real(self.b, self.b.intrinsic("sqrt", self.value))

    def log(self) -> _Real:
        return _Real(self.b, self.b.call("double", "log", self.value))

    def integer(self) -> Value:
        return self.b.cast("fptosi", self.value, "i64")


def _all(b: Builder, *conditions: Value) -> Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = b.op("and", found, condition)
    return found


def _not(b: Builder, condition: Value) -> Value:
    return b.op("xor", condition, _TRUE)


def _double(b: Builder, state: Value) -> _Real:
    return _Real(b, b.call("double", "double", state))


def _real(b: Builder, x: Value) -> _Real:
    return _Real(b, b.cast("sitofp", x, "double") if x.type == "i64" else x)


def _bitgen(b: Builder, state: Value, at: Value) -> Value:
    """Write a ``bitgen_t``: the state, and functions for its next 64 bits, 32 bits, number in
    [0, 1) and raw word, of which counts only need the third."""
    none = Value("null", "ptr")
    for k, part in enumerate((state, none, none, Value("@double", "ptr"), none)):
        b.store(part, b.gep("ptr", at, i64(k)))
    return at


# -- Poisson numbers --------------------------------------------------------------------------
def poisson(b: Builder, state: Value) -> Callable[[Value], Value]:
    """Return a function that emits a Poisson draw for a mean."""
    bitgen = _bitgen(b, state, b.alloca("ptr", 5))
    return lambda mean: b.call("i64", _POISSON, bitgen, mean)


def is_no_mean(b: Builder, lam: Value) -> Value:
    """Return whether NumPy refuses the mean of a Poisson distribution."""
    mean = _real(b, lam)
    return _not(b, _all(b, mean.is_("oge", 0.0), mean.is_("ole", _MAX_MEAN)))


# -- binomial numbers -------------------------------------------------------------------------
def write_binomial(module: Module) -> None:
    """Write ``binomial(state, trials, p, table)``, with a table of :func:`binomial_table`, and
    ``inversion``, which it calls.
    """
    _write_inversion(module)
    b = Builder(module, "binomial", [p for p in _INVERSION if p[1] != "u"], "i64")
    state, trials, p, table = b.parameters
    swapped = _Real(b, p).is_("ogt", 0.5)
    few = b.select(swapped, (1.0 - _Real(b, p)).value, p)
    (found,) = b.either(
        (_Real(b, few) * trials).is_("ole", _MIN_REJECTION_MEAN),
        lambda: [b.call("i64", "inversion", state, _double(b, state).value, trials, few, table)],
        lambda: [b.call("i64", _BTPE, b.gep("i64", table, i64(_BITGEN)), trials, few,
                        b.gep("i64", table, i64(_BINOMIAL_T)))])
    b.finish(b.select(swapped, b.sub(trials, found), found))


def binomial_table(b: Builder, state: Value) -> Value:
    """A table for ``binomial``, of the function that is written."""
    table = b.alloca("i64", _TABLE_WORDS)
    b.store(const("double", float("nan")), b.gep("i64", table, i64(_PROBABILITY)))
    b.store(i64(0), b.gep("i64", table, i64(_BINOMIAL_T)))  # nothing is known yet
    _bitgen(b, state, b.gep("i64", table, i64(_BITGEN)))
    return table


def is_no_probability(b: Builder, p: Value) -> Value:
    """Return whether NumPy refuses a probability: NaN, or outside [0, 1]."""
    probability = _Real(b, p)
    return _not(b, _all(b, probability.is_("oge", 0.0), probability.is_("ole", 1.0)))


def _write_inversion(module: Module) -> None:
    """Write ``inversion(state, u, trials, p, table)``: a binomial draw by inversion, for few
    expected successes; it may draw further uniform numbers.
    """
    b = Builder(module, "inversion", _INVERSION, "i64")
    state, u, trials, probability, table = b.parameters
    n, p = _real(b, trials), _Real(b, probability)
    q = 1.0 - p
    words = [b.gep("i64", table, i64(k)) for k in (_TRIALS, _PROBABILITY, _NO_SUCCESS, _GREATEST)]
    same = _all(b, b.icmp("eq", b.load("i64", words[0]), trials),
                b.fcmp("oeq", b.load("double", words[1]), probability))
    with b.when(_not(b, same), rare=True):
        mean = n * p
        most = b.intrinsic("minnum", n.value, (mean + 10.0 * (mean * q + 1.0).sqrt()).value)
        none = b.call("double", "exp", (n * q.log()).value)
        for value, at in zip((trials, probability, none, most), words, strict=True):
            b.store(value, at)
    none, bound = b.load("double", words[2]), _Real(b, b.load("double", words[3])).integer()

    def again() -> list[Value]:
        return [i64(0), none, b.call("double", "double", state)]

    def further(x: Value, px: Value, u: Value) -> list[Value]:
        left = _real(b, b.add(b.sub(trials, x), i64(1)))
        following = left * p * _Real(b, px) / (_real(b, x) * q)
        return [x, following.value, (_Real(b, u) - _Real(b, px)).value]

    with b.loop(i64(0), b.select(b.fcmp("ogt", u, none), _NO_END, i64(0)), 1,
                [i64(0), none, u]) as loop:
        x, px, u = loop.carried
        x = b.add(x, i64(1))
        loop.carry(*b.either(b.icmp("sgt", x, bound), again,
                             lambda x=x, px=px, u=u: further(x, px, u)))  # type: ignore[misc]
        loop.until = b.fcmp("ule", loop.next[2], loop.next[1])
    b.finish(loop.results[0])


# -- multinomial numbers ----------------------------------------------------------------------
def write_multinomial(module: Module, skips_zeros: bool) -> None:
    """Write ``run(state, trials, probabilities, out, n, each)``: ``n`` rows of ``each`` counts, of
    which those without trials or with probability 0 may take no number.

    It returns 1 where a probability is none, and where all but the last are more than 1 together.
    """
    write_binomial(module)
    given = [STATE, ("ptr", "p0"), ("ptr", "p1"), ("ptr", "out"), ("i64", "n"), ("i64", "each")]
    b = Builder(module, "run", given, "i32", internal=False)
    state, source, probabilities, out, n, each = b.parameters
    trials, last = b.load("i64", source), b.sub(each, i64(1))

    def probability(at: Value) -> _Real:
        return _Real(b, b.load("double", b.gep("double", probabilities, at)))

    leave_if(b, _are_no_probabilities(b, probability, each, last, trials))
    polls, table = Polls.begin(b, i64(0)), binomial_table(b, state)
    with b.loop(i64(0), n) as row:
        start = b.gep("i64", out, b.mul(row.index, each))
        with b.loop(i64(0), each) as loop:
            b.store(i64(0), b.gep("i64", start, loop.index))
        with b.loop(i64(0), last, 1, [trials, const("double", 1.0)]) as loop:
            left, total = loop.carried
            p = probability(loop.index)
            share = p / _Real(b, total)
            none = Value("false", "i1") if not skips_zeros else b.op(
                "or", share.is_("oeq", 0.0), b.icmp("eq", left, i64(0)))
            (found,) = b.either(
                none, lambda: [i64(0)],
                lambda share=share, left=left: [b.call(  # type: ignore[misc]
                    "i64", "binomial", state, left, share.value, table)])
            b.store(found, b.gep("i64", start, loop.index))
            left = b.sub(left, found)
            loop.carry(left, (_Real(b, total) - p).value)
            loop.until = b.icmp("sle", left, i64(0))
        b.store(b.intrinsic("smax", loop.results[0], i64(0)), b.gep("i64", start, last))
        row.until = polls.worked(each)
    b.finish(const("i32", 0))


def _are_no_probabilities(b: Builder, probability: Callable[[Value], _Real], each: Value,
                          last: Value, trials: Value) -> Value:
    """Return whether NumPy refuses the probabilities of a multinomial draw: by their bounds, and by
    the (Kahan) sum of all but the last.
    """
    with b.loop(i64(0), each, 1, [i64(0)]) as bounds:
        wrong = b.cast("zext", is_no_probability(b, probability(bounds.index).value), "i64")
        bounds.carry(b.op("or", bounds.carried[0], wrong))
    zero = const("double", 0.0)
    with b.loop(i64(0), last, 1, [zero, zero]) as sums:
        total, rest = (_Real(b, x) for x in sums.carried)
        y = probability(sums.index) - rest
        t = total + y
        sums.carry(t.value, ((t - total) - y).value)
    above = _Real(b, sums.results[0]).is_("ogt", _MAX_SUM)
    wrong = b.op("or", b.icmp("ne", bounds.results[0], i64(0)), above)
    return b.op("or", wrong, b.icmp("slt", trials, i64(0)))


def leave_if(b: Builder, wrong: Value) -> None:
    """Return 1 from the function, before any draw, if ``wrong``."""
    left, on = b.label("left"), b.label("on")
    b.cbr(wrong, left, on, rare=True)
    b.open_block(left)
    b.ret(const("i32", 1))
    b.open_block(on)
