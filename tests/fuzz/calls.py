"""Random calls of all public functions, eager beside compiled.

    python -m tests.fuzz.calls [--calls 2000] [--seed 0] [space ...]

Arguments are as random as those of ``benchmarks.random_calls``.  A call has the same results,
dtypes and gradients in ``jit``, or is refused by both; those that only one refuses are counted,
and printed with ``--refused``.  Each call is tried in one way more: compiled fast, for another
target, as a declared graph, or by ``vmap`` beside a loop.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import agnesi as ag
from benchmarks.random_calls import ASIDE, Draw, limited

#: Transformations, settings, streams and what else is no function of its arguments.
NOT_CALLED = ASIDE | frozenset("""
    print callback ensure function config shared placeholder grad value_and_grad jvp vjp hessian
    jacobian jacfwd jacrev hvp checkpoint custom_vjp custom_jvp op elementwise reduction
    rewrite_rule clear_cache limit_memory keep_memory is_tensor dump_graph set_printoptions eval
    register wrap zero_grad cleargrad data storage unchain_backward retain_graph share_memory_
    einsum_path map fori_loop functional_call random get_rng_state set_rng_state stride
""".split())
#: Errors by which a call is refused; others are accidents.
REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError, TimeoutError, OverflowError,
            MemoryError, KeyError, ag.TraceError, ag.GradientError, np.linalg.LinAlgError)
SPACES: dict[str, Any] = {"agnesi": ag, "Tensor": ag.Tensor, "functional": ag.nn.functional,
                          "linalg": ag.linalg, "special": ag.special, "fft": ag.fft}


def names_of(space: Any) -> list[str]:
    """The public functions of a module or class that are tried."""
    return [name for name in dir(space)
            if not name.startswith("_") and name not in NOT_CALLED
            and callable(found := getattr(space, name, None)) and not inspect.isclass(found)]


def _split(value: Any, arrays: list[np.ndarray]) -> Callable[[Any], Any]:
    """The argument as a function of tensors in place of its arrays, which are added to a list."""
    if isinstance(value, np.ndarray):
        place = len(arrays)
        arrays.append(value)
        return lambda tensors: tensors[place]
    if isinstance(value, list):
        parts = [_split(v, arrays) for v in value]
        return lambda tensors: [part(tensors) for part in parts]
    return lambda tensors: value


def _program(space: Any, name: str, call: tuple[list[Any], dict[str, Any]]
             ) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A call as a function of tensors, and their arrays."""
    arrays: list[np.ndarray] = []
    args = [_split(v, arrays) for v in call[0]]
    keywords = {key: _split(v, arrays) for key, v in call[1].items()}

    def program(*tensors: Any) -> Any:
        if name.endswith("_"):  # writes into a value of the program, not into its argument
            tensors = tuple(ag.positive(t) if t.dtype != ag.bool else t & True for t in tensors)
        given = [arg(tensors) for arg in args]
        result = getattr(space, name)(*given, **{k: v(tensors) for k, v in keywords.items()})
        return (result, given[0]) if name.endswith("_") else result

    return program, arrays


def _flat(found: Any) -> list[Any]:
    """All arrays and other values of an answer, in order."""
    return [x.numpy() if isinstance(x, ag.Tensor) else x for x in _leaves(found)]


def _leaves(found: Any) -> list[Any]:
    """The same with tensors as they are."""
    found = list(found.values()) if isinstance(found, dict) else found
    if isinstance(found, (tuple, list)):
        return [x for part in found for x in _leaves(part)]
    return [found]


