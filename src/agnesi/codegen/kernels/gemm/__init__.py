"""Matrix products as generated register tiles, with prologues and epilogues fused.

In: a product's sizes, dtypes and operands (``spec.py``, ``operands.py``). Out: a ``GemmPlan``
(``planner.py``, blocks in ``blocking.py``, tile sizes in ``costs.py``) and its LLVM IR
(``driver.py``).

- Large products run in panels (``strip.py``): a transposed operand is packed tile by tile and
  prefetched during all products, the other stays in the second-level cache; short sums of large
  results, and whole rows along a cached operand, run row of tiles by row of tiles.
- Where the third-level cache is as far as memory (``Costs.l3_cycles``), all of this begins at the
  second-level cache's size, and strips are two vectors wide. Where A and two panels of B stay in
  the second-level cache, nothing is packed: tiles prefetch the next panel of B.
- An operand in which dropout or relu left zeros (``schedule/clustering/sparsity.py``) becomes A,
  and its zero elements skip their rows of B (``skip.py``, ``zero_row_plan.py``); where B is not
  finite, none is skipped.
- With dynamic sizes, columns are panels one vector wide, the last one masked; rows left over are
  tiles of 8, 4, and 3, 2 or 1 rows, of which only those are emitted that can occur; chunks and
  groups have a fixed number of tiles. Few rows read an operand in place that is packed for many,
  and few rows or columns have vectors along k where tiles would transpose an operand for them
  (``few`` in ``gemm_plan.py``).

What must hold: a unit of work writes elements that no other unit writes; rows and columns beyond
the end are masked and touch no memory.
"""

from agnesi.codegen.kernels.gemm.driver import emit_gemm as emit_gemm
from agnesi.codegen.kernels.gemm.gemm_plan import GemmPlan as GemmPlan
from agnesi.codegen.kernels.gemm.operands import Operand as Operand
from agnesi.codegen.kernels.gemm.operands import Operands as Operands
from agnesi.codegen.kernels.gemm.operands import direct as direct
from agnesi.codegen.kernels.gemm.planner import plan as plan
from agnesi.codegen.kernels.gemm.spec import GemmSpec as GemmSpec
