"""``agnesi.sparse` in import statements: the module ``agnesi.api.sparse` itself."""

import sys

from agnesi.api.sparse import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.sparse"]
