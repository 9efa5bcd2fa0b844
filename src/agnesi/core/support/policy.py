"""Compilation policy: which work a compilation does, chosen by the name of an optimizer.

The passes of rewriting and all of code generation read its fields.
Under ``fast_compile`` the stages that only make code faster are left out (the fields that it sets
say which), a BLAS evaluates matrix products, expensive functions are outlined and shared, and LLVM
compiles at its quickest level, except for tiles and transforms of convolutions, which are functions
of their own then (``runtime/llvm.py``).
"""

from __future__ import annotations

from agnesi.core.support.record import record, replace


@record
class CompilePolicy:
    """The decisions between fast code and a fast compile.

    :ivar optimizer: The name by which users choose it.
    :ivar stages: Stages and tags of the rewrite rules that run.
    :ivar opt_level: LLVM's level for the code; 0 is its quickest.
    :ivar library_products: Whether the BLAS that NumPy has loaded evaluates matrix products.
    :ivar every_product: Whether it evaluates those too that are too small or narrow to gain by it:
        a call is quicker to compile than tiles.
    :ivar shared_kernels: Whether convolutions call functions that they share, which find their
        numbers in tables.
    :ivar shared_functions: Whether costly functions are called, and not written where they are
        needed.
    :ivar code_weight: Penalty for the size of a product's code, per accumulator: a fraction of its
        run time.
    :ivar short_epilogues: Whether what follows a product is always written once for a tile, in a
        loop.
    :ivar few_rows: Whether products of run-time sizes have code of their own for few rows.
    :ivar transposed_blocks: Whether operands that are strided along the vector axis are transposed
        in blocks.
    :ivar vector_loops: Whether loops over elements fill vector registers, and few points in bodies
        of loops are unrolled; products and convolutions always use vectors.
    :ivar wide_iterations: Whether an iteration of a loop fills several vector registers.
    :ivar masked_loops: Whether one masked loop replaces a main loop and its remainder, where that
        costs little.
    :ivar lane_sums: Whether LLVM's own functions sum up the lanes of a vector.
    :ivar straight_steps: Kernels in a row that are called one by one; more are run from tables.
    :ivar profiled: Whether the time of each kernel is measured.
    """

    optimizer: str
    stages: tuple[str, ...]
    opt_level: int = 1
    library_products: bool = False
    every_product: bool = False
    shared_kernels: bool = False
    shared_functions: bool = False
    code_weight: float = 0.001
    short_epilogues: bool = False
    few_rows: bool = True
    transposed_blocks: bool = True
    vector_loops: bool = True
    wide_iterations: bool = True
    masked_loops: bool = False
    lane_sums: bool = True
    straight_steps: int = 24
    profiled: bool = False

    def __str__(self) -> str:
        """The stages, and what differs from ``fast_run``."""
        usual = vars(FAST_RUN)
        fields = [f"{name} {value}" for name, value in vars(self).items()
                if name not in ("optimizer", "stages") and value != usual[name]]
        return "; ".join([f"{self.optimizer}: stages {', '.join(self.stages) or 'none'}", *fields])


FAST_RUN = CompilePolicy("fast_run", ("canonicalize", "stabilize", "specialize"))
#: Rules tagged "memory" avoid whole temporaries, and are quick to match.
FAST_COMPILE = CompilePolicy(
    "fast_compile", ("canonicalize", "memory"), opt_level=0, library_products=True,
    shared_kernels=True, shared_functions=True, code_weight=0.006, short_epilogues=True,
    few_rows=False, transposed_blocks=False, wide_iterations=False, masked_loops=True,
    lane_sums=False, straight_steps=12,
)
#: Rewrites and vectorizes nothing: code of one lane is the quickest to compile.
NONE = replace(FAST_COMPILE, optimizer="None", stages=(), vector_loops=False, every_product=True)
#: By name.
POLICIES = {p.optimizer: p for p in (NONE, FAST_COMPILE, FAST_RUN)}
