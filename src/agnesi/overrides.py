"""``agnesi.overrides``: PyTorch's path to questions about operands of other libraries' types."""

from agnesi.api.torch.overrides import handle_torch_function as handle_torch_function
from agnesi.api.torch.overrides import has_torch_function as has_torch_function
from agnesi.api.torch.overrides import has_torch_function_unary as has_torch_function_unary
from agnesi.api.torch.overrides import has_torch_function_variadic as has_torch_function_variadic
from agnesi.api.torch.overrides import is_tensor_like as is_tensor_like
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
