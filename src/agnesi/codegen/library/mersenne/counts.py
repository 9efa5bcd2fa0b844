"""Counts as NumPy's old generator draws them: Poisson, binomial and multinomial numbers.

Operations, their order and the C functions are NumPy's, so that all bits of the state behind a draw
agree, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.codegen.library.mersenne.twister import STATE
from agnesi.codegen.library.polls import Polls
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64

_TRUE = Value("true", "i1")
#: An end of loops that only their condition ends.
_NO_END = i64(1 << 62)
#: Means from which Poisson numbers are drawn by rejection, and binomial ones.
_MIN_POISSON_REJECTION, _MIN_BINOMIAL_REJECTION = 10.0, 30.0
#: The greatest mean that NumPy takes.
_MAX_MEAN = float(2**63 - 1) - 10.0 * float(2**63 - 1) ** 0.5
#: How far the sum of chances may be above 1.
_MAX_SUM = 1.0 + 1e-12
#: Doubles of a table in which what follows from trials and chance stays from draw to draw, and the
#: two entries of what it was made for.
_TABLE_DOUBLES, _TRIALS, _CHANCE = 18, 0, 1
_BINOMIAL = [STATE, ("double", "u"), ("i64", "trials"), ("double", "p"), ("ptr", "table")]
#: Stirling's series as NumPy's ``random_loggam`` has it.
_STIRLING = (
    8.333333333333333e-02, -2.777777777777778e-03, 7.936507936507937e-04, -5.952380952380952e-04,
    8.417508417508418e-04, -1.917526917526918e-03, 6.410256410256410e-03, -2.955065359477124e-02,
    1.796443723688307e-01, -1.39243221690590e00)
_LOG_2PI = 1.8378770664093453


class _Real:
    """A double in a function that is written: formulas read as in C."""

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

    def floor(self) -> _Real:
        return _Real(self.b, self.b.intrinsic("floor", self.value))

    def fabs(self) -> _Real:
        return _Real(self.b, self.b.intrinsic("fabs", self.value))

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


# -- Poisson numbers --------------------------------------------------------------------------
def write_poisson(module: Module) -> None:
    """Write ``poisson(state, lam)``."""
    _write_log_gamma(module)
    b = Builder(module, "poisson", [STATE, ("double", "lam")], "i64")
    state, lam = b.parameters[0], _real(b, b.parameters[1])

    def few() -> list[Value]:
        return b.either(lam.is_("oeq", 0.0), lambda: [i64(0)], lambda: [_product(b, state, lam)])

    (found,) = b.either(lam.is_("oge", _MIN_POISSON_REJECTION),
                        lambda: [_transformed_rejection(b, state, lam)], few)
    b.finish(found)


def is_no_mean(b: Builder, lam: Value) -> Value:
    """Return whether NumPy refuses the mean of a Poisson number."""
    mean = _real(b, lam)
    return _not(b, _all(b, mean.is_("oge", 0.0), mean.is_("ole", _MAX_MEAN)))


def _product(b: Builder, state: Value, lam: _Real) -> Value:
    """Knuth's method: uniform numbers are multiplied until they are too little."""
    least = _Real(b, b.call("double", "exp", b.fneg(lam.value)))
    with b.loop(i64(0), _NO_END, 1, [i64(0), const("double", 1.0)], nonempty=True) as loop:
        count, product = loop.carried
        product = (_real(b, product) * _double(b, state)).value
        loop.carry(b.add(count, i64(1)), product)
        loop.until = _not(b, _Real(b, product).is_("ogt", least))
    return b.sub(loop.results[0], i64(1))


