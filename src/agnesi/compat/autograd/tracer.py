"""Names of autograd's tracer that programs use."""

from agnesi.compat.autograd.extend import notrace_primitive as notrace_primitive
from agnesi.compat.autograd.extend import primitive as primitive
from agnesi.compat.autograd.extend import register_notrace as register_notrace
from agnesi.compat.autograd.values import getval as getval
from agnesi.compat.autograd.values import isbox as isbox
from agnesi.core.tensor import Tensor as Box

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace"]
