"""Sizes beyond all memory: an error that names the value and its bytes, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

CASES: dict[str, Any] = {
    "sort": lambda q: ag.sort(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0],
    "cumsum": lambda q: ag.cumsum(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0],
    "fft": lambda q: ag.fft.fft(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0].real,
    "long fft": lambda q: ag.fft.rfft(ag.full((2**61,), 1.0) * q)[0].real,
    "fft of a prime": lambda q: ag.fft.fft(ag.full((2**61 - 1,), 1.0) * q)[0].real,
    "bytes that wrap to few": lambda q: ag.full((2**31, 2**31 + 1), 1.0) * q,
    "bytes that wrap to none": lambda q: ag.zeros((2**62,)) * q,
    "elements that wrap": lambda q: ag.cumsum(ag.full((2**32, 2**32), 1.0) * q, axis=0)[0, 0],
    "flat places": lambda q: ag.cumsum(
        ag.full((2**40, 2**30), 1.0) * q, axis=0).reshape(-1)[2**69],
    "product": lambda q: ((ag.full((2**40, 2**10), 1.0) * q) @ ag.ones((2**10, 2**20)))[0, 0],
    "border": lambda q: ag.conv2d(ag.ones((1, 1, 5, 5)) * q, ag.ones((1, 1, 2, 2)),
                                  padding=2**30)[0, 0, 0, 0],
    "solve": lambda q: ag.linalg.cholesky(ag.eye(2**30) * q)[0, 0],
    "loop": lambda q: ag.scan(
        lambda c, x: (c, ag.cumsum(ag.full((2**50, 2**12), 1.0) * c, 0)[0, 0]), q, length=3)[1],
}


@pytest.mark.parametrize("name", CASES)
def test_values_beyond_all_memory_are_named(name: str) -> None:
    with pytest.raises(MemoryError, match=r"there is no memory for .* GB, \w+\[.*\]") as caught:
        ag.jit(CASES[name])(ag.tensor(1.0))
    assert "test_oversize.py" in str(caught.value)


def test_run_time_sizes_beyond_all_memory_are_named() -> None:
    f = ag.jit(lambda x: (ag.cumsum(ag.ones((x.shape[0], x.shape[0])) + x.sum(), axis=0) * 2).sum())
    for n in (3, 4, 5, 100, 300):
        assert float(f(ag.zeros((n, 0)))) == n * n * (n + 1)
    for n in (2**29, 2**31, 2**32, 2**40):
        with pytest.raises(MemoryError, match=r"there is no memory for .* GB, float32\[.*\] of"):
            f(ag.tensor(np.zeros((n, 0), np.float32)))
    assert float(f(ag.zeros((7, 0)))) == 7 * 7 * 8


def test_eager_convolutions_are_refused_alike() -> None:
    with pytest.raises((MemoryError, ValueError)):
        ag.conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 2)), padding=2**70)


MUCH = 2**40


def spread(*shape: int) -> Any:
    return ag.broadcast_to(ag.ones(1), shape)


#: More bytes, elements or places than 64 bits count, of which NumPy has a ValueError.
BEYOND: dict[str, Callable[[], Any]] = {
    "zeros": lambda: ag.zeros((MUCH, MUCH)), "ones": lambda: ag.ones((MUCH, MUCH)),
    "empty": lambda: ag.empty((MUCH, MUCH)), "full": lambda: ag.full((MUCH, MUCH), 2.0),
    "a size of 64 bits": lambda: ag.zeros(2**64), "eye": lambda: ag.eye(2**33),
    "arange": lambda: ag.arange(2**62), "linspace": lambda: ag.linspace(0, 1, 2**62),
    "new_zeros": lambda: ag.ones(3).new_zeros((MUCH, MUCH)), "broadcast_to": lambda: spread(
        MUCH, MUCH), "tile": lambda: ag.tile(ag.ones(3), (MUCH, MUCH)),
    "repeat": lambda: ag.repeat(ag.ones(3), 2**62), "pad": lambda: ag.pad(ag.ones(3), 2**61),
    "add": lambda: spread(MUCH, 1) + spread(MUCH), "outer": lambda: ag.outer(
        spread(MUCH), spread(MUCH)), "kron": lambda: ag.kron(spread(MUCH), spread(MUCH)),
    "one_hot": lambda: ag.nn.functional.one_hot(ag.arange(3), 2**62),
    "fft": lambda: ag.fft.fft(ag.ones(3), 2**62), "diag": lambda: ag.diag(spread(MUCH)),
    "matmul": lambda: spread(MUCH, 2) @ spread(2, MUCH),
    "einsum": lambda: ag.einsum("i,j->ij", spread(MUCH), spread(MUCH)),
    "Linear": lambda: ag.nn.Linear(MUCH, MUCH).weight, "rand": lambda: ag.rand(MUCH, MUCH),
    "meshgrid": lambda: ag.meshgrid(spread(MUCH), spread(MUCH))[0] + 1.0,
}
#: Those of which the functions of several operations do not know the type.
UNTYPED: dict[str, Callable[[], Any]] = {
    "hamming": lambda: ag.hamming(2**62), "histogram": lambda: ag.histogram(ag.ones(3), 2**61),
    "bincount": lambda: ag.bincount(ag.tensor([2**62])), "logspace": lambda: ag.logspace(
        0, 1, 2**62), "combinations": lambda: ag.combinations(spread(MUCH)),
    "vander": lambda: ag.vander(ag.ones(3), 2**62), "geomspace": lambda: ag.geomspace(1, 2, 2**62),
}


@pytest.mark.parametrize("run", [lambda f: f(), lambda f: ag.jit(f)()], ids=["eager", "jit"])
@pytest.mark.parametrize("name", BEYOND)
def test_more_than_is_counted_is_no_memory(name: str, run: Any) -> None:
    with pytest.raises(MemoryError, match=r"there is no memory for .* GB, \w+\[.*\]") as caught:
        run(BEYOND[name])
    assert "test_oversize.py" in str(caught.value)


@pytest.mark.parametrize("name", UNTYPED)
def test_functions_of_which_nobody_knows_the_type_say_that_memory_lacks(name: str) -> None:
    with pytest.raises(MemoryError, match=rf"{name}\(.*there is no memory for"):
        UNTYPED[name]()


#: Functions with several results, whose memory belongs to no value of its own.
SEVERAL: dict[str, Callable[[Any], Any]] = {
    "svd": lambda q: ag.linalg.svd(ag.full((2**30, 2**20), 1.0) * q)[1],
    "scan": lambda q: ag.scan(lambda c, x: (c + x, c * x), q, ag.full((2**50,), 1.0))[1][0],
    "scan of rows": lambda q: (lambda a: ag.scan(
        lambda c, x: (c + x, (c, x)), a[0] * 0, a)[1][0][0, 0])(ag.full((2**31, 2**31), 1.0) * q),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_memory_of_several_results_is_named_by_its_type(name: str) -> None:
    with pytest.raises(MemoryError, match=r"no memory .* GB, .*float\d\d\[\d+") as caught:
        ag.jit(SEVERAL[name])(ag.tensor(1.0))
    assert "test_oversize.py" in str(caught.value)


def test_indices_beyond_memory_are_not_looked_at_one_by_one() -> None:
    many = ag.asarray(np.broadcast_to(np.zeros(1, np.int64), (MUCH * 2**14,)))
    for call in (lambda: ag.choose(many, [ag.ones(1), ag.zeros(1)]),
                 lambda: ag.ravel_multi_index((many, many), (2, 3)),
                 lambda: ag.unravel_index(many, (2, 3))):
        with pytest.raises(MemoryError, match=r"there is no memory for .* GB"):
            call()


def test_arguments_that_are_copied_are_named() -> None:
    x = spread(MUCH, 2**4)
    assert float(ag.jit(lambda x: x[3, 2])(ag.tensor([[1.0] * 4] * 4))) == 1
    symbol = ag.symbolic.tensor("float32", (None, None))
    for f in (ag.jit(lambda x: x * 2), ag.jit(lambda x: x.argmin()),
              ag.function([symbol], symbol + 1)):
        with pytest.raises(MemoryError, match=rf"(?s)argument.*no memory for .* GB, float32\[{MUCH}"
                           ) as caught:
            f(x)
        assert "test_oversize.py" in str(caught.value)
