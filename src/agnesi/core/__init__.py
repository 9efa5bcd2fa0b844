"""The vocabulary of all packages: tensors, nodes, operations, graphs, and how an operation runs.

In: operations as ``ops`` declares them, and the values that users give. Out: ``Tensor`` (a handle:
a value, a node of a graph, or both), ``Node`` (a value in single-assignment form), ``Op`` (the
immutable base class of operations), ``FunctionGraph`` (a closed graph), and ``dispatch.apply``,
which computes an operation at once or records it. Nodes, sizes and the loop language are in
``ir``; settings, errors and containers, which know no tensor, are in ``support``.

What must hold:

- Users meet one array type, eager or symbolic: ``Tensor``. A handle can be given another node, so
  a change in place needs no operation of its own in a graph.
- Operations are immutable; equal operations on equal inputs are the same computation, so merging
  duplicates is a lookup in a dictionary.
- ``core`` imports no other package.
"""

import time

#: When the first module of the library was loaded.
STARTED = time.time()
