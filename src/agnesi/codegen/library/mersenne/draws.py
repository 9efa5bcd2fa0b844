"""Draws of NumPy's old generator: uniform, normal, exponential, integers, orders.

Each is what the methods of ``numpy.random.RandomState`` compute, operation by operation and with
the same C functions, so that all bits agree, also those of the state behind the draw.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.library.mersenne.counts import (
    binomial_table,
    is_no_mean,
    is_no_probability,
    leave_if,
    poisson,
    write_binomial,
    write_multinomial,
)
from agnesi.codegen.library.mersenne.twister import (
    HAS_NORMAL,
    NORMAL,
    STATE,
    write_fill,
    write_twister,
)
from agnesi.codegen.library.polls import Polls, write_polls
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64
from agnesi.core.target import Target

#: Numbers that are closer to a bound than this are looked at as NumPy does.
_DOUBTFUL_DISTANCE = 1e-15
_FALSE, _TRUE = Value("false", "i1"), Value("true", "i1")


def mersenne_module(name: str, target: Target) -> str:
    """The module for a method by name.

    Its function ``run`` takes the state, which it changes, the addresses of the parameters and of
    the numbers, how many there are, and for each parameter 1, or 0 where all numbers have the same;
    ``binomial`` takes also the number of trials.  It returns 0, or 1 for parameters that NumPy
    refuses.  ``permutation`` takes no parameters, and the length of an order; ``multinomial`` the
    length of the chances; ``multinomial_all`` draws where there is nothing to draw, too.
    """
    module = Module(target)
    write_polls(module)
    write_twister(module)
    if name == "permutation":
        _write_interval(module)
        _write_orders(module)
    elif name in ("multinomial", "multinomial_all"):
        write_multinomial(module, skips_zeros=name == "multinomial")
    else:
        _METHODS[name](_Draws(module, name))
    return str(module)


def _f64(number: float) -> Value:
    return const("double", number)


class _Draws:
    """The function ``run`` of a method whose draws are independent of each other."""

    def __init__(self, module: Module, name: str) -> None:
        kinds = _PARAMETERS[name]
        given = [STATE, *(("ptr", f"p{i}") for i in range(len(kinds))), ("ptr", "out"),
                 ("i64", "n"), *(("i64", f"step{i}") for i in range(len(kinds)))]
        if name == "binomial":
            given.append(("i64", "trials"))
        self.module, self.kinds = module, kinds
        self.b = b = Builder(module, "run", given, "i32", internal=False)
        count = len(kinds)
        self.state, self.out, self.n = b.parameters[0], *b.parameters[count + 1: count + 3]
        self._sources = b.parameters[1: count + 1]
        self._steps = b.parameters[count + 3: 2 * count + 3]
        self.trials = b.parameters[-1]

    def parameters(self, at: Value) -> list[Value]:
        """The parameters of one number."""
        b = self.b
        return [b.load(kind, b.gep(kind, source, b.mul(at, step)))
                for kind, source, step in zip(self.kinds, self._sources, self._steps, strict=True)]

    def refuse(self, wrong: Callable[..., Value]) -> None:
        """Leave, without a draw, where ``wrong(*parameters)`` holds for any number."""
        b = self.b
        several = const("i1", False)
        for step in self._steps:
            several = b.op("or", several, b.icmp("ne", step, i64(0)))
        with b.loop(i64(0), b.select(several, self.n, i64(1)), 1, [i64(0)]) as loop:
            found = b.cast("zext", wrong(*self.parameters(loop.index)), "i64")
            loop.carry(b.op("or", loop.carried[0], found))
        leave_if(b, b.icmp("ne", loop.results[0], i64(0)))

    def write(self, kind: str, number: Callable[..., Value]) -> None:
        """Write the loop that stores ``number(*parameters)`` for each element in order."""
        b = self.b
        polls = Polls.begin(b, i64(0))
        with polls.chunks(i64(0), self.n) as (part, end), b.loop(part.index, end) as loop:
            b.store(number(*self.parameters(loop.index)), b.gep(kind, self.out, loop.index))
        b.finish(const("i32", 0))

    def write_filled(self, number: Callable[..., Value] | None = None) -> None:
        """``number(u, *parameters)`` of uniform numbers, many at a time."""
        b = self.b
        write_fill(self.module)
        polls = Polls.begin(b, i64(0))
        with polls.chunks(i64(0), self.n) as (part, end):
            b.call("void", "fill", self.state, b.gep("double", self.out, part.index),
                   b.sub(end, part.index))
            if number is not None:
                with b.loop(part.index, end) as loop:
                    address = b.gep("double", self.out, loop.index)
                    draw = b.load("double", address)
                    b.store(number(draw, *self.parameters(loop.index)), address)
        b.finish(const("i32", 0))

    def double(self) -> Value:
        return self.b.call("double", "double", self.state)


def _negative(b: Builder, x: Value) -> Value:
    """Return whether NumPy refuses a number as negative: by its sign, unless it is a NaN."""
    sign = b.icmp("slt", b.cast("bitcast", x, "i64"), i64(0))
    return b.op("and", sign, b.fcmp("ord", x, x))


# -- uniform numbers and exponential ones -----------------------------------------------------
def _random_sample(d: _Draws) -> None:
    d.write_filled()


def _uniform(d: _Draws) -> None:
    b = d.b

    def infinite(low: Value, high: Value) -> Value:
        size = b.intrinsic("fabs", b.op("fsub", high, low))
        return b.op("xor", b.fcmp("olt", size, _f64(float("inf"))), _TRUE)

    d.refuse(infinite)
    d.write_filled(lambda u, low, high: b.op("fadd", low, b.op("fmul", b.op("fsub", high, low), u)))


def _minus_log(b: Builder, u: Value) -> Value:
    return b.fneg(b.call("double", "log", b.op("fsub", _f64(1.0), u)))


def _standard_exponential(d: _Draws) -> None:
    d.write_filled(lambda u: _minus_log(d.b, u))


def _exponential(d: _Draws) -> None:
    d.refuse(lambda scale: _negative(d.b, scale))
    d.write_filled(lambda u, scale: d.b.op("fmul", scale, _minus_log(d.b, u)))


# -- normal numbers ---------------------------------------------------------------------------
def _write_normal(module: Module) -> None:
    """Write ``normal(state)``: by Marsaglia's polar method, which gives two at a time."""
    b = Builder(module, "normal", [STATE], "double")
    state = b.parameters[0]
    flag, kept = b.gep("i32", state, i64(HAS_NORMAL)), b.gep("i32", state, i64(NORMAL))

    def second() -> list[Value]:
        found = b.load("double", kept, 4)
        b.store(const("i32", 0), flag)
        b.store(_f64(0.0), kept, 4)
        return [found]

    def both() -> list[Value]:
        start = [_f64(0.0)] * 3
        with b.loop(i64(0), i64(1 << 62), 1, start, nonempty=True) as loop:
            x, y = (b.op("fsub", b.op("fmul", _f64(2.0), b.call("double", "double", state)),
                         _f64(1.0)) for _ in range(2))
            square = b.op("fadd", b.op("fmul", x, x), b.op("fmul", y, y))
            loop.carry(x, y, square)
            loop.until = b.op("and", b.fcmp("olt", square, _f64(1.0)),
                              b.fcmp("une", square, _f64(0.0)))
        x, y, square = loop.results
        log = b.op("fmul", _f64(-2.0), b.call("double", "log", square))
        factor = b.intrinsic("sqrt", b.op("fdiv", log, square))
        b.store(b.op("fmul", factor, x), kept, 4)
        b.store(const("i32", 1), flag)
        return [b.op("fmul", factor, y)]

    (found,) = b.either(b.icmp("ne", b.load("i32", flag), const("i32", 0)), second, both)
    b.finish(found)


