"""Tracing: a Python function runs once on symbols, and its graph remains.

In: a Python function with its arguments. Out: a closed graph, what Python decided and read on the
way (names, attributes, elements of containers), and what it changed.
What must hold: whatever the graph depends on besides its inputs is recorded as a guard, which is
checked at each call; effects are repeated by each call in program order.
"""
