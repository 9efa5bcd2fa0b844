"""NumPy-like tensors with gradients, symbolic graphs, and a compiler for whole training steps."""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from sys import modules as _modules
from typing import TYPE_CHECKING, Any

from agnesi.api import loading as _loading  # noqa: F401 - importing it is what counts
from agnesi.api import memory as _memory  # noqa: F401 - likewise
from agnesi.api.functions import *  # noqa: F403 - that module is the list
from agnesi.api.lazy_names import NAMES as _NAMES
from agnesi.api.lazy_names import load as _load
from agnesi.api.tensor.exchange import VERSION as _VERSION
from agnesi.api.tensor.exchange import __array_namespace_info__ as __array_namespace_info__
from agnesi.api.tensor.exchange import from_dlpack as from_dlpack
from agnesi.api.tensor.methods import Tensor as Tensor
from agnesi.autodiff.recording import enable_grad as enable_grad
from agnesi.autodiff.recording import is_grad_enabled as is_grad_enabled
from agnesi.autodiff.recording import no_grad as no_grad
from agnesi.autodiff.recording import stop_gradient as stop_gradient
from agnesi.compiler.eager import install as _install
from agnesi.core.ir.dims import Dim as Dim
from agnesi.core.support.config import config as config
from agnesi.core.support.dtypes import bool_ as _bool
from agnesi.core.support.dtypes import complex64 as complex64
from agnesi.core.support.dtypes import complex128 as complex128
from agnesi.core.support.dtypes import float16 as float16
from agnesi.core.support.dtypes import float32 as float32
from agnesi.core.support.dtypes import float64 as float64
from agnesi.core.support.dtypes import int8 as int8
from agnesi.core.support.dtypes import int16 as int16
from agnesi.core.support.dtypes import int32 as int32
from agnesi.core.support.dtypes import int64 as int64
from agnesi.core.support.dtypes import uint8 as uint8
from agnesi.core.support.dtypes import uint16 as uint16
from agnesi.core.support.dtypes import uint32 as uint32
from agnesi.core.support.dtypes import uint64 as uint64
from agnesi.core.support.errors import DeviceError as DeviceError
from agnesi.core.support.errors import DTypeError as DTypeError
from agnesi.core.support.errors import FileFormatError as FileFormatError
from agnesi.core.support.errors import GradientError as GradientError
from agnesi.core.support.errors import MissingInputError as MissingInputError
from agnesi.core.support.errors import NestingError as NestingError
from agnesi.core.support.errors import ShapeError as ShapeError
from agnesi.core.support.errors import TraceError as TraceError
from agnesi.core.support.errors import UnusedInputError as UnusedInputError
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.paths import Hints as _Hints  # noqa: F401 - it finds modules from here on
from agnesi.ops.random.lineage import LINEAGE as _LINEAGE  # noqa: F401 - it counts from here on

__version__ = "0.1.0"
__array_api_version__ = _VERSION
bool = _bool
newaxis = None
_install()

