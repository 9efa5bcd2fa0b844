"""``autograd.scipy.stats``: SciPy's distributions, with gradients to all of their parameters."""

from agnesi.compat.autograd.scipy.stats import beta as beta
from agnesi.compat.autograd.scipy.stats import chi2 as chi2
from agnesi.compat.autograd.scipy.stats import dirichlet as dirichlet
from agnesi.compat.autograd.scipy.stats import gamma as gamma
from agnesi.compat.autograd.scipy.stats import multivariate_normal as multivariate_normal
from agnesi.compat.autograd.scipy.stats import norm as norm
from agnesi.compat.autograd.scipy.stats import poisson as poisson
from agnesi.compat.autograd.scipy.stats import t as t
