"""Layers and losses, one at a time, on shapes that nothing was tuned for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Layer:
    """A module of ``torch.nn`` or ``agnesi.nn`` by `build`, what it is called with, and how."""

    name: str
    build: Callable[[Any], Any]
    inputs: tuple[np.ndarray, ...]
    call: Callable[..., Any] = lambda module, *inputs: module(*inputs)


def layers() -> list[Layer]:
    """All layers and losses, with their inputs."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return [
        *convolutions(normal), *pools(normal), *normalizations(normal), *activations(normal),
        *sequences(normal), *resized(normal), *lookups(normal, rng), *losses(normal, rng),
    ]


Normal = Callable[..., np.ndarray]


def convolutions(normal: Normal) -> list[Layer]:
    """Convolutions of one to three dimensions, and dense layers."""
    line, image = normal(16, 32, 200), normal(16, 32, 28, 28)
    half = normal(16, 32, 14, 14)

    def conv(name: str, x: np.ndarray, kind: str, *sizes: int, **settings: Any) -> Layer:
        return Layer(name, lambda nn: getattr(nn, kind)(*sizes, **settings), (x,))

    return [
        conv("Conv1d 5", line, "Conv1d", 32, 64, 5, padding=2),
        conv("Conv1d 3, dilated", line, "Conv1d", 32, 64, 3, padding=4, dilation=4),
        conv("Conv1d 4, stride 2", line, "Conv1d", 32, 64, 4, stride=2),
        conv("Conv1d 7, depthwise", line, "Conv1d", 32, 32, 7, padding=3, groups=32),
        conv("Conv2d 3x3", image, "Conv2d", 32, 64, 3, padding=1),
        conv("Conv2d 3x3, stride 2", image, "Conv2d", 32, 64, 3, padding=1, stride=2),
        conv("Conv2d 1x1", image, "Conv2d", 32, 64, 1),
        conv("Conv2d 5x5", image, "Conv2d", 32, 16, 5),
        conv("Conv2d 7x7 of colours", normal(4, 3, 112, 112), "Conv2d", 3, 64, 7, stride=2,
             padding=3),
        conv("Conv2d 3x3 of grey", normal(64, 1, 28, 28), "Conv2d", 1, 32, 3),
        conv("Conv2d 3x3, depthwise", image, "Conv2d", 32, 32, 3, padding=1, groups=32),
        conv("Conv2d 3x3, 4 groups", image, "Conv2d", 32, 64, 3, padding=1, groups=4),
        conv("ConvTranspose2d 4x4", half, "ConvTranspose2d", 32, 16, 4, stride=2, padding=1),
        conv("ConvTranspose2d 3x3", half, "ConvTranspose2d", 32, 32, 3, padding=1),
        conv("ConvTranspose1d 4", line, "ConvTranspose1d", 32, 16, 4, stride=2),
        conv("Conv3d 3x3x3", normal(2, 8, 12, 24, 24), "Conv3d", 8, 16, 3, padding=1),
        conv("Linear 512", normal(256, 512), "Linear", 512, 256),
        conv("Linear 16", normal(64, 16), "Linear", 16, 8),
        Layer("Bilinear", lambda nn: nn.Bilinear(16, 16, 8), (normal(64, 16), normal(64, 16))),
    ]


def pools(normal: Normal) -> list[Layer]:
    """Maxima and means of windows."""
    image, line = (normal(16, 32, 28, 28),), (normal(16, 32, 200),)
    return [
        Layer("MaxPool2d 2", lambda nn: nn.MaxPool2d(2), image),
        Layer("MaxPool2d 3, stride 2", lambda nn: nn.MaxPool2d(3, 2, 1), image),
        Layer("MaxPool2d 5, stride 1", lambda nn: nn.MaxPool2d(5, 1, 2), image),
        Layer("MaxPool1d 2", lambda nn: nn.MaxPool1d(2), line),
        Layer("AvgPool2d 2", lambda nn: nn.AvgPool2d(2), image),
        Layer("AvgPool2d 3", lambda nn: nn.AvgPool2d(3, 1, 1), image),
        Layer("AdaptiveAvgPool2d 1", lambda nn: nn.AdaptiveAvgPool2d(1), image),
        Layer("AdaptiveAvgPool2d 7", lambda nn: nn.AdaptiveAvgPool2d(7), image),
        Layer("AdaptiveMaxPool2d 5", lambda nn: nn.AdaptiveMaxPool2d(5), image),
        Layer("AdaptiveMaxPool1d 7", lambda nn: nn.AdaptiveMaxPool1d(7), line),
        Layer("LPPool2d", lambda nn: nn.LPPool2d(2, 2), (abs(image[0]),)),
    ]


