"""Rules for loops and branches: work moved out of bodies, loops merged, unused values left out.

In: a loop or branch of a graph. Out: what replaces it, or None. Bodies are rewritten by the
same engine before the graph around them. What does not change from step to step leaves a body, and
so does what needs rows only (products over all steps become one; an operation that may leave a
loop with all its rows at once has a line in ``rowwise.py``); what is not read is dropped
(``loops.py``, ``branches.py``, ``whiles.py``). Products of the unrolled steps of a Python loop
with one matrix become one product, as far as no step waits for it (``steps.py``).

What must hold: effects and errors of the body happen as often, and in the same order, as before.
"""
