"""Arguments and inputs of every public layer and loss: what the generated tests run on."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import agnesi as ag
from agnesi import nn

#: Classes that are for deriving from, or hold modules and compute nothing by themselves.
BASES = frozenset("""
    Container Graph KeyValueCache Module ModuleDict ModuleList ParameterDict ParameterList RNNBase
    RNNCellBase
""".split())


@dataclass(frozen=True)
class Sample:
    """How a layer is made, and the shapes of its inputs, or functions that draw them."""

    make: Callable[..., nn.Module]
    inputs: tuple[Any, ...]
    noisy: bool = False  # whether it draws random numbers in training
    table: bool = False  # whether its inputs are one tuple


def ints(shape: Any, high: int, low: int = 0) -> Callable[..., Any]:
    return lambda rng, n, dtype: rng.integers(low, high, (n, *shape[1:]))


def signs(shape: Any) -> Callable[..., Any]:
    return lambda rng, n, dtype: np.sign(rng.standard_normal((n, *shape[1:]))).astype(dtype)


def shares(shape: Any) -> Callable[..., Any]:
    def draw(rng: Any, n: int, dtype: Any) -> Any:
        x = rng.random((n, *shape[1:])) + 0.1
        return (x / x.sum(1, keepdims=True)).astype(dtype)

    return draw


def positive(shape: Any) -> Callable[..., Any]:
    return lambda rng, n, dtype: (rng.random((n, *shape[1:])) * 0.8 + 0.1).astype(dtype)


def _constant(value: int) -> Callable[..., Any]:
    return lambda rng, n, dtype: np.full(n, value)


def _log_probabilities(rng: Any, n: int, dtype: Any) -> Any:
    x = rng.standard_normal((5, n, 4))
    return (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(dtype)


V, M, S, C = (2, 6), (2, 4, 6), (2, 4, 5, 5), (2, 2, 4, 4, 4)
BY_DIM = {1: M, 2: S, 3: C}


def _plain(kind: str, *args: Any, shape: Any = V, **more: Any) -> tuple[str, Sample]:
    options = {k: more.pop(k) for k in ("noisy", "table") if k in more}
    inputs = shape if isinstance(shape, list) else [shape]

    def make(dtype: str) -> nn.Module:
        given = dict(more)
        if _takes_dtype(kind):
            given["dtype"] = dtype
        module: nn.Module = getattr(nn, kind)(*[a(dtype) if callable(a) else a for a in args],
                                              **given)
        return module

    return kind, Sample(make, tuple(inputs), **options)


def _takes_dtype(kind: str) -> bool:
    return "dtype" in inspect.signature(getattr(nn, kind)).parameters


def linear(*sizes: int) -> Callable[[str], nn.Module]:
    return lambda dtype: nn.Linear(*sizes, dtype=dtype)


def _activations() -> list[tuple[str, Sample]]:
    smooth = """CELU ELU GELU Hardsigmoid Hardswish Hardtanh Hardshrink LeakyReLU LogSigmoid Mish
        PReLU ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink
        Identity Flatten Dropout AlphaDropout""".split()
    noisy = {"Dropout", "AlphaDropout"}
    return [*(_plain(n, noisy=n in noisy) for n in smooth), _plain("RReLU", noisy=True),
            _plain("GLU"), _plain("Threshold", 0.1, 0.0), _plain("LogSoftmax", 1),
            _plain("Softmax", 1), _plain("Softmin", 1), _plain("Softmax2d", shape=S),
            *(_plain(f"Dropout{d}d", shape=BY_DIM[d], noisy=True) for d in (1, 2, 3)),
            _plain("FeatureAlphaDropout", shape=S, noisy=True)]


def _by_dim() -> list[tuple[str, Sample]]:
    found = []
    for d, x in BY_DIM.items():
        n = x[1]
        found += [
            _plain(f"Conv{d}d", n, 4, 3, stride=2, padding=1, shape=x),
            _plain(f"ConvTranspose{d}d", n, 2, 3, stride=2, padding=1, shape=x),
            _plain(f"AvgPool{d}d", 2, shape=x), _plain(f"MaxPool{d}d", 2, shape=x),
            _plain(f"LPPool{d}d", 2, 2, shape=x),
            _plain(f"AdaptiveAvgPool{d}d", 2, shape=x), _plain(f"AdaptiveMaxPool{d}d", 2, shape=x),
            _plain(f"BatchNorm{d}d", n, shape=x),
            _plain(f"InstanceNorm{d}d", n, affine=True, shape=x),
            _plain(f"ZeroPad{d}d", 1, shape=x), _plain(f"ConstantPad{d}d", 1, 0.5, shape=x),
            _plain(f"CircularPad{d}d", 1, shape=x), _plain(f"ReflectionPad{d}d", 1, shape=x),
            _plain(f"ReplicationPad{d}d", 1, shape=x),
        ]
        half = (*x[:2], *(2,) * d)
        found.append(_plain(f"MaxUnpool{d}d", 2, shape=[half, _places(half)]))
    found += [_plain("FractionalMaxPool2d", 2, output_size=2, shape=S, noisy=True),
              _plain("FractionalMaxPool3d", 2, output_size=2, shape=C, noisy=True)]
    return found


#: Layers that their first call makes others, with the shape of an input and their arguments.
LAZY: dict[str, tuple[Any, tuple[Any, ...]]] = {"LazyLinear": (V, (3,))} | {
    f"Lazy{kind}{d}d": (x, given) for d, x in BY_DIM.items() for kind, given in (
        ("Conv", (4, 3, 2, 1)), ("ConvTranspose", (2, 3, 2, 1)), ("BatchNorm", ()),
        ("InstanceNorm", (1e-5, 0.1, True)))}


def _lazy(name: str) -> tuple[str, Sample]:
    """A layer that was called once."""
    shape, given = LAZY[name]

    def make(dtype: str) -> nn.Module:
        module: nn.Module = getattr(nn, name)(*given, dtype=dtype).eval()
        module(ag.zeros(shape, dtype=dtype))
        return module.train()

    return name, Sample(make, (shape,))


def _places(shape: Any) -> Callable[..., Any]:
    """Places for MaxUnpool: corners of windows."""
    d = len(shape) - 2
    corners = np.arange(2) * 2
    place = sum(corners.reshape((1,) * k + (2,) + (1,) * (d - k - 1)) * 4 ** (d - 1 - k)
                for k in range(d))
    return lambda rng, n, dtype: np.broadcast_to(place, (n, shape[1], *(2,) * d)).copy()


def _norms() -> list[tuple[str, Sample]]:
    return [_plain("GroupNorm", 2, 4, shape=S), _plain("LayerNorm", 6), _plain("RMSNorm", 6),
            _plain("LocalResponseNorm", 2, shape=S), _plain("CrossMapLRN2d", 2, shape=S),
            _plain("SyncBatchNorm", 4, shape=S)]


def _linear() -> list[tuple[str, Sample]]:
    return [
        _plain("Linear", 6, 3), _plain("Bilinear", 6, 4, 3, shape=[V, (2, 4)]), _plain("Add", 6),
        _plain("CMul", 6), _plain("Mul"), _plain("Euclidean", 6, 3),
        _plain("WeightedEuclidean", 6, 3), _plain("Maxout", 6, 3, 2), _plain(
            "Embedding", 9, 3, shape=[ints((2, 3), 9)]), _plain(
            "EmbeddingBag", 9, 3, shape=[ints((2, 3), 9)]),
        _plain("SparseLinear", 9, 3, shape=[ints((2, 3), 9), (2, 3)]),
        _plain("CosineSimilarity", shape=[V, V]), _plain("PairwiseDistance", shape=[V, V]),
    ]


def _shapes() -> list[tuple[str, Sample]]:
    return [
        _plain("Unflatten", 1, (2, 3)), _plain("PixelShuffle", 2, shape=S), _plain(
            "PixelUnshuffle", 2, shape=(2, 2, 4, 4)), _plain("ChannelShuffle", 2, shape=S),
        _plain("Fold", (4, 4), 2, stride=2, shape=(2, 8, 4)), _plain("Unfold", 2, shape=S),
        _plain("Upsample", scale_factor=2, shape=S), _plain(
            "UpsamplingBilinear2d", scale_factor=2, shape=S),
        _plain("UpsamplingNearest2d", scale_factor=2, shape=S),
    ]


def _sequences() -> list[tuple[str, Sample]]:
    x = (2, 3, 4)
    return [
        *(_plain(n, 4, 5, batch_first=True, shape=x) for n in ("RNN", "GRU", "LSTM")),
        *(_plain(f"{n}Cell", 4, 5, shape=(2, 4)) for n in ("RNN", "GRU", "LSTM")),
        _plain("MultiheadAttention", 4, 2, batch_first=True, shape=[x, x, x]),
        _plain("TransformerEncoderLayer", 4, 2, 8, 0.0, batch_first=True, shape=x),
        _plain("TransformerDecoderLayer", 4, 2, 8, 0.0, batch_first=True, shape=[x, x]),
        _plain("Transformer", 4, 2, 1, 1, 8, 0.0, batch_first=True, shape=[x, x]),
        _plain("TransformerEncoder", lambda dtype: nn.TransformerEncoderLayer(
            4, 2, 8, 0.0, batch_first=True, dtype=dtype), 1, shape=x),
        _plain("TransformerDecoder", lambda dtype: nn.TransformerDecoderLayer(
            4, 2, 8, 0.0, batch_first=True, dtype=dtype), 1, shape=[x, x]),
    ]


def _containers() -> list[tuple[str, Sample]]:
    return [
        _plain("Sequential", linear(6, 4), linear(4, 2)), _plain("DataParallel", linear(6, 4)),
        _plain("Concat", 1, linear(6, 4), linear(6, 2)),
        _plain("ConcatTable", linear(6, 4), linear(6, 2)),
        _plain("Parallel", 1, 1, linear(6, 4), linear(6, 2), shape=(2, 2, 6)),
        _plain("ParallelTable", linear(6, 4), linear(4, 2), shape=[V, (2, 4)], table=True),
        _plain("Inception", 4, 2, 2, 3, 2, 2, 2, shape=S),
        _plain("ConvMap2d", 4, 4, 2, kernel_size=3, shape=S),
        _plain("MixtureOfExperts", lambda dtype: [linear(6, 2)(dtype) for _ in range(3)], 6, 2),
    ]


def _losses() -> list[tuple[str, Sample]]:
    classes = ints((2,), 6)
    return [
        *(_plain(n, shape=[V, V]) for n in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")),
        *(_plain(n, shape=[V, classes]) for n in ("CrossEntropyLoss", "MultiMarginLoss")),
        _plain("NLLLoss", shape=[V, classes]),
        _plain("NLLLoss2d", shape=[S, ints((2, 5, 5), 4)]),
        _plain("BCELoss", shape=[positive(V), positive(V)]),
        _plain("BCEWithLogitsLoss", shape=[V, positive(V)]),
        _plain("PoissonNLLLoss", shape=[V, positive(V)]),
        _plain("GaussianNLLLoss", shape=[V, V, positive(V)]),
        _plain("KLDivLoss", reduction="batchmean", shape=[V, shares(V)]),
        _plain("SoftMarginLoss", shape=[V, signs(V)]),
        _plain("MultiLabelSoftMarginLoss", shape=[V, positive(V)]),
        _plain("MultiLabelMarginLoss", shape=[V, ints((2, 6), 6)]),
        _plain("HingeEmbeddingLoss", shape=[V, signs(V)]),
        _plain("CosineEmbeddingLoss", shape=[V, V, signs((2,))]),
        _plain("MarginRankingLoss", shape=[(2,), (2,), signs((2,))]),
        _plain("TripletMarginLoss", shape=[V, V, V]),
        _plain("TripletMarginWithDistanceLoss", shape=[V, V, V]),
        _plain("AdaptiveLogSoftmaxWithLoss", 6, 9, [3], shape=[V, ints((2,), 9)]),
        _plain("BinaryHierarchicalSoftmax", 6, ((0, 1), 2), shape=[V, ints((2,), 3)]),
        _plain("CRF", 3, batch_first=True, shape=[(2, 4, 3), ints((2, 4), 3)]),
        _plain("CTCLoss", shape=[_log_probabilities, ints((2, 2), 4, 1),
                                 _constant(5), _constant(2)]),
        _plain("LinearCrossEntropyLoss", 6, 5, shape=[V, ints((2,), 5)]),
    ]


SAMPLES: dict[str, Sample] = dict([
    *_activations(), *_by_dim(), *_norms(), *_linear(), *_shapes(), *_sequences(),
    *_containers(), *_losses(), *map(_lazy, LAZY),
])


def public() -> list[str]:
    """The public layers and losses."""
    return [n for n in dir(nn) if isinstance(getattr(nn, n), type)
            and issubclass(getattr(nn, n), nn.Module) and n not in BASES]


def drawn(name: str, n: int = 2, dtype: str = "float64") -> list[Any]:
    """Inputs with a batch of ``n``."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = []
    for given in SAMPLES[name].inputs:
        if callable(given):
            found.append(ag.tensor(given(rng, n, dtype)))
        else:
            found.append(ag.tensor(rng.standard_normal((n, *given[1:])).astype(dtype)))
    return found
