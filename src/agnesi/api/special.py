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

from agnesi.api.torch.numbers import logit as logit
from agnesi.core.keywords import strictly as _strictly
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
from agnesi.ops.neural.likelihoods import logsumexp as logsumexp
from agnesi.ops.neural.likelihoods import pseudo_huber as pseudo_huber
from agnesi.ops.neural.likelihoods import rel_entr as rel_entr
from agnesi.ops.neural.likelihoods import softmax as softmax
from agnesi.ops.neural.likelihoods import xlog1py as xlog1py
from agnesi.ops.special import (
    bessel,
    bessel_related,
    cumulative,
    elliptic,
    gammas,
    hypergeometric,
    incomplete,
    integrals,
    mathieu,
    normal,
    orthogonal,
    powers,
    quadrature,
    special,
    spherical,
)
from agnesi.ops.special.bessel import *  # noqa: F403
from agnesi.ops.special.bessel_related import *  # noqa: F403
from agnesi.ops.special.cumulative import *  # noqa: F403
from agnesi.ops.special.elliptic import *  # noqa: F403
from agnesi.ops.special.gammas import *  # noqa: F403
from agnesi.ops.special.hypergeometric import *  # noqa: F403
from agnesi.ops.special.incomplete import *  # noqa: F403
from agnesi.ops.special.integrals import *  # noqa: F403
from agnesi.ops.special.mathieu import *  # noqa: F403
from agnesi.ops.special.normal import *  # noqa: F403
from agnesi.ops.special.orthogonal import *  # noqa: F403
from agnesi.ops.special.powers import *  # noqa: F403
from agnesi.ops.special.quadrature import *  # noqa: F403
from agnesi.ops.special.special import *  # noqa: F403
from agnesi.ops.special.special import digamma as psi
from agnesi.ops.special.special import lgamma as gammaln
from agnesi.ops.special.spherical import *  # noqa: F403

__all__ = [
    "cbrt", "entr", "exp2", "expit", "expm1", "exprel", "gammaln", "huber", "kl_div", "log1p",
    "log_expit", "log_softmax", "logit", "logsumexp", "pseudo_huber", "psi", "rel_entr", "round",
    "sinc", "softmax", "softplus", "xlog1py", "xlogy",
]
__all__ += bessel.__all__
__all__ += bessel_related.__all__
__all__ += cumulative.__all__
__all__ += elliptic.__all__
__all__ += gammas.__all__
__all__ += hypergeometric.__all__
__all__ += incomplete.__all__
__all__ += integrals.__all__
__all__ += mathieu.__all__
__all__ += normal.__all__
__all__ += orthogonal.__all__
__all__ += powers.__all__
__all__ += quadrature.__all__
__all__ += special.__all__
__all__ += spherical.__all__


_strictly(__name__)
