"""Operations of one's own: in Python, in C, on single numbers, and made of expressions."""

from agnesi.compat.theano.ops.base import Op as Op
from agnesi.compat.theano.ops.base import OpFromGraph as OpFromGraph
from agnesi.compat.theano.ops.base import ViewOp as ViewOp
from agnesi.compat.theano.ops.base import as_op as as_op
