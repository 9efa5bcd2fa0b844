"""The storage of a tensor: the node of its value, what it views, its memory order, its device.

In: tensors. Out: what is known of their memory beside the array. What must hold: a change of a
value reaches all that view it; nothing here computes with elements.
"""
