"""Compiled functions among garbage: the collector empties objects of a circle in any order."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

import agnesi as ag
from agnesi.runtime import entry, machine, pool, support
from agnesi.runtime.entry import Arg, EntrySpec, Out

pytestmark = pytest.mark.usefixtures("little_to_collect")

_METHOD_AT, _FLAGS_AT = 16, 16  # in a builtin, and in its definition


class Holder(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_void_p), ("slow", ctypes.c_void_p))


def test_definitions_of_builtins_outlive_their_owners():
    # What is read when a builtin is freed was an attribute of its self object, and went before it.
    holder = Holder(id(np.dtype), id(len))
    made = support.builtin("empty", support.native().address("empty"), holder)
    definition = ctypes.c_void_p.from_address(id(made) + _METHOD_AT).value
    vars(holder).clear()  # as the collector does first where the two are in a circle
    size = ctypes.sizeof(support._MethodDef)
    others = [ctypes.create_string_buffer(b"\xff" * size, size) for _ in range(256)]
    flags = ctypes.c_int.from_address(definition + _FLAGS_AT).value
    assert flags == support._METH_FASTCALL_KEYWORDS, len(others)


def test_equal_builtins_have_one_definition():
    places = [entry.bind(machine.load("define i32 @body(ptr %b, ptr %r) { ret i32 0 }"),
                         EntrySpec(result="none"), slow=print, failed=print, name="alike")
              for _ in range(2)]
    first, second = [ctypes.c_void_p.from_address(id(f) + _METHOD_AT).value for f in places]
    assert first == second
    assert [f.__name__ for f in places] == ["alike"] * 2


class Phoenix:
    """Comes back to life in a list, with the function that it holds, which holds it."""

    def __init__(self, code, spec, found):
        self.found = found
        self.run = entry.bind(code, spec, slow=self.slow, failed=print)

    def slow(self, *arguments):
        raise AssertionError

    def __del__(self):
        self.found.append(self)


def test_functions_that_come_back_to_life_take_new_scratch_memory():
    # They went on with what their finalizer had given back, while others had it, too.
    code = machine.load("""define i32 @body(ptr %bufs, ptr %rt) nounwind {
  %at = getelementptr ptr, ptr %bufs, i64 2
  %arena = load ptr, ptr %at
  %number = ptrtoint ptr %arena to i64
  %out.at = getelementptr ptr, ptr %bufs, i64 1
  %out = load ptr, ptr %out.at
  store i64 %number, ptr %out
  ret i32 0
}""")
    pool.trim()  # no other block of this size is handed out next
    size = 1 << 20
    spec = EntrySpec(arguments=(Arg("float"),), outputs=(Out("int64", ()),), result="single",
                     arena_bytes=size, scratch=entry.Scratch())
    found = []
    phoenix = Phoenix(code, spec, found)
    before = int(phoenix.run(0.0))
    del phoenix, spec
    gc.collect()
    (phoenix,) = found
    other = pool.empty((size,), "uint8")  # gets the memory that was given back
    start = other.ctypes.data
    assert start <= before < start + size
    now = int(phoenix.run(0.0))
    assert now + size <= start or now >= start + size


def test_compiled_functions_in_circles_are_freed():
    # Each holds itself; meanwhile others are made, in memory that becomes free.
    x = ag.ones(3)
    known = []
    for k in range(20):
        held = []
        made = ag.jit(lambda x, held=held, k=k: x * k + len(held))
        held.append(made)
        np.testing.assert_array_equal(made(x), np.full(3, k + 1.0))
        known.append(weakref.ref(made))
        del held, made
        if k % 7 == 6:
            gc.collect()
            assert not any(ref() for ref in known)
