"""``agnesi.symbolic` in import statements: the module ``agnesi.api.symbolic` itself."""

import sys
from typing import TYPE_CHECKING

from agnesi.api import symbolic as _symbolic

if TYPE_CHECKING:
    from agnesi.api.symbolic import *  # noqa: F403

sys.modules[__name__] = _symbolic
