"""Generated convolutions against the operations' NumPy values: kinds, sizes, layouts, fusion."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite.binding")

from agnesi.codegen.kernels.conv import plan_convolution, preferred
from agnesi.codegen.kernels.conv.rows import RowLanes
from agnesi.codegen.kernels.conv.weight_pixels_plan import WeightPixelsPlan
from agnesi.codegen.kernels.conv.winograd.plan import WinogradPlan, WinogradWeightPlan
from agnesi.codegen.kernels.tile_search import fewest_blocks
from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.loops import call, const
from agnesi.core.support.policy import FAST_COMPILE, FAST_RUN, CompilePolicy
from agnesi.core.target import Target
from agnesi.runtime import threads
from tests.codegen.kernels.conv.conv_kernels import (
    Runnable,
    conv_sizes,
    host,
    ordered,
    reference,
    shapes,
)

KINDS = ("forward", "input", "weight")


def _orders(kind: str, sizes: ConvSizes, layout: str) -> tuple[tuple[int, ...] | None, ...]:
    """Memory orders of both operands and the result."""
    if layout == "first":
        return None, None, None
    rank = len(sizes.kernel)
    space = tuple(range(2, 2 + rank))
    last, filters = (0, *space, 1), (*space, 1, 0)
    if layout == "turned":
        return last, None, None
    if layout == "mixed":
        return (1, *space, 0), None, last if kind != "weight" else filters
    return {"forward": (last, filters, last), "input": (last, (*space, 0, 1), last),
            "weight": (last, last, filters)}[kind]


def _guarded(shape: tuple[int, ...], dtype: str, order: tuple[int, ...] | None) -> np.ndarray:
    """Memory for a result in the middle of memory that must stay as it is."""
    size = int(np.prod(shape))
    room = np.full(size + 128, 77, dtype)
    if order is None:
        return room[64:-64].reshape(shape)
    inner = room[64:-64].reshape([shape[i] for i in order])
    return inner.transpose(np.argsort(order))


def _check(kind: str, sizes: ConvSizes, layout: str = "last", dtype: str = "float32",
           where: Target | None = None, policy: CompilePolicy = FAST_RUN) -> Runnable:
    rng = np.random.default_rng(hash((sizes.image, sizes.kernel, sizes.filters)) % 1000)
    first, second, result = shapes(kind, sizes)
    orders = _orders(kind, sizes, layout)
    a = ordered(rng.standard_normal(first).astype(dtype), orders[0])
    b = ordered(rng.standard_normal(second).astype(dtype), orders[1])
    out = _guarded(result, dtype, orders[2])
    run = Runnable(kind, sizes, a, b, out, where, policy=policy)
    got, exact = run(), reference(kind, sizes, a.astype(np.float64), b.astype(np.float64))
    terms = max(1, a.size * b.size // max(1, out.size)) ** 0.5
    bound = 20 * np.finfo(dtype).eps * (1 + np.sqrt(terms))
    np.testing.assert_allclose(got, exact, rtol=bound, atol=bound * max(1, np.abs(exact).max()))
    room = out
    while room.base is not None:
        room = room.base
    assert (room[:64] == 77).all() and (room[-64:] == 77).all()
    return run


CASES = {
    "valid": conv_sizes(3, 1, 5, 20, (9, 11), (3, 3), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "same": conv_sizes(2, 1, 16, 33, (14, 14), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    "odd squares": conv_sizes(3, 1, 21, 40, (13, 10), (3, 3), (1, 1), (1, 1), ((0, 2), (1, 0))),
    "grouped squares": conv_sizes(1, 2, 16, 24, (28, 9), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    "wide border": conv_sizes(1, 1, 3, 18, (5, 6), (3, 2), (1, 1), (1, 1), ((4, 3), (2, 5))),
    "strided": conv_sizes(2, 1, 16, 35, (12, 13), (5, 3), (2, 3), (1, 1), ((1, 2), (0, 1))),
    "stride beyond": conv_sizes(2, 1, 12, 17, (10, 11), (2, 1), (3, 4), (1, 1), ((0, 0), (0, 0))),
    "dilated": conv_sizes(1, 2, 13, 17, (12, 10), (3, 3), (1, 1), (2, 3), ((2, 2), (3, 3))),
    "both": conv_sizes(1, 1, 4, 9, (13, 14), (3, 3), (2, 2), (3, 2), ((1, 2), (2, 2))),
    "point": conv_sizes(3, 1, 40, 24, (7, 7), (1, 1), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "point strided": conv_sizes(2, 1, 20, 17, (9, 8), (1, 1), (2, 2), (1, 1), ((0, 0), (0, 0))),
    "point far apart": conv_sizes(2, 1, 256, 24, (9, 6), (1, 1), (2, 2), (1, 1), ((0, 0), (0, 0))),
    "point border": conv_sizes(2, 1, 20, 17, (4, 5), (1, 1), (2, 2), (1, 1), ((1, 0), (1, 2))),
    "groups": conv_sizes(2, 3, 4, 5, (9, 11), (3, 3), (1, 2), (1, 1), ((1, 1), (1, 1))),
    "depthwise": conv_sizes(2, 37, 1, 1, (9, 18), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    "depthwise strided": conv_sizes(1, 64, 1, 1, (9, 11), (3, 5), (2, 2), (1, 2), ((1, 0), (3, 2))),
    "depthwise inside": conv_sizes(1, 32, 1, 1, (8, 9), (3, 3), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "depthwise wide taps": conv_sizes(1, 18, 1, 1, (15, 16), (7, 7), (2, 1), (1, 2),
                                      ((3, 3), (6, 5))),
    "depthwise line": conv_sizes(2, 33, 1, 1, (70,), (21,), (2,), (3,), ((9, 4),)),
    "depthwise volume": conv_sizes(2, 20, 1, 1, (5, 6, 7), (3, 2, 4), (2, 1, 2), (1, 3, 1),
                                   ((1, 1), (2, 0), (0, 3))),
    "depthwise point": conv_sizes(2, 35, 1, 1, (6, 5), (1, 1), (2, 3), (1, 1), ((1, 0), (0, 1))),
    "multiplied": conv_sizes(2, 6, 1, 3, (8, 9), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    "few maps": conv_sizes(2, 1, 1, 6, (16, 40), (5, 5), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "few to many": conv_sizes(3, 1, 6, 16, (15, 19), (7, 5), (1, 1), (1, 1), ((0, 0), (1, 2))),
    "first layer": conv_sizes(1, 1, 3, 32, (23, 22), (7, 7), (2, 2), (1, 1), ((3, 3), (3, 3))),
    "one place": conv_sizes(2, 1, 24, 40, (4, 5), (4, 5), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "line": conv_sizes(3, 1, 9, 20, (50,), (5,), (1,), (1,), ((2, 2),)),
    "line strided": conv_sizes(2, 1, 16, 8, (61,), (9,), (4,), (2,), ((3, 1),)),
    "volume": conv_sizes(2, 1, 6, 18, (5, 6, 7), (3, 2, 3), (1, 1, 1), (1, 1, 1), ((1, 1),) * 3),
    "volume strided": conv_sizes(1, 1, 12, 10, (6, 5, 9), (2, 3, 3), (2, 1, 2), (1, 2, 1),
                                 ((0, 1), (2, 2), (1, 1))),
}


@pytest.mark.share(24)
@pytest.mark.parametrize("layout", ["last", "first", "mixed", "turned"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_cases(kind: str, case: str, layout: str) -> None:
    _check(kind, CASES[case], layout)


@pytest.mark.share(16)
@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_types_and_widths(kind: str, dtype: str, vector_bits: int) -> None:
    """Each case in one layout at each width, and in the other for the other type."""
    first = (vector_bits // 256 + (dtype == "float64")) % 2
    for n, case in enumerate(("odd squares", "strided", "depthwise", "groups", "few maps")):
        layout = ("last", "first")[(n + first) % 2]
        _check(kind, CASES[case], layout, dtype, host(vector_bits))


@pytest.mark.share(4)
@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_that_no_tap_meets(dtype: str, vector_bits: int) -> None:
    """They are zeros, of more channels than registers hold, too."""
    for layout in ("last", "first"):
        _check("input", CASES["point far apart"], layout, dtype, host(vector_bits))


@pytest.mark.share(6)
@pytest.mark.parametrize("layout", ["last", "first"])
@pytest.mark.parametrize("kind", KINDS)
def test_small_caches(kind: str, layout: str) -> None:
    """Blocks of images, lines and rows."""
    for case in ("same", "odd squares", "dilated", "depthwise", "few maps", "line", "volume"):
        _check(kind, CASES[case], layout, where=host(l1=1024, l2=4096))
    long = conv_sizes(2, 1, 8, 24, (400,), (5,), (1,), (1,), ((2, 2),))
    _check(kind, long, layout, where=host(l1=1024, l2=4096))


axis = st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3),
                 st.integers(0, 4), st.integers(0, 4))


@st.composite
def _some_sizes(draw: st.DrawFn) -> ConvSizes:
    axes = draw(st.lists(axis, min_size=1, max_size=3))
    image, kernel, stride, dilation, padding = [], [], [], [], []
    for n, k, s, d, low, high in axes:
        short = d * (k - 1) + 1 - n - low - high
        image.append(n + max(0, short))
        kernel.append(k)
        stride.append(s)
        dilation.append(d)
        padding.append((low, high))
    groups, channels = draw(st.integers(1, 3)), draw(st.integers(1, 19))
    return conv_sizes(draw(st.integers(1, 3)), groups, channels, draw(st.integers(1, 35)), image,
                      kernel, stride, dilation, padding)


@settings(deadline=None, max_examples=20)
@given(_some_sizes(), st.sampled_from(KINDS), st.sampled_from(["last", "first", "mixed", "turned"]),
       st.sampled_from(["float32", "float64"]))
def test_any_sizes(sizes: ConvSizes, kind: str, layout: str, dtype: str) -> None:
    _check(kind, sizes, layout, dtype)


@st.composite
def _depthwise_sizes(draw: st.DrawFn) -> ConvSizes:
    sizes = draw(_some_sizes())
    groups, filters = draw(st.integers(1, 70)), draw(st.sampled_from([1, 1, 1, 2, 3]))
    return conv_sizes(sizes.batch, groups, 1, filters, sizes.image, sizes.kernel, sizes.stride,
                      sizes.dilation, sizes.padding)


@settings(deadline=None, max_examples=20)
@given(_depthwise_sizes(), st.sampled_from(KINDS),
       st.sampled_from(["last", "last", "mixed", "first"]),
       st.sampled_from(["float32", "float64"]), st.sampled_from([128, 256, 512]))
def test_any_depthwise_sizes(sizes: ConvSizes, kind: str, layout: str, dtype: str,
                             vector_bits: int) -> None:
    _check(kind, sizes, layout, dtype, host(vector_bits))


@pytest.mark.parametrize("vector_bits", [128, 512])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lines_of_results_share_what_a_filter_of_one_channel_reads(
        dtype: str, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any steps and borders; in vectors of which the last has lanes that are not wanted."""
    written, emit = [], RowLanes._all_taps

    def noted(self: RowLanes, *given: Any) -> Any:
        written.append(self)
        return emit(self, *given)

    monkeypatch.setattr(RowLanes, "_all_taps", noted)
    for k, (image, kernel, stride, dilation, padding) in enumerate([
        ((9, 28), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
        ((11, 29), (3, 3), (2, 2), (1, 1), ((1, 0), (0, 1))),
        ((13, 18), (3, 3), (1, 1), (2, 2), ((2, 2), (2, 3))),
        ((12, 31), (5, 3), (1, 3), (1, 2), ((4, 4), (1, 0))),
        ((7, 5), (4, 2), (3, 1), (2, 1), ((3, 2), (0, 0))),
    ]):
        sizes = conv_sizes(2, 3, 1, 1, image, kernel, stride, dilation, padding)
        _check("forward", sizes, "first", dtype, host(vector_bits))
        assert len({id(x) for x in written}) == k + 1


@pytest.mark.share(6)
@pytest.mark.parametrize("case", ["same", "strided", "depthwise", "few maps", "point", "groups"])
@pytest.mark.parametrize("layout", ["last", "first"])
@pytest.mark.parametrize("kind", KINDS)
def test_epilogues(kind: str, layout: str, case: str) -> None:
    """``relu(sum * scale + old)``, as layers and updates have it, and a long one."""
    sizes = CASES[case]
    rng = np.random.default_rng(1)
    first, second, result = shapes(kind, sizes)
    orders = _orders(kind, sizes, layout)
    a, b, old, scale = (
        ordered(rng.standard_normal(s).astype("f"), o)
        for s, o in zip((first, second, result, (1, result[1], *(1,) * (len(result) - 2))),
                        (*orders, None), strict=True)
    )
    exact = reference(kind, sizes, a.astype(float), b.astype(float)) * scale + old

    def relu(total, before, factor):
        value = call("add", call("multiply", total, factor), before)
        return call("maximum", value, const(0.0, "float32"))

    got = Runnable(kind, sizes, a, b, old.copy(order="K"), None, relu, [scale])()
    np.testing.assert_allclose(got, np.maximum(exact, 0), rtol=1e-4, atol=1e-4 * abs(exact).max())

    def long(total, before, factor):
        return call("tanh", call("sin", call("add", call("multiply", total, factor), before)))

    got = Runnable(kind, sizes, a, b, old.copy(order="K"), None, long, [scale])()
    np.testing.assert_allclose(got, np.tanh(np.sin(exact)), atol=2e-4 * max(1, abs(exact).max()))


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_results(kind: str) -> None:
    before = threads.get_num_threads()
    cases = [conv_sizes(4, 1, 32, 64, (28, 28), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
             conv_sizes(4, 64, 1, 1, (56, 56), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
             conv_sizes(8, 1, 64, 64, (14, 14), (1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)))]
    try:
        for (n, sizes), layout in itertools.product(enumerate(cases), ("last", "first")):
            threads.set_num_threads(1)
            run = _check(kind, sizes, layout)
            assert run.steps[0].parallel or (kind, n) == ("weight", 1)
            alone = run.arrays[2].copy()
            for count in (2, 3):
                threads.set_num_threads(count)
                run.arrays[2][...] = np.nan
                np.testing.assert_array_equal(run(), alone)
    finally:
        threads.set_num_threads(before)


FEW = {
    "one map": conv_sizes(5, 1, 1, 6, (61, 70), (5, 5), (1, 1), (1, 1), ((0, 0), (0, 0))),
    "full vectors": conv_sizes(9, 1, 6, 16, (30, 25), (3, 3), (1, 1), (1, 1), ((1, 1), (0, 2))),
    "strided": conv_sizes(5, 1, 3, 5, (64, 142), (5, 4), (2, 3), (1, 2), ((1, 2), (0, 1))),
    "one image": conv_sizes(1, 1, 2, 5, (97, 100), (3, 7), (1, 1), (2, 1), ((0, 0), (4, 4))),
    "line": conv_sizes(3, 1, 2, 5, (17001,), (7,), (2,), (3,), ((2, 2),)),
    "volume": conv_sizes(4, 1, 2, 5, (12, 13, 31), (3, 3, 3), (1, 1, 2), (1, 1, 1),
                         ((1, 1), (1, 1), (0, 0))),
}


@pytest.mark.share(6)
@pytest.mark.parametrize("layout", ["last", "first", "mixed"])
@pytest.mark.parametrize("case", FEW)
def test_gradients_to_few_filters(case: str, layout: str) -> None:
    """They are summed in parts, with lanes along places where filters do not fill vectors."""
    here = host(512)
    run = _check("weight", FEW[case], layout, where=here)
    assert len(run.steps) == 2
    assert run.steps[0].parallel
    plan = plan_convolution(run.kernels[0], here)
    assert isinstance(plan.parts[0], WeightPixelsPlan) == (case != "full vectors")
    vector_bits, dtype = {"last": (128, "float32"), "first": (256, "float64"),
                          "mixed": (512, "float32")}[layout]
    _check("weight", FEW[case], layout, dtype, host(vector_bits, l1=2048, l2=1 << 17))


def test_products_reach_no_other_taps() -> None:
    """An infinity in the image shows in the taps that meet it and in no others."""
    sizes = FEW["one map"]
    first, second, result = shapes("weight", sizes)
    a, b, out = (np.ones(s, "float32") for s in (first, second, result))
    a[0, 0, :, -1] = np.inf
    found = Runnable("weight", sizes, a, b, out)()
    assert np.isinf(found[..., -1]).all()
    assert np.isfinite(found[..., :-1]).all()


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS)
def test_long_lines(kind: str) -> None:
    """What a thread packs stays small however long the lines and however large the filters."""
    for sizes in (
        conv_sizes(1, 1, 4, 6, (300_000,), (3,), (1,), (1,), ((1, 1),)),
        conv_sizes(1, 16, 1, 1, (200_000,), (3,), (1,), (1,), ((1, 1),)),
        conv_sizes(1, 1, 512, 48, (9, 9), (9, 9), (1, 1), (1, 1), ((0, 0), (0, 0))),
    ):
        for layout in ("last", "first"):
            run = _check(kind, sizes, layout)
            here = host()
            plan = plan_convolution(run.kernel, here)
            assert all(p.scratch <= 6 << 20 for p in plan.parts if not isinstance(p, tuple))


SQUARES = {
    "even": conv_sizes(2, 1, 17, 40, (12, 9), (4, 4), (1, 1), (1, 1), ((1, 2), (0, 1))),
    "two": conv_sizes(3, 1, 16, 21, (9, 8), (2, 2), (1, 1), (1, 1), ((0, 0), (1, 0))),
    "five": conv_sizes(2, 2, 16, 33, (13, 11), (5, 5), (1, 1), (1, 1), ((2, 2), (2, 2))),
    "uneven": conv_sizes(2, 1, 18, 16, (11, 14), (7, 3), (1, 1), (1, 1), ((3, 3), (0, 1))),
    "uneven too": conv_sizes(1, 1, 16, 16, (9, 15), (2, 6), (1, 1), (1, 1), ((1, 1), (4, 2))),
    "dilated": conv_sizes(2, 1, 16, 24, (17, 13), (3, 3), (1, 1), (2, 3), ((2, 1), (3, 3))),
    "dilated five": conv_sizes(1, 1, 20, 16, (14, 15), (5, 4), (1, 1), (3, 2), ((6, 6), (3, 3))),
    "volume": conv_sizes(2, 1, 16, 35, (5, 8, 9), (3, 3, 3), (1, 1, 1), (1, 1, 1), ((1, 1),) * 3),
    "volume strided": conv_sizes(2, 1, 17, 16, (9, 6, 7), (3, 3, 5), (2, 1, 1), (2, 1, 1),
                                 ((3, 2), (1, 1), (2, 2))),
    "planes": conv_sizes(2, 1, 16, 16, (4, 7, 8), (1, 3, 3), (1, 1, 1), (1, 1, 1),
                         ((0, 0), (1, 1), (1, 1))),
    "far border": conv_sizes(2, 1, 16, 16, (2, 4, 5), (3, 3, 3), (1, 1, 1), (1, 1, 1),
                             ((5, 1), (3, 4), (0, 2))),
}


@pytest.mark.share(16)
@pytest.mark.parametrize("layout", ["first", "last"])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("case", SQUARES)
@pytest.mark.parametrize("kind", KINDS)
def test_squares(kind: str, case: str, many: bool, layout: str,
                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the taps, in one block or in as many as there may be, channels first or last.

    Where results lie line by line, squares of sums are turned.
    """
    found = []

    def cycles(plan: WinogradPlan, l2: int) -> float:
        found.append(plan)
        blocks = plan.passes * plan.panel_groups
        return -1e12 * (blocks if many else 1 / blocks)

    for way in (WinogradPlan, WinogradWeightPlan):
        monkeypatch.setattr(way, "cycles", cycles)
    dtype, vector_bits = ("float64", 256) if many else ("float32", 512)
    run = _check(kind, SQUARES[case], layout, dtype, host(vector_bits))
    lines = layout == "first" and kind != "weight" and SQUARES[case].dilation[-1] == 1
    assert found and ("@transpose" in run.text) == lines


def test_ways() -> None:
    """Points are products; 3 x 3 taps with many channels are fewer multiplications."""
    here = host(512)
    many = conv_sizes(1, 1, 64, 64, (28, 27), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)))
    for sizes, way in ((CASES["point"], tuple), (many, WinogradPlan)):
        run = _check("forward", sizes)
        plan = plan_convolution(run.kernel, here)
        assert isinstance(plan.parts[0], way)


@pytest.mark.parametrize(("width", "filters", "vector_bits"), [(112, 64, 512), (75, 20, 256)])
def test_sums_of_lines_are_transposed_where_results_lie_along_them(
        width: int, filters: int, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes along filters, with whole squares of sums and what is left of lines and filters."""
    monkeypatch.setattr("agnesi.codegen.kernels.conv.kernel.ROW_MULTIPLY_TIME", 1e9)
    sizes = conv_sizes(1, 1, 3, filters, (9, width), (7, 7), (2, 2), (1, 1), ((3, 3), (3, 3)))
    here = host(vector_bits)
    run = _check("forward", sizes, "first", where=here)
    assert plan_convolution(run.kernel, here).parts[0].transposes


@pytest.mark.parametrize("kind", KINDS)
def test_preferred_orders(kind: str) -> None:
    wide, narrow = CASES["same"], CASES["few maps"]
    best = preferred(kind, wide, target=Target(512))[0]
    assert best.first[1:] == (2, 3, 1)
    for sizes in (wide, narrow, CASES["line"], CASES["volume"]):
        for option in preferred(kind, sizes, target=Target(512)):
            first, second, result = shapes(kind, sizes)
            assert [sorted(o) for o in (option.first, option.second, option.result)] == [
                list(range(len(s))) for s in (first, second, result)]
            assert option.cycles > 0


_SHARED = {
    "rows": (conv_sizes(3, 1, 1, 6, (17, 19), (5, 5), (1, 1), (1, 1), ((0, 0),) * 2), True),
    "wide": (conv_sizes(2, 1, 6, 16, (14, 14), (5, 5), (1, 1), (1, 1), ((0, 0),) * 2), True),
    "borders": (conv_sizes(2, 2, 12, 33, (8, 9), (3, 3), (2, 1), (1, 1), ((1, 2), (1, 1))), True),
    "channels": (conv_sizes(1, 1, 40, 24, (9, 11), (3, 3), (1, 1), (1, 1), ((1, 1),) * 2), False),
    "depthwise": (conv_sizes(2, 8, 1, 1, (9, 9), (3, 3), (1, 1), (1, 1), ((1, 1),) * 2), False),
    "volume": (conv_sizes(2, 1, 3, 5, (4, 6, 7), (2, 3, 2), (1, 2, 1), (1, 1, 2),
                          ((0, 1), (1, 1), (0, 0))), True),
}
_SQUARES_SHARED = {
    "odd": conv_sizes(3, 1, 21, 40, (13, 10), (3, 3), (1, 1), (1, 1), ((0, 2), (1, 0))),
    "grouped": conv_sizes(2, 2, 16, 24, (28, 9), (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1))),
    "many taps": conv_sizes(2, 1, 17, 70, (9, 12), (5, 4), (1, 1), (1, 1), ((2, 2), (1, 1))),
    "dilated": conv_sizes(1, 1, 32, 48, (14, 15), (3, 5), (1, 1), (2, 1), ((2, 2), (1, 3))),
    "volume": conv_sizes(2, 1, 16, 33, (5, 6, 7), (3, 2, 3), (1, 1, 1), (1, 1, 1), ((1, 1),) * 3),
    "planes": conv_sizes(1, 1, 20, 17, (6, 5, 7), (2, 3, 3), (2, 1, 1), (2, 1, 1), ((1, 2),) * 3),
}


@pytest.mark.share(6)
@pytest.mark.parametrize("layout", ["first", "last", "turned"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", _SHARED)
def test_shared_tiles_are_functions_of_their_own(name, kind, layout):
    sizes, tiled = _SHARED[name]
    run = _check(kind, sizes, layout, policy=FAST_COMPILE)
    assert not tiled or "@tile" in run.text
    assert run.text.count('"hot"') > 0


@pytest.mark.share(9)
@pytest.mark.parametrize("layout, dtype", [
    ("first", "float32"), ("first", "float64"), ("last", "float32"), ("turned", "float64")])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", _SQUARES_SHARED)
def test_shared_squares_find_their_numbers_in_a_table(name, kind, layout, dtype, monkeypatch):
    for plan in (WinogradPlan, WinogradWeightPlan):  # whatever else might be faster
        cycles = plan.cycles
        monkeypatch.setattr(plan, "cycles", lambda self, l2, cycles=cycles: cycles(self, l2) / 1e6)
    run = _check(kind, _SQUARES_SHARED[name], layout, dtype, policy=FAST_COMPILE)
    assert "@winograd" in run.text


def test_blocks_of_tall_images_are_found_in_few_steps():
    for most, enough in ((10**9, 123456), (10**9, 10**10), (5, 1), (1, 1)):
        tried = []
        found = fewest_blocks(lambda n, e=enough, t=tried: t.append(n) or n >= e, 1, most)
        assert found == min(most, enough) and len(tried) <= 30
