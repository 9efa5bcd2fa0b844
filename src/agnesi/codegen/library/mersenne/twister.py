"""The Mersenne Twister: functions that give the next numbers of a state in memory.

A state is what ``api/streams/numpy_generators.py`` packs: 624 words of the key, the position in it,
whether a second normal number is left, and that number.
"""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, vector

#: Constants of MT19937 (Matsumoto and Nishimura 1998): words of the state, the shift, masks,
#: the twist.
_WORDS, _SHIFT = 624, 397
_UPPER, _LOWER, _TWIST = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
#: Words that are computed at once.
_LANES = 8
#: Indices of words in a state.
POSITION, HAS_NORMAL, NORMAL = _WORDS, _WORDS + 1, _WORDS + 2
_UNIT = 2.0**-53
STATE = ("ptr", "state")


def write_twister(module: Module) -> None:
    """Write ``next(state)``, 32 bits, and ``double(state)``, a number in [0, 1)."""
    _write_key(module)
    _write_next(module)
    b = Builder(module, "double", [STATE], "double")
    state = b.parameters[0]
    first, second = (b.call("i32", "next", state) for _ in range(2))
    b.finish(_joined(b, first, second))


def _words(type_: str, number: int) -> Value:
    return const(type_, number)


def _write_key(module: Module) -> None:
    """Write ``twist(state)``: the next words of the key."""
    b = Builder(module, "twist", [STATE])
    edge = _WORDS - _SHIFT
    for first, last, ahead in ((0, edge, _SHIFT), (edge, _WORDS - 1, -edge)):
        wide = first + (last - first) // _LANES * _LANES
        for start, stop, width in ((first, wide, _LANES), (wide, last, 1)):
            with b.loop(i64(start), i64(stop), width, nonempty=True) as loop:
                _twist(b, loop.index, b.add(loop.index, i64(1)), b.add(loop.index, i64(ahead)),
                       width)
    _twist(b, i64(_WORDS - 1), i64(0), i64(_SHIFT - 1), 1)
    b.finish()


def _twist(b: Builder, index: Value, following: Value, ahead: Value, width: int) -> None:
    type_ = vector("i32", width)
    here, after, other = (b.load(type_, _word(b, k), 4) for k in (index, following, ahead))
    y = b.op("or", b.op("and", here, _words(type_, _UPPER)),
             b.op("and", after, _words(type_, _LOWER)))
    odd = b.op("sub", _words(type_, 0), b.op("and", y, _words(type_, 1)))
    new = b.op("xor", b.op("xor", other, b.op("lshr", y, _words(type_, 1))),
               b.op("and", odd, _words(type_, _TWIST)))
    b.store(new, _word(b, index), 4)


def _word(b: Builder, index: Value) -> Value:
    return b.gep("i32", b.parameters[0], index)


def _tempered(b: Builder, y: Value) -> Value:
    t = y.type
    y = b.op("xor", y, b.op("lshr", y, _words(t, 11)))
    y = b.op("xor", y, b.op("and", b.op("shl", y, _words(t, 7)), _words(t, 0x9D2C5680)))
    y = b.op("xor", y, b.op("and", b.op("shl", y, _words(t, 15)), _words(t, 0xEFC60000)))
    return b.op("xor", y, b.op("lshr", y, _words(t, 18)))


def _position(b: Builder) -> Value:
    """Return the index of the next word, behind which there is one at least."""
    address = _word(b, i64(POSITION))
    with b.when(b.icmp("eq", b.load("i32", address), const("i32", _WORDS)), rare=True):
        b.call("void", "twist", b.parameters[0])
        b.store(const("i32", 0), address)
    return b.cast("zext", b.load("i32", address), "i64")


def _write_next(module: Module) -> None:
    b = Builder(module, "next", [STATE], "i32")
    position = _position(b)
    _move(b, b.add(position, i64(1)))
    b.finish(_tempered(b, b.load("i32", _word(b, position))))


def _move(b: Builder, position: Value) -> None:
    b.store(b.cast("trunc", position, "i32"), _word(b, i64(POSITION)))


def _joined(b: Builder, first: Value, second: Value) -> Value:
    """Numbers in [0, 1) of 27 and 26 bits; every step is exact."""
    type_, width = first.type, 1 if first.type == "i32" else _LANES
    kind = vector("double", width)
    high, low = (b.cast("sitofp", b.op("lshr", x, _words(type_, k)), kind)
                 for x, k in ((first, 5), (second, 6)))
    whole = b.op("fadd", b.op("fmul", high, const(kind, 2.0**26)), low)
    return b.op("fmul", whole, const(kind, _UNIT))


def write_fill(module: Module) -> None:
    """Write ``fill(state, out, n)``: the next ``n`` numbers in [0, 1)."""
    b = Builder(module, "fill", [STATE, ("ptr", "out"), ("i64", "n")])
    state, out, n = b.parameters
    with b.loop(i64(0), n, 1, [i64(0)]) as loop:
        (done,) = loop.carried
        position = _position(b)
        pairs = b.intrinsic("smin", b.sub(n, done),
                            b.op("lshr", b.sub(i64(_WORDS), position), i64(1)))
        wide = b.op("and", pairs, i64(-_LANES))
        with b.loop(i64(0), wide, _LANES) as step:
            words = b.load(vector("i32", 2 * _LANES), _word(
                b, b.add(position, b.mul(step.index, i64(2)))), 4)
            words = _tempered(b, words)
            first, second = (b.shuffle(words, None, range(k, 2 * _LANES, 2)) for k in (0, 1))
            b.store(_joined(b, first, second), b.gep("double", out, b.add(done, step.index)), 8)
        _move(b, b.add(position, b.mul(wide, i64(2))))
        end = b.add(done, b.intrinsic("smax", pairs, i64(1)))
        with b.loop(b.add(done, wide), end) as single:
            b.store(b.call("double", "double", state), b.gep("double", out, single.index))
        loop.carry(end)
        loop.until = b.icmp("sge", end, n)
    b.finish()
