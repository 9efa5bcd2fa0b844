"""Random variables with densities, draws and moments, under the names of torch.distributions.

Draws of ``rsample`` are functions of the parameters, through which gradients flow.  Parameters and
values are checked where they are known, which is not so while a function is compiled.

In: parameters. Out: densities, draws, moments, divergences.
What must hold: densities and their gradients are finite and exact in tails.
"""

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.distributions import constraints as constraints
from agnesi.distributions import crossed as _crossed  # noqa: F401 - importing it is what counts
from agnesi.distributions import transforms as transforms
from agnesi.distributions import utils as utils
from agnesi.distributions.base import Distribution as Distribution
from agnesi.distributions.circular import VonMises as VonMises
from agnesi.distributions.continuous import Cauchy as Cauchy
from agnesi.distributions.continuous import Chi2 as Chi2
from agnesi.distributions.continuous import Exponential as Exponential
from agnesi.distributions.continuous import Gamma as Gamma
from agnesi.distributions.continuous import Gumbel as Gumbel
from agnesi.distributions.continuous import HalfNormal as HalfNormal
from agnesi.distributions.continuous import Laplace as Laplace
from agnesi.distributions.continuous import LogNormal as LogNormal
from agnesi.distributions.continuous import Normal as Normal
from agnesi.distributions.continuous import StudentT as StudentT
from agnesi.distributions.continuous import Uniform as Uniform
from agnesi.distributions.continuous import Weibull as Weibull
from agnesi.distributions.discrete import Bernoulli as Bernoulli
from agnesi.distributions.discrete import Binomial as Binomial
from agnesi.distributions.discrete import Categorical as Categorical
from agnesi.distributions.discrete import Geometric as Geometric
from agnesi.distributions.discrete import Multinomial as Multinomial
from agnesi.distributions.discrete import NegativeBinomial as NegativeBinomial
from agnesi.distributions.discrete import OneHotCategorical as OneHotCategorical
from agnesi.distributions.discrete import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from agnesi.distributions.discrete import Poisson as Poisson
from agnesi.distributions.divergences import kl_divergence as kl_divergence
from agnesi.distributions.divergences import register_kl as register_kl
from agnesi.distributions.matrices import LKJCholesky as LKJCholesky
from agnesi.distributions.matrices import LowRankMultivariateNormal as LowRankMultivariateNormal
from agnesi.distributions.matrices import Wishart as Wishart
from agnesi.distributions.relaxed import ContinuousBernoulli as ContinuousBernoulli
from agnesi.distributions.relaxed import Kumaraswamy as Kumaraswamy
from agnesi.distributions.relaxed import LogisticNormal as LogisticNormal
from agnesi.distributions.relaxed import RelaxedBernoulli as RelaxedBernoulli
from agnesi.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from agnesi.distributions.tails import FisherSnedecor as FisherSnedecor
from agnesi.distributions.tails import GeneralizedPareto as GeneralizedPareto
from agnesi.distributions.tails import HalfCauchy as HalfCauchy
from agnesi.distributions.tails import InverseGamma as InverseGamma
from agnesi.distributions.tails import Pareto as Pareto
from agnesi.distributions.transforms import AbsTransform as AbsTransform
from agnesi.distributions.transforms import AffineTransform as AffineTransform
from agnesi.distributions.transforms import CatTransform as CatTransform
from agnesi.distributions.transforms import ComposeTransform as ComposeTransform
from agnesi.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from agnesi.distributions.transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from agnesi.distributions.transforms import ExpTransform as ExpTransform
from agnesi.distributions.transforms import IndependentTransform as IndependentTransform
from agnesi.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from agnesi.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from agnesi.distributions.transforms import PowerTransform as PowerTransform
from agnesi.distributions.transforms import ReshapeTransform as ReshapeTransform
from agnesi.distributions.transforms import SigmoidTransform as SigmoidTransform
from agnesi.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from agnesi.distributions.transforms import SoftplusTransform as SoftplusTransform
from agnesi.distributions.transforms import StackTransform as StackTransform
from agnesi.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from agnesi.distributions.transforms import TanhTransform as TanhTransform
from agnesi.distributions.transforms import Transform as Transform
from agnesi.distributions.transforms import TransformedDistribution as TransformedDistribution
from agnesi.distributions.transforms import biject_to as biject_to
from agnesi.distributions.transforms import identity_transform as identity_transform
from agnesi.distributions.transforms import transform_to as transform_to
from agnesi.distributions.vectors import Beta as Beta
from agnesi.distributions.vectors import Dirichlet as Dirichlet
from agnesi.distributions.vectors import Independent as Independent
from agnesi.distributions.vectors import MixtureSameFamily as MixtureSameFamily
from agnesi.distributions.vectors import MultivariateNormal as MultivariateNormal

_add_paths(__name__, """
    bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution
    exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
    independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal
    lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal
    negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli
    relaxed_categorical studentT transformed_distribution uniform von_mises weibull wishart
""")
_strictly(__name__)
