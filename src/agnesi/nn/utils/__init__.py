"""Functions that change modules and their parameters from outside.

In: modules or parameters. Out: the same, changed in place.
What must hold: optimizers that know the parameters go on with them.
"""

from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.nn.utils import parametrizations as parametrizations
from agnesi.nn.utils import parametrize as parametrize
from agnesi.nn.utils import prune as prune
from agnesi.nn.utils import rnn as rnn
from agnesi.nn.utils import stateless as stateless
from agnesi.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from agnesi.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from agnesi.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from agnesi.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from agnesi.nn.utils.gradients import add_grad_noise_ as add_grad_noise_
from agnesi.nn.utils.gradients import clip_grad_norm as clip_grad_norm
from agnesi.nn.utils.gradients import clip_grad_norm_ as clip_grad_norm_
from agnesi.nn.utils.gradients import clip_grad_value_ as clip_grad_value_
from agnesi.nn.utils.gradients import clip_grads_with_norm_ as clip_grads_with_norm_
from agnesi.nn.utils.gradients import get_total_norm as get_total_norm
from agnesi.nn.utils.gradients import parameters_to_vector as parameters_to_vector
from agnesi.nn.utils.gradients import vector_to_parameters as vector_to_parameters
from agnesi.nn.utils.weights import remove_spectral_norm as remove_spectral_norm
from agnesi.nn.utils.weights import remove_weight_norm as remove_weight_norm
from agnesi.nn.utils.weights import spectral_norm as spectral_norm
from agnesi.nn.utils.weights import weight_norm as weight_norm

_add_paths(__name__, """
    clip_grad convert_parameters
""")
_strictly(__name__)
