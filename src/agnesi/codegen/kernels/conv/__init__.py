"""Convolutions and their adjoints as generated loops, with epilogues fused.

In: a ``Convolution`` kernel (sizes in ``core/ir/conv_sizes.py``) and the processor that it is
planned for. Out: a plan and its LLVM IR. ``kernel.py`` plans and emits the parts one after the
other. The families by their emitters, each with a plan beside it (``wide_plan.py``,
``winograd/plan.py``, ``rows_plan.py``, ``depthwise_plan.py``, ``weight_plan.py``,
``weight_pixels_plan.py``), which also has its costs:

- ``wide.py``: register tiles with lanes along the channels.
- ``winograd/``: fewer multiplications for filters of 2x2 taps and more with inner strides of 1,
  dilated ones and volumes. Taps of depth and further taps are summed in the transformed space
  (``winograd/tiles.py``); transforms and tiles are shared by all kernels
  (``winograd/transform.py``). Under ``fast_compile`` there is one driver for results and one for
  filters, which find a layer's sizes in a table (``parameter_table.py``) and call its epilogue
  (``finish.py``).
- ``rows.py``: lanes along image rows.
- ``conv1x1.py``: convolutions of one tap are matrix products; under ``fast_compile`` calls of the
  BLAS.
- ``depthwise.py``, ``windows.py``: lanes along independent channels, read in place, or from
  copies with channels last where that is faster.
- ``weight.py``: filter gradients as products over pixels, with operands read in place, the next
  block prefetched, a thread's units run as one; ``weight_pixels.py``: lanes along pixels where
  filters are few.

With dynamic sizes convolutions keep their tiles and cut the last ones: images have a typical size,
by which blocks are chosen, and a real one, which the code counts with (``Dense.typical`` in
``dense.py``; ``winograd/dynamic_plan.py``).

What must hold: whatever has no plan here is also right as a loop nest.
"""

from agnesi.codegen.kernels.conv.kernel import ConvPlan as ConvPlan
from agnesi.codegen.kernels.conv.kernel import emit_convolution as emit_convolution
from agnesi.codegen.kernels.conv.kernel import plan_convolution as plan_convolution
from agnesi.codegen.kernels.conv.layouts import Layouts as Layouts
from agnesi.codegen.kernels.conv.layouts import preferred as preferred
