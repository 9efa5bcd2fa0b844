"""Functions of many small problems at once, which lie in the lanes of vectors: C functions that
compiled code calls by name (``core/ir/foreign.py``)."""
