"""Memory: the order of kernels, and where each buffer lies.

In: kernels with their dependences. Out: the same kernels in an order with a small peak of memory,
state written in place, and an arena with an offset for every temporary.
What must hold: two buffers whose lifetimes meet share no byte unless one may be written over the
other; what an error leaves behind is as eager execution leaves it. ``schedule/verify.py`` checks
both, apart from the code that decides.
"""
