"""Operations on compressed rows: products with dense matrices, and what changes their patterns.

In: rows of indices and values (CSR), and dense tensors. Out: dense tensors, or values on a pattern.
What must hold: gradients keep the pattern; indices are known to be inside before code reads them.
"""
