"""Convolutions and their adjoints as generated loops, with epilogues fused."""

from agnesi.codegen.kernels.conv.kernel import ConvPlan as ConvPlan
from agnesi.codegen.kernels.conv.kernel import emit_convolution as emit_convolution
from agnesi.codegen.kernels.conv.kernel import plan_convolution as plan_convolution
from agnesi.codegen.kernels.conv.layouts import Layouts as Layouts
from agnesi.codegen.kernels.conv.layouts import preferred as preferred
