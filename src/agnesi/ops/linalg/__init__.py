"""Linear algebra: factorisations, solutions, and what is made of them.

In: tensors whose last two axes are matrices. Out: tensors, batched as the operands are.
What must hold: values are LAPACK's; derivatives are exact, also of compiled code, or refused where
there are none; a singular matrix is an error that names it.
"""
