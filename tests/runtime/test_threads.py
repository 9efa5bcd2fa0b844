"""The fork-join pool: every unit once, whoever calls, however many threads there are."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from agnesi.core.support import host
from agnesi.runtime import machine, support, threads
from tests.runtime.bodies import call_body

# Adds 1 to c[i] for every unit i; `%rounds` times.  `@nested` runs `@body` in every unit.
IR = """
define internal void @task(ptr %c, i64 %begin, i64 %end, i64 %thread) nounwind {
entry:
  br label %test
test:
  %i = phi i64 [%begin, %entry], [%i1, %go]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %go, label %done
go:
  %p = getelementptr i64, ptr %c, i64 %i
  %v = load i64, ptr %p
  %v1 = add i64 %v, 1
  store i64 %v1, ptr %p
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}
define i32 @body(ptr %bufs, ptr %rt) nounwind {
entry:
  %c = load ptr, ptr %bufs
  %units.at = getelementptr ptr, ptr %bufs, i64 1
  %units = load i64, ptr %units.at
  %rounds.at = getelementptr ptr, ptr %bufs, i64 2
  %rounds = load i64, ptr %rounds.at
  %parallel = load ptr, ptr %rt
  br label %again
again:
  %i = phi i64 [0, %entry], [%i1, %again]
  call void %parallel(ptr %rt, ptr @task, ptr %c, i64 %units)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %rounds
  br i1 %more, label %again, label %done
done:
  ret i32 0
}
define internal void @outer(ptr %both, i64 %begin, i64 %end, i64 %thread) nounwind {
entry:
  %rt = load ptr, ptr %both
  %c.at = getelementptr ptr, ptr %both, i64 1
  %c = load ptr, ptr %c.at
  %parallel = load ptr, ptr %rt
  br label %test
test:
  %i = phi i64 [%begin, %entry], [%i1, %go]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %go, label %done
go:
  %row = mul i64 %i, 50
  %part = getelementptr i64, ptr %c, i64 %row
  call void %parallel(ptr %rt, ptr @task, ptr %part, i64 50)
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}
define i32 @nested(ptr %bufs, ptr %rt) nounwind {
  %both = alloca [2 x ptr]
  store ptr %rt, ptr %both
  %c = load ptr, ptr %bufs
  %c.at = getelementptr ptr, ptr %both, i64 1
  store ptr %c, ptr %c.at
  %parallel = load ptr, ptr %rt
  call void %parallel(ptr %rt, ptr @outer, ptr %both, i64 8)
  ret i32 0
}
"""


@pytest.fixture
def code():
    before = threads.get_num_threads()
    yield machine.load(IR)
    threads.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("units", [0, 1, 2, 5, 1000])
def test_every_unit_once_a_round(code, count, units):
    threads.set_num_threads(count)
    counts = np.zeros(1000, "int64")
    assert call_body(code, [counts, units, 300]) == 0
    assert (counts[:units] == 300).all() and not counts[units:].any()


def test_count_may_change_between_calls(code):
    counts = np.zeros(100, "int64")
    for turn in range(60):
        threads.set_num_threads(1 + turn % 5)
        call_body(code, [counts, 100, 20])
    assert (counts == 1200).all()


def test_tasks_may_call_back(code):
    threads.set_num_threads(3)
    counts = np.zeros(400, "int64")
    for _ in range(200):
        call_body(code, [counts], body="nested")
    assert (counts == 200).all()


def test_python_threads_at_once(code):
    threads.set_num_threads(3)
    counts = [np.zeros(500, "int64") for _ in range(4)]

    def run(own):
        for _ in range(30):
            call_body(code, [own, 500, 50])

    callers = [threading.Thread(target=run, args=(own,)) for own in counts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((own == 1500).all() for own in counts)


def _sum_in_child(code):
    counts = np.zeros(500, "int64")
    pid = os.fork()
    if not pid:
        try:
            call_body(code, [counts, 500, 100])
            os._exit(0 if (counts == 100).all() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_child_of_a_fork_starts_its_own_workers(code):
    threads.set_num_threads(3)
    counts = np.zeros(500, "int64")
    call_body(code, [counts, 500, 10])
    assert _sum_in_child(code) == 0
    call_body(code, [counts, 500, 10])
    assert (counts == 20).all()
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            call_body(code, [np.zeros(500, "int64"), 500, 100])

    other = threading.Thread(target=busy)
    other.start()
    results = [_sum_in_child(code) for _ in range(10)]
    stop.set()
    other.join()
    assert results == [0] * 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_end_before_a_fork(code):
    threads.set_num_threads(4)
    before = len(os.listdir("/proc/self/task"))
    call_body(code, [np.zeros(500, "int64"), 500, 10])
    support.call("threads_stop")
    after = len(os.listdir("/proc/self/task"))
    counts = np.zeros(500, "int64")
    call_body(code, [counts, 500, 10])
    assert len(os.listdir("/proc/self/task")) == after, "none start while the pool is stopped"
    support.call("threads_resume")
    call_body(code, [counts, 500, 10])
    assert (counts == 20).all()
    assert after <= before and len(os.listdir("/proc/self/task")) == after + 3


@pytest.mark.skipif(host.cores() < 2, reason="with one processor there is nowhere to go")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems give no masks")
def test_workers_leave_the_processor_where_their_caller_works(code):
    """Both would take turns there.  The caller is moved there while its loops run."""
    support.call("threads_stop")
    support.call("threads_resume")
    threads.set_num_threads(2)
    processors = os.sched_getaffinity(0)
    before = set(os.listdir("/proc/self/task"))
    over = threading.Event()
    masks = [processors]  # of the worker, one after another, in this call

    def call():
        while not over.is_set():
            masks[:] = [processors]
            call_body(code, [np.zeros(1000, "int64"), 1000, 500_000])

    caller = threading.Thread(target=call)
    caller.start()
    end = time.monotonic() + 20
    while not (moved := len(masks) > 4) and time.monotonic() < end:
        time.sleep(0.002)
        for one in set(os.listdir("/proc/self/task")) - before - {str(caller.native_id)}:
            mask = os.sched_getaffinity(int(one))
            if mask != masks[-1]:
                masks.append(mask)
                text = Path(f"/proc/self/task/{one}/stat").read_text()
                place = int(text.rpartition(")")[2].split()[36])
                os.sched_setaffinity(caller.native_id, {place})
                os.sched_setaffinity(caller.native_id, processors)
    over.set()
    caller.join()
    assert moved


def test_process_ends_with_sleeping_and_working_workers(tmp_path):
    script = (
        "import sys, threading, numpy as np\n"
        "from agnesi.core.support.config import config; config.cache_dir = sys.argv[1]\n"
        "from agnesi.runtime import machine, threads\n"
        "from tests.runtime.bodies import call_body\n"
        "code = machine.load(sys.argv[2]); threads.set_num_threads(3)\n"
        "run = lambda: call_body(code, [np.zeros(500, 'int64'), 500, 10**9])\n"
        "call_body(code, [np.zeros(500, 'int64'), 500, 10])\n"
        "if sys.argv[3] == 'busy': threading.Thread(target=run, daemon=True).start()\n"
        "print('end')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    for how in ("idle", "busy"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "c"), IR, how],
            capture_output=True, text=True, env=environment, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has a waiting of its own")
def test_waiting_through_a_condition(tmp_path):
    """The variant for other POSIX systems, on this one."""
    other = machine.load(support.source("posix"))
    start = ctypes.CFUNCTYPE(None)
    start(other.address("platform_reset"))()
    ctypes.c_int64.from_address(other.address("thread_count")).value = 4
    support._immortal(other)
    code = machine.load(IR)
    body = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.address("body"))
    rt = (ctypes.c_void_p * 8)(other.address("parallel_for"))
    counts = np.zeros(300, "int64")
    for _ in range(50):
        body((ctypes.c_void_p * 3)(counts.ctypes.data, 300, 20), rt)
    assert (counts == 1000).all()


@pytest.mark.parametrize("count", [0, -1, 100000])
def test_count_must_make_sense(count):
    with pytest.raises(ValueError, match=f"not {count}"):
        threads.set_num_threads(count)


def test_tasks_have_room_on_the_stack():
    """Six megabytes in a task on every thread, more than some systems give by default."""
    text = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @task(ptr %c, i64 %begin, i64 %end, i64 %thread) nounwind {
  %room = alloca i8, i64 6000000
  call void @llvm.memset.p0.i64(ptr %room, i8 1, i64 6000000, i1 false)
  %last = getelementptr i8, ptr %room, i64 5999999
  %one = load volatile i8, ptr %last
  %wide = zext i8 %one to i64
  %at = getelementptr i64, ptr %c, i64 %begin
  store i64 %wide, ptr %at
  ret void
}
define i32 @body(ptr %bufs, ptr %rt) nounwind {
  %c = load ptr, ptr %bufs
  %parallel = load ptr, ptr %rt
  call void %parallel(ptr %rt, ptr @task, ptr %c, i64 12)
  ret i32 0
}
"""
    before = threads.get_num_threads()
    threads.set_num_threads(3)
    counts = np.zeros(12, "int64")
    assert call_body(machine.load(text), [counts]) == 0
    threads.set_num_threads(before)
    assert (counts == 1).all()
