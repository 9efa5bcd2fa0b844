"""Elementwise formulas, small to large: the four of Theano's 2010 figure and two with functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "elementwise formulas, 10 to 5 000 000 elements"
THREADS = (1, 2)
SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 5_000_000)
QUICK_SIZES = (10, 1_000, 100_000, 5_000_000)

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Formula:
    """A formula, as an expression over `xp`'s functions and, hand-tuned, with no fresh memory.

    `steps(xp, a, b, out, tmp)` writes into `out` through `xp`'s `out=` arguments only.
    """

    name: str
    arity: int
    write: Callable[..., Any]
    steps: Callable[..., Any]
    text: str  # numexpr's
    transcendental: bool = False


def _step_affine(xp: Any, a: Any, b: Any, out: Any, tmp: Any) -> Any:
    xp.multiply(a, 2, out=out)
    xp.multiply(b, 3, out=tmp)
    return xp.add(out, tmp, out=out)


def _step_square(xp: Any, a: Any, b: Any, out: Any, tmp: Any) -> Any:
    xp.multiply(b, 2, out=out)  # a² + b² + 2ab = a (a + 2b) + b²
    xp.add(out, a, out=out)
    xp.multiply(out, a, out=out)
    xp.multiply(b, b, out=tmp)
    return xp.add(out, tmp, out=out)


def _step_power(xp: Any, a: Any, b: Any, out: Any, tmp: Any) -> Any:
    xp.multiply(b, b, out=out)
    xp.multiply(out, out, out=tmp)
    xp.multiply(tmp, tmp, out=tmp)
    xp.multiply(out, tmp, out=out)
    xp.multiply(a, 2, out=tmp)
    return xp.add(out, tmp, out=out)


def _step_tanh(xp: Any, a: Any, b: Any, out: Any, tmp: Any) -> Any:
    xp.tanh(a, out=out)
    xp.negative(b, out=tmp)
    xp.exp(tmp, out=tmp)
    return xp.multiply(out, tmp, out=out)


def _step_sin(xp: Any, a: Any, b: Any, out: Any, tmp: Any) -> Any:
    xp.multiply(a, a, out=out)
    xp.log1p(out, out=out)
    xp.sin(b, out=tmp)
    return xp.add(out, tmp, out=out)


FORMULAS = (
    Formula("a+1", 1, lambda xp, a: a + 1, lambda xp, a, out, tmp: xp.add(a, 1, out=out), "a+1"),
    Formula("2a+3b", 2, lambda xp, a, b: 2 * a + 3 * b, _step_affine, "2*a+3*b"),
    Formula(
        "a²+b²+2ab", 2, lambda xp, a, b: a**2 + b**2 + 2 * a * b, _step_square, "a**2+b**2+2*a*b"
    ),
    Formula("2a+b¹⁰", 2, lambda xp, a, b: 2 * a + b**10, _step_power, "2*a+b**10"),
    Formula(
        "tanh(a)exp(-b)", 2, lambda xp, a, b: xp.tanh(a) * xp.exp(-b), _step_tanh,
        "tanh(a)*exp(-b)", True,
    ),
    Formula(
        "log1p(a²)+sin(b)", 2, lambda xp, a, b: xp.log1p(a * a) + xp.sin(b), _step_sin,
        "log1p(a*a)+sin(b)", True,
    ),
)  # fmt: skip


def run(context: Context) -> list[Result]:
    return context.measure_all(_cases(QUICK_SIZES if context.quick else SIZES))


def _cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        for formula in FORMULAS:
            functions = _PytensorOnce(formula, dtype)
            for size in sizes:
                yield _case(formula, dtype, size, functions)


def _case(formula: Formula, dtype: str, size: int, functions: _PytensorOnce) -> Case:
    rng = np.random.default_rng(size)
    arrays = tuple(rng.uniform(0.1, 1.0, size).astype(dtype) for _ in range(formula.arity))
    contenders = {
        "agnesi": lambda: _agnesi(formula, arrays),
        "numpy": lambda: Contender(_bind(formula.write, np), arrays),
        "numpy out=": lambda: _numpy_out(formula, arrays),
        "numexpr": lambda: _numexpr(formula, arrays),
        "torch": lambda: _torch(formula, arrays),
        "torch out=": lambda: _torch_out(formula, arrays),
        "jax": lambda: _jax(formula, arrays),
        "pytensor numba": lambda: Contender(functions("numba"), arrays),
        "pytensor c": lambda: Contender(functions("cvm"), arrays),
    }
    exact = [a.astype(np.float64) for a in arrays]
    return Case(
        f"{formula.name} {dtype} {size}",
        lambda: formula.write(np, *exact).astype(dtype),
        contenders,
        rtol=1e-5 if dtype == "float32" else 1e-12,
        bytes=(formula.arity + 1) * size * np.dtype(dtype).itemsize,
        dtype=dtype,
        goal=1.5 if formula.transcendental and size >= 1_000 else 1.0,
    )


def _bind(write: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """A function of the arrays alone; two plain forms cost less than `*args`."""
    if write.__code__.co_argcount == 2:
        return lambda a: write(xp, a)
    return lambda a, b: write(xp, a, b)


def _agnesi(formula: Formula, arrays: Arrays) -> Contender:
    ag = peers.agnesi()
    fn = ag.jit(_bind(formula.write, ag))
    return Contender(fn, tuple(ag.tensor(a) for a in arrays))


def _numpy_out(formula: Formula, arrays: Arrays) -> Contender:
    out, tmp = np.empty_like(arrays[0]), np.empty_like(arrays[0])
    return Contender(formula.steps, (np, *arrays, out, tmp))


def _numexpr(formula: Formula, arrays: Arrays) -> Contender:
    """The compiled expression itself, which spares the look-up of its text."""
    ne = peers.numexpr()
    kind = float if arrays[0].dtype == np.float32 else np.double  # numexpr's names for the two
    fn = ne.NumExpr(formula.text, [(name, kind) for name in "ab"[: formula.arity]])
    return Contender(fn, arrays, {"out": np.empty_like(arrays[0]), "ex_uses_vml": False})


def _torch(formula: Formula, arrays: Arrays) -> Contender:
    torch = peers.torch()
    return Contender(_bind(formula.write, torch), tuple(map(torch.from_numpy, arrays)))


def _torch_out(formula: Formula, arrays: Arrays) -> Contender:
    torch = peers.torch()
    tensors = tuple(map(torch.from_numpy, arrays))
    out, tmp = torch.empty_like(tensors[0]), torch.empty_like(tensors[0])
    return Contender(formula.steps, (torch, *tensors, out, tmp))


def _jax(formula: Formula, arrays: Arrays) -> Contender:
    fn = peers.jax_waiting(_bind(formula.write, peers.jax().numpy))
    return Contender(fn, peers.jax_arrays(*arrays))


class _PytensorOnce:
    """PyTensor's functions of a formula, compiled at the first size and kept for the others."""

    def __init__(self, formula: Formula, dtype: str) -> None:
        self.formula, self.dtype = formula, dtype
        self.compiled: dict[str, Any] = {}

    def __call__(self, linker: str) -> Any:
        if linker not in self.compiled:
            pt = peers.pytensor().tensor
            inputs = [pt.vector(name, dtype=self.dtype) for name in "ab"[: self.formula.arity]]
            output = self.formula.write(pt, *inputs)
            self.compiled[linker] = peers.pytensor_function(inputs, output, linker)
        return self.compiled[linker]
