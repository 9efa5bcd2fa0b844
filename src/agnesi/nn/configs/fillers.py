"""Caffe's fillers: what parameters begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.api.random import rand
from agnesi.autodiff.recording import no_grad
from agnesi.nn import init
from agnesi.nn.base.module import Module

_Given = Mapping[str, Any]


def _fan(given: _Given, w: Any) -> float:
    """How many numbers meet in one, by the axes as Caffe counts them."""
    into = w.size / w.shape[0]
    out = w.size / w.shape[1] if len(w.shape) > 1 else w.size
    kind = given.get("variance_norm", "FAN_IN")
    return float({"FAN_IN": into, "FAN_OUT": out}.get(kind, (into + out) / 2))


def _gaussian(given: _Given, w: Any) -> None:
    init.normal_(w, float(given.get("mean", 0)), float(given.get("std", 1)))
    kept = int(given.get("sparse", -1))
    if kept >= 0:
        w.mul_(rand(w.shape) < kept / w.shape[0])


def _unit_ball(given: _Given, w: Any) -> None:
    init.uniform_(w, 0.0, 1.0)
    w.div_(w.sum(axis=tuple(range(1, len(w.shape))), keepdims=True))


def _bilinear(given: _Given, w: Any) -> None:
    if len(w.shape) != 4 or w.shape[2] != w.shape[3]:
        raise ValueError(f"the filler bilinear is for square kernels, not {w.shape}")
    n = w.shape[3]
    half = math.ceil(n / 2)
    one = 1 - np.abs(np.arange(n) / half - (n - 1) / (2 * half))
    w.copy_(np.broadcast_to(np.multiply.outer(one, one), w.shape))


_FILLERS: dict[str, Callable[[_Given, Any], Any]] = {
    "constant": lambda g, w: init.constant_(w, float(g.get("value", 0))),
    "uniform": lambda g, w: init.uniform_(w, float(g.get("min", 0)), float(g.get("max", 1))),
    "gaussian": _gaussian, "positive_unitball": _unit_ball, "bilinear": _bilinear,
    "xavier": lambda g, w: init.uniform_(w, -math.sqrt(3 / _fan(g, w)), math.sqrt(3 / _fan(g, w))),
    "msra": lambda g, w: init.normal_(w, 0.0, math.sqrt(2 / _fan(g, w))),
}


@no_grad()
def fill(layer: Module, given: _Given) -> None:
    """Let parameters begin as the fillers of an entry say; others stay as they are."""
    own = "weight_filler" if "weight_filler" in given else "filler"
    for field, name in ((own, "weight"), ("bias_filler", "bias")):
        if not isinstance(given.get(field), Mapping):
            continue
        parameter = getattr(layer, name, None)
        if parameter is None and field == "filler":
            parameter = getattr(layer, "bias", None)  # the one parameter of a layer Bias
        if parameter is not None:
            kind = given[field].get("type", "constant")
            if kind not in _FILLERS:
                raise ValueError(f"there is no filler {kind!r}, but {', '.join(_FILLERS)}")
            _FILLERS[kind](given[field], parameter)
