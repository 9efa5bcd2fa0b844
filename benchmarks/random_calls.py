"""Random calls of all names that agnesi shares with PyTorch, NumPy and SciPy, answers compared.

    python -m benchmarks.random_calls [--calls 20000] [--seed 0] [space ...]

A call that both answer must have one answer, but for names in ``KNOWN``.  Where PyTorch differs and
NumPy gives our answer to the very same call, ours is right.  Calls that agnesi refuses are counted.
"""

from __future__ import annotations

import argparse
import inspect
import math
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import agnesi as ag

SECONDS = 5  # of a call
#: Names whose answers are not defined, or differ for a reason.
KNOWN = {
    "unique_consecutive": "PyTorch's inverse is empty by place",
    "kthvalue topk argsort argpartition partition unique_values mode median":
        "which of equal elements, or what order, is not defined",
    "eigh eig svd schur rq qr null_space orth qr_multiply orthogonal_procrustes":
        "signs and phases of vectors are not defined, nor what is computed of unsymmetric operands",
    "eigvals roots subspace_angles": "in any order, and near 0",
    "lu lu_factor lu_factor_ex": "SciPy's pivots, counted from 0; PyTorch's are counted from 1",
    "lstsq": "residuals also where NumPy leaves them out",
    "hardtanh threshold": "of integers PyTorch rounds the bounds",
    "multilabel_soft_margin_loss cumulative_trapezoid trapezoid trapz histc histogram bucketize":
        "of operands that do not fit, are empty or in no order",
    "cholesky_inverse cholesky_ex solveh_banded pinvh": "of what is no factor, and not positive",
    "pinv prelu signm polydiv cov corrcoef nanquantile nanpercentile norm tensorsolve combinations":
        "of nothing, of a number, of singular matrices",
    "std var": "NumPy's", "to": "PyTorch takes a bool for a dtype",
    "unwrap reciprocal sinhm coshm": "unsigned integers become floats first",
    "max min": "NumPy's out=None", "matrix_rank": "of matrices that are not symmetrical",
    "sqrtm logm fractional_matrix_power lambertw": "real operands give real results, or NaN",
    "solve_circulant matmul_toeplitz companion ishermitian issymmetric": "batches",
    "elu_": "the third argument by place is inplace, as of elu",
    "cosine_similarity": "PyTorch's of 16-bit floats divides by less than they hold",
    "polygamma": "PyTorch's poles are large numbers", "angle": "NumPy's, of -0.0",
    "lcm floor_divide": "tensors without axes have dtypes like others",
    "einsum_path repeat split tensor_split hsplit vsplit dsplit": "NumPy's",
}
#: Random, uninitialised, about memory, files or the process, or of functions.
ASIDE = frozenset("""
    save load seed manual_seed initial_seed empty empty_like rand randn rand_like randn_like randint
    randint_like randperm bernoulli multinomial normal poisson dropout rrelu gumbel_softmax compile
    jit vmap alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d get_num_threads
    fractional_max_pool2d fractional_max_pool3d from_numpy asarray from_dlpack frombuffer no_grad
    enable_grad set_grad_enabled inference_mode binomial cond while_loop scan exponential numpy
    set_num_threads data_ptr tolist register_hook retain_grad backward requires_grad_ apply_ map_
    new_empty uniform_ normal_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_ random_ item
    resize_ fromfunction fromiter vectorize piecewise apply_along_axis apply_over_axes testing test
    may_share_memory shares_memory tofile dump
""".split())
_SHAPES = ((3,), (4,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 3, 4), (), (1,), (2, 2, 3, 3), (0, 3),
           (1, 1), (5, 2))
_DTYPES = ("float32",) * 5 + ("float64", "int64", "int64", "int32", "bool", "complex64", "uint8",
                              "float16")
_NUMBERS = (0, 1, 2, -1, 3, -2, 0.5, 2.0, -1.0, True, False, None)
_WORDS = ("mean", "sum", "none", "same", "valid", "constant", "fro", "left")
_KEYWORDS = """dim keepdim axis keepdims descending largest correction diagonal offset dim1 dim2 p
    eps weight reduction alpha beta n right min max return_inverse return_counts indexing k padding
    stride value mode upper start_dim end_dim shifts repeats size other margin ceil_mode dilation
    groups bias delta threshold""".split()


@dataclass
class Space:
    """A module or class of another library, ours of its names, and whose answer excuses ours."""

    theirs: Any
    ours: Any
    make: Callable[[np.ndarray], Any]
    judge: Any = None
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = {name for names in KNOWN for name in names.split()}
        self.names = [
            name for name in dir(self.theirs)
            if not name.startswith("_") and name not in ASIDE | known
            and callable(getattr(self.theirs, name, None))
            and callable(getattr(self.ours, name, None))
            and not inspect.isclass(getattr(self.theirs, name))]


def spaces() -> dict[str, Space]:
    """What is compared, by a name for each."""
    import scipy.linalg
    import scipy.special
    import torch

    tensor = torch.from_numpy
    return {
        "torch": Space(torch, ag, tensor, np),
        "torch.Tensor": Space(torch.Tensor, ag.Tensor, tensor, np.ndarray),
        "torch.nn.functional": Space(torch.nn.functional, ag.nn.functional, tensor),
        "torch.linalg": Space(torch.linalg, ag.linalg, tensor, np.linalg),
        "torch.fft": Space(torch.fft, ag.fft, tensor, np.fft),
        "torch.special": Space(torch.special, ag.special, tensor, scipy.special),
        "numpy": Space(np, ag, np.asarray), "numpy.linalg": Space(np.linalg, ag.linalg, np.asarray),
        "numpy.ndarray": Space(np.ndarray, ag.Tensor, np.asarray),
        "scipy.linalg": Space(scipy.linalg, ag.linalg, np.asarray),
    }


