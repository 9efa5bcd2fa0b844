"""Lists, dicts, arrays and objects' attributes that a traced function reads or changes.

In: containers that the function meets, and its bytecode, which shows what it does with each. Out:
sources, as coarse as guards may be and as fine as what changes at each call needs: a whole content,
single entries, lengths, parts of nests that are replaced; and tensors instead of arrays.
What must hold: a change between calls that code could see is found by a guard, or is an input.
"""
