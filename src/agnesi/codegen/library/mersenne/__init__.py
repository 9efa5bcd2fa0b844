"""NumPy's Mersenne Twister and its old distributions as code, bit by bit.

Matsumoto and Nishimura 1998: Mersenne Twister.

In: the name of a method of NumPy's ``RandomState``. Out: a module of IR that advances its state.
What must hold: numbers and states are NumPy's, bit by bit.
"""
