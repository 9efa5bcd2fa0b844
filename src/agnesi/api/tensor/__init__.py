"""A tensor as a Python object: operators, methods, protocols of NumPy and DLPack, text.

In: the functions of ``ops``. Out: methods that are bound to ``Tensor`` when the package is
imported, by the table in ``methods``.
What must hold: a method means what the function of its name means; protocols share memory where
their standard says so.
"""
