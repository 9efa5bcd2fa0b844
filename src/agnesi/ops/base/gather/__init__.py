"""Elements at indices: read, written and added up, by whole rows where possible.

In: a tensor, and tensors of integers for some of its axes. Out: the elements there, or the tensor
with them added or replaced.
What must hold: an index out of range is an error; repeated ones are added in order, and of
replacements the last counts.
"""
