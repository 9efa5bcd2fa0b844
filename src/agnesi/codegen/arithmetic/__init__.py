"""Scalar arithmetic: one operation of the loop language as instructions, on scalars or vectors.

In: the operation's name, the dtypes, and the operands as LLVM values. Out: the LLVM value of the
result. What must hold: every result is NumPy's, bit for bit for integers (wraparound, no traps, no
undefined results), and the same in a lane of a vector as in a scalar.
"""
