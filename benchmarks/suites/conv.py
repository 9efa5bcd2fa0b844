"""Convolutions of the shapes that networks have: forward and both gradients, against oneDNN.

Every library may have its images as it likes them best, channels first or last in memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result

TITLE = "convolutions: forward, gradient to the image, gradient to the filters"
THREADS = (1,)
KINDS = ("forward", "image", "filters")
_TRIALS = 5  # calls by which a library's better layout is chosen


@dataclass(frozen=True)
class Shape:
    """A convolution; numbers for all axes are the same."""

    name: str
    batch: int
    channels: int
    filters: int
    image: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def rank(self) -> int:
        return len(self.image)

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(
            (n + 2 * self.padding - self.dilation * (k - 1) - 1) // self.stride + 1
            for n, k in zip(self.image, self.kernel, strict=True)
        )

    @property
    def flops(self) -> int:
        """Operations of any of the three kinds."""
        pairs = self.channels * self.filters // self.groups
        return 2 * self.batch * pairs * math.prod(self.places) * math.prod(self.kernel)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Image, filters and cotangent."""
        rng = np.random.default_rng(len(self.name))
        shapes = (
            (self.batch, self.channels, *self.image),
            (self.filters, self.channels // self.groups, *self.kernel),
            (self.batch, self.filters, *self.places),
        )
        x, w, g = (rng.standard_normal(s, dtype=np.float32) for s in shapes)
        return x, w, g


SHAPES = (
    Shape("lenet 1", 60, 1, 6, (32, 32), (5, 5)),
    Shape("lenet 2", 60, 6, 16, (14, 14), (5, 5)),
    Shape("alexnet 1", 4, 3, 64, (224, 224), (11, 11), stride=4, padding=2),
    Shape("alexnet 2", 4, 64, 192, (27, 27), (5, 5), padding=2),
    Shape("alexnet 3", 4, 192, 384, (13, 13), (3, 3), padding=1),
    Shape("vgg 1", 1, 3, 64, (224, 224), (3, 3), padding=1),
    Shape("vgg 2", 1, 64, 64, (224, 224), (3, 3), padding=1),
    Shape("vgg 5", 1, 128, 256, (56, 56), (3, 3), padding=1),
    Shape("vgg 8", 1, 512, 512, (14, 14), (3, 3), padding=1),
    Shape("resnet 1", 2, 3, 64, (224, 224), (7, 7), stride=2, padding=3),
    Shape("3x3 at 56", 4, 64, 64, (56, 56), (3, 3), padding=1),
    Shape("3x3 at 28", 4, 128, 128, (28, 28), (3, 3), padding=1),
    Shape("3x3 at 14", 4, 256, 256, (14, 14), (3, 3), padding=1),
    Shape("3x3 at 7", 4, 512, 512, (7, 7), (3, 3), padding=1),
    Shape("3x3 strided", 4, 128, 128, (56, 56), (3, 3), stride=2, padding=1),
    Shape("1x1 at 56", 4, 64, 256, (56, 56), (1, 1)),
    Shape("1x1 at 14", 4, 1024, 256, (14, 14), (1, 1)),
    Shape("1x1 strided", 4, 256, 512, (56, 56), (1, 1), stride=2),
    Shape("googlenet 1x1", 4, 480, 192, (14, 14), (1, 1)),
    Shape("googlenet 1x1 to 16", 4, 480, 16, (14, 14), (1, 1)),
    Shape("googlenet 5x5", 4, 32, 96, (14, 14), (5, 5), padding=2),
    Shape("7x7 at 17", 4, 64, 64, (17, 17), (7, 7), padding=3),
    Shape("depthwise", 4, 128, 128, (56, 56), (3, 3), padding=1, groups=128),
    Shape("depthwise strided", 4, 256, 256, (28, 28), (3, 3), stride=2, padding=1, groups=256),
    Shape("grouped", 4, 128, 128, (56, 56), (3, 3), padding=1, groups=32),
    Shape("dilated", 2, 128, 128, (28, 28), (3, 3), padding=2, dilation=2),
    Shape("transposed", 4, 64, 128, (56, 56), (4, 4), stride=2, padding=1),
    Shape("1-D", 16, 64, 128, (512,), (5,), padding=2),
    Shape("1-D long", 4, 32, 32, (16000,), (9,), stride=2, padding=4),
    Shape("3-D", 2, 32, 64, (16, 28, 28), (3, 3, 3), padding=1),
)
QUICK = ("lenet 1", "alexnet 1", "vgg 5", "3x3 at 14", "1x1 at 56", "depthwise", "grouped")


def run(context: Context) -> list[Result]:
    shapes = [s for s in SHAPES if not context.quick or s.name in QUICK]
    results = context.measure_all([_case(s, kind) for s in shapes for kind in KINDS])
    return [*results, *Result.mean(context, results, 1.3)]


def _case(shape: Shape, kind: str) -> Case:
    contenders = {OURS: lambda: _agnesi(shape, kind), "torch": lambda: _torch(shape, kind)}
    terms = shape.flops / 2 / math.prod(_result(shape, kind))
    return Case(
        f"{shape.name} {kind}", lambda: _exact(shape, kind), contenders, rtol=1e-3,
        atol=2e-6 * max(1.0, terms), flops=shape.flops, goal=1.0,
    )


def _result(shape: Shape, kind: str) -> tuple[int, ...]:
    x, w, g = shape.arrays()
    return {"forward": g, "image": x, "filters": w}[kind].shape


def _exact(shape: Shape, kind: str) -> np.ndarray:
    """In double precision, by the library that counts as correct here."""
    torch = peers.torch()
    x, w, g = (torch.from_numpy(a).double() for a in shape.arrays())
    return _by_torch(shape, kind, x, w, g)().float().numpy()


# -- PyTorch ----------------------------------------------------------------------------------
def _by_torch(shape: Shape, kind: str, x: Any, w: Any, g: Any) -> Callable[[], Any]:
    aten, rank = peers.torch().ops.aten, shape.rank
    numbers = ([shape.stride] * rank, [shape.padding] * rank, [shape.dilation] * rank, False,
               [0] * rank, shape.groups)
    if kind == "forward":
        return lambda: aten.convolution(x, w, None, *numbers)
    mask = [kind == "image", kind == "filters", False]
    which = mask.index(True)
    return lambda: aten.convolution_backward(g, x, w, None, *numbers, mask)[which]


def _torch(shape: Shape, kind: str) -> Contender:
    torch = peers.torch()
    plain = [torch.from_numpy(a) for a in shape.arrays()]
    ways = [_by_torch(shape, kind, *plain)]
    if shape.rank > 1:
        last = torch.channels_last if shape.rank == 2 else torch.channels_last_3d
        ways.append(_by_torch(shape, kind, *(a.contiguous(memory_format=last) for a in plain)))
    best = _fastest(ways)
    return Contender(best, answer=lambda: best().contiguous())


# -- agnesi -----------------------------------------------------------------------------------
def _agnesi(shape: Shape, kind: str) -> Contender:
    ag = peers.agnesi()
    numbers = {"stride": shape.stride, "padding": shape.padding, "dilation": shape.dilation,
               "groups": shape.groups}
    conv = (ag.conv1d, ag.conv2d, ag.conv3d)[shape.rank - 1]

    def compute(x: Any, w: Any, g: Any) -> Any:
        if kind == "forward":
            return conv(x, w, **numbers)
        if kind == "image":
            return ag.vjp(lambda x: conv(x, w, **numbers), x)[1](g)[0]
        return ag.vjp(lambda w: conv(x, w, **numbers), w)[1](g)[0]

    space = tuple(range(2, 2 + shape.rank))
    orders = [(0, *space, 1), (*space, 1, 0), (0, *space, 1)]
    back = [tuple(int(i) for i in np.argsort(o)) for o in orders]
    result = orders[{"forward": 2, "image": 0, "filters": 1}[kind]]

    def compute_last(*given: Any) -> Any:
        """The same with channels last; filters are (..., channels, filters)."""
        x, w, g = (ag.permute_dims(a, o) for a, o in zip(given, back, strict=True))
        return ag.permute_dims(compute(x, w, g), result)

    first, last = ag.jit(compute), ag.jit(compute_last)
    arrays = shape.arrays()
    plain = tuple(ag.tensor(a) for a in arrays)
    turned = tuple(
        ag.tensor(np.ascontiguousarray(a.transpose(o)))
        for a, o in zip(arrays, orders, strict=True)
    )
    best = _fastest([lambda: first(*plain), lambda: last(*turned)])
    return Contender(best, answer=lambda: first(*plain))


def _fastest(ways: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """The way whose fastest call is the shortest."""
    def least(way: Callable[[], Any]) -> float:
        way()
        times = []
        for _ in range(_TRIALS):
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
        return min(times)

    return min(ways, key=least)
