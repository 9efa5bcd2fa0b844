"""The base of modules: parameters, buffers and modules by name, hooks, copies, errors with a path.

In: classes derived from ``Module``, and tensors assigned to their attributes. Out: the tree that
they form, walked, counted, copied and frozen.
A layer of ours without hooks, and a ``Sequential`` of such layers, is one compiled operation in
eager programs once that pays (``whole.py``).
What must hold: names and their order are PyTorch's; a module that occurs twice is counted once.
"""
