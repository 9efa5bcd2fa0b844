"""Random streams for symbolic graphs: state in shared variables, which every call advances.

In: sizes and parameters, which may be symbolic. Out: draws, and updates of the stream's state.
What must hold: each call of a function, step of a loop and example of ``vmap`` draws other numbers.
"""
