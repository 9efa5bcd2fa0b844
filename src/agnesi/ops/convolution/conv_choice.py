"""Which implementation a convolution gets: as requested, by a rule, or by timing them.

``config.conv_algorithm`` or ``algorithm=`` names one of :data:`ALGORITHMS`, or a policy:

- "auto": a rule; so do "guess_once" and "guess_on_shape_change", which remember what it said.
- "time_once", "time_on_shape_change": the candidates run on operands of the shapes at hand, for the
  first shape only or for each new one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.ir.dims import is_static
from agnesi.core.op import Op, typed
from agnesi.core.support.config import HOOKS, config
from agnesi.core.support.host import memory
from agnesi.ops.convolution.conv_by import Direct, Fourier, Reference, Unfolded

ALGORITHMS: dict[str, Callable[[Any], Op]] = {
    "implicit_gemm": lambda op: op, "direct": Direct, "unfold": Unfolded, "fft": Fourier,
    "reference": Reference,
}
POLICIES = ("auto", "guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change")
KINDS = ("forward", "input", "weight")
Requests = tuple[str, str, str]

_known: dict[Any, str] = {}
#: Runs of each algorithm, of which the fastest counts.
_ROUNDS = 2


def _log(text: str, *parts: Any) -> None:
    import logging  # takes milliseconds, and few need it

    logging.getLogger("agnesi.conv").info(text, *parts)


def requests(algorithm: Any) -> Requests | None:
    """Return the algorithms requested for the convolution and its two adjoints; None for the usual
    rule.

    ``algorithm`` is a name for all three, a name for each, or a dict of them by kind.
    """
    usual = (config.conv_forward, config.conv_input, config.conv_weight)
    usual = tuple(name or config.conv_algorithm for name in usual)
    if algorithm is None:
        names = usual
    elif isinstance(algorithm, str):
        names = (algorithm,) * 3
    elif isinstance(algorithm, dict):
        if unknown := algorithm.keys() - set(KINDS):
            raise ValueError(f"algorithm has no part {sorted(unknown)}; there are {KINDS}")
        names = tuple(algorithm.get(k, u) for k, u in zip(KINDS, usual, strict=True))
    else:
        names = tuple(algorithm) if isinstance(algorithm, (tuple, list)) else ()
    if len(names) != 3 or any(n not in ALGORITHMS and n not in POLICIES for n in names):
        raise ValueError(
            f"algorithm {algorithm!r} must be one of {(*ALGORITHMS, *POLICIES)}, or one for each "
            f"of {KINDS}"
        )
    if all(n == "auto" for n in names) and not _excluded():
        return None
    return names


def _excluded() -> list[str]:
    """Return the ways to convolve that ``config.conv_exclude`` names."""
    names: list[str] = config.conv_exclude.replace(",", " ").split()
    unknown = [n for n in names if n not in ALGORITHMS]
    if unknown:
        raise ValueError(f"config.conv_exclude names {unknown[0]!r}; the algorithms are "
                         f"{', '.join(ALGORITHMS)}")
    return names


#: Operations of the graph that the usual algorithm is, and those that unfolding leaves.
_SHOWN = {"conv": "implicit_gemm", "conv_grad_x": "implicit_gemm", "conv_grad_w": "implicit_gemm",
          "columns": "unfold", "folded": "unfold"}


def chosen(nodes: Any) -> list[str]:
    """The algorithms of the convolutions of an optimised graph, in order, for people."""
    names = [n.op.name for n in nodes if n.op is not None]
    return [name if " by " in name else f"{name} by {_SHOWN[name]}"
            for name in names if " by " in name or name in _SHOWN]


def bound(op: Any, *xs: Any) -> Op:
    """The operation with the implementation that was requested with it."""
    if op.by is None:
        return op
    request = op.by[KINDS.index(op.kind)]
    name = request if request in ALGORITHMS else _decided(request, op, xs)
    reason = _unfit(name, op, xs)
    if reason:
        raise ValueError(f"the convolution algorithm {name!r} is not available here: {reason}")
    return ALGORITHMS[name](op)


def _unfit(name: str, op: Any, xs: Any) -> str:
    """Why an algorithm cannot be used; empty where it can."""
    dtype, rank = xs[0].dtype, len(xs[0].shape) - 2
    if name in _excluded():
        return "config.conv_exclude names it"
    if name in ("implicit_gemm", "direct") and not (config.compile and HOOKS.compiles()):
        return "it is generated code, and nothing is compiled; install llvmlite, or ask for another"
    if name == "implicit_gemm" and (dtype.name not in ("float32", "float64") or rank > 3):
        return f"it is for float32 and float64 over up to 3 axes, not for {typed(xs[0])}"
    if name == "direct" and dtype.kind == "c":
        return "compiled loops have no complex numbers"
    if name == "unfold" and dtype.kind == "c" and config.compile:
        return "compiled products have no complex numbers"
    return ""


def candidates(op: Any, xs: Any) -> list[str]:
    """The algorithms that can be used, the likely fastest first."""
    found = [name for name in ALGORITHMS if not _unfit(name, op, xs)]
    if not found:
        raise ValueError(f"config.conv_exclude leaves no algorithm for {op.name} of {typed(xs[0])}")
    return found


def _decided(policy: str, op: Any, xs: Any) -> str:
    """Return the algorithm that a policy chooses, and remember it if the policy wants that."""
    shapes = tuple(x.shape for x in xs)
    key: Any = policy, config.conv_exclude, op.name, op.windows, op.groups, xs[0].dtype
    if not policy.endswith("once"):
        key = (*key, shapes)
    name = _known.get(key)
    if name is None or _unfit(name, op, xs):
        timed = policy.startswith("time") and all(map(is_static, shapes))
        name = _timed(op, xs) if timed else candidates(op, xs)[0]
        _known[key] = name
        _log("%s of %s: %s, by %s", op.name, " and ".join(map(typed, xs)), name, policy)
    return name


def _timed(op: Any, xs: Any) -> str:
    """The fastest on random operands of these shapes."""
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.random(x.shape), x.dtype) for x in xs]
    spent = {}
    for name in candidates(op, xs):
        if name == "unfold" and _columns_bytes(op, xs) > memory() // 4:
            _log("%s: unfold is left out, its columns take too much memory", op.name)
            continue
        spent[name] = _seconds(ALGORITHMS[name](op), arrays)
    best = min(spent, key=lambda name: spent[name])
    _log("%s: %s", op.name, ", ".join(f"{n} {1e3 * s:.3f} ms" for n, s in spent.items()))
    return best


def _columns_bytes(op: Any, xs: Any) -> int:
    shape, _ = op.infer(*xs)
    kernel = (shape if op.kind == "weight" else xs[1].shape)[2:]
    images = shape if op.kind == "input" else xs[0].shape
    output = {"forward": shape, "input": xs[0].shape, "weight": xs[1].shape}[op.kind][2:]
    return int(math.prod(images[:2]) * math.prod(kernel) * math.prod(output)) * xs[0].dtype.itemsize


def _seconds(op: Op, arrays: list[np.ndarray]) -> float:
    """Time of a call, the best of some."""
    native = HOOKS.native if config.compile and HOOKS.compiles() else None
    run: Any = op.perform if native is None else native(op, arrays)
    run(*arrays)
    best = math.inf
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        run(*arrays)
        best = min(best, time.perf_counter() - start)
    return best
