"""Calls of public functions: what arguments mean, and what need not be found out again.

In: positional and keyword arguments as users write them. Out: arguments by our names, errors in the
users' words, and plans for calls that come again. ``core/public.py`` has the decorators that use
these.

- ``arguments.py``: checks of arguments against a function's declaration, and what was wrong.
- ``spellings.py``: names and positions of PyTorch's and NumPy's parameters.
- ``watched.py``: calls that the two libraries answer differently.
- ``modules.py``: modules of PyTorch's programs, in which some calls mean what they do there.
- ``plans.py``: the operations of a call, by types, sizes and plain values of its arguments.

What must hold: a call in our own words takes no step here but the checks.
"""
