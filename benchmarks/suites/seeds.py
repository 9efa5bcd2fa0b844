"""What the papers claimed on which this library builds, measured again where no GPU is needed.

Theano (2010, 2016), Torch7 (2011), MXNet's notes and Chainer's; H numbers are rows of the mission.
Where a claim compares two ways of one library, the slower way stands in the peer's column.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result

TITLE = "claims of the seeds"
THREADS = (1,)
#: Side of the image, and the most iterations, of the Mandelbrot set.
SIDE, ITERATIONS = 512, 256
_C = """
void mandelbrot(const double *x, const double *y, double *out, long n, long most) {
    for (long i = 0; i < n; i++) {
        double a = 0, b = 0; long k = 0;
        while (k < most && a * a + b * b <= 4) {
            double next = a * a - b * b + x[i]; b = 2 * a * b + y[i]; a = next; k++;
        }
        out[i] = k;
    }
}
"""


def run(context: Context) -> list[Result]:
    return context.measure_all(_cases(context.quick))


def _cases(quick: bool) -> Iterator[Case]:
    for size in (1_000, 10_000_000) if quick else (1_000, 10_000_000, 100_000_000):
        yield _formula(size)
    yield _mandelbrot()
    for size in (100, 1000):
        yield _widths(size)
    for size in (100, 1000):
        yield _layer(size)
    yield _sigmoid()
    yield _multiply_add()
    for classes in (100, 10_000) if quick else (100, 10_000, 1_000_000):
        yield _hierarchy(classes)


def _compiled(fn: Callable[..., Any], *arrays: np.ndarray) -> Contender:
    ag = peers.agnesi()
    return Contender(ag.jit(fn), tuple(map(ag.tensor, arrays)))


# ------------------------------------------------------------------------- Theano, 2010 and 2016
def _formula(size: int) -> Case:
    """H3: an elementwise formula from small to large arrays."""
    a, b = np.random.default_rng(0).normal(size=(2, size)).astype("float32")

    def numexpr() -> Contender:
        ne = peers.numexpr()
        ne.evaluate("a*a+b*b+2*a*b", {"a": a, "b": b})
        return Contender(lambda: ne.evaluate("a*a+b*b+2*a*b", {"a": a, "b": b}))

    def write(a: Any, b: Any) -> Any:
        return a * a + b * b + 2 * a * b

    return Case(
        f"H3 a²+b²+2ab, {size:,} numbers", lambda: write(a, b),
        {
            OURS: lambda: _compiled(write, a, b), "numpy": lambda: Contender(write, (a, b)),
            "numexpr": numexpr,
            "jax": lambda: Contender(peers.jax_waiting(write), peers.jax_arrays(a, b)),
        },
        bytes=12 * size, goal=1.0, atol=1e-5,
    )


# -------------------------------------------------------------------------------- Torch7, 2011
def _points() -> tuple[np.ndarray, np.ndarray]:
    y, x = np.meshgrid(np.linspace(-1.5, 1.5, SIDE), np.linspace(-2, 1, SIDE))
    return np.ascontiguousarray(x), np.ascontiguousarray(y)


def _mandelbrot() -> Case:
    """H14: a loop of numbers at each point, which ends where the point escapes."""
    x, y = _points()

    def agnesi() -> Contender:
        ag = peers.agnesi()

        def point(x: Any, y: Any) -> Any:
            def step(state: Any) -> Any:
                a, b, k = state
                return a * a - b * b + x, 2 * a * b + y, k + 1

            start = (x * 0, y * 0, x * 0)
            return ag.while_loop(
                lambda s: (s[2] < ITERATIONS) & (s[0] * s[0] + s[1] * s[1] <= 4), step, start)[2]

        return Contender(ag.jit(ag.vmap(ag.vmap(point))), (ag.tensor(x), ag.tensor(y)))

    def jax() -> Contender:
        j = peers.jax()

        def point(x: Any, y: Any) -> Any:
            def step(state: Any) -> Any:
                a, b, k = state
                return a * a - b * b + x, 2 * a * b + y, k + 1.0

            return j.lax.while_loop(
                lambda s: (s[2] < ITERATIONS) & (s[0] * s[0] + s[1] * s[1] <= 4), step,
                (x * 0, y * 0, x * 0))[2]

        return Contender(peers.jax_waiting(j.vmap(j.vmap(point))), peers.jax_arrays(x, y))

    return Case(
        f"H14 Mandelbrot, {SIDE}x{SIDE}, up to {ITERATIONS} iterations", lambda: _in_c(x, y),
        {OURS: agnesi, "C -O3": lambda: Contender(_in_c, (x, y)), "jax": jax,
         "numpy": lambda: Contender(_in_numpy, (x, y))},
        dtype="float64", goal=1.0,
    )


def _in_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b, k = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for _ in range(ITERATIONS):
        open_ = a * a + b * b <= 4
        if not open_.any():
            break
        a, b = (np.where(open_, a * a - b * b + x, a), np.where(open_, 2 * a * b + y, b))
        k += open_
    return k


def _in_c(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, out)]
    _library().mandelbrot(*pointers, ctypes.c_long(x.size), ctypes.c_long(ITERATIONS))
    return out


_LOADED: list[ctypes.CDLL] = []


def _library() -> ctypes.CDLL:
    """The loop in C, by the system's compiler."""
    if not _LOADED:
        with tempfile.TemporaryDirectory() as folder:
            source, shared = Path(folder, "m.c"), Path(folder, "m.so")
            source.write_text(_C)
            command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", shared]
            try:
                subprocess.run(command, check=True, capture_output=True)
            except FileNotFoundError:
                raise ImportError("there is no C compiler") from None
            _LOADED.append(ctypes.CDLL(str(shared)))
    return _LOADED[0]


