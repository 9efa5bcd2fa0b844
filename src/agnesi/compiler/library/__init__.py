"""The library of generated functions that compiled code and eager operations call by name.

In: a name that says function, dtypes and parameters. Out: the address of its machine code, compiled
on first use.
What must hold: an address stays valid as long as the process lives; two threads that request the
same name get the same function.
"""
