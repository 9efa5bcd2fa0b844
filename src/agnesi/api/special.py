"""Special functions under scipy.special's names, elementwise, with gradients.

Generated code computes the gamma and beta functions, ``digamma``, ``trigamma``, the error function,
the normal distribution, ``i0`` to ``k1e``, ``ellipk``, ``ellipe``, ``lambertw``, entropies, losses
and Box-Cox transforms.  The others are SciPy's, whose C functions compiled code calls.

Examples
--------
>>> import agnesi as ag
>>> ag.special.gammaln(ag.tensor([1.0, 3.0])).exp()
tensor([1., 2.])
>>> ag.grad(ag.special.ndtri)(0.5)
tensor(2.5066283)
"""

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.exports import shown as _shown
from agnesi.ops.base.arith import cbrt as cbrt
from agnesi.ops.base.select import round as round
from agnesi.ops.elementwise.explog import exp2 as exp2
from agnesi.ops.elementwise.explog import expm1 as expm1
from agnesi.ops.elementwise.explog import log1p as log1p
from agnesi.ops.elementwise.explog import sigmoid as expit
from agnesi.ops.elementwise.explog import softplus as softplus
from agnesi.ops.elementwise.explog import xlogy as xlogy
from agnesi.ops.elementwise.numeric import sinc as sinc
from agnesi.ops.neural.likelihoods import entr as entr
from agnesi.ops.neural.likelihoods import exprel as exprel
from agnesi.ops.neural.likelihoods import huber as huber
from agnesi.ops.neural.likelihoods import kl_div as kl_div
from agnesi.ops.neural.likelihoods import log_expit as log_expit
from agnesi.ops.neural.likelihoods import log_softmax as log_softmax
from agnesi.ops.neural.likelihoods import logit as logit
from agnesi.ops.neural.likelihoods import logsumexp as logsumexp
from agnesi.ops.neural.likelihoods import pseudo_huber as pseudo_huber
from agnesi.ops.neural.likelihoods import rel_entr as rel_entr
from agnesi.ops.neural.likelihoods import softmax as softmax
from agnesi.ops.neural.likelihoods import xlog1py as xlog1py
from agnesi.ops.special import (
    bessel_related,
    cumulative,
    elliptic,
    hypergeometric,
    mathieu,
    orthogonal,
    powers,
    quadrature,
)
from agnesi.ops.special.bessel import i0 as i0
from agnesi.ops.special.bessel import i0e as i0e
from agnesi.ops.special.bessel import i1 as i1
from agnesi.ops.special.bessel import i1e as i1e
from agnesi.ops.special.bessel import iv as iv
from agnesi.ops.special.bessel import ive as ive
from agnesi.ops.special.bessel import j0 as j0
from agnesi.ops.special.bessel import j1 as j1
from agnesi.ops.special.bessel import jn as jn
from agnesi.ops.special.bessel import jv as jv
from agnesi.ops.special.bessel import k0 as k0
from agnesi.ops.special.bessel import k0e as k0e
from agnesi.ops.special.bessel import k1 as k1
from agnesi.ops.special.bessel import k1e as k1e
from agnesi.ops.special.bessel import kv as kv
from agnesi.ops.special.bessel import kve as kve
from agnesi.ops.special.bessel import y0 as y0
from agnesi.ops.special.bessel import y1 as y1
from agnesi.ops.special.bessel import yv as yv
from agnesi.ops.special.bessel_related import *  # noqa: F403
from agnesi.ops.special.cumulative import *  # noqa: F403
from agnesi.ops.special.elliptic import *  # noqa: F403
from agnesi.ops.special.gammas import beta as beta
from agnesi.ops.special.gammas import betaln as betaln
from agnesi.ops.special.gammas import binom as binom
from agnesi.ops.special.gammas import factorial as factorial
from agnesi.ops.special.gammas import gamma as gamma
from agnesi.ops.special.gammas import loggamma as loggamma
from agnesi.ops.special.gammas import multigammaln as multigammaln
from agnesi.ops.special.gammas import poch as poch
from agnesi.ops.special.gammas import rgamma as rgamma
from agnesi.ops.special.gammas import zeta as zeta
from agnesi.ops.special.hypergeometric import *  # noqa: F403
from agnesi.ops.special.incomplete import betainc as betainc
from agnesi.ops.special.incomplete import betainc_da as betainc_da
from agnesi.ops.special.incomplete import betainc_db as betainc_db
from agnesi.ops.special.incomplete import betaincinv as betaincinv
from agnesi.ops.special.incomplete import gammainc as gammainc
from agnesi.ops.special.incomplete import gammainc_da as gammainc_da
from agnesi.ops.special.incomplete import gammaincc as gammaincc
from agnesi.ops.special.incomplete import gammaincinv as gammaincinv
from agnesi.ops.special.integrals import ellipe as ellipe
from agnesi.ops.special.integrals import ellipk as ellipk
from agnesi.ops.special.integrals import exp1 as exp1
from agnesi.ops.special.integrals import expi as expi
from agnesi.ops.special.integrals import lambertw as lambertw
from agnesi.ops.special.integrals import owens_t as owens_t
from agnesi.ops.special.integrals import sici as sici
from agnesi.ops.special.mathieu import *  # noqa: F403
from agnesi.ops.special.normal import erfcinv as erfcinv
from agnesi.ops.special.normal import erfcx as erfcx
from agnesi.ops.special.normal import log_ndtr as log_ndtr
from agnesi.ops.special.normal import ndtr as ndtr
from agnesi.ops.special.normal import ndtri as ndtri
from agnesi.ops.special.orthogonal import *  # noqa: F403
from agnesi.ops.special.powers import *  # noqa: F403
from agnesi.ops.special.quadrature import *  # noqa: F403
from agnesi.ops.special.special import digamma as digamma
from agnesi.ops.special.special import digamma as psi
from agnesi.ops.special.special import erf as erf
from agnesi.ops.special.special import erfc as erfc
from agnesi.ops.special.special import erfinv as erfinv
from agnesi.ops.special.special import lgamma as gammaln
from agnesi.ops.special.special import polygamma as polygamma
from agnesi.ops.special.special import trigamma as trigamma
from agnesi.ops.special.spherical import spherical_in as spherical_in
from agnesi.ops.special.spherical import spherical_jn as spherical_jn
from agnesi.ops.special.spherical import spherical_kn as spherical_kn
from agnesi.ops.special.spherical import spherical_yn as spherical_yn

__all__ = [
    "beta", "betainc", "betainc_da", "betainc_db", "betaincinv", "betaln", "binom", "cbrt",
    "digamma", "ellipe", "ellipk", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1",
    "exp2", "expi", "expit", "expm1", "exprel", "factorial", "gamma", "gammainc", "gammainc_da",
    "gammaincc", "gammaincinv", "gammaln", "huber", "i0", "i0e", "i1", "i1e", "iv", "ive", "j0",
    "j1", "jn", "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kv", "kve", "lambertw", "log1p",
    "log_expit", "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln",
    "ndtr", "ndtri", "owens_t", "poch", "polygamma", "pseudo_huber", "psi", "rel_entr",
    "rgamma", "round", "sici", "sinc", "softmax", "softplus", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "trigamma", "xlog1py", "xlogy", "y0", "y1", "yv", "zeta",
]
__all__ += powers.__all__
__all__ += quadrature.__all__
__all__ += cumulative.__all__
__all__ += bessel_related.__all__
__all__ += elliptic.__all__
__all__ += hypergeometric.__all__
__all__ += orthogonal.__all__
__all__ += mathieu.__all__


def __dir__() -> list[str]:
    return _shown(__name__)


_strictly(__name__)
