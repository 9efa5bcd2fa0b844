"""Rules for loops and branches: work moved out of bodies, loops merged, what nobody needs left out.

In: a loop or branch of a graph. Out: what takes its place, or None. What must hold: effects and
errors of the body happen as often, and in the same order, as before.
"""
