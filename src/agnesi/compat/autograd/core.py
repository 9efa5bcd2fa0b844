"""Names of autograd's core that programs use."""

from agnesi.compat.autograd.extend import def_linear as def_linear
from agnesi.compat.autograd.extend import defjvp as defjvp
from agnesi.compat.autograd.extend import defjvp_argnum as defjvp_argnum
from agnesi.compat.autograd.extend import defjvp_argnums as defjvp_argnums
from agnesi.compat.autograd.extend import defvjp as defvjp
from agnesi.compat.autograd.extend import defvjp_argnum as defvjp_argnum
from agnesi.compat.autograd.extend import defvjp_argnums as defvjp_argnums
from agnesi.compat.autograd.extend import primitive as primitive
from agnesi.compat.autograd.extend import primitive_jvps as primitive_jvps
from agnesi.compat.autograd.extend import primitive_vjps as primitive_vjps
from agnesi.compat.autograd.modes import VSpace as VSpace
from agnesi.compat.autograd.modes import make_jvp as make_jvp
from agnesi.compat.autograd.modes import make_vjp as make_vjp
from agnesi.compat.autograd.modes import vspace as vspace
