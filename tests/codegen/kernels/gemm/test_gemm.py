"""Generated matrix products against NumPy: shapes, layouts, widths, fusion, splits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

llvm = pytest.importorskip("llvmlite.binding")

from agnesi.codegen.kernels.gemm import (  # noqa: E402
    GemmPlan,
    GemmSpec,
    Operand,
    Operands,
    direct,
    emit_gemm,
    plan,
)
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64  # noqa: E402
from agnesi.codegen.llvm.instructions import prefetch  # noqa: E402
from agnesi.codegen.llvm.type_names import nbytes  # noqa: E402
from agnesi.core.target import Costs, Target  # noqa: E402

Compiled = tuple[GemmPlan, Callable[..., None]]
_KEEP: list[object] = []


def _native(text: str) -> Callable[..., None]:
    """Compile a module whose function ``gemm`` takes four pointers, two counts and scratch."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _KEEP.append((engine, machine))
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, count, count, pointer)
    return kind(engine.get_function_address("gemm"))


def _epilogue(c: Value, bias: Value, type_: str, spec: GemmSpec, kind: str):
    """``C = acc``, ``C = relu(acc + bias[j])`` or ``C -= 0.5 * acc``."""
    align = nbytes(type_)

    def load(b, at, type_, mask):
        if mask is None:
            return b.load(type_, at, align)
        return b.masked_load(type_, at, mask, align, const(type_, 0))

    def epilogue(b, acc, batch, i, j, lanes, mask, along):
        at = b.add(b.mul(i, i64(spec.c_strides[0])), b.mul(j, i64(spec.c_strides[1])))
        at = b.gep(type_, c, b.add(at, b.mul(batch, i64(spec.m * spec.n))))
        assert lanes == 1 or spec.c_strides["mn".index(along)] == 1
        if kind == "bias_relu":
            if along == "n":
                shift = load(b, b.gep(type_, bias, j), acc.type, mask)
            else:
                shift = b.splat(b.load(type_, b.gep(type_, bias, j)), lanes)
            total = b.fadd(acc, shift)
            acc = b.select(b.fcmp("ogt", total, const(acc.type, 0)), total, const(acc.type, 0))
        elif kind == "update":
            acc = b.fsub(load(b, at, acc.type, mask), b.fmul(acc, const(acc.type, 0.5)))
        if mask is None:
            b.store(acc, at, align)
        else:
            b.masked_store(acc, at, mask, align)

    return epilogue


def _produced(
    pointer: Value, type_: str, strides: tuple[int, ...], axes: str, batch: int
) -> Operand:
    """An operand without memory of its own: twice the element plus one, masked lanes zero."""
    plain = direct(pointer, type_, strides, axes, batch)

    def load(b, at, row, column, lanes, mask, along):
        value = plain.load(b, at, row, column, lanes, mask, along)
        value = b.fadd(b.fmul(value, const(value.type, 2)), const(value.type, 1))
        return value if mask is None else b.select(mask, value, const(value.type, 0))

    return Operand(load)


def _build(spec: GemmSpec, kind: str = "store", vector_bits: int = 512, **caches: Any) -> Compiled:
    chosen = plan(spec, Target(vector_bits, **caches))
    module = Module(Target(512))
    pointers = [("ptr noalias", name) for name in "abcx"]
    b = Builder(
        module,
        "gemm",
        [*pointers, ("i64", "begin"), ("i64", "end"), ("ptr noalias", "scratch")],
        internal=False,
    )
    a, bb, c, bias, begin, end, scratch = b.parameters
    make_a = direct if spec.a_direct else _produced
    make_b = direct if spec.b_direct else _produced
    result = direct(c, spec.type, spec.c_strides, "mn", spec.m * spec.n)
    operands = Operands(
        make_a(a, spec.type, spec.a_strides, "mk", spec.m * spec.k),
        make_b(bb, spec.type, spec.b_strides, "kn", spec.k * spec.n),
        _epilogue(c, bias, spec.type, spec, kind),
        lambda b, *at: prefetch(b, result.address(b, *at[:3]), near=True),
    )
    emit_gemm(b, chosen, operands, begin, end, scratch)
    b.finish()
    return chosen, _native(str(module))