def _next_normal(d: _Draws) -> Value:
    return d.b.call("double", "normal", d.state)


def _standard_normal(d: _Draws) -> None:
    _write_normal(d.module)
    d.write("double", lambda: _next_normal(d))


def _normal(d: _Draws) -> None:
    _write_normal(d.module)
    d.refuse(lambda mean, scale: _negative(d.b, scale))
    d.write("double", lambda mean, scale: _moved(d, mean, scale))


def _lognormal(d: _Draws) -> None:
    _write_normal(d.module)
    d.refuse(lambda mean, scale: _negative(d.b, scale))
    d.write("double", lambda mean, scale: d.b.call("double", "exp", _moved(d, mean, scale)))


def _moved(d: _Draws, mean: Value, scale: Value) -> Value:
    return d.b.op("fadd", mean, d.b.op("fmul", scale, _next_normal(d)))


# -- counts -----------------------------------------------------------------------------------
def _poisson(d: _Draws) -> None:
    d.refuse(lambda lam: is_no_mean(d.b, lam))
    d.write("i64", poisson(d.b, d.state))


def _binomial(d: _Draws) -> None:
    write_binomial(d.module)
    d.refuse(lambda p: is_no_probability(d.b, p))
    table = binomial_table(d.b, d.state)
    d.write("i64", lambda p: _successes(d, table, d.trials, p))


def _binomial_each(d: _Draws) -> None:
    write_binomial(d.module)
    b = d.b
    d.refuse(lambda n, p: b.op("or", b.icmp("slt", n, i64(0)), is_no_probability(b, p)))
    table = binomial_table(b, d.state)
    d.write("i64", lambda n, p: _successes(d, table, n, p))


