"""Matrix products as generated register tiles, with prologues and epilogues fused."""

from agnesi.codegen.kernels.gemm.driver import emit_gemm as emit_gemm
from agnesi.codegen.kernels.gemm.gemmplan import GemmPlan as GemmPlan
from agnesi.codegen.kernels.gemm.operands import Operand as Operand
from agnesi.codegen.kernels.gemm.operands import Operands as Operands
from agnesi.codegen.kernels.gemm.operands import direct as direct
from agnesi.codegen.kernels.gemm.planner import plan as plan
from agnesi.codegen.kernels.gemm.spec import GemmSpec as GemmSpec
