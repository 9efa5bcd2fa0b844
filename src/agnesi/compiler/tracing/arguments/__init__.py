"""The arguments of traced functions, besides the values of tensors among them.

In: the nest that a call is given.  Out: its leaves and structure, with objects taken apart where
nothing else shows what they are (``objects.py``), and what code reads of arguments and assumes of
them from then on (``facts.py``).
What must hold: a fact that code relied on is a guard of the version.
"""
