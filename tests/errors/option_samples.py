"""Every public class that is made with options: what it needs, what its options are said to be, and
what they must not be."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi import data, distributions, metrics, nn, optim, training
from tests.docstrings.numpydoc import parse

MODULES = (nn, optim, optim.lr_scheduler, optim.swa_utils, metrics, distributions, data, training)
W = ag.ones((2, 3), requires_grad=True)
OPTIMIZER = optim.SGD([W], lr=0.1, momentum=0.5)
#: Arguments that have no default, by their names, and those of classes that need others.
NEEDED: dict[str, Any] = {
    "data": [1.0, 2.0],
    **dict.fromkeys("""in_features out_features in_channels out_channels num_features input_size
        hidden_size num_channels normalized_shape num_embeddings embedding_dim n_classes d_model
        embed_dim num_tags in1_features in2_features out1 out3 out5 proj3 proj5 proj_pool
        num_classes upscale_factor downscale_factor num_pieces in_size shape total_iters step_size
        T_max T_0 batch_size num_samples length output_size size batch
        capacity head_dim""".split(), 4),
    **dict.fromkeys("""num_groups num_heads nhead kernel_size groups padding norm_type num_layers
        num_chunks p""".split(), 2),
    "parameters": [W], "optimizer": OPTIMIZER, "threshold": 0.5, "value": 0.5, "cutoffs": [2],
    "tree": ((0, 1), 2), "dim": 1, "unflattened_size": (2, 2), "connections": 2, "gamma": 0.5,
    "encoder_layer": nn.TransformerEncoderLayer(4, 2, 8),
    "decoder_layer": nn.TransformerDecoderLayer(4, 2, 8), "mode": "GRU", "input_dim": 1,
    "output_dim": 1, "bias": True, "base_lr": 0.1, "max_lr": 0.5, "swa_lr": 0.1, "milestones": [2],
    "schedulers": [optim.lr_scheduler.StepLR(OPTIMIZER, 2)], "lr_lambda": abs, "model": nn.ReLU(),
    "loss": nn.MSELoss(), "dataset": [1, 2, 3], "datasets": [[1], [2]], "function": abs,
    "lengths": [1, 2, 3], "sampler": [0, 1, 2], "weights": [1.0, 2.0, 3.0], "indices": [0],
    "text": "ab", "texts": ["a", "b"], "tokens": list(range(20)), "tokenizer": data.CharTokenizer(
        "ab"), "seconds": 1.0, "path": os.devnull, "folder": os.devnull, "rates": [0.1],
    "losses": [0.1], "module": nn.ReLU(), "probs": 0.5, "logits": None,
    "mixture_distribution": distributions.Categorical([0.5, 0.5]), "transforms": [],
    "component_distribution": distributions.Normal([0.0, 1.0], 1.0),
    "reinterpreted_batch_ndims": 1, "base_distribution": distributions.Normal([0.0, 1.0], 1.0),
    "parts": [], "low": 0.0, "high": 1.0, "experts": [nn.Linear(4, 4)], "exponent": 2.0,
    "event_dim": 0, "draw": lambda generator, count: np.zeros(count, int), "count": 4,
    "generator": ag.random.Generator(0),
    "base_transform": distributions.transforms.ExpTransform(), "cov_factor": np.ones((2, 1)),
    "cov_diag": [1.0, 1.0], "total_count": 3, "data_source": [1, 2, 3],
    "in_shape": (4,), "out_shape": (2, 2), "tseq": [],
    "distribution": distributions.Normal(0.0, 1.0),
    **dict.fromkeys("loc scale rate df df1 df2 alpha temperature concentration concentration0 "
                    "concentration1".split(), 1.0),
}
OTHERS: dict[str, dict[str, Any]] = {
    "StackDataset": {"images": [1, 2]},
    "LKJCholesky": {"dim": 3}, "RelaxedOneHotCategorical": {"probs": [0.5, 0.5]},
    "Categorical": {"probs": [0.5, 0.5]}, "OneHotCategorical": {"probs": [0.5, 0.5]},
    "Multinomial": {"probs": [0.5, 0.5]}, "Dirichlet": {"concentration": [1.0, 2.0]},
    "OneHotCategoricalStraightThrough": {"probs": [0.5, 0.5]},
    "ContinuousBernoulli": {"probs": 0.5}, "RelaxedBernoulli": {"probs": 0.5},
    "NegativeBinomial": {"probs": 0.5},
    "LowRankMultivariateNormal": {"loc": [0.0, 0.0]}, "Wishart": {
        "df": 3.0, "covariance_matrix": np.eye(2)},
    "Bernoulli": {"probs": 0.5}, "Binomial": {"probs": 0.5}, "Geometric": {"probs": 0.5},
    "MultivariateNormal": {"loc": [0.0, 0.0], "scale_tril": np.eye(2)},
    "OneCycleLR": {"total_steps": 10}, "FractionalMaxPool2d": {"output_size": 2},
    "FractionalMaxPool3d": {"output_size": 2}, "ChainedScheduler": {"optimizer": None},
    "SequentialLR": {"schedulers": [optim.lr_scheduler.StepLR(OPTIMIZER, 2) for _ in range(2)]},
    "ConvMap2d": {"kernel_size": 3}, "LinearCrossEntropyLoss": {"num_classes": 5},
    "Upsample": {"scale_factor": 2}, "UpsamplingNearest2d": {"scale_factor": 2},
    "UpsamplingBilinear2d": {"scale_factor": 2},
    "Transformer": {"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1,
                    "dim_feedforward": 8},
}
#: Classes for deriving from, those of containers, and those whose files must be there.
LEFT_OUT = frozenset("""Container Module ModuleDict ModuleList ParameterDict ParameterList Optimizer
    ParameterGroup Scheduler LRScheduler Metric Graph ImageFolder CSVLogger JSONLogger RateTest
    ModelCheckpoint TensorBoardLogger Transform Sequential RNNBase RNNCellBase Distribution
    Callback RemovableHandle Summary Line TensorDataset Blocks Parameter WorkerInfo""".split())


def classes() -> dict[str, type]:
    """The public classes of these modules that take options, by their names."""
    found: dict[str, type] = {}
    for module in MODULES:
        for name in dir(module):
            kind = getattr(module, name)
            if isinstance(kind, type) and not issubclass(kind, BaseException) and name[0] != "_":
                found.setdefault(name, kind)
    return {n: k for n, k in found.items() if n not in LEFT_OUT}


def needed(name: str, kind: type) -> dict[str, Any]:
    """Keywords that a class is made with."""
    parameters = inspect.signature(kind).parameters.values()
    found = {p.name: NEEDED[p.name] for p in parameters if p.default is p.empty
             and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return found | OTHERS.get(name, {})


def said(kind: type) -> Iterator[tuple[str, str]]:
    """The options of a class, and what its docstring says that they are."""
    known = inspect.signature(kind).parameters
    for entry in parse(inspect.getdoc(kind) or "").entries("Parameters"):
        yield from ((name, entry.kind) for name in entry.names if name in known)


#: Options that may be negative though they are numbers, and NaN.
SIGNED = frozenset("""alpha threshold value axis dim start_dim end_dim ignore_index padding
    last_epoch negative_slope min_val max_val lower upper init beta k margin beta2_decay dampening
    padding_idx padding_value blank loc low high exponent event_dim divisor_override
    input_dim output_dim p
    """.split())
ANY = ("value", "padding_value", "fill_value")
_NO_NUMBERS = ("a", object(), [1.0, "a"], {}, np.ones(2), True)


def wrong(name: str, kind: str, default: Any) -> list[Any]:
    """Values that an option cannot be, by what is said of it."""
    base, optional = kind.removesuffix(", optional"), "None" in kind or kind.endswith(", optional")
    none = [] if optional or default is None else [None]
    plain = base.removesuffix(" or None")
    if plain == "float":
        return [*_NO_NUMBERS, *none, *([] if name in ANY else [math.nan]),
                *([] if name in SIGNED else [-1.0])]
    if plain == "int":
        return [*_NO_NUMBERS, *none, 2.5, math.nan, *([] if name in SIGNED else [-1])]
    if plain == "bool":
        return ["yes", 2, 0.5, [], object(), np.ones(2), *none]
    if plain == "str":
        return [3, 0.5, [], object(), True, *none]
    if plain.startswith("{") and (plain.endswith("}") or plain.endswith("} or callable")):
        return ["nonsense", "", 3, 0.5, [], object(), True, *none]
    if plain == "array_like":
        return ["a", object(), {}, ["a", "b"], *none]
    if plain in ("int or tuple of int", "int or sequence of int"):
        return ["a", 2.5, math.nan, {}, object(), [2.5, 1], ["a", 1], *none,
                *([] if name in SIGNED else [-1])]
    if plain == "dtype":
        return ["nonsense", object(), 3, [1]]
    if plain == "float or list of float":
        return ["a", {}, object(), math.nan, [0.1, "a"], *none]
    if plain in ("tuple of float", "pair of float"):
        return ["a", 0.5, [], (0.1, "a"), (0.1, 0.2, 0.3, 0.4), object(), *none]
    if plain in ("callable", "function", "Callable"):
        return ["a", 3, [1], *none]
    if plain in ("Optimizer", "Module", "Generator", "Distribution"):
        return ["a", object(), [1], 2.5, *none]
    return []
