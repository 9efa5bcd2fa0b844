"""Functions of variables without parameters of their own, by what they are for."""
