"""Graphs and modules in files that hold data only: rows of operations by name, and arrays."""

from agnesi.saving.graphs.files import load as load
from agnesi.saving.graphs.files import save as save
from agnesi.saving.graphs.loaded import Graph as Graph

__all__ = ["Graph", "load", "save"]
