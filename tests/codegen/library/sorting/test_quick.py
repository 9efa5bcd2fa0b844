"""Quicksort of words by every kind of partition: of vectors with and without AVX-512, of words."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.partition import partition_lanes
from agnesi.codegen.library.sorting.quick import write_quick
from agnesi.codegen.llvm.builder import Builder, Module, i64
from agnesi.core.support.record import replace
from agnesi.runtime import machine

WIDTHS = {"native": 1024, "avx2": 256, "plain": 128}


def target(width):
    """The processor at hand with vectors no wider than that; it must run what is made."""
    native = machine.native()
    bits = min(native.lanes(1) * 8, WIDTHS[width])
    lost = [f for f in native.features.split(",") if "avx512" in f and bits < 512]
    lost += ["+avx2"] if bits < 256 else []
    kept = [f for f in native.features.split(",") if f not in lost]
    return replace(native, vector_bits=bits, features=",".join(kept))


@functools.cache
def sorter(type_, width):
    """A function that sorts rows of words, one behind the other, each in place."""
    module = Module(target(width))
    write_quick(module, type_, (1 << (int(type_[1:]) - 1)) - 1)
    b = Builder(module, "run", [("ptr", "words"), ("i64", "rows"), ("i64", "n")], internal=False)
    words, rows, n = b.parameters
    polls = Polls.begin(b, i64(0))
    with b.loop(i64(0), rows) as row:
        b.call("void", "sort_words", b.gep(type_, words, b.mul(row.index, n)), n,
               polls.address)
    b.finish()
    code = machine.load(str(module), target=module.target)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        code.address("run"))

    def in_order(x, code=code):  # whose memory it is
        kept = np.full(x.size + 64, 77, x.dtype)  # what lies beside the rows stays
        kept[32:-32] = x.reshape(-1)
        call(kept.ctypes.data + 32 * x.itemsize, *x.shape)
        assert (kept[:32] == 77).all() and (kept[-32:] == 77).all()
        return kept[32:-32].reshape(x.shape)

    return in_order


KINDS = [("int32", "native"), ("int64", "native"), ("int64", "avx2"), ("int32", "avx2"),
         ("int32", "plain")]


@pytest.fixture(params=KINDS, ids=[f"{d}-{w}" for d, w in KINDS])
def kind(request):
    dtype, width = request.param
    return np.dtype(dtype), sorter(f"i{dtype[3:]}", width)


def test_all_patterns_of_zeros_and_ones(kind):
    dtype, in_order = kind
    for n in range(1, 15):
        x = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(dtype)
        np.testing.assert_array_equal(in_order(x), np.sort(x, -1))


def test_all_short_rows_and_some_long_ones(kind):
    dtype, in_order = kind
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    rng = np.random.default_rng(0)
    for n in (*range(300), 511, 1025, 4100, 20_000):
        x = rng.integers(least, most, (8, n), dtype, endpoint=True)
        x[1] = rng.integers(0, 3, n)
        x[2] = np.sort(x[2])
        x[3] = np.sort(x[3])[::-1]
        x[4] = rng.choice([least, most], n)
        x[5] = least
        x[6] = np.abs(np.arange(n) - n // 2)  # falls, then rises
        x[7] = most
        np.testing.assert_array_equal(in_order(x), np.sort(x, -1), err_msg=str(n))


def test_which_vectors_the_processor_can_permute():
    lanes = {w: partition_lanes(target(w), 32) for w in WIDTHS}
    assert lanes["plain"] == 1 and lanes["avx2"] in (1, 8) and lanes["native"] >= lanes["avx2"]
