"""Views whose bounds are computed integers: writes show where the eager program shows them."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from tests.share import EVERY

#: What takes a view by a computed integer.
PLACES: dict[str, Any] = {
    "slice": lambda y, k: y[k:],
    "slice by int": lambda y, k: y[int(k):],
    "window": lambda y, k: y[k:k + 2],
    "steps": lambda y, k: y[k::2],
    "backwards": lambda y, k: y[::-1][k:],
    "columns": lambda y, k: y[..., k:],
    "new axis": lambda y, k: y[None, k:],
    "row": lambda y, k: y[int(k)] if y.ndim > 1 else y,
    "narrow": lambda y, k: ag.narrow(y, 0, k, 2),
    "select": lambda y, k: ag.select(y, 0, int(k)) if y.ndim > 1 else y,
}
#: What looks into a view.
STEPS: dict[str, Any] = {
    "flat": lambda y, k: y.reshape(-1),
    "ravel": lambda y, k: ag.ravel(y),
    "flatten": lambda y, k: ag.flatten(y),
    "transpose": lambda y, k: y.T,
    "swapaxes": lambda y, k: ag.swapaxes(y, 0, -1),
    "expand_dims": lambda y, k: ag.expand_dims(y, 0),
    "squeeze": lambda y, k: ag.squeeze(y[None], 0),
    "unfold": lambda y, k: y.unfold(0, 2, 1),
    "windows": lambda y, k: ag.sliding_window_view(y, 2, 0),
    "every other": lambda y, k: y[::2],
    "tail": lambda y, k: y[1:],
    "diagonal": lambda y, k: ag.diagonal(y) if y.ndim > 1 else y,
    "ensure": lambda y, k: ag.ensure(y, k >= 0),
    "contiguous": lambda y, k: y.contiguous(),
}
WRITES: dict[str, Any] = {
    "fill": lambda v: v.fill_(7),
    "first": lambda v: v.__setitem__(0, 7),
    "add": lambda v: v.add_(7),
    "multiply": lambda v: v.__imul__(3),
}


def program(chain: list[str], write: str, which: int, within: str) -> Any:
    """A chain of views of ``x``, of which one is written into before all are read."""
    def steps(x: Any, k: Any) -> Any:
        seen = [x]
        for name in chain:
            seen.append((PLACES.get(name) or STEPS[name])(seen[-1], k))
        WRITES[write](seen[which])
        return tuple(v + 0 for v in (seen[-1], seen[len(seen) // 2], x))

    def run(x: Any, k: Any) -> Any:
        if within == "scan":
            return ag.scan(lambda c, i: (c, steps(c * 1, k)), x, ag.arange(2))[1]
        if within == "cond":
            return ag.cond(k >= 0, lambda: steps(x * 1, k), lambda: steps(x * 2, k))
        return steps(x * 2 if within == "computed" else x, k)

    return run


def outcome(f: Any, numbers: np.ndarray, k: int) -> Any:
    x = ag.tensor(numbers.copy())
    try:
        return [np.asarray(v) for v in (*f(x, ag.tensor(k)), x)]
    except (ValueError, IndexError, TypeError) as error:
        return type(error)


def check(seed: int, within: str) -> None:
    draw = random.Random(seed)
    chain = [draw.choice([*PLACES, *STEPS]) for _ in range(draw.randint(0, 2))]
    chain.insert(draw.randint(0, len(chain)), draw.choice([*PLACES]))
    write, which = draw.choice([*WRITES]), draw.choice([0, -1, (len(chain) + 1) // 2])
    run = program(chain, write, which, within)
    jitted = ag.jit(run, optimizer="fast_compile")
    for shape in ((4, 3), (5, 4), (6, 5)) if within == "sizes" else ((4, 3),):
        numbers = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
        wanted, found = outcome(run, numbers, 1), outcome(jitted, numbers, 1)
        text = f"{chain}, {write} into {which} of {shape}, seed {seed}"
        if isinstance(wanted, type):
            assert isinstance(found, type), text
            continue
        if found is ag.TraceError and within in ("scan", "cond"):
            continue  # a body has no values for int(k), and says so
        assert not isinstance(found, type), f"{text}: {found}"
        for a, b in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(a, b, text)


@pytest.mark.parametrize("within", ["argument", "computed", "sizes", "scan", "cond"])
def test_views_by_values_show_writes(within: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where only the run knows what is a view
        for seed in range(60 if EVERY else 4):
            check(seed, within)


def test_reshapes_are_views_where_values_make_them_so():
    def f(x: Any, k: Any) -> Any:
        y = x[:, k:].reshape(-1)
        y += 100
        return y + 0

    jitted = ag.jit(f)
    for k in (0, 1, 3, 2, 0):  # with all columns it is a view
        a, b = ag.zeros((2, 3)), ag.zeros((2, 3))
        np.testing.assert_array_equal(f(a, ag.tensor(k)), jitted(b, ag.tensor(k)))
        np.testing.assert_array_equal(a, b)


def test_reshapes_of_steps_that_values_give_run_eagerly_where_written():
    def f(x: Any, s: Any) -> Any:
        y = x[::s].reshape(-1)
        y += 100
        return y + 0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        jitted = ag.jit(f)
        for s in (2, 1, 3):
            a, b = ag.zeros((4, 3)), ag.zeros((4, 3))
            np.testing.assert_array_equal(f(a, ag.tensor(s)), jitted(b, ag.tensor(s)))
            np.testing.assert_array_equal(a, b)


def test_reshapes_that_sizes_make_views_are_compiled_for_each():
    def f(x: Any, w: Any) -> Any:
        y = x[:, :w.shape[0]].reshape(-1)
        x[...] = 5.0
        return y + 0

    jitted = ag.jit(f)
    for n, m in ((4, 3), (5, 4), (6, 5), (6, 6), (7, 7), (8, 3)):
        x, w = ag.zeros((3, n)), ag.zeros(m)
        np.testing.assert_array_equal(jitted(ag.zeros((3, n)), w), f(x, w))


@pytest.mark.parametrize("columns", [2, 4])
def test_pairs_are_views_where_memory_allows(columns):
    def f(x: Any) -> Any:
        pairs = ag.view_as_complex(x[:, :2])
        x[...] = 3.0
        return pairs * 1

    np.testing.assert_array_equal(f(ag.ones((3, columns))), ag.jit(f)(ag.ones((3, columns))))


@pytest.mark.parametrize("part", [
    lambda x: ag.split(x, 2)[1], lambda x: ag.ensure(x, x.sum() >= 0),
    lambda x: ag.squeeze(x[None], 0), lambda x: ag.narrow(x, 0, 1, 2),
])
def test_checks_of_sizes_leave_views(part):
    def f(x: Any) -> Any:
        x = x * 2
        part(x).mul_(7)
        return x + 0

    jitted = ag.jit(f)
    for n in (4, 6, 8):
        np.testing.assert_array_equal(jitted(ag.ones((n, 3))), f(ag.ones((n, 3))))
