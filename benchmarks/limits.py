"""What the machine can do: memory bandwidth by working set, and the peak of its FMA units."""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

CHAINS = 12  # independent accumulators: enough to fill two FMA pipes of four or five cycles
WORKING_SETS = [2**k for k in range(13, 28, 2)]  # bytes a thread, 8 KiB to 128 MiB


def measure(threads: int) -> dict[str, Any]:
    """Peaks with so many threads: `{"flops": {dtype: FLOP/s}, "bandwidth": {bytes: B/s}}`."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    engine, address = _compile(llvm, _source(width), features.flatten() + ",-prefer-256-bit")
    flops = {
        "float32": _fma_peak(address("fma_float"), width // 4, threads),
        "float64": _fma_peak(address("fma_double"), width // 8, threads),
    }
    triad = address("triad")
    bandwidth = {n * threads: _bandwidth(triad, n, width, threads) for n in WORKING_SETS}
    del engine
    return {"threads": threads, "flops": flops, "bandwidth": bandwidth}


def bound(
    limits: Mapping[str, Any], nbytes: int, flops: int, dtype: str = "float32"
) -> float | None:
    """Seconds below which the machine cannot do it: the slower of moving and computing."""
    if not nbytes and not flops:
        return None
    moving = nbytes / bandwidth_at(limits["bandwidth"], nbytes) if nbytes else 0.0
    return max(moving, flops / limits["flops"][dtype])


def bandwidth_at(curve: Mapping[Any, float], nbytes: int) -> float:
    """Bandwidth for a working set, between the measured points on a logarithmic scale."""
    points = sorted((math.log(int(size)), rate) for size, rate in curve.items())
    return float(np.interp(math.log(nbytes), *zip(*points, strict=True)))


def _source(width: int) -> str:
    return (
        _fma_source("float", width // 4) + _fma_source("double", width // 8) + _triad_source(width)
    )


def _fma_source(scalar: str, lanes: int) -> str:
    """`fma_<scalar>(out, count)`: CHAINS vector FMAs a turn, on registers only."""
    vec = f"<{lanes} x {scalar}>"
    intrinsic = f"@llvm.fmuladd.v{lanes}f{32 if scalar == 'float' else 64}"
    turns = range(CHAINS)
    lines = [
        f"declare {vec} {intrinsic}({vec}, {vec}, {vec})",
        f"define void @fma_{scalar}(ptr %out, i64 %count) {{",
        "entry:",
        f"  %m = load {vec}, ptr %out, align 4",
        # Each chain starts from memory of its own: equal chains would be merged.
        *(f"  %p{k} = getelementptr {vec}, ptr %out, i64 {k + 1}" for k in turns),
        *(f"  %a{k} = load {vec}, ptr %p{k}, align 4" for k in turns),
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [0, %entry], [%next, %loop]",
        *(f"  %x{k} = phi {vec} [%a{k}, %entry], [%y{k}, %loop]" for k in turns),
        *(f"  %y{k} = call {vec} {intrinsic}({vec} %x{k}, {vec} %m, {vec} %m)" for k in turns),
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %loop, label %done",
        "done:",
        *(f"  store {vec} %y{k}, ptr %p{k}, align 4" for k in turns),
    ]
    return "\n".join([*lines, "  ret void", "}", ""])


def _triad_source(width: int) -> str:
    """`triad(a, b, c, vectors, passes)`: c = a + 3 b, `passes` times over the same memory."""
    lanes = width // 4
    vec = f"<{lanes} x float>"
    three = f"<{', '.join(['float 3.0'] * lanes)}>"
    body = []
    for k in range(4):
        body += [
            f"  %j{k} = add i64 %i, {k}",
            f"  %pa{k} = getelementptr {vec}, ptr %a, i64 %j{k}",
            f"  %pb{k} = getelementptr {vec}, ptr %b, i64 %j{k}",
            f"  %pc{k} = getelementptr {vec}, ptr %c, i64 %j{k}",
            f"  %va{k} = load {vec}, ptr %pa{k}, align {width}",
            f"  %vb{k} = load {vec}, ptr %pb{k}, align {width}",
            f"  %m{k} = fmul {vec} %vb{k}, {three}",
            f"  %s{k} = fadd {vec} %va{k}, %m{k}",
            f"  store {vec} %s{k}, ptr %pc{k}, align {width}",
        ]
    return "\n".join(
        [
            "define void @triad(ptr noalias %a, ptr noalias %b, ptr noalias %c, "
            "i64 %vectors, i64 %passes) {",
            "entry:",
            "  br label %outer",
            "outer:",
            "  %pass = phi i64 [0, %entry], [%pass1, %after]",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [0, %outer], [%next, %loop]",
            *body,
            "  %next = add i64 %i, 4",
            "  %more = icmp slt i64 %next, %vectors",
            "  br i1 %more, label %loop, label %after",
            "after:",
            # The passes must all happen: the compiler may not know that memory stays as it is.
            '  call void asm sideeffect "", "~{memory}"()',
            "  %pass1 = add i64 %pass, 1",
            "  %again = icmp slt i64 %pass1, %passes",
            "  br i1 %again, label %outer, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )


def _compile(llvm: Any, source: str, features: str) -> tuple[Any, Callable[[str], int]]:
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2
    )
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address


def _fma_peak(address: int, lanes: int, threads: int) -> float:
    """FLOP/s of so many threads, two for each FMA."""
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)
    count = 1_000_000
    scratch = [np.full(16 * 64, 0.5, np.float64) for _ in range(threads)]
    best = min(
        together([partial(kernel, s.ctypes.data, count) for s in scratch]) for _ in range(7)
    )
    return 2 * lanes * CHAINS * count * threads / best


def _bandwidth(address: int, nbytes: int, width: int, threads: int) -> float:
    """Bytes a second of a triad over so many bytes by each thread, reads and writes counted."""
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(address)
    step = nbytes // 3 // 256 * 256
    passes = max(2, 400_000_000 // nbytes)  # long beside the start of a thread
    pools = [np.zeros(3 * step + 64, np.uint8) for _ in range(threads)]

    def job(pool: np.ndarray) -> None:
        start = -(-pool.ctypes.data // 64) * 64
        kernel(start, start + step, start + 2 * step, step // width, passes)

    jobs = [partial(job, pool) for pool in pools]
    best = min(together(jobs) for _ in range(9))
    return 3 * step * passes * threads / best


def together(jobs: list[Callable[[], None]]) -> float:
    """Seconds until jobs that all start at once have all ended (ctypes lets go of the GIL)."""
    if len(jobs) == 1:
        start = time.perf_counter()
        jobs[0]()
        return time.perf_counter() - start
    gate = threading.Barrier(len(jobs) + 1)

    def wait_and_run(job: Callable[[], None]) -> None:
        gate.wait()
        job()

    workers = [threading.Thread(target=wait_and_run, args=(job,)) for job in jobs]
    for worker in workers:
        worker.start()
    gate.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start
