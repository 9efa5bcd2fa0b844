"""Convolutional networks: Table 1 of the Torch7 paper, and five that classify ImageNet.

Every function takes the library, agnesi or PyTorch, and gives a module of it.  The five follow
the public convnet-benchmarks: no dropout, no auxiliary outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

CLASSES = 1000


@dataclass(frozen=True)
class Net:
    """A network and the images that it takes."""

    name: str
    build: Callable[[Any], Any]
    batch: int
    channels: int
    pixels: int
    classes: int = CLASSES


def torch7_net(size: int) -> Callable[[Any], Any]:
    """The convnet of Collobert et al. (2011), Table 1, for square images of 32, 96 or 256."""
    kernel, first, second, flat = {
        32: (5, 2, 2, 400), 96: (7, 3, 3, 1024), 256: (7, 5, 4, 1936),
    }[size]  # fmt: skip

    def build(lib: Any) -> Any:
        nn = lib.nn
        return nn.Sequential(
            nn.Conv2d(1, 6, kernel), nn.Tanh(), nn.MaxPool2d(first),
            nn.Conv2d(6, 16, kernel), nn.Tanh(), nn.MaxPool2d(second),
            nn.Flatten(), nn.Linear(flat, 120), nn.Tanh(), nn.Linear(120, 10),
        )  # fmt: skip

    return build


def _layers(lib: Any, plan: list[Any], channels: int) -> list[Any]:
    """Convolutions (maps, size, stride, padding) with ReLU, and max-poolings (size, stride)."""
    nn, layers = lib.nn, []
    for item in plan:
        if len(item) == 2:
            layers.append(nn.MaxPool2d(item[0], item[1]))
            continue
        maps, size, stride, padding = item
        layers += [nn.Conv2d(channels, maps, size, stride=stride, padding=padding), nn.ReLU()]
        channels = maps
    return layers


def _classifier(lib: Any, *sizes: int) -> list[Any]:
    """Fully connected layers with ReLU between them."""
    nn, layers = lib.nn, [lib.nn.Flatten()]
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return layers[:-1]


def alexnet(lib: Any) -> Any:
    """Krizhevsky's second network (2014), in one column."""
    plan = [(64, 11, 4, 2), (3, 2), (192, 5, 1, 2), (3, 2), (384, 3, 1, 1), (256, 3, 1, 1),
            (256, 3, 1, 1), (3, 2)]
    top = _classifier(lib, 256 * 6 * 6, 4096, 4096, CLASSES)
    return lib.nn.Sequential(*_layers(lib, plan, 3), *top)


def overfeat(lib: Any) -> Any:
    """The fast model of Sermanet et al. (2013)."""
    plan = [(96, 11, 4, 0), (2, 2), (256, 5, 1, 0), (2, 2), (512, 3, 1, 1), (1024, 3, 1, 1),
            (1024, 3, 1, 1), (2, 2)]
    top = _classifier(lib, 1024 * 6 * 6, 3072, 4096, CLASSES)
    return lib.nn.Sequential(*_layers(lib, plan, 3), *top)


def vgg_a(lib: Any) -> Any:
    """Model A of Simonyan and Zisserman (2014)."""
    plan: list[Any] = []
    for maps, times in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
        plan += [(maps, 3, 1, 1)] * times + [(2, 2)]
    top = _classifier(lib, 512 * 7 * 7, 4096, 4096, CLASSES)
    return lib.nn.Sequential(*_layers(lib, plan, 3), *top)


def googlenet(lib: Any) -> Any:
    """Szegedy et al. (2014), without auxiliary classifiers and response normalization."""
    nn = lib.nn

    def conv(channels: int, maps: int, size: int, padding: int = 0, stride: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(channels, maps, size, stride=stride, padding=padding), nn.ReLU()
        )

    class Inception(nn.Module):
        def __init__(self, channels: int, a: int, b1: int, b3: int, c1: int, c5: int,
                     d: int) -> None:
            super().__init__()
            self.one = conv(channels, a, 1)
            self.three = nn.Sequential(conv(channels, b1, 1), conv(b1, b3, 3, 1))
            self.five = nn.Sequential(conv(channels, c1, 1), conv(c1, c5, 5, 2))
            self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(channels, d, 1))

        def forward(self, x: Any) -> Any:
            return lib.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)

    return nn.Sequential(
        conv(3, 64, 7, 3, 2), nn.MaxPool2d(3, 2, 1),
        conv(64, 64, 1), conv(64, 192, 3, 1), nn.MaxPool2d(3, 2, 1),
        Inception(192, 64, 96, 128, 16, 32, 32), Inception(256, 128, 128, 192, 32, 96, 64),
        nn.MaxPool2d(3, 2, 1),
        Inception(480, 192, 96, 208, 16, 48, 64), Inception(512, 160, 112, 224, 24, 64, 64),
        Inception(512, 128, 128, 256, 24, 64, 64), Inception(512, 112, 144, 288, 32, 64, 64),
        Inception(528, 256, 160, 320, 32, 128, 128), nn.MaxPool2d(3, 2, 1),
        Inception(832, 256, 160, 320, 32, 128, 128), Inception(832, 384, 192, 384, 48, 128, 128),
        nn.AvgPool2d(7), nn.Flatten(), nn.Linear(1024, CLASSES),
    )  # fmt: skip


def resnet50(lib: Any) -> Any:
    """He et al. (2015), with the stride in the 3x3 convolution."""
    nn = lib.nn

    def conv(channels: int, maps: int, size: int, stride: int = 1) -> list[Any]:
        return [
            nn.Conv2d(channels, maps, size, stride=stride, padding=size // 2, bias=False),
            nn.BatchNorm2d(maps),
        ]

    class Bottleneck(nn.Module):
        def __init__(self, channels: int, width: int, stride: int) -> None:
            super().__init__()
            self.main = nn.Sequential(
                *conv(channels, width, 1), nn.ReLU(), *conv(width, width, 3, stride), nn.ReLU(),
                *conv(width, 4 * width, 1),
            )  # fmt: skip
            straight = channels == 4 * width and stride == 1
            self.shortcut = nn.Sequential(
                *([] if straight else conv(channels, 4 * width, 1, stride))
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.main(x) + self.shortcut(x))

    layers = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, times, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(times):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AvgPool2d(7), nn.Flatten(), nn.Linear(channels, CLASSES))


#: The five networks with the batches of the table in docs/benchmarks.md.
IMAGENET = (
    Net("AlexNet", alexnet, 16, 3, 224),
    Net("OverFeat", overfeat, 16, 3, 231),
    Net("VGG-A", vgg_a, 4, 3, 224),
    Net("GoogLeNet", googlenet, 16, 3, 224),
    Net("ResNet-50", resnet50, 8, 3, 224),
)

#: The networks of Table 1 with both batches.
TORCH7 = tuple(
    Net(f"{size}x{size} batch {batch}", torch7_net(size), batch, 1, size, 10)
    for size in (32, 96, 256) for batch in (1, 60)
)  # fmt: skip
