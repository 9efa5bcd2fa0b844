"""Clustering: which values of a graph get memory, and which nodes become one kernel.

In: the nodes of a closed graph in topological order, with the memory order that each value has.
Out: fusion groups (clusters) of nodes, each with the values that it materializes, in an order in
which every group comes behind those that it reads.
What must hold: a value that is not materialized is computed where it is used, so nothing costly
may be used there more than a few times; groups form no cycle; effects keep their order.
"""
