"""How loop nests run on a target: loops to lanes, units of work and blocks.

In: a nest (``core.ir.kernels.Nest``) with memory, the target and the compile policy. Out: a
``NestPlan`` (``core/ir/mapping.py``): the loops in order, the axis of the lanes, how many units of
work threads share, what is cut into blocks. Code generators are given a ``LoopMapping``
(``nests.py``), which makes these plans, and decide nothing about loops.

- ``loop_order.py``: neighbouring axes run as one (``core/ir/collapse.py``), the axis of the lanes
  is chosen (``core/ir/lanes.py``).
- ``unroll.py``: short innermost loops are unrolled. ``full_unroll.py``: nests over a few points.
- ``transposition.py``: nests that read across what they write are cut into blocks.
- ``lanes.py``: how many lanes a loop has; one masked loop or a main loop and its remainder.

What must hold: a plan computes each store of the nest for each point of its axes, those of
``ordered`` axes in sequence; it does not depend on addresses, so nests of equal structure share
one.
"""