def _guarded(values: np.ndarray) -> np.ndarray:
    """A copy that starts right after, and ends right before, memory that must stay as it is."""
    room = np.full(values.size + 64, 77, values.dtype)
    room[32:-32] = values.ravel()
    return room


def _check(
    spec: GemmSpec,
    kind: str = "store",
    cuts: tuple[float, ...] = (),
    vector_bits: int = 512,
    **caches: Any,
) -> None:
    rng = np.random.default_rng(spec.m * 10007 + spec.n * 101 + spec.k)
    dtype = np.dtype(spec.dtype)

    def random(*shape: int) -> np.ndarray:
        if dtype.kind == "f":
            return rng.standard_normal(shape).astype(dtype)
        return rng.integers(-9, 9, shape).astype(dtype)

    def stored(values: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
        return np.swapaxes(values, 1, 2) if strides[0] == 1 != strides[1] else values

    a, bb = random(spec.batch, spec.m, spec.k), random(spec.batch, spec.k, spec.n)
    for values, share in zip((a, bb), spec.zeros, strict=True):
        values[rng.random(values.shape) < share] = 0
    c, bias = random(spec.batch, spec.m, spec.n), random(spec.n)
    left = 2 * a + 1 if not spec.a_direct else a
    right = 2 * bb + 1 if not spec.b_direct else bb
    exact = left.astype(np.float64) @ right.astype(np.float64)
    expected = {
        "store": lambda: exact,
        "bias_relu": lambda: np.maximum(exact + bias, 0),
        "update": lambda: c - 0.5 * exact,
    }[kind]()
    chosen, run = _build(spec, kind, vector_bits, **caches)
    memory = [
        _guarded(stored(a, spec.a_strides)),
        _guarded(stored(bb, spec.b_strides)),
        _guarded(stored(c, spec.c_strides)),
        _guarded(bias),
    ]
    raw = np.zeros(chosen.scratch + 256, np.uint8)
    start = -raw.ctypes.data % 64 + 64
    raw[start + chosen.scratch :] = 99
    pointers = [x.ctypes.data + 32 * dtype.itemsize for x in memory]
    points = [0, *sorted(int(f * chosen.units) for f in cuts), chosen.units]
    for begin, end in reversed(list(pairwise(points))):
        run(*pointers, begin, end, raw.ctypes.data + start)
    shape = stored(c, spec.c_strides).shape
    got = stored(memory[2][32:-32].reshape(shape), spec.c_strides)
    for room in memory:
        assert (room[:32] == 77).all() and (room[-32:] == 77).all()
    assert (raw[start + chosen.scratch :] == 99).all()
    if dtype.kind == "f":
        scale = np.sqrt(spec.k) * (8 if not (spec.a_direct and spec.b_direct) else 1) + 1
        bound = 20 * np.finfo(dtype).eps * scale * max(1, np.sqrt(spec.k) / 8)
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)
    else:
        np.testing.assert_array_equal(got, expected.astype(dtype))


def _layout(m: int, n: int, k: int, ta: bool, tb: bool, **more) -> GemmSpec:
    return GemmSpec(
        m, n, k, a_strides=(1, m) if ta else (k, 1), b_strides=(1, k) if tb else (n, 1), **more
    )


_RNG = np.random.default_rng(5)
_SIZES = [tuple(int(v) for v in _RNG.integers(1, 71, 3)) for _ in range(12)]


@pytest.mark.share(4)
@pytest.mark.parametrize("size", _SIZES, ids=str)
def test_random_sizes_and_layouts(size: tuple[int, int, int]) -> None:
    pick = sum(size)
    kind = ("store", "bias_relu", "update")[pick % 3]
    _check(_layout(*size, bool(pick & 1), bool(pick & 2)), kind, cuts=(0.3, 0.6))
    _check(_layout(*size, bool(pick & 2), not pick & 1), kind, cuts=(0.5,))


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "size",
    [
        (1, 1, 1),
        (1, 500, 784),
        (784, 1, 500),
        (100, 40, 1),
        (60, 10, 500),
        (61, 97, 333),
        (3, 200, 300),
        (300, 3, 200),
        (1, 1, 300),
        (300, 2, 300),
        (20, 300, 50),
    ],
    ids=str,
)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_edge_shapes(size: tuple[int, int, int], transposed: str) -> None:
    _check(_layout(*size, "a" in transposed, "b" in transposed), "bias_relu", cuts=(0.4, 0.7))


