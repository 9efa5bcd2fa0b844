"""Minimisers of a function of one flat vector, from its values and gradients over all data.

In: a function of a vector that returns value and gradient, and a start. Out: the vector and values.
What must hold: the vector is changed in place; a state that is given goes on.
"""

from agnesi.core.support.exports import shown as _shown
from agnesi.optim.flat.curvature import hessian_free as hessian_free
from agnesi.optim.flat.curvature import levenberg_marquardt as levenberg_marquardt
from agnesi.optim.flat.descent import Optimum as Optimum
from agnesi.optim.flat.descent import bfgs as bfgs
from agnesi.optim.flat.descent import cg as cg
from agnesi.optim.flat.descent import lbfgs as lbfgs


def __dir__() -> list[str]:
    return _shown(__name__)
