"""Operations of one's own: from functions of arrays, from a graph, from an expression as text.

In: what computes the value, and, where wanted, its gradient and shape. Out: an operation that works
eagerly and compiled, with gradients. What must hold: errors name what the user declared.
"""
