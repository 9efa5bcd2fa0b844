"""The host processor: kernels with vectors and threads, or scalar code as a reference.

In: kernels, arrays. Out: machine code, and calls of it (``bound.py``).
What must hold: code holds no address of a program's state, so that copies of a function share it.
"""