def _answer(program: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """The results; the error of a call that is refused."""
    try:
        with limited():
            return _flat(program(*[ag.tensor(a.copy()) for a in arrays]))
    except Exception as error:
        return error


def _differ(eager: list[Any], compiled: list[Any]) -> str:
    """How two answers differ; empty where they do not."""
    if len(eager) != len(compiled):
        return f"{len(eager)} and {len(compiled)} results"
    for a, b in zip(eager, compiled, strict=True):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                return f"{type(a).__name__} and {type(b).__name__}"
            continue
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
        near = 0.0 if a.dtype.kind in "biu" else 2e-2 if a.dtype.itemsize == 2 else 2e-4
        with np.errstate(all="ignore"):
            wide = (np.asarray(v, v.dtype if near == 0 else complex) for v in (a, b))
            if not np.allclose(*wide, near, near, equal_nan=True):
                return f"{a.ravel()[:5]} and {b.ravel()[:5]}"
    return ""


def _slope(program: Callable[..., Any], arrays: list[np.ndarray]) -> Callable[..., Any] | None:
    """A call's gradient by its first argument, or None where it is not of floats."""
    if arrays[0].dtype.kind != "f":
        return None

    def total(*tensors: Any) -> Any:
        found: list[Any] = []

        def gather(value: Any) -> None:
            if isinstance(value, (tuple, list)):
                for part in value:
                    gather(part)
            elif isinstance(value, ag.Tensor) and value.dtype.kind == "f":
                found.append((value * ag.cos(ag.arange(value.size).reshape(value.shape))).sum())

        gather(program(*tensors))
        return sum(found, ag.tensor(0.0))

    return ag.grad(total)


def _declared(run: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """The results of a declared graph; those that are no tensors as they are."""
    with ag.config(symbolic_float="float32"):
        given = [ag.symbolic.tensor(a.dtype.name, a.shape) for a in arrays]
        results = _leaves(run(*given))
        tensors = [r for r in results if isinstance(r, ag.Tensor)]
        found = iter(ag.function(given, tensors, algebra="exact")(*arrays))
    return [ag.asarray(next(found)) if isinstance(r, ag.Tensor) else r for r in results]


def _mapped(run: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """The results of two examples by ``vmap``."""
    return ag.vmap(lambda *xs: [r for r in _leaves(run(*xs)) if isinstance(r, ag.Tensor)])(
        *[ag.asarray(np.stack([a, np.flip(a)])) for a in arrays])


def _looped(run: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """The same one by one."""
    examples = [[r for r in _leaves(run(*map(ag.asarray, some))) if isinstance(r, ag.Tensor)]
                for some in (arrays, [np.flip(a).copy() for a in arrays])]
    return [ag.stack(pair) for pair in zip(*examples, strict=True)]


def _scalar(run: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    """The results of code without vectors."""
    with ag.config(target="scalar"):
        return ag.jit(run)(*map(ag.asarray, arrays))


def _fast(run: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    return ag.jit(run, optimizer="fast_compile")(*map(ag.asarray, arrays))


#: More ways to run a call, beside the eager one, or what they are compared with.
OTHERS: dict[str, tuple[Any, Any]] = {
    "fast_compile": (_fast, None), "scalar": (_scalar, None), "function": (_declared, None),
    "vmap": (_mapped, _looped)}


def _other_way(name: str, run: Callable[..., Any], arrays: list[np.ndarray], eager: Any) -> str:
    """How a call differs in another way from the eager one; empty where it does not or is refused.
    """
    way, beside = OTHERS[name]

    def answer(of: Any) -> Any:
        return _answer(lambda *_: of(run, [a.copy() for a in arrays]), [])

    found = answer(way)
    expected = eager if beside is None or isinstance(found, Exception) else answer(beside)
    if isinstance(found, Exception) or isinstance(expected, Exception):
        return "" if not _is_broken(found) else f"{type(found).__name__}: {found!s:.200}"
    return _differ(expected, found)


def _is_broken(error: Any) -> bool:
    """Return whether an error is none of those by which a call is refused."""
    return isinstance(error, Exception) and not isinstance(error, REFUSALS)


def compare(space: Any, calls: int, seed: int) -> tuple[Counter[str], list[str], list[str]]:
    """Counts of what became of random calls, those that differ, and those that one refuses."""
    draw, counts = Draw(seed), Counter[str]()
    differ, refused = [], []
    names = names_of(space)
    for _ in range(calls):
        name, call = draw.choose.choice(names), draw.call()
        program, arrays = _program(space, name, call)
        ways = {"value": program, "slope": _slope(program, arrays)}
        for way, run in ways.items():
            eager = None if run is None else _answer(run, arrays)
            if run is None or (isinstance(eager, Exception) and draw.choose.random() > 0.15):
                break  # of those that are refused few are compiled
            compiled = _answer(ag.jit(run), arrays)
            said = " ".join(f"{way} of {name} {call[0]} {call[1]}".split())
            if isinstance(eager, TimeoutError) or isinstance(compiled, TimeoutError):
                counts["slow"] += 1
            elif isinstance(eager, Exception) or isinstance(compiled, Exception):
                both = isinstance(eager, Exception) and isinstance(compiled, Exception)
                counts["refused" if both else "refused by one"] += 1
                if not both:
                    refused.append(f"{said}: {eager!r:.160} and {compiled!r:.200}")
            else:
                difference = _differ(eager, compiled)
                counts[f"{way}s {'differ' if difference else 'equal'}"] += 1
                if difference:
                    differ.append(f"{said}: {difference}")
            if isinstance(eager, Exception):
                break
            other = draw.choose.choice(list(OTHERS))
            counts[other] += 1
            if difference := _other_way(other, run, arrays, eager):
                differ.append(f"{other}: {said}: {difference}")
    return counts, differ, refused


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.calls")
    parser.add_argument("--calls", type=int, default=2000, help="of each space")
    parser.add_argument("--seed", type=int, default=math.floor(time.time()))
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("spaces", nargs="*", help=" ".join(SPACES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    print("seed", options.seed)
    for name in options.spaces or SPACES:
        counts, differ, refused = compare(SPACES[name], options.calls, options.seed)
        print(name, len(names_of(SPACES[name])), "names", dict(counts), flush=True)
        for line in [*differ, *(refused if options.refused else [])]:
            print("   ", " ".join(line.split())[:600])
        failed = failed or bool(differ)
    sys.exit(failed)


if __name__ == "__main__":
    main()
