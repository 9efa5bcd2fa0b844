"""``agnesi.func` in import statements: the module ``agnesi.api.func` itself."""

import sys

from agnesi.api.func import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.func"]