@pytest.mark.share(4)
@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_types_and_widths(vector_bits: int, dtype: str) -> None:
    _check(_layout(23, 41, 37, False, False, dtype=dtype), vector_bits=vector_bits, cuts=(0.5,))
    _check(_layout(13, 35, 50, True, True, dtype=dtype), vector_bits=vector_bits, cuts=(0.2,))
    _check(_layout(1, 17, 33, False, True, dtype=dtype), vector_bits=vector_bits, cuts=(0.5,))


@pytest.mark.share(8)
@pytest.mark.parametrize("a_direct", [True, False])
@pytest.mark.parametrize("b_direct", [True, False])
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_prologues(a_direct: bool, b_direct: bool, transposed: str) -> None:
    for size in ((45, 35, 60), (2, 40, 70), (50, 1, 9), (9, 33, 256)):
        spec = _layout(
            *size, "a" in transposed, "b" in transposed, a_direct=a_direct, b_direct=b_direct
        )
        _check(spec, "update", cuts=(0.35,))


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("a_direct", [True, False])
def test_blocks_of_k(transposed: str, a_direct: bool) -> None:
    spec = _layout(70, 50, 600, "a" in transposed, "b" in transposed, a_direct=a_direct)
    _check(spec, "bias_relu", cuts=(0.5,), l1=4096, l2=16384)
    assert plan(spec, Target(512, l1=4096, l2=16384)).blocked


def test_batches() -> None:
    _check(_layout(7, 19, 11, False, False, batch=5), "update", cuts=(0.1, 0.5, 0.8))
    _check(_layout(30, 40, 50, True, True, batch=3), "bias_relu", cuts=(0.4,))


def test_transposed_result() -> None:
    spec = GemmSpec(30, 40, 50, c_strides=(1, 30))
    assert plan(spec, Target(512)).swapped
    _check(spec, "bias_relu", cuts=(0.5,))


def test_any_strides() -> None:
    """Every second row and every third column of larger matrices."""
    m, n, k = 21, 19, 17
    rng = np.random.default_rng(0)
    a, bb = (rng.standard_normal((2 * p, 3 * q)).astype("f") for p, q in ((m, k), (k, n)))
    spec = GemmSpec(m, n, k, a_strides=(6 * k, 3), b_strides=(6 * n, 3))
    chosen, run = _build(spec)
    c = np.zeros((m, n), "f")
    raw = np.zeros(chosen.scratch + 64, np.uint8)
    scratch = raw.ctypes.data + -raw.ctypes.data % 64
    run(a.ctypes.data, bb.ctypes.data, c.ctypes.data, 0, 0, chosen.units, scratch)
    np.testing.assert_allclose(c, a[::2, ::3] @ bb[::2, ::3], atol=1e-4)


def test_units_do_not_depend_on_the_split() -> None:
    spec = GemmSpec(61, 97, 333)
    chosen, run = _build(spec)
    rng = np.random.default_rng(0)
    a, bb = rng.standard_normal((61, 333)).astype("f"), rng.standard_normal((333, 97)).astype("f")
    raw = np.zeros(chosen.scratch + 64, np.uint8)
    scratch = raw.ctypes.data + -raw.ctypes.data % 64
    results = []
    for step in (1, 3, chosen.units):
        c = np.zeros((61, 97), "f")
        for begin in range(0, chosen.units, step):
            end = min(begin + step, chosen.units)
            run(a.ctypes.data, bb.ctypes.data, c.ctypes.data, 0, begin, end, scratch)
        results.append(c)
    assert chosen.units > 3
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_empty_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sizes must be at least 1, got m=3, n=0, k=2, batch=1"):
        GemmSpec(3, 0, 2)


