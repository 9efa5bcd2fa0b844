"""HIPS autograd for programs that were written for it: change the import, nothing else.

Functions of ``agnesi.compat.autograd.numpy`` are NumPy's on arrays, and agnesi's on what is
differentiated: inside of derivatives, values are agnesi's tensors, in double precision, which
never change in place.

Examples
--------
>>> import agnesi.compat.autograd.numpy as np
>>> from agnesi.compat.autograd import grad
>>> grad(lambda x: np.sin(x) ** 2)(np.pi / 4).round(6)
np.float64(1.0)
>>> grad(lambda w: np.sum(w["a"] ** 2))({"a": np.array([1.0, 2.0])})
{'a': array([2., 4.])}
"""

from agnesi.compat.autograd.builtins import dict as dict
from agnesi.compat.autograd.builtins import isinstance as isinstance
from agnesi.compat.autograd.builtins import list as list
from agnesi.compat.autograd.builtins import tuple as tuple
from agnesi.compat.autograd.builtins import type as type
from agnesi.compat.autograd.differential_operators import checkpoint as checkpoint
from agnesi.compat.autograd.differential_operators import deriv as deriv
from agnesi.compat.autograd.differential_operators import elementwise_grad as elementwise_grad
from agnesi.compat.autograd.differential_operators import grad as grad
from agnesi.compat.autograd.differential_operators import grad_and_aux as grad_and_aux
from agnesi.compat.autograd.differential_operators import grad_named as grad_named
from agnesi.compat.autograd.differential_operators import hessian as hessian
from agnesi.compat.autograd.differential_operators import (
    hessian_tensor_product as hessian_tensor_product,
)
from agnesi.compat.autograd.differential_operators import (
    hessian_vector_product as hessian_vector_product,
)
from agnesi.compat.autograd.differential_operators import holomorphic_grad as holomorphic_grad
from agnesi.compat.autograd.differential_operators import jacobian as jacobian
from agnesi.compat.autograd.differential_operators import make_ggnvp as make_ggnvp
from agnesi.compat.autograd.differential_operators import make_hvp as make_hvp
from agnesi.compat.autograd.differential_operators import make_jvp as make_jvp
from agnesi.compat.autograd.differential_operators import (
    make_jvp_reversemode as make_jvp_reversemode,
)
from agnesi.compat.autograd.differential_operators import make_vjp as make_vjp
from agnesi.compat.autograd.differential_operators import multigrad_dict as multigrad_dict
from agnesi.compat.autograd.differential_operators import (
    tensor_jacobian_product as tensor_jacobian_product,
)
from agnesi.compat.autograd.differential_operators import value_and_grad as value_and_grad
from agnesi.compat.autograd.differential_operators import (
    vector_jacobian_product as vector_jacobian_product,
)
from agnesi.compat.autograd.extend import primitive as primitive
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
