"""``theano.tensor``: variables, and every function of them under Theano's name.

What is not defined here is agnesi's function of that name, lifted to variables.
"""

from __future__ import annotations

import importlib
import sys
from types import FunctionType
from typing import Any

import numpy as np

import agnesi
from agnesi.api import special as _special
from agnesi.api import symbolic as _symbolic
from agnesi.compat.theano.base.hints import hint as _hint
from agnesi.compat.theano.tensor.creation import *  # noqa: F403
from agnesi.compat.theano.tensor.derivatives import *  # noqa: F403
from agnesi.compat.theano.tensor.elementwise import *  # noqa: F403
from agnesi.compat.theano.tensor.indices import *  # noqa: F403
from agnesi.compat.theano.tensor.kinds import *  # noqa: F403
from agnesi.compat.theano.tensor.kinds import _allclose as _allclose
from agnesi.compat.theano.tensor.opclasses import *  # noqa: F403
from agnesi.compat.theano.tensor.products import *  # noqa: F403
from agnesi.compat.theano.tensor.reductions import *  # noqa: F403
from agnesi.compat.theano.tensor.shaping import *  # noqa: F403
from agnesi.compat.theano.tensor.triangles import *  # noqa: F403
from agnesi.compat.theano.types import Apply as Apply
from agnesi.compat.theano.types import TensorType as TensorType
from agnesi.compat.theano.types import TensorVariable as TensorVariable
from agnesi.compat.theano.variable import Constant as Constant
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.compat.theano.variable import Variable as Variable
from agnesi.compat.theano.variable import lifted as _lifted
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.exports import shown as _shown
from agnesi.core.support.migration_hints import elsewhere as _elsewhere

as_tensor = as_tensor_variable  # noqa: F405 - PyTensor's name
Tensor = TensorType  # its name in older programs
TensorConstant = Constant
TensorSharedVariable = SharedVariable
pi, e, inf, nan, euler_gamma = np.pi, np.e, np.inf, np.nan, np.euler_gamma
newaxis = None

#: Theano's names for functions that have another name here.
_RENAMED = {
    "inv": "reciprocal", "sgn": "sign", "invert": "bitwise_invert", "int_div": "floor_divide",
    "floor_div": "floor_divide", "true_div": "true_divide", "and_": "bitwise_and",
    "or_": "bitwise_or", "xor": "bitwise_xor", "psi": "digamma", "gammaln": "lgamma",
    "expit": "sigmoid", "log1pexp": "softplus", "tensor_constructor": "shared",
    "scalar_constructor": "shared",
    "rad2deg": "degrees", "deg2rad": "radians",
}
#: Submodules that are imported when they are requested.
_MODULES = ("fft", "fourier", "inplace", "io", "linalg", "nlinalg", "nnet",
            "shared_randomstreams", "signal", "slinalg", "special", "xlogx")
#: Theano's other modules, whose names are all here.
for _name in ("basic", "blas", "blockwise", "einsum", "elemwise", "extra_ops", "functional",
              "interpolate", "math", "pad", "raw_random", "shape", "sharedvar", "sort", "subtensor",
              "type", "utils", "var", "variable"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]

#: Modules of PyTensor's with the names of functions, which they are here.
_BOTH = ("einsum", "pad")


def __getattr__(name: str) -> Any:
    if name not in _BOTH and (f"{__name__}.{name}" in sys.modules or name in _MODULES):
        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    ours = _RENAMED.get(name, name)
    found = getattr(_symbolic, ours, None) or getattr(_special, ours, None)
    if found is None:
        found = getattr(agnesi, ours, None)
    if not callable(found) or isinstance(found, type):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}"
                             f"{_hint(name) or _elsewhere(f'module {__name__!r}', name)}")
    made = _lifted(found)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    """The names of this file and those of functions that are lifted when they are requested."""
    late = [n for room in (_symbolic, _special) for n in dir(room)
            if not n.startswith("_") and isinstance(getattr(room, n), FunctionType)]
    return sorted({*_shown(__name__), *_RENAMED, *late})


_strictly(__name__)
