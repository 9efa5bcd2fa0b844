"""PyTorch's names for functions, methods and settings that NumPy does not have.

In: tensors, and arguments as PyTorch names them. Out: tensors. What must hold: a function means
what PyTorch's of that name does; nothing here has a second implementation of what ``ops`` has.
"""
