"""Graphs and modules in files that hold data only: rows of operations by name, and arrays.

In: closed graphs. Out: rows of data; from these, graphs.
What must hold: nothing is compiled or run for a row before its shapes and attributes are checked.
"""

from agnesi.saving.graphs.files import load as load
from agnesi.saving.graphs.files import save as save
from agnesi.saving.graphs.loaded import Graph as Graph

__all__ = ["Graph", "load", "save"]
