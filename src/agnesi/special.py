"""``agnesi.special` in import statements: the module ``agnesi.api.special` itself."""

import sys

from agnesi.api.special import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.special"]
