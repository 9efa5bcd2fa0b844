"""NumPy-like tensors with gradients, symbolic graphs, and a compiler for whole training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agnesi.api.functions import (
    add as add,
)
from agnesi.api.functions import (
    alloc as alloc,
)
from agnesi.api.functions import (
    arange as arange,
)
from agnesi.api.functions import (
    asarray as asarray,
)
from agnesi.api.functions import (
    constant as constant,
)
from agnesi.api.functions import (
    empty as empty,
)
from agnesi.api.functions import (
    empty_like as empty_like,
)
from agnesi.api.functions import (
    exp as exp,
)
from agnesi.api.functions import (
    eye as eye,
)
from agnesi.api.functions import (
    filled as filled,
)
from agnesi.api.functions import (
    from_numpy as from_numpy,
)
from agnesi.api.functions import (
    full as full,
)
from agnesi.api.functions import (
    full_like as full_like,
)
from agnesi.api.functions import (
    identity_like as identity_like,
)
from agnesi.api.functions import (
    linspace as linspace,
)
from agnesi.api.functions import (
    logspace as logspace,
)
from agnesi.api.functions import (
    multiply as multiply,
)
from agnesi.api.functions import (
    negative as negative,
)
from agnesi.api.functions import (
    ones as ones,
)
from agnesi.api.functions import (
    ones_like as ones_like,
)
from agnesi.api.functions import (
    subtract as subtract,
)
from agnesi.api.functions import (
    tensor as tensor,
)
from agnesi.api.functions import (
    zeros as zeros,
)
from agnesi.api.functions import (
    zeros_like as zeros_like,
)
from agnesi.api.host import (
    from_dlpack as from_dlpack,
)
from agnesi.api.methods import (
    Tensor as Tensor,
)
from agnesi.autodiff.recording import (
    enable_grad as enable_grad,
)
from agnesi.autodiff.recording import (
    is_grad_enabled as is_grad_enabled,
)
from agnesi.autodiff.recording import (
    no_grad as no_grad,
)
from agnesi.autodiff.recording import (
    stop_gradient as stop_gradient,
)
from agnesi.core.config import (
    config as config,
)
from agnesi.core.dims import (
    Dim as Dim,
)
from agnesi.core.dtypes import (
    bool_ as bool,
)
from agnesi.core.dtypes import (
    complex64 as complex64,
)
from agnesi.core.dtypes import (
    complex128 as complex128,
)
from agnesi.core.dtypes import (
    float16 as float16,
)
from agnesi.core.dtypes import (
    float32 as float32,
)
from agnesi.core.dtypes import (
    float64 as float64,
)
from agnesi.core.dtypes import (
    int8 as int8,
)
from agnesi.core.dtypes import (
    int16 as int16,
)
from agnesi.core.dtypes import (
    int32 as int32,
)
from agnesi.core.dtypes import (
    int64 as int64,
)
from agnesi.core.dtypes import (
    uint8 as uint8,
)
from agnesi.core.dtypes import (
    uint16 as uint16,
)
from agnesi.core.dtypes import (
    uint32 as uint32,
)
from agnesi.core.dtypes import (
    uint64 as uint64,
)
from agnesi.core.errors import (
    DTypeError as DTypeError,
)
from agnesi.core.errors import (
    GradientError as GradientError,
)
from agnesi.core.errors import (
    MissingInputError as MissingInputError,
)
from agnesi.core.errors import (
    ShapeError as ShapeError,
)
from agnesi.core.errors import (
    TraceError as TraceError,
)

_LAZY = ("data", "inspect", "nn", "optim", "symbolic", "testing")

if TYPE_CHECKING:
    from agnesi import inspect as inspect
    from agnesi import nn as nn
    from agnesi import optim as optim
    from agnesi import symbolic as symbolic
    from agnesi import testing as testing


def __getattr__(name: str) -> Any:
    """Rooms that are loaded at first use."""
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"agnesi.{name}")
    raise AttributeError(f"module 'agnesi' has no attribute {name!r}")
