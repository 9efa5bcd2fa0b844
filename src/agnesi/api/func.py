"""Functions of functions, in one place: derivatives, batches, compilation."""

from agnesi.api.control.loops import cond as cond
from agnesi.api.control.loops import fori_loop as fori_loop
from agnesi.api.control.loops import map as map
from agnesi.api.control.loops import scan as scan
from agnesi.api.control.loops import while_loop as while_loop
from agnesi.autodiff.checkpoint import checkpoint as checkpoint
from agnesi.autodiff.custom import custom_jvp as custom_jvp
from agnesi.autodiff.custom import custom_vjp as custom_vjp
from agnesi.autodiff.jacobians import hessian as hessian
from agnesi.autodiff.jacobians import hvp as hvp
from agnesi.autodiff.jacobians import jacfwd as jacfwd
from agnesi.autodiff.jacobians import jacobian as jacobian
from agnesi.autodiff.jacobians import jacrev as jacrev
from agnesi.autodiff.jacobians import linearize as linearize
from agnesi.autodiff.recording import stop_gradient as stop_gradient
from agnesi.autodiff.transforms import grad as grad
from agnesi.autodiff.transforms import jvp as jvp
from agnesi.autodiff.transforms import value_and_grad as value_and_grad
from agnesi.autodiff.transforms import vjp as vjp
from agnesi.autodiff.vmap import vmap as vmap
from agnesi.compiler.jit import jit as jit
from agnesi.core.support.exports import shown as _shown


def __dir__() -> list[str]:
    return _shown(__name__)
