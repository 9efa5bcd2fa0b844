"""Torch7's ``nn``: modules with ``forward`` and ``backward``, criterions, and their testers."""

from agnesi.compat.torch7.nn.containers import *  # noqa: F403
from agnesi.compat.torch7.nn.convolutions import *  # noqa: F403
from agnesi.compat.torch7.nn.criterions import *  # noqa: F403
from agnesi.compat.torch7.nn.criterions_later import *  # noqa: F403
from agnesi.compat.torch7.nn.decorators import *  # noqa: F403
from agnesi.compat.torch7.nn.entries import *  # noqa: F403
from agnesi.compat.torch7.nn.hessian import *  # noqa: F403
from agnesi.compat.torch7.nn.jacobian import *  # noqa: F403
from agnesi.compat.torch7.nn.layers import *  # noqa: F403
from agnesi.compat.torch7.nn.lookups import *  # noqa: F403
from agnesi.compat.torch7.nn.module import Module as Module
from agnesi.compat.torch7.nn.noise import *  # noqa: F403
from agnesi.compat.torch7.nn.norms import *  # noqa: F403
from agnesi.compat.torch7.nn.passes import *  # noqa: F403
from agnesi.compat.torch7.nn.pools import *  # noqa: F403
from agnesi.compat.torch7.nn.resizes import *  # noqa: F403
from agnesi.compat.torch7.nn.shapes import *  # noqa: F403
from agnesi.compat.torch7.nn.training import *  # noqa: F403
from agnesi.compat.torch7.nn.transfer import *  # noqa: F403
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
