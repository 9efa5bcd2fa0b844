"""The vocabulary of all rooms."""

import time

#: When the first module of the library was loaded.
STARTED = time.time()
