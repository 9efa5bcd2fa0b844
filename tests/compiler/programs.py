"""Random array programs: data that Hypothesis can shrink, run on any pool of tensors.

A step is a name and small numbers; the numbers choose operands and parameters by what fits the
values that are there, so every list of steps is a program.  *Exact* programs keep to small whole
numbers, whose results do not depend on the order of operations; *smooth* ones keep to functions
without jumps, whose results differ by rounding only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 - lets NumPy know bfloat16
import numpy as np

import agnesi as ag
from tests.compiler.steps import More

#: Whole numbers up to this are added and multiplied exactly in every dtype.
SMALL = 8
LIMIT = 40


@dataclass
class Program:
    """Inputs as (shape, dtype), steps as (name, numbers); values have ``most`` elements at most."""

    inputs: list[tuple[tuple[int, ...], str]]
    steps: list[tuple[str, int, int, int]]
    smooth: bool = False
    returned: int = 3
    seed: int = 0
    most: int = 3000

    def arrays(self) -> list[np.ndarray]:
        """Values for the inputs."""
        rng = np.random.default_rng(self.seed)
        return [self._array(rng, shape, dtype) for shape, dtype in self.inputs]

    def _array(self, rng: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if self.smooth:
            return rng.normal(size=shape).astype(dtype)
        if dtype == "bool":
            return rng.random(shape) < 0.5
        return rng.integers(0 if dtype[0] == "u" else -3, 4, shape).astype(dtype)

    @property
    def tolerance(self) -> float:
        """What rounding may change."""
        steps = {name for name, *_ in self.steps}
        dtypes = {dtype for _, dtype in self.inputs}
        return 2e-4 if "cast" in steps or dtypes - {"float64"} else 1e-9

    @property
    def changes_inputs(self) -> bool:
        """Whether it may write into what it is given."""
        return not self.smooth and any(name == "change" and not k % 4 for name, *_, k in self.steps)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The last values of the program."""
        return self.run(ag, *inputs)

    def run(self, lib: Any, *inputs: Any) -> tuple[Any, ...]:
        """The same over another library's functions."""
        run = Run(list(inputs), self.smooth, self.most, lib)
        for name, i, j, k in self.steps:
            run.step(name, i, j, k)
        return tuple(run.pool[-self.returned:])