def normalizations(normal: Normal) -> list[Layer]:
    """Batch norm and its kin, and a residual block."""
    image, rows = (normal(16, 32, 28, 28),), (normal(256, 512),)

    def residual(nn: Any) -> Any:
        return nn.Sequential(
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32),
        )

    return [
        Layer("BatchNorm2d", lambda nn: nn.BatchNorm2d(32), image),
        Layer("BatchNorm1d", lambda nn: nn.BatchNorm1d(512), rows),
        Layer("LayerNorm 512", lambda nn: nn.LayerNorm(512), rows),
        Layer("LayerNorm 128", lambda nn: nn.LayerNorm(128), (normal(32, 64, 128),)),
        Layer("GroupNorm", lambda nn: nn.GroupNorm(8, 32), image),
        Layer("InstanceNorm2d", lambda nn: nn.InstanceNorm2d(32), image),
        Layer("RMSNorm", lambda nn: nn.RMSNorm(512), rows),
        Layer("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(5), image),
        Layer("residual block", residual, image),
    ]


def activations(normal: Normal) -> list[Layer]:
    """Functions of each element, and softmax."""
    rows, image = (normal(256, 512),), (normal(16, 32, 28, 28),)
    names = """
        ReLU GELU SiLU Tanh Sigmoid ELU SELU CELU Softplus Mish Hardswish LeakyReLU LogSigmoid
        Softsign Tanhshrink Hardtanh Softshrink GLU
    """.split()
    return [
        *(Layer(name, lambda nn, name=name: getattr(nn, name)(), rows) for name in names),
        Layer("PReLU", lambda nn: nn.PReLU(32), image),
        Layer("Softmax of rows", lambda nn: nn.Softmax(dim=-1), rows),
        Layer("Softmax of channels", lambda nn: nn.Softmax(dim=1), image),
        Layer("LogSoftmax", lambda nn: nn.LogSoftmax(dim=1), rows),
    ]


def sequences(normal: Normal) -> list[Layer]:
    """Recurrent layers and attention, batch first."""
    batch = normal(32, 64, 128)

    def first(module: Any, *inputs: Any, **settings: Any) -> Any:
        return module(*inputs, **settings)[0]

    def recurrent(name: str, kind: str, *sizes: int, x: np.ndarray = batch,
                  **settings: Any) -> Layer:
        build = lambda nn: getattr(nn, kind)(*sizes, batch_first=True, **settings)  # noqa: E731
        return Layer(name, build, (x,), first)

    settings = {"dropout": 0.0, "batch_first": True}
    return [
        recurrent("LSTM", "LSTM", 128, 128),
        recurrent("LSTM, 2 layers, both ways", "LSTM", 128, 64, 2, bidirectional=True),
        recurrent("LSTM, small", "LSTM", 8, 16, x=normal(4, 100, 8)),
        recurrent("GRU", "GRU", 128, 128),
        recurrent("RNN", "RNN", 128, 128),
        Layer("MultiheadAttention", lambda nn: nn.MultiheadAttention(128, 4, batch_first=True),
              (batch,), lambda m, x: first(m, x, x, x, need_weights=False)),
        Layer("MultiheadAttention, causal",
              lambda nn: nn.MultiheadAttention(128, 4, batch_first=True),
              (batch, np.triu(np.full((64, 64), -np.inf, np.float32), 1)),
              lambda m, x, mask: first(m, x, x, x, need_weights=False, attn_mask=mask)),
        Layer("TransformerEncoderLayer",
              lambda nn: nn.TransformerEncoderLayer(128, 4, 256, **settings), (batch,)),
        Layer("TransformerDecoderLayer",
              lambda nn: nn.TransformerDecoderLayer(128, 4, 256, **settings), (batch,),
              lambda m, x: m(x, x)),
    ]


def resized(normal: Normal) -> list[Layer]:
    """Images made larger, padded, or taken apart."""
    image, small = (normal(16, 32, 28, 28),), (normal(8, 16, 28, 28),)
    return [
        Layer("Upsample nearest", lambda nn: nn.Upsample(scale_factor=2), image),
        Layer("Upsample bilinear", lambda nn: nn.Upsample(
            scale_factor=2, mode="bilinear"), small),
        Layer("Upsample bicubic", lambda nn: nn.Upsample(scale_factor=2, mode="bicubic"), small),
        Layer("PixelShuffle", lambda nn: nn.PixelShuffle(2), image),
        Layer("ReflectionPad2d", lambda nn: nn.ReflectionPad2d(2), image),
        Layer("ReplicationPad2d", lambda nn: nn.ReplicationPad2d(2), image),
        Layer("ZeroPad2d", lambda nn: nn.ZeroPad2d(2), image),
        Layer("CircularPad2d", lambda nn: nn.CircularPad2d(2), image),
        Layer("Unfold", lambda nn: nn.Unfold(3, padding=1), small),
        Layer("Fold", lambda nn: nn.Fold((28, 28), 3, padding=1), (normal(8, 144, 784),)),
    ]


def lookups(normal: Normal, rng: np.random.Generator) -> list[Layer]:
    """Rows of tables, and similarities of rows."""
    ids, rows = rng.integers(0, 512, 256), (normal(256, 512), normal(256, 512))
    return [
        Layer("Embedding", lambda nn: nn.Embedding(512, 64), (ids,)),
        Layer("EmbeddingBag", lambda nn: nn.EmbeddingBag(512, 64), (ids.reshape(32, 8),)),
        Layer("CosineSimilarity", lambda nn: nn.CosineSimilarity(dim=1), rows),
        Layer("PairwiseDistance", lambda nn: nn.PairwiseDistance(), rows),
    ]


def losses(normal: Normal, rng: np.random.Generator) -> list[Layer]:
    """Losses of 256 rows of 512 numbers, by labels or by targets of their shape."""
    rows, labels = normal(256, 512), rng.integers(0, 512, 256)
    shares = rng.uniform(0, 1, rows.shape).astype(np.float32)
    by_label = "CrossEntropyLoss NLLLoss MultiMarginLoss".split()
    by_target = """
        MSELoss L1Loss SmoothL1Loss HuberLoss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss
        SoftMarginLoss MultiLabelSoftMarginLoss HingeEmbeddingLoss
    """.split()
    loss = lambda name, target: Layer(  # noqa: E731
        name, lambda nn: getattr(nn, name)(), (rows, target))
    return [
        *(loss(name, labels) for name in by_label),
        *(loss(name, np.sign(shares - 0.5) if name.startswith("Hinge") else shares)
          for name in by_target),
        Layer("TripletMarginLoss", lambda nn: nn.TripletMarginLoss(),
              (rows, normal(256, 512), normal(256, 512))),
    ]
