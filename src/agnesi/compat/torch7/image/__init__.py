"""Torch7's ``image``: images are tensors (planes, height, width) of numbers from 0 to 1."""

from types import FunctionType as _FunctionType

from agnesi.compat.torch7.counting import from_one as _from_one
from agnesi.compat.torch7.image.colours import *  # noqa: F403
from agnesi.compat.torch7.image.files import *  # noqa: F403
from agnesi.compat.torch7.image.filters import *  # noqa: F403
from agnesi.compat.torch7.image.places import *  # noqa: F403
from agnesi.core.keywords import strictly as _strictly

for _name, _value in list(globals().items()):
    if isinstance(_value, _FunctionType) and not _name.startswith("_"):
        _value.__name__ = _name if _value.__name__ == "call" else _value.__name__
        globals()[_name] = _from_one(_value, _name)
_strictly(__name__)
