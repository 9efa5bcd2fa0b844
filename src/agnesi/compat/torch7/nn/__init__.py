"""Torch7's ``nn``: modules with ``forward`` and ``backward``, criterions, and their testers."""

from agnesi.compat.torch7.nn.containers import *  # noqa: F403
from agnesi.compat.torch7.nn.criterions import *  # noqa: F403
from agnesi.compat.torch7.nn.hessian import *  # noqa: F403
from agnesi.compat.torch7.nn.jacobian import *  # noqa: F403
from agnesi.compat.torch7.nn.layers import *  # noqa: F403
from agnesi.compat.torch7.nn.module import Module as Module
from agnesi.compat.torch7.nn.tables import *  # noqa: F403
from agnesi.compat.torch7.nn.transfer import *  # noqa: F403