class Draw:
    """Random arguments; arrays are drawn once, and given to each library as its own."""

    def __init__(self, seed: int) -> None:
        self.choose, self.numbers = random.Random(seed), np.random.default_rng(seed)

    def array(self) -> np.ndarray:
        """An array of a random shape and dtype."""
        shape, dtype = self.choose.choice(_SHAPES), np.dtype(self.choose.choice(_DTYPES))
        if dtype.kind in "biu":
            low, high = {"b": (0, 2), "i": (-3, 4), "u": (0, 4)}[dtype.kind]
            return np.array(self.numbers.integers(low, high, shape), dtype)
        found = np.round(self.numbers.standard_normal(shape), 2)
        return np.array(found * (1 + 0.5j) if dtype.kind == "c" else found, dtype)

    def value(self, nested: bool = False) -> Any:
        """An argument: an array, a number, a tuple of numbers, a word, or a list."""
        kind = self.choose.random()
        if kind < 0.45:
            return self.array()
        if kind < 0.85:
            return self.choose.choice(_NUMBERS)
        if kind < 0.93:
            return tuple(self.choose.choice((0, 1, 2, -1, 3)) for _ in range(self.choose.choice(
                (1, 2, 2, 3))))
        if kind < 0.96 or nested:
            return self.choose.choice(_WORDS)
        return [self.value(True) for _ in range(self.choose.choice((1, 2, 2)))]

    def call(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments by place, the first one an array, and by name."""
        count = self.choose.choice((0, 1, 1, 1, 2, 2, 3))
        given = [self.array(), *(self.value() for _ in range(count))]
        if self.choose.random() < 0.65:
            return given, {}
        return given, {self.choose.choice(_KEYWORDS): self.value() for _ in range(
            self.choose.choice((1, 1, 2)))}


def _made(value: Any, make: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return make(value.copy())
    return [_made(v, make) for v in value] if isinstance(value, list) else value


def _plain(found: Any) -> list[Any]:
    """All arrays and numbers of an answer, in order."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (tuple, list)):
        return [x for part in found for x in _plain(part)]
    if hasattr(found, "detach"):
        found = found.detach()
        if hasattr(found, "resolve_conj"):
            found = found.resolve_conj().resolve_neg()
        found = found.numpy()
    return [found]


def _differ(theirs: Any, ours: Any) -> str:
    """How two answers differ; empty where they do not."""
    if len(theirs) != len(ours):
        return f"{len(theirs)} and {len(ours)} results"
    for a, b in zip(theirs, ours, strict=True):
        numeric = [isinstance(x, (np.ndarray, np.generic, int, float, complex)) for x in (a, b)]
        if not all(numeric):
            if any(numeric) and (a is None or b is None):
                return f"{a!r:.80} and {b!r:.80}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
            continue
        if a.shape != b.shape:
            return f"shapes {a.shape} and {b.shape}"
        near = 2e-2 if 2 in (a.dtype.itemsize, b.dtype.itemsize) else 1e-3
        with np.errstate(all="ignore"):
            if not np.allclose(a.astype(complex), b.astype(complex), near, near, equal_nan=True):
                return f"{a.ravel()[:6]} and {b.ravel()[:6]}"
    return ""


@contextmanager
def limited() -> Iterator[None]:
    """A call ends after some seconds."""
    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _answer(space: Any, name: str, call: tuple[Any, Any], make: Any) -> Any:
    """The results, and what the first argument is afterwards where the name says that it changes;
    the error of a call that is refused."""
    args, keywords = _made(call[0], make), {k: _made(v, make) for k, v in call[1].items()}
    try:
        with limited():
            return _plain((getattr(space, name)(*args, **keywords),
                           args[0] if name.endswith("_") else None))
    except Exception as error:
        return error


def compare(space: Space, calls: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Counts of what became of random calls, and those whose answers differ."""
    draw, counts, found = Draw(seed), Counter[str](), list[str]()
    for _ in range(calls):
        name, call = draw.choose.choice(space.names), draw.call()
        theirs = _answer(space.theirs, name, call, space.make)
        if isinstance(theirs, Exception):
            continue
        ours = _answer(space.ours, name, call, ag.tensor)
        if isinstance(ours, Exception):
            counts["refused"] += 1
            continue
        difference = _differ(theirs, ours)
        if difference and hasattr(space.judge, name):
            judged = _answer(space.judge, name, call, np.array)
            if not isinstance(judged, Exception) and not _differ(judged, ours):
                counts["NumPy's"] += 1
                continue
        counts["differ" if difference else "equal"] += 1
        if difference:
            found.append(f"{name} {call[0]} {call[1]}: {difference}")
    return counts, found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_calls")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=math.floor(time.time()))
    parser.add_argument("spaces", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    print("seed", options.seed)
    for name, space in spaces().items():
        if options.spaces and name not in options.spaces:
            continue
        counts, found = compare(space, options.calls, options.seed)
        print(name, len(space.names), "names", dict(counts), flush=True)
        for line in found:
            print("   ", " ".join(line.split()))
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
