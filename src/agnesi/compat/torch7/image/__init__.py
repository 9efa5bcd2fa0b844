"""Torch7's ``image``: images are tensors (planes, height, width) of numbers from 0 to 1."""

from agnesi.compat.torch7.image.colours import *  # noqa: F403
from agnesi.compat.torch7.image.files import *  # noqa: F403
from agnesi.compat.torch7.image.filters import *  # noqa: F403
from agnesi.compat.torch7.image.places import *  # noqa: F403
from agnesi.core.keywords import strictly as _strictly

_strictly(__name__)
