"""Arrays of generated functions: small ones on the stack, the others in a block of the thread's."""

from __future__ import annotations

import ctypes
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("llvmlite.binding")

import agnesi as ag
from agnesi.codegen.llvm import scratch
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.target import Target
from agnesi.runtime import machine, support

LARGE = 3 * scratch.MAX_STACK_BYTES
_STACKED = re.compile(r"alloca (.+), i64 (\d+), align 64")


def on_stack(text: str) -> int:
    """Bytes of the arrays that a function keeps on the stack."""
    return sum(nbytes(t) * int(n) for t, n in _STACKED.findall(text))


def function(module: Module, name: str, result: str = "i64") -> Builder:
    return Builder(module, name, (("i64", "begin"),), result, internal=False)


def loaded(module: Module, name: str = "f"):
    code = machine.load(str(module))
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address(name))
    run.code = code
    return run


@pytest.mark.parametrize(("type_", "bytes_"), [
    ("i8", 1), ("i1", 1), ("i64", 8), ("ptr", 8), ("float", 4), ("half", 2), ("bfloat", 2),
    ("double", 8), ("<16 x float>", 64), ("[40 x i8]", 40),
])
def test_bytes_of_types(type_, bytes_):
    assert nbytes(type_) == bytes_


def test_small_arrays_are_on_the_stack_alone():
    b = function(Module(Target(512)), "f")
    for _ in range(4):
        b.alloca("float", scratch.MAX_STACK_BYTES // 16)
    b.ret(i64(0))
    assert on_stack(b.text()) == scratch.MAX_STACK_BYTES
    assert "scratch" not in b.text()


def test_the_stack_is_bounded_whatever_a_function_asks_for():
    b = function(Module(Target(512)), "f")
    for i in range(100):
        b.alloca("i8", 1 + 64 * i)
    b.alloca("<8 x double>", LARGE)
    b.ret(i64(0))
    assert 0 < on_stack(b.text()) <= scratch.MAX_STACK_BYTES
    assert b.text() == b.text()
    assert b.text().count("scratch_take") == b.text().count("scratch_give") == 1


def test_every_return_gives_the_block_back():
    """A function with two returns, in a loop of another one that has a block of its own."""
    module = Module(Target(512))
    inner = function(module, "inner")
    room = inner.alloca("i64", LARGE)
    inner.store(inner.parameters[0], inner.gep("i64", room, i64(LARGE - 1)))
    with inner.when(inner.icmp("eq", inner.op("and", inner.parameters[0], i64(1)), i64(0))):
        leave, go = inner.label("leave"), inner.label("go")
        inner.cbr(Value("true", "i1"), leave, go)
        inner.open_block(leave)
        inner.ret(i64(0))
        inner.open_block(go)
    inner.finish(inner.load("i64", inner.gep("i64", room, i64(LARGE - 1))))
    outer = function(module, "f")
    room = outer.alloca("i64", LARGE)
    outer.store(i64(7), outer.gep("i64", room, i64(LARGE - 1)))
    with outer.loop(i64(0), outer.parameters[0], 1, [i64(0)]) as turn:
        found = outer.call("i64", "inner", turn.index)
        turn.carry(outer.add(turn.carried[0], found))
    kept = outer.load("i64", outer.gep("i64", room, i64(LARGE - 1)))
    address = outer.op("and", outer.cast("ptrtoint", room, "i64"), i64(63))
    outer.finish(outer.add(turn.results[0], outer.add(kept, address)))
    run = loaded(module)
    with ThreadPoolExecutor(3) as threads:  # without the GIL
        found = list(threads.map(run, [20001] * 12))
    assert found == [10000 ** 2 + 7] * 12


def test_a_function_without_memory_returns_at_once():
    b = function(Module(Target(512)), "f")
    room = b.alloca("i8", 1 << 60)
    b.store(const("i8", 1), room)
    b.finish(i64(5))
    assert loaded(b.module)(0) == 0
    assert support.refused() == 1 << 60


def test_a_call_without_memory_for_a_kernel_is_a_memory_error(monkeypatch):
    x, w = ag.ones((2, 16, 32, 32)), ag.ones((16, 16, 3, 3))
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "MAX_STACK_BYTES", 0)
        patch.setattr(scratch, "nbytes", lambda type_: 1 << 50)
        f = ag.jit(lambda x, w: ag.conv2d(x, w, padding=1).sum())
        with pytest.raises(MemoryError, match="no memory is left for"):
            f(x, w)
    assert ag.jit(lambda x, w: ag.conv2d(x, w).sum())(x, w).item() == 2 * 16 * 30 * 30 * 144