@pytest.mark.share(4)
@pytest.mark.parametrize("rows", [1, 3, 9, 25, 50])
@pytest.mark.parametrize("columns", [128, 203])
def test_matrices_that_come_from_memory(rows: int, columns: int) -> None:
    caches = {"l1": 1024, "l2": 4096, "l3": 4096}
    for transposed in (False, True):  # read as y = x W, and as the transpose of y = W x
        sizes = (rows, columns) if not transposed else (columns, rows)
        spec = GemmSpec(
            *sizes,
            150,
            a_strides=(1, columns) if transposed else (),
            c_strides=(1, columns) if transposed else (),
        )
        _check(spec, "bias_relu", cuts=(0.3, 0.6), **caches)
    _check(GemmSpec(rows, columns, 150, batch=2), "update", cuts=(0.3, 0.6), **caches)
    chosen = plan(GemmSpec(rows, columns, 150), Target(512, **caches))
    assert chosen.form == "stream" or chosen.blocked
    assert rows > 30 or len(chosen.panels[0].rows.sizes) == chosen.panels[0].rows.tiles == 1


@pytest.mark.parametrize("size", [(24, 60, 2048), (9, 31, 1024), (64, 50, 2048)], ids=str)
def test_lines_along_k_that_clash(size: tuple[int, int, int]) -> None:
    """Few columns of B at once, for all of them lie in the same sets; A is laid out anew."""
    spec = _layout(*size, False, True)
    chosen = plan(spec, Target(512, l2=1 << 20))
    assert chosen.form == "dot" and chosen.pack_a and chosen.panels[0].columns <= 6
    _check(spec, "update", cuts=(0.3, 0.6), l2=1 << 20)


def test_lines_of_few_rows_that_clash_are_packed() -> None:
    spec = GemmSpec(16, 256, 1024)
    caches = {"l1": 32768, "l2": 65536, "l3": 1 << 20}
    assert plan(spec, Target(512, **caches)).pack_a
    _check(spec, "update", cuts=(0.3, 0.6), **caches)


@pytest.mark.parametrize("transposed", ["", "a", "ab"])
def test_large_matrices(transposed: str) -> None:
    """Blocked, and A packed although it is plain memory where it lies along m; small caches stand
    in for size."""
    spec = _layout(530, 520, 800, "a" in transposed, "b" in transposed)
    caches = {"l1": 32768, "l2": 65536, "l3": 1 << 26}
    chosen = plan(spec, Target(512, **caches))
    assert chosen.blocked and chosen.calls and chosen.pack_a == ("a" in transposed)
    _check(spec, "update", cuts=(0.5,), **caches)


@pytest.mark.share(24)
@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("size", [(530, 211, 260), (1100, 72, 1300), (700, 600, 90)], ids=str)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_strips(size: tuple[int, int, int], transposed: str, vector_bits: int) -> None:
    """Large operands: lying along m they are packed in strips, of which 16 registers keep several
    in a cache; along a long k they are read in place."""
    spec = _layout(*size, "a" in transposed, "b" in transposed)
    caches = {"l1": 8192, "l2": 16384, "l3": 1 << 26}
    chosen = plan(spec, Target(vector_bits, **caches))
    if "a" in transposed or size[2] > 1000:
        assert chosen.form == "strip"
        assert chosen.pack_a == ("a" in transposed)
        assert (chosen.block_tiles > 1) == ("a" in transposed and vector_bits == 256)
    _check(spec, "update", cuts=(0.3, 0.6), vector_bits=vector_bits, **caches)
    if size[2] < 100:
        spec = GemmSpec(*size, batch=2, a_strides=(1, size[0]), dtype="float64")
        _check(spec, "store", cuts=(0.4,), vector_bits=vector_bits, **caches)


@pytest.mark.share(4)
@pytest.mark.parametrize("size", [(330, 211, 260), (70, 300, 900), (650, 520, 20)], ids=str)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_a_third_level_cache_as_far_as_memory(size: tuple[int, int, int], transposed: str) -> None:
    """A transposed A, a large B of whole lines and large results of short sums: what is read twice
    is packed where the second-level cache ends, not where memory begins."""
    spec = _layout(*size, "a" in transposed, "b" in transposed)
    caches = {"l1": 32768, "l2": 1 << 18, "l3": 1 << 26}
    far = {**caches, "costs": Costs(l3_cycles=600)}
    chosen = plan(spec, Target(512, **far))
    if size[2] == 20:
        assert chosen.form == "strip" and chosen.early
    elif "a" in transposed or (size[2] == 900 and not transposed):
        assert chosen.form == "strip" and chosen.block_tiles == 1
    _check(spec, "update", cuts=(0.3, 0.6), **far)


