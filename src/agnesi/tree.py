"""``agnesi.tree` in import statements: the module ``agnesi.api.tree` itself."""

import sys

from agnesi.api.tree import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.tree"]