class Run(More):
    """A program under way: the values so far, each with a bound of its elements."""

    def __init__(self, pool: list[Any], smooth: bool, most: int, lib: Any = ag) -> None:
        self.xp = lib
        self.pool = pool
        self.smooth = smooth
        self.most = most
        self.bounds = [SMALL] * len(pool)
        #: Whether several elements of a value may lie at one place in memory.
        self.spread = [False] * len(pool)

    def step(self, name: str, i: int, j: int, k: int) -> None:
        place = i % len(self.pool)
        x, bound = self.pool[place], self.bounds[place]
        found = getattr(self, "_" + name)(x, bound, j, k)
        if found is None:
            return
        y, bound = self.xp.asarray(found[0]), found[1]
        if math.prod(y.shape) > self.most:
            return
        self.pool.append(y)
        self.bounds.append(bound)
        self.spread.append(self.spread[place] or name in ("broadcast", "triangle"))
        if not self.smooth:
            self._small(len(self.pool) - 1, LIMIT)

    def _small(self, place: int, limit: float) -> Any:
        """The value, made small where its elements might not be."""
        x = self.pool[place]
        if x.dtype.kind != "b" and self.bounds[place] > limit:
            x = self.xp.clip(x, -SMALL if x.dtype.kind != "u" else 0, SMALL)
            x = self.pool[place] = self.xp.asarray(x)  # NumPy makes numbers of arrays without axes
            self.bounds[place] = SMALL
        return x

    def _other(self, j: int) -> tuple[Any, float]:
        return self.pool[j % len(self.pool)], self.bounds[j % len(self.pool)]

    def _fitting(self, x: Any, j: int) -> tuple[Any, float]:
        """Another value, cut or squeezed until it broadcasts with ``x``."""
        y, bound = self._other(j)
        for axis in range(y.ndim):
            n = y.shape[axis]
            at = x.ndim - y.ndim + axis
            m = x.shape[at] if at >= 0 else n
            if n != m and 1 not in (n, m):
                key = (slice(None),) * axis
                y = y[(*key, slice(0, 1))] if n and m else y[(*key, slice(0, min(n, m)))]
        if any(0 in (n, m) and n != m and 1 not in (n, m)
               for n, m in zip(y.shape[::-1], x.shape[::-1], strict=False)):
            return x, bound
        return y, bound

    # -- elementwise ------------------------------------------------------------------------
    def _unary(self, x: Any, bound: float, j: int, k: int) -> Any:
        wrap = math.inf if x.dtype.kind == "u" else bound
        if self.smooth:
            return _SMOOTH[j % len(_SMOOTH)](self.xp, x), 1
        if x.dtype.kind == "b":
            return [self.xp.logical_not, lambda v: v][j % 2](x), 1
        choice = j % (8 if x.dtype.kind in "iu" else 7)
        value = [
            lambda: -x, lambda: self.xp.abs(x), lambda: self.xp.sign(x), lambda: self.xp.relu(x),
            lambda: self.xp.square(x), lambda: x // 2, lambda: x % 3, lambda: ~x,
        ][choice]()
        if choice == 4:
            return value, bound * bound
        return value, (wrap if choice in (0, 7) else bound) + 1

    def _number(self, x: Any, bound: float, j: int, k: int) -> Any:
        if x.dtype.kind == "b":
            return None
        number = 0.5 * j - 1 if self.smooth else j % 4
        y = [lambda: x + number, lambda: number - x, lambda: x * number][k % 3]()
        return y, math.inf if x.dtype.kind == "u" else bound * 4 + 4

    def _binary(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._fitting(x, j)
        if self.smooth:
            return [
                lambda: x + y, lambda: x * y, lambda: x - y, lambda: x / (1 + y * y),
                lambda: self.xp.tanh(x) * y,
            ][k % 5](), 1
        either = x.dtype.kind + y.dtype.kind
        if "b" in either:
            kinds = [self.xp.logical_and, self.xp.logical_or, self.xp.logical_xor]
            return kinds[k % 3](x != 0, y != 0), 1
        wrap = math.inf if "u" in either else 0
        return [
            lambda: (x + y, bound + other), lambda: (x * y, bound * other),
            lambda: (x - y, bound + other + wrap),
            lambda: (self.xp.maximum(x, y), max(bound, other)),
            lambda: (self.xp.minimum(x, y), max(bound, other)), lambda: (x < y, 1),
            lambda: (x == y, 1), lambda: (self.xp.where(x > y, x, y * 2), bound + 2 * other),
        ][k % 8]()

    def _where(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._fitting(x, j)
        z, _ = self._fitting(x, k)
        if self.smooth:
            even = self.xp.arange(x.shape[-1] if x.ndim else 1) % 2 == 0
            return self.xp.where(even, x, -x), bound
        try:
            np.broadcast_shapes(x.shape, y.shape, z.shape)
        except ValueError:
            return None
        return self.xp.where(z > 0 if z.dtype.kind != "b" else z, x, y), max(bound, other)

    def _cast(self, x: Any, bound: float, j: int, k: int) -> Any:
        if self.smooth:
            return x.astype(["float32", "float64"][j % 2]), bound
        dtype = DTYPES[j % len(DTYPES)]
        wraps = dtype[0] == "u" and x.dtype.kind not in "bu"
        if wraps and x.dtype.kind in "fV":
            x = self.xp.abs(x)  # a negative float has no unsigned value
        return x.astype(dtype), math.inf if wraps else bound

    # -- movement -----------------------------------------------------------------------------
    def _reshape(self, x: Any, bound: float, j: int, k: int) -> Any:
        n = math.prod(x.shape)
        if n == 0:
            return x.reshape((*x.shape, 1)), bound
        a = [d for d in range(1, n + 1) if n % d == 0][j % sum(n % d == 0 for d in range(1, n + 1))]
        b = n // a
        c = next(d for d in range(min(b, 2 + k % 3), 0, -1) if b % d == 0)
        return x.reshape([(n,), (a, b), (a, c, b // c), (a, -1), (c, a, b // c)][k % 5]), bound

    def _permute(self, x: Any, bound: float, j: int, k: int) -> Any:
        order = list(range(x.ndim))
        for a in range(x.ndim - 1):
            b = a + (j >> (2 * a)) % (x.ndim - a)
            order[a], order[b] = order[b], order[a]
        return self.xp.permute_dims(x, order), bound

    def _slice(self, x: Any, bound: float, j: int, k: int) -> Any:
        return x[(*self._key(x, j, k), ...)], bound

    def _key(self, x: Any, j: int, k: int) -> tuple[Any, ...]:
        keys = []
        for axis, n in enumerate(x.shape):
            turn = (j >> (3 * axis)) % 8
            keys.append([
                slice(None), slice(None), slice(None), slice(None, None, -1),
                slice(k % (n + 1), None), slice(None, -(k % 3) or None, 2), slice(n, 0, -2),
                (k % n) if n else slice(0),
            ][turn])
        return tuple(keys)

    def _flip(self, x: Any, bound: float, j: int, k: int) -> Any:
        return (self.xp.flip(x, j % x.ndim) if x.ndim else x), bound

    def _axes(self, x: Any, bound: float, j: int, k: int) -> Any:
        if k % 2:
            return self.xp.squeeze(x), bound
        return (self.xp.expand_dims(x, j % (x.ndim + 1)), bound) if x.ndim < 5 else None

    def _broadcast(self, x: Any, bound: float, j: int, k: int) -> Any:
        shape = tuple(2 + j % 3 if n == 1 else n for n in x.shape)
        shape = (1 + k % 3, *shape) if k % 2 and x.ndim < 5 else shape
        return (self.xp.broadcast_to(x, shape), bound) if shape != x.shape else None

    def _pad(self, x: Any, bound: float, j: int, k: int) -> Any:
        widths = [((j >> a) % 2, (k >> a) % 3) for a in range(x.ndim)]
        return (self.xp.pad(x, widths) if x.ndim else x), bound

    def _concat(self, x: Any, bound: float, j: int, k: int) -> Any:
        y, other = self._other(j)
        if y.shape != x.shape or y.dtype != x.dtype or not x.ndim:
            y, other = x[::-1] if x.ndim else x, bound
        join = self.xp.concat if k % 3 and x.ndim else self.xp.stack
        return join([x, y], k % max(x.ndim, 1)), max(bound, other)

    def _roll(self, x: Any, bound: float, j: int, k: int) -> Any:
        return (self.xp.roll(x, k, j % x.ndim) if x.ndim else x), bound

    def _tile(self, x: Any, bound: float, j: int, k: int) -> Any:
        if x.ndim == 0:
            return None
        times = 1 + k % 3
        return self.xp.repeat(x, times, j % x.ndim) if j % 2 else self.xp.tile(x, times), bound

    def _triangle(self, x: Any, bound: float, j: int, k: int) -> Any:
        if x.ndim < 2:
            return None
        return [self.xp.tril, self.xp.triu, self.xp.diagonal][j % 3](x, k % 3 - 1), bound

    def _take(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or not all(x.shape):
            return None
        n = x.shape[0]
        return self.xp.take(x, [k % n, j % n], 0) if j % 2 else x[[j % n, -1, k % n]], bound

    # -- reductions -----------------------------------------------------------------------------
    def _over(self, x: Any, j: int) -> tuple[int, ...]:
        return tuple(a for a in range(x.ndim) if (j >> a) % 2) or tuple(range(x.ndim))

    def _sum(self, x: Any, bound: float, j: int, k: int) -> Any:
        axes = self._over(x, j)
        n = math.prod(x.shape[a] for a in axes)
        total = self.xp.mean if self.smooth and n else self.xp.sum
        return total(x, axis=axes, keepdims=bool(k % 2)), bound * max(n, 1)

    def _extreme(self, x: Any, bound: float, j: int, k: int) -> Any:
        axes = self._over(x, j)
        if not all(x.shape):
            return None
        if self.smooth:
            return self.xp.logsumexp(x, axis=axes, keepdims=bool(k % 2)), 1
        if x.dtype.kind == "b":
            return [self.xp.any, self.xp.all][k % 2](x, axis=axes), 1
        return [self.xp.max, self.xp.min][k // 2 % 2](x, axis=axes, keepdims=bool(k % 2)), bound

    def _arg(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not all(x.shape) or not x.ndim or self.smooth:
            return None
        return [self.xp.argmax, self.xp.argmin][k % 2](x, axis=j % x.ndim), 2 * LIMIT

    def _prod(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or x.dtype.kind == "b":
            return None
        least = 0 if x.dtype.kind == "u" else -1
        x = self.xp.tanh(x) if self.smooth else self.xp.clip(x, least, 1)
        return self.xp.prod(x, axis=j % x.ndim, keepdims=bool(k % 2)), 1

    def _scan(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or x.dtype.kind == "b":
            return None
        return self.xp.cumsum(x, axis=j % x.ndim), bound * max(x.shape[j % x.ndim], 1)

    # -- rows and products ----------------------------------------------------------------------
    def _row(self, x: Any, bound: float, j: int, k: int) -> Any:
        if not x.ndim or not all(x.shape) or x.dtype.kind == "b":
            return None
        axis = j % x.ndim
        if not self.smooth:
            top = self.xp.max(x, axis=axis, keepdims=True)
            total = self.xp.sum(x, axis=axis, keepdims=True)
            return self.xp.where(x == top, total, x), bound * x.shape[axis]
        centred = x - self.xp.mean(x, axis=axis, keepdims=True)
        high = self.xp.exp(self.xp.tanh(x))
        return [
            lambda: self.xp.softmax(x, axis=axis), lambda: self.xp.log_softmax(x, axis=axis),
            lambda: centred / self.xp.sqrt((centred**2).mean(axis, keepdims=True) + 0.1),
            lambda: high / high.sum(axis, keepdims=True),
        ][k % 4](), 1

    def _matmul(self, x: Any, bound: float, j: int, k: int) -> Any:
        x = x if x.ndim else x.reshape((1, 1))
        x = x if x.ndim > 1 else x[None]
        if x.dtype.kind == "b":
            x = x.astype("float64")
        y, other = self._other(j)
        y = y if y.ndim > 1 and y.dtype.kind != "b" else x
        n = x.shape[-1]
        if y.shape[-2] != n:
            y = self.xp.permute_dims(y, (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2))
        lead = zip(y.shape[-3::-1], x.shape[-3::-1], strict=False)
        if y.shape[-2] != n or any(a != b and 1 not in (a, b) for a, b in lead):
            y, other = self.xp.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)), bound
        if self.smooth:
            return (x @ y) / math.sqrt(max(n, 1)), 1
        return x @ y, bound * other * max(n, 1)

    # -- control flow, through functions that see what is around them ---------------------------
    def _branch(self, x: Any, bound: float, j: int, k: int) -> Any:
        """One of two values, by what a third one holds."""
        y, other = self._alike(x, j)
        asked, _ = self._other(k)

        def second(v: Any) -> Any:
            return self.xp.tanh(v) * y if self.smooth else self.xp.where(v != 0, y, v)

        return self.xp.cond(asked.sum() > 0, lambda v: v, second, x), max(bound, other)

    def _again(self, x: Any, bound: float, j: int, k: int) -> Any:
        """A few turns of a loop: Python's own, or one that is an operation."""
        y, _ = self._alike(x, j)

        def turn(_: Any, v: Any) -> Any:
            if self.smooth:
                return self.xp.tanh(v + 0.5 * y)
            return v != y if x.dtype.kind == "b" else self.xp.where(y > v, y, v // 2)

        turns = k % 4
        if j % 2:
            return self.xp.fori_loop(0, turns, turn, x * 1 if self.smooth else x), SMALL * LIMIT
        value = self.xp.copy(x)
        for number in range(turns):
            value = turn(number, value)
        return value, SMALL * LIMIT

    def _down(self, x: Any, bound: float, j: int, k: int) -> Any:
        """The rows of a value, one after the other, with something carried along."""
        if not x.ndim or x.dtype.kind == "b" or x.shape[0] > 20:
            return None

        def step(carry: Any, row: Any) -> Any:
            new = self.xp.tanh(carry + row) if self.smooth else self.xp.where(
                row > carry, row, carry // 2)
            return new, carry

        first = self.xp.zeros(x.shape[1:], dtype=x.dtype)
        last, rows = self.xp.scan(step, first, x)
        return (rows if k % 2 else last), bound

    def _alike(self, x: Any, j: int) -> tuple[Any, float]:
        """Another value of the type of ``x``, or ``x`` itself."""
        y, bound = self._other(j)
        return (y, bound) if (y.shape, y.dtype) == (x.shape, x.dtype) else (x, LIMIT)

    # -- changes in place -----------------------------------------------------------------------
    def _change(self, x: Any, bound: float, j: int, k: int) -> Any:
        """A copy of a value, changed in part; or the value itself, views of it included."""
        place = next(p for p, v in enumerate(self.pool) if v is x)
        if k % 4 == 0 and not self.smooth and _own(x) and not self.spread[place]:
            self.bounds = [b + 1 for b in self.bounds]
            x += 1
            return None
        y = self.xp.asarray(x * 1 if x.dtype.kind != "b" else self.xp.copy(x))
        key = self._key(y, j, k)
        if k % 3 == 0:
            y[key] = 0
        elif x.dtype.kind == "b":
            y[key] = True
        elif k % 3 == 1:
            y[key] += self.pool[place][key]
        else:
            part = y[(*key, ...)]
            part *= 2
            return y + 0 * y, 2 * bound
        return y, 2 * bound


def _own(x: Any) -> bool:
    """Whether the value may be changed in place: no leaf that wants a gradient, not 0 strides."""
    return x.dtype.kind in "if" and not getattr(x, "requires_grad", False)


_SMOOTH = [
    lambda lib, x: lib.tanh(x), lambda lib, x: lib.sigmoid(x), lambda lib, x: lib.sin(x),
    lambda lib, x: lib.softplus(x), lambda lib, x: lib.erf(x),
    lambda lib, x: lib.exp(lib.sin(x)), lambda lib, x: lib.log(1 + x * x),
    lambda lib, x: lib.sqrt(1 + x * x), lambda lib, x: 1 / (1 + lib.exp(-x)),
    lambda lib, x: x**3 / (1 + x * x), lambda lib, x: x * 0.5, lambda lib, x: lib.negative(x),
    lambda lib, x: lib.log1p(x * x),
]
DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
          "uint32", "uint64", "bool", "bfloat16"]
STEPS = [name[1:] for name in (*vars(Run), *vars(More)) if name[0] == "_" and name[1] != "_"
         and name not in ("_small", "_other", "_fitting", "_key", "_over", "_alike", "_places")]


def cost_of(program: Program) -> Any:
    """A number that depends on the results of a program."""

    def cost(*inputs: Any) -> Any:
        total = (inputs[0] * 0).sum().astype("float64")
        for y in program(*inputs):
            if y.dtype.kind == "f":
                weight = ag.arange(y.shape[-1], dtype=y.dtype) + 1 if y.ndim else 1
                total = total + ag.sum((y * weight).astype("float64"))
        return total

    return cost


def close(value: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Equal types and, within a tolerance, values."""
    assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
    if not tolerance:
        np.testing.assert_array_equal(value, expected)
        return
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(value, expected, tolerance, tolerance * scale)
