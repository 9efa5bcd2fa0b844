"""What the papers claimed on which this library builds, measured again where no GPU is needed.

Theano (2010, 2016), Torch7 (2011), MXNet's notes and Chainer's; H numbers are rows of the mission.
Where a claim compares two ways of one library, the slower way stands in the peer's column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.suites import _seeds_memory, _seeds_programs

TITLE = "claims of the seeds"
THREADS = (1, 2)
def run(context: Context) -> list[Result]:
    cases = _cases(context.quick) if context.threads == 1 else _with_threads(context.threads)
    return context.measure_all(cases)


def _with_threads(threads: int) -> Iterator[Case]:
    """The claims that speak of more threads than one."""
    for size in (100, 1000):
        yield _product(size, threads)


def _cases(quick: bool) -> Iterator[Case]:
    for size in (1_000, 10_000_000) if quick else (1_000, 10_000_000, 100_000_000):
        yield _formula(size)
    yield from _seeds_memory.cases(quick)
    yield from _seeds_programs.cases(quick)
    for size in (100, 1000):
        yield _widths(size)
    for size in (100, 1000):
        yield _product(size, 1)
        yield _layer(size)
    for side in (32, 96) if quick else (32, 96, 256):
        yield _convolution(side)
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


def _product(size: int, threads: int) -> Case:
    """H16: a product by so many threads, beside NumPy's and PyTorch's libraries."""
    a, b = np.random.default_rng(0).normal(size=(2, size, size)).astype("float32")

    def torch() -> Contender:
        t = peers.torch()
        return Contender(t.matmul, (t.from_numpy(a), t.from_numpy(b)))

    return Case(
        f"H16 {size}x{size} times {size}x{size} by {threads} thread{'s' * (threads > 1)}",
        lambda: a @ b,
        {OURS: lambda: _compiled(lambda a, b: a @ b, a, b),
         "numpy": lambda: Contender(np.matmul, (a, b)), "torch": torch},
        flops=2 * size**3, goal=0.95, rtol=1e-3, atol=1e-3,
    )


def _convolution(side: int) -> Case:
    """H17: a convolution by vectors beside one lane (the scalar target) and unfolded patches."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 6, side, side)).astype("float32")
    w = rng.normal(size=(16, 6, 7, 7)).astype("float32")
    rest = side - 6

    def convolved(**settings: str) -> Contender:
        ag = peers.agnesi()
        made = _compiled(lambda x, w: ag.nn.functional.conv2d(x, w), x, w)

        def call(*arrays: Any) -> Any:
            with ag.config(**settings):
                return made.fn(*arrays)

        return Contender(call, made.args)

    def expected() -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(x, (7, 7), (2, 3))
        return np.einsum("bchwij,ocij->bohw", windows, w, optimize=True)

    return Case(
        f"H17 6 to 16 maps of {side}x{side} by 7x7: vectors beside one lane, and unfolded",
        expected,
        {OURS: convolved, "one lane": lambda: convolved(target="scalar"),
         "unfolded": lambda: convolved(conv_algorithm="unfold")},
        flops=2 * 8 * 6 * 16 * 49 * rest * rest, goal=1.5, rtol=1e-3, atol=1e-3,
        rivals=("one lane",),
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