def _transformed_rejection(b: Builder, state: Value, lam: _Real) -> Value:
    """PTRS of Hoermann (1993), "The transformed rejection method"."""
    log_mean = lam.log()
    width = 0.931 + 2.53 * lam.sqrt()
    a = -0.059 + 0.02483 * width
    inverse = 1.1239 + 1.1328 / (width - 3.4)
    quick = 0.9277 - 3.6224 / (width - 2.0)
    with b.loop(i64(0), _NO_END, 1, [const("double", 0.0)], nonempty=True) as loop:
        u, v = _double(b, state) - 0.5, _double(b, state)
        us = 0.5 - u.fabs()
        k = ((2.0 * a / us + width) * u + lam + 0.43).floor()
        accepted = _all(b, us.is_("oge", 0.07), v.is_("ole", quick))
        rejected = b.op("or", _not(b, k.is_("oge", 0.0)),
                        _all(b, us.is_("olt", 0.013), v.is_("ogt", us)))

        def fits(us: _Real = us, v: _Real = v, k: _Real = k) -> list[Value]:
            left = v.log() + inverse.log() - (a / (us * us) + width).log()
            gamma = _Real(b, b.call("double", "log_gamma", (k + 1.0).value))
            minus = _Real(b, b.fneg(lam.value))
            return [left.is_("ole", minus + k * log_mean - gamma)]

        (good,) = b.either(b.op("or", accepted, rejected), lambda x=accepted: [x],  # type: ignore[misc]
                            fits)
        loop.carry(k.value)
        loop.until = good
    return _Real(b, loop.results[0]).integer()


def _write_log_gamma(module: Module) -> None:
    """Write ``log_gamma(x)``: for whole numbers from 1."""
    b = Builder(module, "log_gamma", [("double", "x")], "double")
    x = _Real(b, b.parameters[0])

    def series() -> list[Value]:
        steps = b.select(x.is_("olt", 7.0), _Real(b, b.intrinsic(
            "minnum", (7.0 - x).value, const("double", 7.0))).integer(), i64(0))
        x0 = x + steps
        square = (1.0 / x0) * (1.0 / x0)
        total: Any = _Real(b, const("double", _STIRLING[-1]))
        for factor in reversed(_STIRLING[:-1]):
            total = total * square + factor
        first = total / x0 + 0.5 * _LOG_2PI + (x0 - 0.5) * x0.log() - x0
        with b.loop(i64(0), steps, 1, [first.value, x0.value]) as loop:
            found, at = (_Real(b, v) for v in loop.carried)
            loop.carry((found - (at - 1.0).log()).value, (at - 1.0).value)
        return [loop.results[0]]

    (found,) = b.either(b.op("or", x.is_("oeq", 1.0), x.is_("oeq", 2.0)),
                        lambda: [const("double", 0.0)], series)
    b.finish(found)


# -- binomial numbers -------------------------------------------------------------------------
def write_binomial(module: Module) -> None:
    """Write ``binomial(state, u, trials, p, table)``: ``u`` is the first uniform number of the
    draw, the table one of :func:`binomial_table`."""
    _write_inversion(module)
    _write_rejection(module)
    b = Builder(module, "binomial", _BINOMIAL, "i64")
    state, u, trials, p, table = b.parameters
    swapped = _Real(b, p).is_("ogt", 0.5)
    few = b.select(swapped, (1.0 - _Real(b, p)).value, p)
    (found,) = b.either(
        (_Real(b, few) * trials).is_("ole", _MIN_BINOMIAL_REJECTION),
        lambda: [b.call("i64", "inversion", state, u, trials, few, table)],
        lambda: [b.call("i64", "rejection", state, u, trials, few, table)])
    b.finish(b.select(swapped, b.sub(trials, found), found))


def binomial_table(b: Builder) -> Value:
    """A table for ``binomial``, of the function that is written."""
    table = b.alloca("double", _TABLE_DOUBLES)
    b.store(const("double", float("nan")), b.gep("double", table, i64(_CHANCE)))
    return table


