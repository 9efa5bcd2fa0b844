"""Calls of public functions: what arguments mean, and what need not be found out again.

In: positional and keyword arguments as users write them. Out: arguments by our names, errors in the
users' words, and plans for calls that come again. ``core/public.py`` has the decorators that use
these.

- ``arguments.py``: checks of arguments against a function's declaration, and what was wrong.
- ``spellings.py``: names and positions of PyTorch's and NumPy's parameters.
- ``watched.py``: calls that the two libraries answer differently.
- ``modules.py``: modules of PyTorch's programs, in which some calls mean what they do there.
- ``plans.py``: the operations of a call, by types, sizes and plain values of its arguments.

**The ways of an eager call.** Each is there for the time that it saves on small tensors:

- ``HOOKS.mapped`` (``ops/base/elementwise.py``): an elementwise function on tensors of one dtype
  calls NumPy's at once.
- ``HOOKS.replayed`` (``plans.py``): a call that agrees with 16 earlier ones runs the operations
  of those.
- ``dispatch.apply``: all other calls. ``Op.perform`` computes, ``HOOKS.finished`` records.
- ``HOOKS.written`` (``api/tensor/inplace.py``): a change in place that is not recorded writes into
  the memory.
- ``ops/indexing/direct_writes.py``: ``x[0] = 1`` without record or trace, in a tenth of the time.
- ``ops/base/elementwise_nodes.py``: elementwise operations of a trace become nodes; a trace takes
  half the time.

The four hooks are Python functions first, and native code (``runtime/native/eager.ll``,
``runtime/native/inplace.ll``) after thousands of calls.

What must hold: a call in our own words takes no step here but the checks.
"""
