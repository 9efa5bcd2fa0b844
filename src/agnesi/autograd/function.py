"""Functions with their own derivative: the names of ``torch.autograd.function``."""

from __future__ import annotations

from agnesi.api.custom.contexts import Function as Function
from agnesi.api.custom.contexts import FunctionCtx as FunctionCtx
from agnesi.api.custom.contexts import once_differentiable as once_differentiable
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
