"""Machine code: compiled, cached, loaded, read back as text."""

import ctypes
import math
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from agnesi.core.support import host
from agnesi.core.support.config import config
from agnesi.runtime import disk_cache, elf, llvm, machine

IR = """
@table = global [3 x i64] [i64 10, i64 20, i64 30]
@address = global ptr @wave
declare double @sin(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @wave(double %x) nounwind {
  %y = call double @sin(double %x)
  %z = fmul double %y, 0x400921FB54442D18
  ret double %z
}
define i64 @pick(i64 %i) nounwind {
  %p = getelementptr i64, ptr @table, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}
define void @copy(ptr %to, ptr %from, i64 %n) nounwind {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
"""


def check(code):
    wave = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    assert wave(code.address("wave"))(1.5) == math.sin(1.5) * math.pi
    stored = ctypes.c_void_p.from_address(code.address("address")).value
    assert stored == code.address("wave")
    pick = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("pick"))
    assert [pick(i) for i in range(3)] == [10, 20, 30]
    ctypes.c_int64.from_address(code.address("table")).value = 7
    assert pick(0) == 7
    target = ctypes.create_string_buffer(100)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    copy(code.address("copy"))(ctypes.addressof(target), b"x" * 99, 99)
    assert target.value == b"x" * 99


@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_load_runs_calls_data_and_constants(optimize):
    check(machine.load(IR, optimize=optimize))


def test_programs_share_generators_which_make_the_same_code(monkeypatch):
    texts = [f"define i32 @answer() nounwind {{ ret i32 {n} }}" for n in (1, 2, 3)]
    alone = [llvm.Generator(machine.native(), 1).object(text) for text in texts]
    monkeypatch.setattr(llvm, "_IDLE", {})
    made = []
    monkeypatch.setattr(llvm, "Generator", lambda *a, new=llvm.Generator: made.append(1) or new(*a))
    assert [machine.compile_objects([text])[0] for text in texts] == alone and len(made) == 1


def test_llvm_loader_agrees_where_ours_does_not_serve(monkeypatch):
    monkeypatch.setattr(elf, "SUPPORTED", False)
    check(machine.load(IR))


def test_a_module_that_was_begun_is_like_one_that_was_loaded(fresh_cache, monkeypatch):
    begun = machine.Begun(IR, machine.native())
    check(begun.code)
    assert begun.code is begun.code

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(llvm.Team, "add", refuse)
    check(machine.Begun(IR, machine.native()).code)


def test_every_load_has_its_own_data():
    first, second = machine.load(IR), machine.load(IR)
    assert first.address("table") != second.address("table")


def test_texts_on_demand():
    code = machine.load(IR)
    assert "@wave" in code.ir() and "target triple" in code.ir()
    assert "wave" in code.asm() and "ret" in code.asm()


def test_missing_symbol_is_named():
    with pytest.raises(KeyError, match="no external symbol 'nothing'"):
        machine.load(IR).address("nothing")


def test_wrong_ir_is_an_error_of_ours_not_a_crash():
    wrong = """define i32 @f(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %x = phi i32 [0, %entry]
  ret i32 %x
}"""
    with pytest.raises(RuntimeError, match="PHI"):
        machine.load(wrong)


def test_unknown_function_is_reported():
    with pytest.raises(RuntimeError, match="no_such_function"):
        machine.load(
            "declare void @no_such_function()\ndefine void @f() {\n"
            "call void @no_such_function()\nret void\n}"
        )


def test_many_modules_at_once():
    texts = [f"define i32 @f() {{\n  ret i32 {i}\n}}" for i in range(20)]
    one, several = (
        llvm.Team(machine.native(), 1, threads).objects(texts)
        for threads in (1, 4)
    )
    assert one == several and len(set(one)) == 20
    with pytest.raises(RuntimeError, match="expected"):
        llvm.Team(machine.native(), 1, 4).objects([*texts, "wrong"])


def test_a_team_begins_before_all_is_known():
    interval = sys.getswitchinterval()
    team = llvm.Team(machine.native(), 1, 2)
    texts = [f"define i32 @f() {{\n  ret i32 {i}\n}}" for i in range(6)]
    for text in texts[:4]:
        team.add(text)
    together = team.objects(texts)
    alone = llvm.Team(machine.native(), 1, 1).objects(texts)
    assert together == alone == team.objects(texts)
    team.add("wrong")
    with pytest.raises(RuntimeError, match="expected"):
        team.objects(texts)
    assert sys.getswitchinterval() == interval


