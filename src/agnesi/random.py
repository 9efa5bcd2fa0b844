"""``agnesi.random` in import statements: the module ``agnesi.api.random` itself."""

import sys

from agnesi.api.random import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.random"]
