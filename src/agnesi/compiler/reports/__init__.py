"""Reports on compiled functions, and checks of them against other ways to compute.

In: a compiled function. Out: text and figures (specializations, graph, memory plan, code), or the
comparison with eager execution or with many digits.
What must hold: a report changes nothing of what it reports on.
"""
