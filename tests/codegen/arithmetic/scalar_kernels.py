"""Elementwise kernels for tests: one scalar operation in a loop, compiled with llvmlite."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, vector
from agnesi.core.target import Target

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

WIDTH = {"float32": 16, "float64": 8}


class Case(NamedTuple):
    """One kernel: an operation name, or ``cast``, with dtypes and a vector width."""

    name: str
    dtypes: tuple[str, ...]
    result: str
    width: int = 16
    #: Whether it is one number that no lanes stand beside.
    alone: bool = False

    @property
    def symbol(self) -> str:
        return "_".join((self.name, *self.dtypes, self.result, str(self.width), str(self.alone)))


class Compiled(NamedTuple):
    run: Callable[..., np.ndarray]
    assembly: Callable[[], str]


def host_features() -> list[str]:
    """Features of this machine by LLVM's names, without those that narrow the vectors."""
    found = llvm.get_host_cpu_features()
    return [name for name, present in found.items() if present and name != "prefer-256-bit"]


def feature_sets() -> dict[str, list[str]]:
    """The host, and what narrower machines have, so far as this one can run it."""
    host = host_features()
    sets = {"host": host}
    if "avx512f" in host:
        sets["fused"] = [n for n in host if not n.startswith("avx512")]
    if "sse2" in host:
        sets["plain"] = ["sse2"]
    return sets


def _machine(features: Sequence[str]) -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    host = llvm.get_host_cpu_features()
    listed = ",".join(("+" if name in features else "-") + name for name in host)
    if features == ["sse2"]:
        return target.create_target_machine(cpu="x86-64", opt=2)
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=listed, opt=2)


def _memory(dtype: str) -> str:
    return "i8" if dtype == "bool" else scalars.register(dtype)


def _loaded(b: Builder, dtype: str, value: Value) -> Value:
    return b.icmp("ne", value, const(value.type, 0)) if dtype == "bool" else value


def _kernel(module: Module, case: Case) -> None:
    pointers = [("ptr noalias", f"a{k}") for k in range(len(case.dtypes))]
    parameters = [("ptr noalias", "out"), *pointers, ("i64", "n")]
    b = Builder(module, case.symbol, parameters, internal=False)
    out, *sources, n = b.parameters
    with b.loop(Value("0", "i64"), n, case.width) as loop:
        args = []
        for dtype, source in zip(case.dtypes, sources, strict=True):
            memory = _memory(dtype)
            place = b.gep(memory, source, loop.index)
            args.append(_loaded(b, dtype, b.load(vector(memory, case.width), place, 1)))
        if case.name == "cast":
            result = scalars.cast(b, args[0], case.dtypes[0], case.result)
        else:
            emit = scalars.emit_alone if case.alone else scalars.emit
            result = emit(b, case.name, case.dtypes, tuple(args))
        memory = _memory(case.result)
        if case.result == "bool":
            result = b.cast("zext", result, vector(memory, case.width))
        b.store(result, b.gep(memory, out, loop.index), 1)
    b.finish()


def compile_cases(cases: Iterable[Case], features: Sequence[str]) -> Compiled:
    """Compile all cases as one module; ``run(case, *arrays)`` calls one of them."""
    cases = list(cases)
    module = Module(Target(512, features=",".join(f"+{f}" for f in features)))
    for case in cases:
        _kernel(module, case)
    machine = _machine(features)
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = llvm.get_default_triple()
    parsed.data_layout = str(machine.target_data)
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()

    def run(case: Case, *arrays: np.ndarray) -> np.ndarray:
        count = -(-arrays[0].size // case.width) * case.width
        padded = [np.resize(np.ascontiguousarray(a), count) for a in arrays]
        out = np.empty(count, case.result)
        types = [ctypes.c_void_p] * (1 + len(arrays)) + [ctypes.c_int64]
        function = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(case.symbol))
        function(out.ctypes.data, *(a.ctypes.data for a in padded), count)
        return out[: arrays[0].size]

    return Compiled(run, lambda: machine.emit_assembly(parsed))
