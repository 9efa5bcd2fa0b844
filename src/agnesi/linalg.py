"""``agnesi.linalg` in import statements: the module ``agnesi.api.linalg` itself."""

import sys

from agnesi.api.linalg import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.linalg"]