def test_options_are_those_of_the_highest_level_and_go_when_nobody_generates(monkeypatch):
    given = {}

    def take(_, option):
        name, _, value = option.decode().partition("=")
        given[name] = value

    c = SimpleNamespace(SetCommandLine=take)
    monkeypatch.setattr(llvm, "library", lambda: SimpleNamespace(c=c))
    options, interval = llvm._Options(), sys.getswitchinterval()
    kept = ("-disable-lsr", "-enable-misched")
    first, second, third = object(), object(), object()
    options.use(first, 0)
    assert [given[name] for name in kept] == ["true", "false"]
    assert sys.getswitchinterval() < interval
    options.use(second, 1)
    options.use(third, 0)
    assert [given[name] for name in kept] == ["true", "true"]
    options.use(third, None)
    options.use(second, None)
    assert [given[name] for name in kept] == ["true", "false"]
    options.use(first, None)
    assert [given[name] for name in kept] == ["false", "true"]
    assert sys.getswitchinterval() == interval


def test_target_is_read_from_the_cache_alike(fresh_cache):
    machine.native.cache_clear()
    first = machine.native()
    machine.native.cache_clear()
    assert len(list(fresh_cache.glob("*.agn"))) == 1
    assert machine.native() == first
    assert first.vector_bits in (128, 256, 512) and first.l1 <= first.l2
    assert not first.has("prefer-256-bit")


def test_second_process_runs_without_llvm(fresh_cache):
    script = (
        "import sys; from agnesi.core.support.config import config; "
        "config.cache_dir = sys.argv[1]\n"
        "from agnesi.runtime import machine; machine.load(sys.argv[2])\n"
        "print('agnesi.runtime.llvm_api' in sys.modules, 'llvmlite' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(fresh_cache), "define i32 @f() { ret i32 1 }"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    runs = [
        subprocess.run(command, capture_output=True, text=True, env=environment) for _ in range(2)
    ]
    assert [r.stdout.strip() for r in runs] == ["True False", "False False"], runs[0].stderr


def test_damaged_object_is_compiled_again(fresh_cache):
    machine.load(IR)
    for path in fresh_cache.glob("*" + disk_cache.SUFFIX):
        path.write_bytes(path.read_bytes()[:-5] + b"wrong")
    check(machine.load(IR))


def test_works_without_cache():
    with config(cache=False):
        check(machine.load(IR))


def test_cores_respects_the_bound():
    assert host.cores(1) == 1
    assert host.cores(0) == host.cores(host.MAX_THREADS) == host.cores()


def test_quota_of_the_control_group(tmp_path, monkeypatch):
    one, quota, period = (tmp_path / name for name in ("cpu.max", "quota", "period"))
    monkeypatch.setattr(host, "_QUOTAS", (str(one), str(quota), str(period)))
    assert host._quota(9) == 9
    quota.write_text("300000\n")
    period.write_text("100000\n")
    assert host._quota(9) == 3
    for text, expected in [("150000 100000", 2), ("max 100000", 9), ("50000 100000", 1)]:
        one.write_text(text)
        assert host._quota(9) == expected


def test_memory_is_what_the_control_group_leaves(tmp_path, monkeypatch):
    everything = host.memory()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(host, "_MEMORY", (str(limit),))
    for text, expected in [("max", None), (str(1 << 28), 1 << 28)]:
        limit.write_text(text)
        assert host.memory() == expected or (expected is None and host.memory() >= everything)


_SUM = """
define double @total(ptr %x, i64 %n) nounwind {
entry:
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %next, %turn ]
  %sum = phi double [ 0.0, %entry ], [ %more, %turn ]
  %at = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %at
  %more = fadd double %sum, %v
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %turn
end:
  ret double %more
}
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
def test_quick_code_keeps_values_of_loops_in_registers():
    code = machine.load(_SUM, optimize=0)
    assert "(%rsp)" not in code.asm() and "(%rbp)" not in code.asm()
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    total = kind(code.address("total"))
    x = np.arange(10.0)
    assert total(x.ctypes.data, 10) == 45


def test_hot_functions_get_better_code_at_the_quickest_level():
    hot = _SUM.replace("nounwind {", 'nounwind "hot" {')
    quick, marked, good = (
        machine.compile_objects([text], optimize) for text, optimize in
        [(_SUM, 0), (hot, 0), (hot, 1)]
    )
    assert marked == good != quick
