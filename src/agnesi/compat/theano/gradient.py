"""``theano.gradient``: derivatives of expressions."""

from agnesi.compat.theano.tensor.derivatives import DisconnectedInputError as DisconnectedInputError
from agnesi.compat.theano.tensor.derivatives import DisconnectedType as DisconnectedType
from agnesi.compat.theano.tensor.derivatives import L_op as L_op
from agnesi.compat.theano.tensor.derivatives import Lop as Lop
from agnesi.compat.theano.tensor.derivatives import NullTypeGradError as NullTypeGradError
from agnesi.compat.theano.tensor.derivatives import R_op as R_op
from agnesi.compat.theano.tensor.derivatives import Rop as Rop
from agnesi.compat.theano.tensor.derivatives import VerifyGradError as GradientError  # noqa: F401
from agnesi.compat.theano.tensor.derivatives import consider_constant as consider_constant
from agnesi.compat.theano.tensor.derivatives import disconnected_grad as disconnected_grad
from agnesi.compat.theano.tensor.derivatives import grad as grad
from agnesi.compat.theano.tensor.derivatives import grad_clip as grad_clip
from agnesi.compat.theano.tensor.derivatives import grad_scale as grad_scale
from agnesi.compat.theano.tensor.derivatives import grad_undefined as grad_not_implemented  # noqa: F401
from agnesi.compat.theano.tensor.derivatives import grad_undefined as grad_undefined
from agnesi.compat.theano.tensor.derivatives import hessian as hessian
from agnesi.compat.theano.tensor.derivatives import hessian_vector_product as hessian_vector_product
from agnesi.compat.theano.tensor.derivatives import jacobian as jacobian
from agnesi.compat.theano.tensor.derivatives import numeric_grad as numeric_grad
from agnesi.compat.theano.tensor.derivatives import pullback as pullback
from agnesi.compat.theano.tensor.derivatives import pushforward as pushforward
from agnesi.compat.theano.tensor.derivatives import subgraph_grad as subgraph_grad
from agnesi.compat.theano.tensor.derivatives import verify_grad as verify_grad
from agnesi.compat.theano.tensor.derivatives import zero_grad as zero_grad
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
