"""Forms of functions of functions, and of quotients of differences.

In: a node of a graph. Out: what replaces it, or None, as in ``rewrite/algebra``, with whose helpers
these rules are written.

- ``compositions.py``: functions of functions that undo each other in part, or that are another
  function together.
- ``divided_differences.py``: quotients of differences of a function and of its arguments.
"""
