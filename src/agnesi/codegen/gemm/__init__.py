"""Matrix products as generated register tiles, with prologues and epilogues fused."""

from agnesi.codegen.gemm.driver import emit_gemm as emit_gemm
from agnesi.codegen.gemm.gemmplan import GemmPlan as GemmPlan
from agnesi.codegen.gemm.operands import Operand as Operand
from agnesi.codegen.gemm.operands import Operands as Operands
from agnesi.codegen.gemm.operands import direct as direct
from agnesi.codegen.gemm.planner import plan as plan
from agnesi.codegen.gemm.spec import GemmSpec as GemmSpec