if TYPE_CHECKING:
    from agnesi import accelerator as accelerator
    from agnesi import amp as amp
    from agnesi import autograd as autograd
    from agnesi import backends as backends
    from agnesi import cuda as cuda
    from agnesi import data as data
    from agnesi import distributed as distributed
    from agnesi import distributions as distributions
    from agnesi import fft as fft
    from agnesi import func as func
    from agnesi import inspect as inspect
    from agnesi import linalg as linalg
    from agnesi import metrics as metrics
    from agnesi import nn as nn
    from agnesi import optim as optim
    from agnesi import overrides as overrides
    from agnesi import random as random
    from agnesi import rewrite as rewrite
    from agnesi import saving as saving
    from agnesi import sparse as sparse
    from agnesi import special as special
    from agnesi import symbolic as symbolic
    from agnesi import testing as testing
    from agnesi import training as training
    from agnesi import tree as tree
    from agnesi import utils as utils
    from agnesi.api.control.branches import associative_scan as associative_scan
    from agnesi.api.control.branches import switch as switch
    from agnesi.api.control.loops import cond as cond
    from agnesi.api.control.loops import fori_loop as fori_loop
    from agnesi.api.control.loops import map as map
    from agnesi.api.control.loops import scan as scan
    from agnesi.api.control.loops import while_loop as while_loop
    from agnesi.api.custom.effects import callback as callback
    from agnesi.api.custom.effects import print as print
    from agnesi.api.custom.forward_backward import Function as Function
    from agnesi.api.custom.kernels import elementwise as elementwise
    from agnesi.api.custom.kernels import reduction as reduction
    from agnesi.api.custom.userops import Op as Op
    from agnesi.api.custom.userops import op as op
    from agnesi.api.mapping import apply_along_axis as apply_along_axis
    from agnesi.api.mapping import apply_over_axes as apply_over_axes
    from agnesi.api.mapping import vectorize as vectorize
    from agnesi.api.random import get_rng_state as get_rng_state
    from agnesi.api.random import initial_seed as initial_seed
    from agnesi.api.random import manual_seed as manual_seed
    from agnesi.api.random import rand as rand
    from agnesi.api.random import randint as randint
    from agnesi.api.random import randn as randn
    from agnesi.api.random import set_rng_state as set_rng_state
    from agnesi.api.sparse.coordinates import sparse_coo_tensor as sparse_coo_tensor
    from agnesi.api.sparse.functions import spmm as spmm
    from agnesi.api.sparse.pytorch import sparse_csc_tensor as sparse_csc_tensor
    from agnesi.api.sparse.pytorch import sparse_csr_tensor as sparse_csr_tensor
    from agnesi.api.torch.draws import *  # noqa: F403
    from agnesi.api.torch.kinds import *  # noqa: F403
    from agnesi.api.torch.numbers import *  # noqa: F403
    from agnesi.api.torch.parts import *  # noqa: F403
    from agnesi.api.torch.products import *  # noqa: F403
    from agnesi.api.torch.settings import *  # noqa: F403
    from agnesi.api.torch.signals import *  # noqa: F403
    from agnesi.autodiff.checkpoint import checkpoint as checkpoint
    from agnesi.autodiff.checkpoint import checkpoint_sequential as checkpoint_sequential
    from agnesi.autodiff.custom import custom_jvp as custom_jvp
    from agnesi.autodiff.custom import custom_vjp as custom_vjp
    from agnesi.autodiff.forward import Lop as Lop
    from agnesi.autodiff.forward import Rop as Rop
    from agnesi.autodiff.jacobians import hessian as hessian
    from agnesi.autodiff.jacobians import hvp as hvp
    from agnesi.autodiff.jacobians import jacfwd as jacfwd
    from agnesi.autodiff.jacobians import jacobian as jacobian
    from agnesi.autodiff.jacobians import jacrev as jacrev
    from agnesi.autodiff.jacobians import linearize as linearize
    from agnesi.autodiff.opgraph import OpFromGraph as OpFromGraph
    from agnesi.autodiff.transforms import grad as grad
    from agnesi.autodiff.transforms import jvp as jvp
    from agnesi.autodiff.transforms import value_and_grad as value_and_grad
    from agnesi.autodiff.transforms import vjp as vjp
    from agnesi.autodiff.vmap import vmap as vmap
    from agnesi.compiler.cloning import clone as clone
    from agnesi.compiler.control import clear_cache as clear_cache
    from agnesi.compiler.control import get_num_threads as get_num_threads
    from agnesi.compiler.control import keep_memory as keep_memory
    from agnesi.compiler.control import limit_memory as limit_memory
    from agnesi.compiler.control import memory_stats as memory_stats
    from agnesi.compiler.control import set_num_threads as set_num_threads
    from agnesi.compiler.declaration import function as function
    from agnesi.compiler.inputs import In as In
    from agnesi.compiler.jit import jit as jit
    from agnesi.compiler.shared import shared as shared
    from agnesi.ops.arrays.grids import *  # noqa: F403
    from agnesi.ops.arrays.inquire import *  # noqa: F403
    from agnesi.ops.arrays.nonzeros import *  # noqa: F403
    from agnesi.ops.arrays.numpy_selection import *  # noqa: F403
    from agnesi.ops.arrays.rearrange import *  # noqa: F403
    from agnesi.ops.arrays.triangles import *  # noqa: F403
    from agnesi.ops.contractions.vectors import *  # noqa: F403
    from agnesi.ops.convolution.convolve import convolve as convolve
    from agnesi.ops.convolution.convolve import correlate as correlate
    from agnesi.ops.convolution.convolve import fftconvolve as fftconvolve
    from agnesi.ops.elementwise.numeric import *  # noqa: F403
    from agnesi.ops.linalg.products import kron as kron
    from agnesi.ops.numerics.calculus import *  # noqa: F403
    from agnesi.ops.numerics.polynomials import *  # noqa: F403
    from agnesi.ops.numerics.quantiles import *  # noqa: F403
    from agnesi.ops.numerics.sets import intersect1d as intersect1d
    from agnesi.ops.numerics.sets import setdiff1d as setdiff1d
    from agnesi.ops.numerics.sets import setxor1d as setxor1d
    from agnesi.ops.numerics.sets import union1d as union1d
    from agnesi.ops.numerics.statistics import *  # noqa: F403
    from agnesi.ops.reductions.nans import *  # noqa: F403
    from agnesi.ops.signal.tapers import *  # noqa: F403
    from agnesi.ops.sorting.partitions import *  # noqa: F403
    from agnesi.ops.special.bessel import i0 as i0
    from agnesi.saving.graphs import load as load
    from agnesi.saving.graphs import save as save

