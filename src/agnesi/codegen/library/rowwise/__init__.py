"""Work on rows as code: running sums, extremes, elements at indices; for dtypes, not for sizes.

In: the name of a function, which holds its dtypes. Out: a module of IR, for rows of any length.
What must hold: what a row gives does not depend on how threads share the rows; NaN counts as it
does to NumPy.
"""
