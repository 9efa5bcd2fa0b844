"""Transforms: programs of kernels become faster programs of kernels.

In and out: a program whose buffers have no memory yet. Each pass is a function from a program to a
program that counts what it changed, and can be left out.

- ``hoist_reductions.py``: reductions that a loop would evaluate again get memory before it.
- ``loop_fusion.py``: nests over the same computed indices become one.
- ``privatize_accumulators.py``: scatters into few elements sum into several copies.
- ``split_reductions.py``: large reductions with few results are cut in parts that threads share.
- ``bounds_checks.py``: kernels that read at computed indices check the range themselves.
- ``concurrent.py``: small kernels that do not need each other run at the same time. Threads share
  the units of all of them in one launch, and the memory plan takes what they touch as live during
  all.
- ``communication.py``: what other processes compute meanwhile begins early and is awaited late.

What must hold: results are the same bits (or, for reductions that are split, the same sums in
another order that does not depend on the number of threads); a kernel's body is only replaced
through ``Kernel.change``, by which templates notice.
"""
