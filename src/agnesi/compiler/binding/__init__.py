"""Binding: from a Python call to the arguments of a native function.

In: positional and keyword arguments, containers of tensors among them. Out: addresses, shapes and
scalars as native code takes them, and results in containers of the same form.
What must hold: memory that a function writes does not alias what else it uses, or a copy is made.
"""
