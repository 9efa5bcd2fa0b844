"""LLVM's C functions, called directly."""

import ctypes
from types import SimpleNamespace

import llvmlite.binding
import pytest

from agnesi.core.target import Target
from agnesi.runtime import llvm, llvm_api


def declared(**changed):
    """llvmlite's library, some functions with other arguments."""
    names = [llvm_api.PREFIX + name for name in llvm_api.LONG | llvm_api.SHORT]
    real = {name: getattr(llvmlite.binding.ffi.lib, name) for name in names}
    others = {llvm_api.PREFIX + n: SimpleNamespace(argtypes=types) for n, types in changed.items()}
    return SimpleNamespace(**{**real, **others})


def test_functions_take_what_llvmlite_says():
    assert llvm_api.differing(llvmlite.binding.ffi.lib) == []
    told = sum(getattr(declared(), llvm_api.PREFIX + n).argtypes is not None for n in llvm_api.LONG)
    assert told == len(llvm_api.LONG)


def test_functions_that_changed_are_found():
    changed = declared(CreatePassBuilder=[ctypes.c_void_p] * 3, PTOSetLoopUnrolling=[ctypes.c_int])
    assert set(llvm_api.differing(changed)) == {"CreatePassBuilder", "PTOSetLoopUnrolling"}


def test_a_newer_llvmlite_is_asked(monkeypatch):
    assert (0, 45) <= llvm.version() < (100, 0)
    monkeypatch.setattr(llvm, "version", lambda: (99, 0))
    text = "define i32 @f() { ret i32 1 }"
    assert len(llvm._library.__wrapped__().c.__dict__) == len(llvm_api.LONG | llvm_api.SHORT)
    monkeypatch.setattr(llvmlite.binding.ffi, "lib", declared(SetTarget=[ctypes.c_void_p]))
    with pytest.raises(RuntimeError, match="declares other arguments of SetTarget: install an"):
        llvm._library.__wrapped__()
    assert "@f" in llvm.texts(text, Target(128), 1)[0]


UNKNOWN = """define i32 @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}
"""


@pytest.mark.parametrize(
    ("text", "told"), [("wrong", "expected top-level"), (UNKNOWN, "does not dominate all uses")]
)
def test_wrong_modules_raise(text, told):
    with pytest.raises(RuntimeError, match=told):
        llvm.texts(text, Target(128), 1)