@pytest.mark.parametrize("transposed", ["", "a", "b"])
def test_merged_chunks_of_strips(transposed: str) -> None:
    """All columns of B stay near: chunks of rows are for threads, and one of them does them as
    one, wherever its share begins."""
    spec = _layout(500, 70, 1300, "a" in transposed, "b" in transposed)
    caches = {"l1": 32768, "l2": 131072, "l3": 1 << 26}
    chosen = plan(spec, Target(512, **caches))
    assert chosen.form == "strip" and chosen.blocked
    assert chosen.column_groups == 1 and chosen.merged > 1 and chosen.units > 2
    for cuts in ((), (0.4,), (0.4, 0.7)):
        _check(spec, "update", cuts=cuts, **caches)


@pytest.mark.share(6)
@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("columns", [64, 115, 800])
@pytest.mark.parametrize("transposed", ["", "b"])
def test_strips_of_whole_rows(transposed: str, columns: int, vector_bits: int) -> None:
    """An A whose rows lie one after the other is read in strips, along a B that stays near or
    towards a result that is far."""
    spec = _layout(1300, columns, 104, False, "b" in transposed)
    caches = {"l1": 32768, "l2": 1 << 17, "l3": 1 << 26}
    chosen = plan(spec, Target(vector_bits, **caches))
    assert chosen.form == "strip" and not chosen.pack_a and not chosen.blocked
    assert chosen.early and chosen.units > 2 and (chosen.column_groups == 1) == (columns < 800)
    for cuts in ((), (0.3, 0.7)):
        _check(spec, "bias_relu", cuts=cuts, vector_bits=vector_bits, **caches)
    apart = GemmSpec(1300, columns, 104, a_strides=(120, 1))
    assert plan(apart, Target(vector_bits, **caches)).form == "tile"


@pytest.mark.share(4)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("depth", [1, 4, 37])
def test_short_sums_of_a_large_result(depth: int, transposed: str) -> None:
    """Row by row of tiles, which call the memory of the next one."""
    spec = _layout(203, 211, depth, "a" in transposed, "b" in transposed)
    caches = {"l1": 8192, "l2": 16384, "l3": 1 << 26}
    chosen = plan(spec, Target(512, **caches))
    assert chosen.form == "strip" and chosen.early
    for epilogue in ("update", "bias_relu"):
        _check(spec, epilogue, cuts=(0.3, 0.6), **caches)


@pytest.mark.share(8)
@pytest.mark.parametrize("size", [(1140, 139, 150), (128, 1035, 134)], ids=str)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_zeros_are_skipped(size: tuple[int, int, int], transposed: str) -> None:
    """Of the operand that has many, in whatever order operands and result lie."""
    bits, dtype = (256, "float64") if "b" in transposed else (512, "float32")
    for zeros in ((0.5, 0.0), (0.0, 0.6)):
        spec = _layout(*size, "a" in transposed, "b" in transposed, zeros=zeros, dtype=dtype)
        chosen = plan(spec, Target(bits))
        assert chosen.form == "skip" and chosen.swapped == (zeros[0] == 0)
        _check(spec, "update", cuts=(0.3, 0.6), vector_bits=bits)


@pytest.mark.share(4)
@pytest.mark.parametrize("depth", [250, 294, 325, 600])
def test_zeros_are_skipped_along_a_turned_operand(depth: int) -> None:
    """Blocks of k are turned a few lines at a time: only the last one has others left over."""
    spec = _layout(246, 290, depth, False, True, zeros=(0.5, 0.0))
    chosen = plan(spec, Target(512))
    assert chosen.form == "skip" and chosen.k_block % 4 == 0
    _check(spec, "store")


def test_zeros_are_skipped_in_batches() -> None:
    spec = GemmSpec(530, 211, 260, batch=2, c_strides=(1, 530), zeros=(0.4, 0.0))
    assert plan(spec, Target(512)).transposes_sums
    _check(spec, "bias_relu", cuts=(0.4,))


def test_few_zeros_are_not_skipped() -> None:
    for size, share in (((512, 512, 512), 0.2), ((20, 9999, 512), 0.9)):
        assert plan(GemmSpec(*size, zeros=(share, 0.0)), Target(512)).form != "skip"
