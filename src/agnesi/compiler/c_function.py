"""``ag.jit(f).c_function(...)``: the address of a compiled function, for C and samplers."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from agnesi.compiler.tracing.decisions import INSTEAD
from agnesi.core.support.errors import TraceError, at
from agnesi.core.support.tree import flatten

if TYPE_CHECKING:
    from agnesi.compiler.specialization.specialization import Version


class CFunction:
    """A compiled function as C sees it.

    :ivar address: Where it is; valid as long as this object lives.
    :ivar signature: Its type, in C's words.
    :ivar ctypes: The same for ctypes, and for ``scipy.LowLevelCallable``.
    :ivar inputs, outputs: What the pointers point to: contiguous arrays.
    """

    def __init__(self, version: Version, form: str) -> None:
        from agnesi.runtime import c_function

        compiled = version.compiled
        _check(version)
        bound = compiled.bound
        assert bound is not None
        graph = compiled.graph
        results = graph.outputs[: compiled.returned]
        self.inputs = [(n.dtype, tuple(n.shape)) for n in graph.inputs]
        self.outputs = [(n.dtype, tuple(n.shape)) for n in results]
        _check_form(form, self.inputs, self.outputs)
        made = c_function.Form(form, tuple(d.name for d, _ in self.inputs),
                              tuple(d.name for d, _ in self.outputs))
        recipe = compiled.recipe
        self._bound = c_function.bind(
            bound.code, made, states=[s.array for s in bound.states], constants=recipe.constants,
            arena_bytes=recipe.arena_bytes, foreign=recipe.foreign,
            sizes=[d.itemsize * math.prod(shape) for d, shape in self.outputs],
        )
        self.address = self._bound.address
        self.signature = _signature(form, self.inputs, self.outputs)
        call: Any = ctypes.CFUNCTYPE(*made.types)(self.address)
        call.keep = self
        self.ctypes = call

    def __repr__(self) -> str:
        return f"<{self.signature} at {self.address:#x}>"


def c_function(version_of: Any, args: tuple[Any, ...], form: str) -> CFunction:
    """The C function of the version for arguments like ``args``."""
    leaves, shape = flatten((args, {}))
    leaves = [np.float64(v) if type(v) is float else v for v in leaves]
    return CFunction(version_of(leaves, shape), form)


def _check(version: Version) -> None:
    compiled = version.compiled
    if compiled.bound is None:
        raise RuntimeError(at("a C function needs native code: install llvmlite, and let "
                              "ag.config.compile be True"))
    if not version.pure or version.kept or version.cleared or compiled.recipe.reused:
        raise TraceError(
            at(f"{compiled.name} changes tensors or gradients in place (drawing random numbers "
               "does so too), which a C function must not: return the values")
        )
    if version.decisions:
        raise TraceError(at(f"Python decides in {compiled.name} by computed values, which a C "
                            f"function cannot: {version.decisions[0]}; {INSTEAD}"))
    if compiled.recipe.callbacks:
        names = ", ".join(sorted({str(c) for c in compiled.recipe.callbacks}))
        raise TraceError(at(f"{compiled.name} calls back into Python, which a C function cannot: "
                            f"{names}"))
    if len(version.tensors) != len(version.outputs):
        raise TypeError(at(f"{compiled.name} must return tensors to be a C function"))


def _check_form(form: str, inputs: Any, outputs: Any) -> None:
    if form not in ("pointers", "values", "vector"):
        raise ValueError(at(f"form must be 'pointers', 'values' or 'vector', not {form!r}"))
    if form == "pointers":
        return
    plain = len(outputs) == 1 and not outputs[0][1] and outputs[0][0].name in ("float64", "float32")
    if form == "values":
        fits = plain and all(not s and d.name in ("float64", "float32", "int64", "int32")
                             for d, s in inputs)
    else:
        fits = plain and len(inputs) == 1 and len(inputs[0][1]) == 1
    if not fits:
        wanted = "scalars to one float" if form == "values" else "one vector to one float"
        found = ", ".join(f"{d}{list(s)}" for d, s in (*inputs, *outputs))
        raise TypeError(at(f"form={form!r} is for functions of {wanted}, not of {found}"))


def _signature(form: str, inputs: Any, outputs: Any) -> str:
    names = {"float64": "double", "float32": "float", "int64": "int64_t", "int32": "int32_t"}
    ins, outs = ([names.get(d.name, "void") for d, _ in side] for side in (inputs, outputs))
    if form == "values":
        return f"{outs[0]} ({', '.join(ins)})"
    if form == "vector":
        return f"{outs[0]} (int, {ins[0]} *)"
    sizes = [math.prod(s) for _, s in (*inputs, *outputs)]
    parts = [f"{'const ' if i < len(ins) else ''}{name} *" for i, name in enumerate((*ins, *outs))]
    parameters = ", ".join(f"{p}/*{n}*/" for p, n in zip(parts, sizes, strict=True))
    return f"int ({parameters})"

