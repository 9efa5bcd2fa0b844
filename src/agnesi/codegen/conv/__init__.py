"""Convolutions and their adjoints as generated loops, with epilogues fused."""

from agnesi.codegen.conv.layouts import Layouts as Layouts
from agnesi.codegen.conv.layouts import preferred as preferred
