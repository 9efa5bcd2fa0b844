"""Sorts as code: a module of IR for each dtype, for rows of any length; see ``module``.

In: the name of a sort, which holds its dtype and what it returns. Out: a module of IR.
What must hold: sorts are stable, NaN comes last, and a signal can end them within milliseconds.
"""
