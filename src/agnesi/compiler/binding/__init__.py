"""Binding: from a Python call to the arguments of a native function.

In: positional and keyword arguments, containers of tensors among them. Out: addresses, shapes and
scalars as native code takes them, and results in containers of the same form. Containers and
keywords are taken apart by Python that is generated for the structure of the arguments
(``call_adapter.py``); objects whose call is a native function, without Python between, are made in
``call_stub.py``.

What must hold: memory that a function writes does not alias what else it uses (``aliasing.py``),
or a copy is made; what `x.data = y` gives other memory gets it before a call (``new_memory.py``).
"""