def _kept(b: Builder, table: Value, trials: Value, p: Value,
          numbers: Callable[[], list[_Real]]) -> list[_Real]:
    """The numbers that follow from trials and chance: from the table if they were the last ones."""
    addresses = [b.gep("double", table, i64(k)) for k in range(_TABLE_DOUBLES)]
    same = _all(b, b.icmp("eq", b.load("i64", addresses[_TRIALS]), trials),
                b.fcmp("oeq", b.load("double", addresses[_CHANCE]), p))
    with b.when(_not(b, same), rare=True):
        made = numbers()
        for number, address in zip(made, addresses[2:], strict=False):
            b.store(number.value, address)
        b.store(trials, addresses[_TRIALS])
        b.store(p, addresses[_CHANCE])
    return [_Real(b, b.load("double", address)) for address in addresses[2:2 + len(made)]]


def is_no_chance(b: Builder, p: Value) -> Value:
    """Return whether a number is no chance: NaN, or not in [0, 1]."""
    chance = _Real(b, p)
    return _not(b, _all(b, chance.is_("oge", 0.0), chance.is_("ole", 1.0)))


def _write_inversion(module: Module) -> None:
    """Write ``inversion(state, u, trials, p, table)``: a binomial number of few successes from a
    uniform number and perhaps more of them."""
    b = Builder(module, "inversion", _BINOMIAL, "i64")
    state, u, trials, chance, table = b.parameters
    n, p = _real(b, trials), _Real(b, chance)
    q = 1.0 - p

    def numbers() -> list[_Real]:
        mean = n * p
        width = 10.0 * (mean * q + 1.0).sqrt()
        return [_Real(b, b.call("double", "exp", (n * q.log()).value)),
                _Real(b, b.intrinsic("minnum", n.value, (mean + width).value))]

    first, most = _kept(b, table, trials, chance, numbers)
    none, bound = first.value, most.integer()

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


