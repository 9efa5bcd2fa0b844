"""Instructions that are not needed are not written: what is known already is a number."""

from __future__ import annotations

import ctypes

import pytest

pytest.importorskip("llvmlite.binding")

from agnesi.codegen.builder import Builder, Module, Value, i64
from agnesi.codegen.folding import compared, folded
from agnesi.runtime import machine

EDGES = (-(1 << 63), -7, -1, 0, 1, 2, 10, (1 << 63) - 1)
NAMES = ("add", "sub", "mul", "udiv", "urem", "smin", "smax")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge")


def _emit(b, name, x, y):
    if name in PREDICATES:
        return b.cast("zext", b.icmp(name, x, y), "i64")
    return b.intrinsic(name, x, y) if name in ("smin", "smax") else b.op(name, x, y)


def _by_llvm(name):
    """The instruction itself, on numbers that nobody knows before."""
    module = Module()
    b = Builder(module, "f", (("i64", "x"), ("i64", "y")), "i64", internal=False)
    b.ret(_emit(b, name, *b.parameters))
    b.finish()
    code = machine.load(str(module))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code.address("f"))
    function.code = code
    return function


@pytest.mark.parametrize("name", [*NAMES, *PREDICATES])
def test_known_numbers_are_those_of_the_processor(name):
    real = _by_llvm(name)
    known = 0
    for x in EDGES:
        for y in EDGES:
            text = (compared if name in PREDICATES else folded)(name, str(x), str(y))
            if text and not (name in ("udiv", "urem") and y == 0):
                known += 1
                assert {"true": 1, "false": 0}.get(text, text) in (real(x, y), str(real(x, y)))
    assert known > 10


@pytest.mark.parametrize("name", NAMES)
def test_operands_that_nothing_happens_to_are_the_result(name):
    real = _by_llvm(name)
    for number in EDGES:
        for left in (False, True):
            pair = ("%x", str(number)) if left else (str(number), "%x")
            text = folded(name, *pair)
            for x in EDGES:
                values = [x if p == "%x" else number for p in pair]
                if text and not (name in ("udiv", "urem") and values[1] == 0):
                    assert (x if text == "%x" else int(text)) == real(*values)


def test_no_instruction_is_written_for_what_is_known():
    b = Builder(Module(), "f", (("ptr", "p"), ("i64", "n")), "i64")
    p, n = b.parameters
    before = b.text()
    assert b.add(b.mul(n, i64(1)), i64(0)) == n
    assert b.sub(n, n) == b.mul(i64(0), n) == i64(0)
    assert b.gep("float", p, i64(0)) == p
    assert b.select(b.icmp("slt", i64(1), i64(2)), n, i64(3)) == n
    assert b.text() == before
    assert b.add(n, i64(1)) != n and b.sub(i64(0), n) != n
    assert b.icmp("ult", i64(1), i64(2)) != Value("true", "i1")
