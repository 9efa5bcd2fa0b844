"""Vector mathematics, emitted inline: one file per family of functions, no calls to a libm.

In: lanes of floats (``lane.py``). Out: lanes of the function's values.
What must hold: a lane's result does not depend on how many lanes there are; errors stay within a
few units in the last place, as ``tests/codegen/vmath`` measures; special values are NumPy's.
"""
