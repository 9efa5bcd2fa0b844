"""``agnesi.fft` in import statements: the module ``agnesi.api.fft` itself."""

import sys

from agnesi.api.fft import *  # noqa: F403

sys.modules[__name__] = sys.modules["agnesi.api.fft"]
