"""Machine code and its disk cache, the native entry of compiled functions, buffers, threads."""
