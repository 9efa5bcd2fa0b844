"""H14, Torch7's claim: programs of numbers beside C and Python, Mandelbrot and binary trees."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender

#: Side of the image, and the most iterations, of the Mandelbrot set.
SIDE, ITERATIONS = 512, 256
_C = r"""
#include <stdlib.h>

struct node { struct node *left, *right; };

static struct node *grown(long depth) {
    struct node *made = malloc(sizeof(struct node));
    made->left = depth ? grown(depth - 1) : 0;
    made->right = depth ? grown(depth - 1) : 0;
    return made;
}

static long counted(struct node *tree) {
    if (!tree) return 0;
    long found = 1 + counted(tree->left) + counted(tree->right);
    free(tree);
    return found;
}

long trees(long depth) { return counted(grown(depth)); }

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


def cases(quick: bool) -> Iterator[Case]:
    """The rows of these programs."""
    yield _mandelbrot()
    for depth in (10,) if quick else (10, 16):
        yield _trees(depth)


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


def _trees(depth: int) -> Case:
    """H14: complete binary trees are made, and their nodes counted from the leaves up.

    C and Python allocate each node; arrays hold a level each.
    """
    total = np.float64(2 ** (depth + 1) - 1)

    def agnesi() -> Contender:
        ag = peers.agnesi()

        def count(one: Any) -> Any:
            found = one * ag.ones(2**depth)
            for _ in range(depth):
                found = one + found[0::2] + found[1::2]
            return found[0]

        return Contender(ag.jit(count), (ag.tensor(np.float64(1)),))

    def grown(depth: int) -> Any:
        return (grown(depth - 1), grown(depth - 1)) if depth else (None, None)

    def counted(tree: Any) -> int:
        return 0 if tree is None else 1 + counted(tree[0]) + counted(tree[1])

    def c() -> Contender:
        trees = _library().trees
        trees.restype = ctypes.c_long
        return Contender(lambda: np.float64(trees(ctypes.c_long(depth))))

    return Case(
        f"H14 binary trees of depth {depth}, grown and counted", lambda: total,
        {OURS: agnesi, "C -O3": c, "python": lambda: Contender(
            lambda: np.float64(counted(grown(depth))))},
        dtype="float64", goal=1.0,
    )
