"""What is done to modules and their parameters from outside."""

from agnesi.core.exports import shown as _shown
from agnesi.nn.utils.gradients import clip_grad_norm_ as clip_grad_norm_
from agnesi.nn.utils.gradients import clip_grad_value_ as clip_grad_value_
from agnesi.nn.utils.gradients import clip_grads_with_norm_ as clip_grads_with_norm_
from agnesi.nn.utils.gradients import get_total_norm as get_total_norm
from agnesi.nn.utils.gradients import parameters_to_vector as parameters_to_vector
from agnesi.nn.utils.gradients import vector_to_parameters as vector_to_parameters


def __dir__() -> list[str]:
    return _shown(__name__)
