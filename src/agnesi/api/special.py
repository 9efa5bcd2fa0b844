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

from agnesi.core.exports import shown as _shown
from agnesi.ops import (
    cumulative,
    cylinder,
    elliptic,
    hypergeometric,
    orthogonal,
    powers,
    quadrature,
    waves,
)
from agnesi.ops.arith import cbrt as cbrt
from agnesi.ops.bessel import i0 as i0
from agnesi.ops.bessel import i0e as i0e
from agnesi.ops.bessel import i1 as i1
from agnesi.ops.bessel import i1e as i1e
from agnesi.ops.bessel import iv as iv
from agnesi.ops.bessel import ive as ive
from agnesi.ops.bessel import j0 as j0
from agnesi.ops.bessel import j1 as j1
from agnesi.ops.bessel import jn as jn
from agnesi.ops.bessel import jv as jv
from agnesi.ops.bessel import k0 as k0
from agnesi.ops.bessel import k0e as k0e
from agnesi.ops.bessel import k1 as k1
from agnesi.ops.bessel import k1e as k1e
from agnesi.ops.bessel import kv as kv
from agnesi.ops.bessel import kve as kve
from agnesi.ops.bessel import y0 as y0
from agnesi.ops.bessel import y1 as y1
from agnesi.ops.bessel import yv as yv
from agnesi.ops.cumulative import *  # noqa: F403
from agnesi.ops.cylinder import *  # noqa: F403
from agnesi.ops.elliptic import *  # noqa: F403
from agnesi.ops.explog import exp2 as exp2
from agnesi.ops.explog import expm1 as expm1
from agnesi.ops.explog import log1p as log1p
from agnesi.ops.explog import sigmoid as expit
from agnesi.ops.explog import softplus as softplus
from agnesi.ops.explog import xlogy as xlogy
from agnesi.ops.gammas import beta as beta
from agnesi.ops.gammas import betaln as betaln
from agnesi.ops.gammas import binom as binom
from agnesi.ops.gammas import factorial as factorial
from agnesi.ops.gammas import gamma as gamma
from agnesi.ops.gammas import loggamma as loggamma
from agnesi.ops.gammas import multigammaln as multigammaln
from agnesi.ops.gammas import poch as poch
from agnesi.ops.gammas import rgamma as rgamma
from agnesi.ops.gammas import zeta as zeta
from agnesi.ops.hypergeometric import *  # noqa: F403
from agnesi.ops.incomplete import betainc as betainc
from agnesi.ops.incomplete import betainc_da as betainc_da
from agnesi.ops.incomplete import betainc_db as betainc_db
from agnesi.ops.incomplete import betaincinv as betaincinv
from agnesi.ops.incomplete import gammainc as gammainc
from agnesi.ops.incomplete import gammainc_da as gammainc_da
from agnesi.ops.incomplete import gammaincc as gammaincc
from agnesi.ops.incomplete import gammaincinv as gammaincinv
from agnesi.ops.integrals import ellipe as ellipe
from agnesi.ops.integrals import ellipk as ellipk
from agnesi.ops.integrals import exp1 as exp1
from agnesi.ops.integrals import expi as expi
from agnesi.ops.integrals import lambertw as lambertw
from agnesi.ops.integrals import owens_t as owens_t
from agnesi.ops.integrals import sici as sici
from agnesi.ops.likelihoods import entr as entr
from agnesi.ops.likelihoods import exprel as exprel
from agnesi.ops.likelihoods import huber as huber
from agnesi.ops.likelihoods import kl_div as kl_div
from agnesi.ops.likelihoods import log_expit as log_expit
from agnesi.ops.likelihoods import log_softmax as log_softmax
from agnesi.ops.likelihoods import logit as logit
from agnesi.ops.likelihoods import logsumexp as logsumexp
from agnesi.ops.likelihoods import pseudo_huber as pseudo_huber
from agnesi.ops.likelihoods import rel_entr as rel_entr
from agnesi.ops.likelihoods import softmax as softmax
from agnesi.ops.likelihoods import xlog1py as xlog1py
from agnesi.ops.normal import erfcinv as erfcinv
from agnesi.ops.normal import erfcx as erfcx
from agnesi.ops.normal import log_ndtr as log_ndtr
from agnesi.ops.normal import ndtr as ndtr
from agnesi.ops.normal import ndtri as ndtri
from agnesi.ops.numeric import sinc as sinc
from agnesi.ops.orthogonal import *  # noqa: F403
from agnesi.ops.powers import *  # noqa: F403
from agnesi.ops.quadrature import *  # noqa: F403
from agnesi.ops.select import round as round
from agnesi.ops.special import digamma as digamma
from agnesi.ops.special import digamma as psi
from agnesi.ops.special import erf as erf
from agnesi.ops.special import erfc as erfc
from agnesi.ops.special import erfinv as erfinv
from agnesi.ops.special import lgamma as gammaln
from agnesi.ops.special import polygamma as polygamma
from agnesi.ops.special import trigamma as trigamma
from agnesi.ops.spherical import spherical_in as spherical_in
from agnesi.ops.spherical import spherical_jn as spherical_jn
from agnesi.ops.spherical import spherical_kn as spherical_kn
from agnesi.ops.spherical import spherical_yn as spherical_yn
from agnesi.ops.waves import *  # noqa: F403

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
__all__ += cylinder.__all__
__all__ += elliptic.__all__
__all__ += hypergeometric.__all__
__all__ += orthogonal.__all__
__all__ += waves.__all__


def __dir__() -> list[str]:
    return _shown(__name__)
