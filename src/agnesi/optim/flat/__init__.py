"""Minimisers of a function of one flat vector, from its values and gradients over all data."""

from agnesi.core.support.exports import shown as _shown
from agnesi.optim.flat.curvature import hessian_free as hessian_free
from agnesi.optim.flat.curvature import levenberg_marquardt as levenberg_marquardt
from agnesi.optim.flat.descent import Optimum as Optimum
from agnesi.optim.flat.descent import bfgs as bfgs
from agnesi.optim.flat.descent import cg as cg
from agnesi.optim.flat.descent import lbfgs as lbfgs


def __dir__() -> list[str]:
    return _shown(__name__)