def _successes(d: _Draws, table: Value, trials: Value, p: Value) -> Value:
    """Return a binomial draw; for one trial mostly a comparison."""
    b = d.b

    def once() -> list[Value]:
        u, swapped = d.double(), b.fcmp("ogt", p, _f64(0.5))
        few = b.select(swapped, b.op("fsub", _f64(1.0), p), p)
        above = b.op("fsub", u, b.op("fsub", _f64(1.0), few))
        clear = b.op("and", b.fcmp("ogt", b.intrinsic("fabs", above), _f64(_DOUBTFUL_DISTANCE)),
                     b.fcmp("olt", u, _f64(1.0 - _DOUBTFUL_DISTANCE)))
        (found,) = b.either(
            clear, lambda: [b.cast("zext", b.fcmp("ogt", above, _f64(0.0)), "i64")],
            lambda: [b.call("i64", "inversion", d.state, u, i64(1), few, table)])
        return [b.select(swapped, b.sub(i64(1), found), found)]

    (found,) = b.either(b.icmp("eq", trials, i64(1)), once,
                        lambda: [b.call("i64", "binomial", d.state, trials, p, table)])
    return found


# -- integers and orders ----------------------------------------------------------------------
def _write_interval(module: Module) -> None:
    """Write ``interval(state, most)``: a uniform integer in [0, most], by rejection of masked
    random bits.
    """
    b = Builder(module, "interval", [STATE, ("i64", "most")], "i64")
    state, most = b.parameters
    zeros = b.intrinsic("ctlz", b.op("or", most, i64(1)), _FALSE)
    mask = b.op("lshr", i64(-1), zeros)

    def word() -> Value:
        return b.cast("zext", b.call("i32", "next", state), "i64")

    def long() -> list[Value]:
        high = word()
        return [b.op("or", b.op("shl", high, i64(32)), word())]

    with b.loop(i64(0), i64(1 << 62), 1, [i64(0)], nonempty=True) as loop:
        (bits,) = b.either(b.icmp("ule", most, i64(0xFFFFFFFF)), lambda: [word()], long)
        loop.carry(b.op("and", bits, mask))
        loop.until = b.icmp("ule", loop.next[0], most)
    b.finish(loop.results[0])


def _randint(d: _Draws) -> None:
    _write_interval(d.module)
    b = d.b
    d.refuse(lambda low, high: b.icmp("sge", low, high))

    def number(low: Value, high: Value) -> Value:
        most = b.sub(b.sub(high, i64(1)), low)
        (found,) = b.either(b.icmp("eq", most, i64(0)), lambda: [i64(0)],
                            lambda: [b.call("i64", "interval", d.state, most)])
        return b.add(low, found)

    d.write("i64", number)


def _write_orders(module: Module) -> None:
    """Write ``run(state, out, n, each)``: the numbers below ``each``, ``n`` times in random order.
    """
    b = Builder(module, "run", [STATE, ("ptr", "out"), ("i64", "n"), ("i64", "each")], "i32",
                internal=False)
    state, out, n, each = b.parameters
    polls = Polls.begin(b, i64(0))
    with b.loop(i64(0), n) as row:
        start = b.gep("i64", out, b.mul(row.index, each))
        with b.loop(i64(0), each) as loop:
            b.store(loop.index, b.gep("i64", start, loop.index))
        with polls.chunks(i64(1), each) as (part, end), b.loop(part.index, end) as loop:
            last = b.sub(each, loop.index)
            other = b.call("i64", "interval", state, last)
            addresses = [b.gep("i64", start, k) for k in (last, other)]
            numbers = [b.load("i64", address) for address in addresses]
            for number, address in zip(reversed(numbers), addresses, strict=True):
                b.store(number, address)
        row.until = polls.worked(i64(1))
    b.finish(const("i32", 0))


_METHODS: dict[str, Callable[[_Draws], None]] = {
    "random_sample": _random_sample, "uniform": _uniform, "standard_normal": _standard_normal,
    "normal": _normal, "lognormal": _lognormal, "standard_exponential": _standard_exponential,
    "exponential": _exponential, "poisson": _poisson, "binomial": _binomial,
    "binomial_each": _binomial_each, "randint": _randint,
}
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "uniform": ("double", "double"), "normal": ("double", "double"),
    "lognormal": ("double", "double"), "exponential": ("double",), "poisson": ("double",),
    "binomial": ("double",), "binomial_each": ("i64", "double"),
    "randint": ("i64", "i64"), "random_sample": (), "standard_normal": (),
    "standard_exponential": (),
}
