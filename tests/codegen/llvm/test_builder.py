"""Instructions that are not needed are not written: what is known already is a number."""

from __future__ import annotations

import ctypes
import re

import pytest

import agnesi as ag

pytest.importorskip("llvmlite.binding")

from agnesi.codegen.llvm.builder import Builder, Module, Value, i64
from agnesi.codegen.llvm.folding import compared, folded
from agnesi.core.target import Target
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
    module = Module(Target(512))
    b = Builder(module, "f", (("i64", "x"), ("i64", "y")), "i64", internal=False)
    b.finish(_emit(b, name, *b.parameters))
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
    b = Builder(Module(Target(512)), "f", (("ptr", "p"), ("i64", "n")), "i64")
    p, n = b.parameters
    before = b.text()
    assert b.add(b.mul(n, i64(1)), i64(0)) == n
    assert b.sub(n, n) == b.mul(i64(0), n) == i64(0)
    assert b.gep("float", p, i64(0)) == p
    assert b.select(b.icmp("slt", i64(1), i64(2)), n, i64(3)) == n
    assert b.text() == before
    assert b.add(n, i64(1)) != n and b.sub(i64(0), n) != n
    assert b.icmp("ult", i64(1), i64(2)) != Value("true", "i1")


def test_places_know_how_far_they_are_from_others():
    b = Builder(Module(Target(512)), "f", (("i64", "x"),), "i64")
    (x,) = b.parameters
    far = b.add(b.add(b.add(x, i64(0)), i64(3)), i64(-10))
    assert b.distances.parted(far) == (x, -7)
    assert b.distances.parted(b.mul(far, i64(2)))[1] == 0
    assert b.distances.parted(i64(5)) == (i64(0), 5)


def test_what_surely_runs_once_is_written_without_branches():
    b = Builder(Module(Target(512)), "f", (("ptr", "p"),), "i64")
    with b.when(b.icmp("slt", i64(1), i64(2))):
        b.store(i64(7), b.parameters[0])
    with b.loop(i64(8), i64(16), 8, [i64(1)]) as once:
        once.carry(b.add(once.carried[0], once.index))
    b.ret(once.results[0])
    assert "br " not in b.text() and "ret i64 9" in b.text()


@pytest.mark.parametrize("spilled", [False, True])
def test_rows_of_a_tile_have_one_address(spilled):
    k, bias = 300 if spilled else 200, ag.ones(800)
    x, w = ag.ones((800, k)), ag.ones((k, 800))
    product = ag.jit(lambda x, w: x @ w + bias)
    assert float(product(x, w)[799, 799].array) == k + 1
    kernel = max(product.ir().split("\ndefine "), key=len)
    blocks = re.split(r"\n[\w.$-]+:", kernel)
    assert max(block.count(", 800\n") for block in blocks) in (1, 2)  # operand and result


def test_numbers_of_values_rise_wherever_they_are_written():
    module = Module(Target(512))
    b = Builder(module, "f", (("ptr", "p"), ("i64", "n")), "i64", internal=False)
    p, n = b.parameters
    x = b.load("i64", p)
    with b.beginning():
        first = b.load("i64", p)
    with b.loop(i64(0), n, carried=[x]) as loop:
        loop.carry(b.mul(loop.carried[0], first))
    b.ret(loop.results[0])
    numbers = [int(n) for n in re.findall(r"^  %(\d+) =", b.text(), re.M)]
    assert len(numbers) > 5 and numbers == sorted(numbers)
    b.module.add(b.name, b.text())
    code = machine.load(str(module))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    assert function(ctypes.addressof(ctypes.c_int64(3)), 4) == 3**5
