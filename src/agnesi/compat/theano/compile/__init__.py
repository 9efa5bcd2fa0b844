"""``theano.compile``: functions, shared variables and modes."""

from __future__ import annotations

import sys

from agnesi.compat.theano.compile import rebuild as rebuild
from agnesi.compat.theano.compile.rebuild import rebuild_collect_shared as rebuild_collect_shared
from agnesi.compat.theano.functions import Function as Function
from agnesi.compat.theano.functions import In as In
from agnesi.compat.theano.functions import Out as Out
from agnesi.compat.theano.functions import Param as Param
from agnesi.compat.theano.functions import function as function
from agnesi.compat.theano.functions import shared as shared
from agnesi.compat.theano.graphs.rewriting import optdb as optdb
from agnesi.compat.theano.modes import BadOptimization as BadOptimization
from agnesi.compat.theano.modes import DebugMode as DebugMode
from agnesi.compat.theano.modes import DebugModeError as DebugModeError
from agnesi.compat.theano.modes import Mode as Mode
from agnesi.compat.theano.modes import MonitorMode as MonitorMode
from agnesi.compat.theano.modes import NanGuardMode as NanGuardMode
from agnesi.compat.theano.modes import mode_of as mode_of
from agnesi.compat.theano.ops import OpFromGraph as OpFromGraph
from agnesi.compat.theano.ops import ViewOp as ViewOp
from agnesi.compat.theano.ops import as_op as as_op
from agnesi.compat.theano.ops.views import view_op as view_op
from agnesi.compat.theano.profiling import ProfileStats as ProfileStats
from agnesi.compat.theano.tensor.opclasses import DeepCopyOp as DeepCopyOp
from agnesi.compat.theano.tensor.opclasses import deep_copy_op as deep_copy_op
from agnesi.compat.theano.variable import SharedVariable as SharedVariable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import UnusedInputError as UnusedInputError


def get_default_mode() -> Mode:
    """The mode of functions that are given none."""
    return Mode()


get_mode = mode_of
predefined_modes = {"FAST_RUN": Mode(), "FAST_COMPILE": Mode(optimizer="FAST_COMPILE"),
                    "DebugMode": DebugMode(), "NanGuardMode": NanGuardMode()}
#: Theano's modules of it, whose names are all here.
for _name in ("builders", "debugmode", "function_module", "io", "mode", "monitormode",
              "nanguardmode", "ops", "pfunc", "profiling", "sharedvalue", "debug",
              "debug.debugmode", "debug.monitormode", "debug.nanguardmode", "debug.profiling"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]


_strictly(__name__)
