"""Theano 1.0 for programs that were written for it: change the import, nothing else.

Expressions are agnesi's; the names, defaults (float64) and conventions are Theano's.

Examples
--------
>>> import agnesi.compat.theano as theano
>>> import agnesi.compat.theano.tensor as T
>>> x = T.dmatrix("x")
>>> f = theano.function([x], T.nnet.sigmoid(x).sum(axis=1))
>>> f([[0.0, 0.0]])
array([1.])
"""

import sys

from agnesi.api.objects import generic as generic
from agnesi.compat.theano import compile as compile
from agnesi.compat.theano import functions as functions
from agnesi.compat.theano import gof as gof
from agnesi.compat.theano import gradient as gradient
from agnesi.compat.theano import ifelse as ifelse
from agnesi.compat.theano import loops as scan_module
from agnesi.compat.theano import methods as methods
from agnesi.compat.theano import misc as misc
from agnesi.compat.theano import printing as printing
from agnesi.compat.theano import sandbox as sandbox
from agnesi.compat.theano import scalar as scalar
from agnesi.compat.theano import sparse as sparse
from agnesi.compat.theano import tensor as tensor
from agnesi.compat.theano import updates as updates
from agnesi.compat.theano.compile import Mode as Mode
from agnesi.compat.theano.compile import optimize as _optimize
from agnesi.compat.theano.compile import predefined_modes as predefined_modes
from agnesi.compat.theano.compile import selftests as _selftests
from agnesi.compat.theano.config import config as config
from agnesi.compat.theano.config import read_settings as _read_settings
from agnesi.compat.theano.functions import In as In
from agnesi.compat.theano.functions import Out as Out
from agnesi.compat.theano.functions import Param as Param
from agnesi.compat.theano.functions import clone as clone
from agnesi.compat.theano.functions import function as function
from agnesi.compat.theano.functions import shared as shared
from agnesi.compat.theano.gradient import Lop as Lop
from agnesi.compat.theano.gradient import Rop as Rop
from agnesi.compat.theano.gradient import grad as grad
from agnesi.compat.theano.gradient import pullback as pullback
from agnesi.compat.theano.gradient import pushforward as pushforward
from agnesi.compat.theano.gradient import subgraph_grad as subgraph_grad
from agnesi.compat.theano.graphs import breakpoints as breakpoint
from agnesi.compat.theano.graphs import d3viz as d3viz
from agnesi.compat.theano.graphs import rewriting as rewriting
from agnesi.compat.theano.graphs import typed_list as typed_list
from agnesi.compat.theano.loops import foldl as foldl
from agnesi.compat.theano.loops import foldr as foldr
from agnesi.compat.theano.loops import map as map
from agnesi.compat.theano.loops import reduce as reduce
from agnesi.compat.theano.loops import scan as scan
from agnesi.compat.theano.loops import scan_checkpoints as scan_checkpoints
from agnesi.compat.theano.loops import until as until
from agnesi.compat.theano.misc import _asarray as _asarray
from agnesi.compat.theano.ops import Op as Op
from agnesi.compat.theano.ops import OpFromGraph as OpFromGraph
from agnesi.compat.theano.printing import debugprint as debugprint
from agnesi.compat.theano.printing import dprint as dprint
from agnesi.compat.theano.printing import pp as pp
from agnesi.compat.theano.printing import pprint as pprint
from agnesi.compat.theano.sandbox import cuda as gpuarray
from agnesi.compat.theano.tensor import dot as dot
from agnesi.compat.theano.tensor import random_stream as _streams
from agnesi.compat.theano.types import Apply as Apply
from agnesi.compat.theano.variable import Constant as Constant
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.compat.theano.variable import Variable as Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.paths import add_paths as _add_paths

#: Theano's and PyTensor's modules of loops, whose names are all in one.
for _name in ("scan_module", "scan_module.scan", "scan_module.scan_op", "scan_module.scan_utils",
              "scan_module.scan_views", "scan", "scan.basic", "scan.checkpoints", "scan.op",
              "scan.utils", "scan.views"):
    sys.modules[f"{__name__}.{_name}"] = scan_module
    if "." in _name and not _name.endswith(".scan"):
        setattr(scan_module, _name.rpartition(".")[2], scan_module)
#: Modules whose names are all in others.
for _name, _module in (
        ("configparser", config), ("configdefaults", config), ("sparse.basic", sparse),
        ("scalar.basic_scipy", scalar), ("scalar.math", scalar),
        ("scalar.basic", scalar), ("gpuarray", gpuarray), ("tensor.opt", rewriting),
        ("tensor.rewriting", rewriting),
        ("graph", gof), ("graph.rewriting", rewriting), ("graph.rewriting.basic", rewriting),
        ("graph.basic", gof), ("graph.op", gof), ("graph.fg", gof),
        ("graph.traversal", gof), ("graph.replace", compile.rebuild), ("link", gof),
        ("link.c", gof), ("link.c.op", gof), ("link.c.params_type", gof),
        ("gof.params_type", gof), ("raise_op", tensor),
        *((f"tensor.rewriting.{n}", rewriting) for n in (
            "basic", "elemwise", "math", "shape", "subtensor", "uncanonicalize")),
        ("graph.rewriting.utils", rewriting), ("graph.type", gof), ("graph.utils", gof),
        ("compile.function", functions), ("sparse.type", sparse), ("sparse.variable", sparse),
        ("sparse.math", sparse), ("typed_list", typed_list),
        ("typed_list.basic", typed_list), ("typed_list.type", typed_list),
        ("tensor.random", _streams), ("tensor.random.basic", _streams),
        ("tensor.random.utils", _streams), ("tensor.random.op", _streams),
        ("tensor.random.type", _streams), ("tensor.random.var", _streams),
        ("tensor.random.variable", _streams), ("utils", misc),
        ("tests", breakpoint), ("tests.breakpoint", breakpoint), ("breakpoint", breakpoint),
        ("d3viz", d3viz), ("d3viz.formatting", d3viz), ("gof.toolbox", gof), ("gof.link", gof),
        ("tensor.basic_opt", rewriting), ("tests.unittest_tools", _selftests),
        ("tensor.optimize", _optimize), ("compat", misc),
        ("compat.python2x", misc), ("compat.six", misc), ("compat.six.moves", misc)):
    sys.modules[f"{__name__}.{_name}"] = _module  # type: ignore[assignment]
    _head, _, _tail = f"{__name__}.{_name}".rpartition(".")
    if _tail not in ("function", "type"):  # the function; Python's in the module's own code
        setattr(sys.modules[_head], _tail, _module)
sys.modules[f"{__name__}.d3viz.d3viz"] = d3viz  # whose name in it is the function's
configparser = configdefaults = config
theano = sys.modules[__name__]  # programs wrote ``from theano import theano``
version = __version__ = "1.0.5"


def sparse_grad(var: Variable) -> Variable:
    """The variable itself: gradients of rows are written where they belong."""
    return var


_strictly(__name__)
_add_paths(__name__, "ifelse")
_read_settings()