class _Btpe:
    """BTPE of Kachitvichyanukul and Schmeiser (1988), for chances up to a half."""

    def __init__(self, b: Builder, trials: Value, chance: Value, table: Value) -> None:
        self.b, self.trials = b, trials
        self.n, self.r = _real(b, trials), _Real(b, chance)
        self.q = 1.0 - self.r
        (self.mode, self.variance, self.p1, self.c, self.left, self.right, self.p2, self.p3,
         self.p4) = _kept(b, table, trials, chance, self._numbers)
        self.m = self.mode.integer()
        self.xm = self.mode + 0.5
        self.xl, self.xr = self.xm - self.p1, self.xm + self.p1

    def _numbers(self) -> list[_Real]:
        n, r, q = self.n, self.r, self.q
        center = n * r + r
        mode, variance = center.floor(), n * r * q
        p1 = (2.195 * variance.sqrt() - 4.6 * q).floor() + 0.5
        xm = mode + 0.5
        xl, xr = xm - p1, xm + p1
        c = 0.134 + 20.5 / (15.3 + mode)
        left = self._slope((center - xl) / (center - xl * r))
        right = self._slope((xr - center) / (xr * q))
        p2 = p1 * (1.0 + 2.0 * c)
        p3 = p2 + c / left
        return [mode, variance, p1, c, left, right, p2, p3, p3 + c / right]

    @staticmethod
    def _slope(a: _Real) -> _Real:
        return a * (1.0 + a / 2.0)

    def proposal(self, u: _Real, v: _Real) -> list[Value]:
        """A number, its height, and whether it is rejected (0), to be tested (1) or taken (2)."""
        b, test, taken = self.b, i64(1), i64(2)

        def result(y: _Real, v: _Real, rejected: Value, kind: Value = test) -> list[Value]:
            kind = b.select(rejected, i64(0), kind)
            return [b.select(rejected, const("double", 0.0), y.value), v.value, kind]

        def parallelogram() -> list[Value]:
            x = self.xl + (u - self.p1) / self.c
            height = v * self.c + 1.0 - (self.mode - x + 0.5).fabs() / self.p1
            return result(x.floor(), height, height.is_("ogt", 1.0))

        def left() -> list[Value]:
            y = (self.xl + v.log() / self.left).floor()
            bad = b.op("or", y.is_("olt", 0.0), v.is_("oeq", 0.0))
            return result(y, v * (u - self.p2) * self.left, bad)

        def right() -> list[Value]:
            y = (self.xr - v.log() / self.right).floor()
            bad = b.op("or", y.is_("ogt", self.n), v.is_("oeq", 0.0))
            return result(y, v * (u - self.p3) * self.right, bad)

        def tails() -> list[Value]:
            return b.either(u.is_("ogt", self.p3), right, left)

        def outside() -> list[Value]:
            return b.either(u.is_("ogt", self.p2), tails, parallelogram)

        def triangle() -> list[Value]:
            y = (self.xm - self.p1 * v + u).floor()
            return result(y, v, Value("false", "i1"), taken)

        return b.either(u.is_("ogt", self.p1), outside, triangle)

    def fits(self, y: Value, v: _Real) -> list[Value]:
        """Return whether a number is taken, by the quotient of its chance and the greatest one."""
        b = self.b
        distance = b.intrinsic("abs", b.sub(y, self.m), Value("false", "i1"))
        k = _real(b, distance)
        far = _all(b, b.icmp("sgt", distance, i64(20)), k.is_("olt", self.variance / 2.0 - 1.0))
        return b.either(far, lambda: self._squeezed(y, v, distance), lambda: self._explicit(y, v))

    def _explicit(self, y: Value, v: _Real) -> list[Value]:
        b = self.b
        s = self.r / self.q
        a = s * b.add(self.trials, i64(1))
        total = const("double", 1.0)
        for first, last, name in ((self.m, y, "fmul"), (y, self.m, "fdiv")):
            with b.loop(b.add(first, i64(1)), b.add(last, i64(1)), 1, [total]) as loop:
                loop.carry(b.op(name, loop.carried[0], (a / _real(b, loop.index) - s).value))
            total = loop.results[0]
        return [_not(b, v.is_("ogt", _Real(b, total)))]

    def _squeezed(self, y: Value, v: _Real, distance: Value) -> list[Value]:
        b, variance = self.b, self.variance
        k = _real(b, distance)
        rho = (k / variance) * (
            (k * (k / 3.0 + 0.625) + 0.16666666666666666) / variance + 0.5)
        square = _real(b, b.mul(b.sub(i64(0), distance), distance))
        t = square / (2.0 * variance)
        height = v.log()
        within = height.is_("olt", t - rho)
        sure = b.op("or", within, height.is_("ogt", t + rho))
        return b.either(sure, lambda: [within], lambda: [self._exact(y, height)])

    def _exact(self, y: Value, height: _Real) -> Value:
        """Compare with the logarithm of the quotient, by Stirling's series."""
        b, one = self.b, i64(1)
        x1, f1 = _real(b, b.add(y, one)), _real(b, b.add(self.m, one))
        z = _real(b, b.sub(b.add(self.trials, one), self.m))
        w = _real(b, b.add(b.sub(self.trials, y), one))
        total = (self.xm * (f1 / x1).log()
                 + (_real(b, b.sub(self.trials, self.m)) + 0.5) * (z / w).log()
                 + _real(b, b.sub(y, self.m)) * (w * self.r / (x1 * self.q)).log())
        for x in (f1, z, x1, w):
            square = x * x
            series: Any = 99.0 - 140.0 / square
            for number in (132.0, 462.0, 13680.0):
                series = number - series / square
            total = total + series / x / 166320.0
        return _not(b, height.is_("ogt", total))


