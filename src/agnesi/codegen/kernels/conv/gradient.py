"""The common part of both kinds of filter gradients: operands, and the areas of the workspace."""

from __future__ import annotations

from agnesi.codegen.kernels.conv.finish import Finish
from agnesi.codegen.kernels.conv.weight_pixels_plan import WeightPixelsPlan
from agnesi.codegen.kernels.conv.weight_plan import WeightPlan
from agnesi.codegen.llvm.builder import Builder, Value


class Gradient:
    """Emits the units of one plan: sums come first in scratch, then the packed operands."""

    plan: WeightPixelsPlan | WeightPlan

    def __init__(self, b: Builder, plan: WeightPixelsPlan | WeightPlan, source: Value,
                 cotangent: Value, finish: Finish, scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense = plan.real
        self.type = plan.type
        self.source, self.cotangent = source, cotangent
        self.sums, self.packed_a, self.packed_b = plan.split(b, scratch)
