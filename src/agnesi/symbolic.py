"""``agnesi.symbolic` in import statements: the module ``agnesi.api.symbolic` itself."""

import sys

from agnesi.api.symbolic import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.symbolic"]