def _write_rejection(module: Module) -> None:
    """Write ``rejection(state, u, trials, p, table)``: a binomial number by BTPE."""
    b = Builder(module, "rejection", _BINOMIAL, "i64")
    state, first, trials, p, table = b.parameters
    method = _Btpe(b, trials, p, table)
    with b.loop(i64(0), _NO_END, 1, [i64(0), first], nonempty=True) as loop:
        u = _Real(b, loop.carried[1]) * method.p4
        found, v, kind = method.proposal(u, _double(b, state))
        y = _Real(b, found).integer()
        (good,) = b.either(
            b.icmp("eq", kind, i64(1)),
            lambda y=y, v=v: method.fits(y, _Real(b, v)),  # type: ignore[misc]
            lambda kind=kind: [b.icmp("eq", kind, i64(2))])  # type: ignore[misc]
        (following,) = b.either(good, lambda u=u: [u.value],  # type: ignore[misc]
                                lambda: [_double(b, state).value])
        loop.carry(y, following)
        loop.until = good
    b.finish(loop.results[0])


# -- multinomial numbers ----------------------------------------------------------------------
def write_multinomial(module: Module) -> None:
    """Write ``run(state, trials, chances, out, n, each)``: ``n`` rows of ``each`` counts.

    It returns 1 where a chance is none, and where all but the last are more than 1 together.
    """
    write_binomial(module)
    given = [STATE, ("ptr", "p0"), ("ptr", "p1"), ("ptr", "out"), ("i64", "n"), ("i64", "each")]
    b = Builder(module, "run", given, "i32", internal=False)
    state, source, chances, out, n, each = b.parameters
    trials, last = b.load("i64", source), b.sub(each, i64(1))

    def chance(at: Value) -> _Real:
        return _Real(b, b.load("double", b.gep("double", chances, at)))

    _leave(b, _are_no_chances(b, chance, each, last, trials))
    polls, table = Polls.begin(b, i64(0)), binomial_table(b)
    with b.loop(i64(0), n) as row:
        start = b.gep("i64", out, b.mul(row.index, each))
        with b.loop(i64(0), each) as loop:
            b.store(i64(0), b.gep("i64", start, loop.index))
        with b.loop(i64(0), last, 1, [trials, const("double", 1.0)]) as loop:
            left, total = loop.carried
            p = chance(loop.index)
            share = p / _Real(b, total)
            none = b.op("or", share.is_("oeq", 0.0), b.icmp("eq", left, i64(0)))
            (found,) = b.either(
                none, lambda: [i64(0)],
                lambda share=share, left=left: [b.call(  # type: ignore[misc]
                    "i64", "binomial", state, _double(b, state).value, left, share.value, table)])
            b.store(found, b.gep("i64", start, loop.index))
            left = b.sub(left, found)
            loop.carry(left, (_Real(b, total) - p).value)
            loop.until = b.icmp("sle", left, i64(0))
        b.store(b.intrinsic("smax", loop.results[0], i64(0)), b.gep("i64", start, last))
        row.until = polls.worked(each)
    b.finish(const("i32", 0))


def _are_no_chances(b: Builder, chance: Callable[[Value], _Real], each: Value, last: Value,
                    trials: Value) -> Value:
    """Return whether NumPy refuses chances: by bounds, and by Kahan's sum of all but the last."""
    with b.loop(i64(0), each, 1, [i64(0)]) as bounds:
        wrong = b.cast("zext", is_no_chance(b, chance(bounds.index).value), "i64")
        bounds.carry(b.op("or", bounds.carried[0], wrong))
    zero = const("double", 0.0)
    with b.loop(i64(0), last, 1, [zero, zero]) as sums:
        total, rest = (_Real(b, x) for x in sums.carried)
        y = chance(sums.index) - rest
        t = total + y
        sums.carry(t.value, ((t - total) - y).value)
    above = _Real(b, sums.results[0]).is_("ogt", _MAX_SUM)
    wrong = b.op("or", b.icmp("ne", bounds.results[0], i64(0)), above)
    return b.op("or", wrong, b.icmp("slt", trials, i64(0)))


def _leave(b: Builder, wrong: Value) -> None:
    """Return 1, without a draw, where something is wrong."""
    left, on = b.label("left"), b.label("on")
    b.cbr(wrong, left, on, rare=True)
    b.open_block(left)
    b.ret(const("i32", 1))
    b.open_block(on)
