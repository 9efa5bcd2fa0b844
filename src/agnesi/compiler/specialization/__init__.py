"""Specializations: a jitted function is compiled for each signature that needs code of its own.

In: the signature of a call (dtypes, ranks, sizes, values that Python decided by). Out: the
specialization that serves it, found by guards, or traced and compiled now.
What must hold: a specialization serves a call only if all its guards hold; sizes that change from
call to call become run-time values, so their count stays bounded.
"""
