"""NumPy's Mersenne Twister and its old distributions as code, bit by bit.

Matsumoto and Nishimura 1998: Mersenne Twister.
"""