#: Names that are loaded at first use: "module", or "module:name".
_LATE = {
    "amp": "agnesi.amp",
    "autograd": "agnesi.autograd",
    "accelerator": "agnesi.accelerator",
    "backends": "agnesi.backends",
    "bfloat16": "agnesi.core.support.dtypes:bfloat16",
    "callback": "agnesi.api.custom.effects:callback",
    "checkpoint": "agnesi.autodiff.checkpoint:checkpoint",
    "checkpoint_sequential": "agnesi.autodiff.checkpoint:checkpoint_sequential",
    "clear_cache": "agnesi.compiler.control:clear_cache",
    "clone": "agnesi.compiler.cloning:clone",
    "convolve": "agnesi.ops.convolution.convolve:convolve",
    "correlate": "agnesi.ops.convolution.convolve:correlate",
    "cuda": "agnesi.cuda",
    "custom_jvp": "agnesi.autodiff.custom:custom_jvp",
    "custom_vjp": "agnesi.autodiff.custom:custom_vjp",
    "data": "agnesi.data",
    "elementwise": "agnesi.api.custom.kernels:elementwise",
    "fft": "agnesi.api.fft",
    "fftconvolve": "agnesi.ops.convolution.convolve:fftconvolve",
    "func": "agnesi.func",
    "Function": "agnesi.api.custom.forward_backward:Function",
    "function": "agnesi.compiler.declaration:function",
    "get_num_threads": "agnesi.compiler.control:get_num_threads",
    "distributed": "agnesi.distributed",
    "distributions": "agnesi.distributions",
    "hessian": "agnesi.autodiff.jacobians:hessian",
    "hvp": "agnesi.autodiff.jacobians:hvp",
    "image": "agnesi.image",
    "In": "agnesi.compiler.inputs:In",
    "inspect": "agnesi.inspect",
    "jacfwd": "agnesi.autodiff.jacobians:jacfwd",
    "jacobian": "agnesi.autodiff.jacobians:jacobian",
    "jacrev": "agnesi.autodiff.jacobians:jacrev",
    "jit": "agnesi.compiler.jit:jit",
    "keep_memory": "agnesi.compiler.control:keep_memory",
    "kron": "agnesi.ops.linalg.products:kron",
    "limit_memory": "agnesi.compiler.control:limit_memory",
    "load": "agnesi.saving.graphs:load",
    "linalg": "agnesi.api.linalg",
    "linearize": "agnesi.autodiff.jacobians:linearize",
    "get_rng_state": "agnesi.api.random:get_rng_state",
    "initial_seed": "agnesi.api.random:initial_seed",
    "manual_seed": "agnesi.api.random:manual_seed",
    "memory_stats": "agnesi.compiler.control:memory_stats",
    "metrics": "agnesi.metrics",
    "nn": "agnesi.nn",
    "Op": "agnesi.api.custom.userops:Op",
    "op": "agnesi.api.custom.userops:op",
    "OpFromGraph": "agnesi.autodiff.opgraph:OpFromGraph",
    "optim": "agnesi.optim",
    "overrides": "agnesi.overrides",
    "print": "agnesi.api.custom.effects:print",
    "rand": "agnesi.api.random:rand",
    "randint": "agnesi.api.random:randint",
    "randn": "agnesi.api.random:randn",
    "random": "agnesi.api.random",
    "reduction": "agnesi.api.custom.kernels:reduction",
    "rewrite": "agnesi.rewrite",
    "save": "agnesi.saving.graphs:save",
    "saving": "agnesi.saving",
    "set_rng_state": "agnesi.api.random:set_rng_state",
    "set_num_threads": "agnesi.compiler.control:set_num_threads",
    "sparse": "agnesi.api.sparse",
    "sparse_coo_tensor": "agnesi.api.sparse.coordinates:sparse_coo_tensor",
    "sparse_csc_tensor": "agnesi.api.sparse.pytorch:sparse_csc_tensor",
    "sparse_csr_tensor": "agnesi.api.sparse.pytorch:sparse_csr_tensor",
    "spmm": "agnesi.api.sparse.functions:spmm",
    "special": "agnesi.api.special",
    "symbolic": "agnesi.api.symbolic",
    "testing": "agnesi.testing",
    "training": "agnesi.training",
    "tree": "agnesi.api.tree",
    "utils": "agnesi.utils",
    "vmap": "agnesi.autodiff.vmap:vmap",
    "associative_scan": "agnesi.api.control.branches:associative_scan",
    "switch": "agnesi.api.control.branches:switch",
    "cond": "agnesi.api.control.loops:cond",
    "fori_loop": "agnesi.api.control.loops:fori_loop",
    "map": "agnesi.api.control.loops:map",
    "scan": "agnesi.api.control.loops:scan",
    "while_loop": "agnesi.api.control.loops:while_loop",
    "Lop": "agnesi.autodiff.forward:Lop",
    "Rop": "agnesi.autodiff.forward:Rop",
    "grad": "agnesi.autodiff.transforms:grad",
    "jvp": "agnesi.autodiff.transforms:jvp",
    "value_and_grad": "agnesi.autodiff.transforms:value_and_grad",
    "vjp": "agnesi.autodiff.transforms:vjp",
    "shared": "agnesi.compiler.shared:shared",
    **_NAMES,
}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what ``import *`` requests: functions and classes, not Python's print
        return [n for n in __dir__()
                if n != "print" and not n.startswith("_") and ":" in _LATE.get(n, ":")]
    found = _modules.get(f"{__name__}.{name}")  # loaded by an import that a signal ended
    if found is None or name in _LATE:
        if name not in _LATE:
            raise _no_attribute("module 'agnesi'", name)
        found = _load(_LATE[name])
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_shown(__name__), *_LATE})