def _widths(size: int) -> Case:
    """H15: products in single precision take half the time of those in double."""
    a, b = np.random.default_rng(0).normal(size=(2, size, size))

    def product(dtype: str) -> Contender:
        made = _compiled(lambda a, b: a @ b, a.astype(dtype), b.astype(dtype))
        return Contender(made.fn, made.args, answer=lambda: (a @ b).astype("float32"))

    return Case(
        f"H15 float32 beside float64, {size}x{size} times {size}x{size}",
        lambda: (a @ b).astype("float32"),
        {OURS: lambda: product("float32"), "float64": lambda: product("float64")},
        flops=2 * size**3, goal=1.8,
    )


def _layer(size: int) -> Case:
    """H16: what a layer costs beyond the product in it; the layer stands in our column."""
    x = np.random.default_rng(0).normal(size=(size, size)).astype("float32")

    def layer(linear: bool) -> Contender:
        ag = peers.agnesi()
        module = ag.nn.Linear(size, size, bias=False)
        weight = ag.tensor(x)
        with ag.no_grad():
            module.weight.copy_(weight)
        made = module if linear else (lambda x: x @ weight.T)
        return Contender(ag.jit(made), (ag.tensor(x),))

    return Case(
        f"H16 Linear beside its product, {size}x{size}", lambda: x @ x.T,
        {OURS: lambda: layer(True), "the product alone": lambda: layer(False)},
        flops=2 * size**3, goal=0.97, rtol=1e-3, atol=1e-2,
    )


# -------------------------------------------------------------------------- MXNet and Chainer
def _sigmoid() -> Case:
    """H22: a sigmoid made of small operations beside the one operation."""
    x = np.random.default_rng(0).normal(size=1_000_000).astype("float32")

    def composed(x: Any) -> Any:
        return 1 / (1 + peers.agnesi().exp(-x))

    return Case(
        "H22 sigmoid of small operations beside one, 1,000,000 numbers",
        lambda: 1 / (1 + np.exp(-x)),
        {OURS: lambda: _compiled(composed, x),
         "one operation": lambda: _compiled(lambda x: peers.agnesi().sigmoid(x), x)},
        bytes=8 * x.size, goal=0.95,
    )


def _multiply_add() -> Case:
    """H23: one kernel for a product and a sum beside two."""
    a, b, c = np.random.default_rng(0).normal(size=(3, 1_000_000)).astype("float32")

    def apart() -> Contender:
        ag = peers.agnesi()
        first, then = ag.jit(lambda a, b: a * b), ag.jit(lambda d, c: d + c)
        return Contender(lambda *t: then(first(t[0], t[1]), t[2]), tuple(map(ag.tensor, (a, b, c))))

    return Case(
        "H23 a*b+c in one kernel beside two, 1,000,000 numbers", lambda: a * b + c,
        {OURS: lambda: _compiled(lambda a, b, c: a * b + c, a, b, c), "two kernels": apart},
        bytes=16 * a.size, goal=1.2,
    )


def _hierarchy(classes: int) -> Case:
    """H26: the loss of one of many classes by a binary tree, beside the softmax of all."""
    size, batch = 64, 16
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(batch, size)).astype("float32"), rng.integers(0, classes, batch)

    def agnesi(tree: bool) -> Contender:
        ag = peers.agnesi()
        nn = ag.nn
        if tree:
            counts = dict.fromkeys(range(classes), 1)
            made = nn.BinaryHierarchicalSoftmax(
                size, nn.BinaryHierarchicalSoftmax.create_huffman_tree(counts))
            call = ag.jit(made)
        else:
            weight = ag.zeros((classes, size))
            call = ag.jit(lambda x, t: nn.functional.cross_entropy(x @ weight.T, t))
        return Contender(call, (ag.tensor(x), ag.tensor(labels)), answer=lambda: np.float32(0))

    return Case(
        f"H26 hierarchical softmax, {classes:,} classes", lambda: np.float32(0),
        {OURS: lambda: agnesi(True), "softmax": lambda: agnesi(False)},
    )
