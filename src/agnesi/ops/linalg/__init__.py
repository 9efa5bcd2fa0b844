"""Linear algebra: factorisations, solutions, and what is made of them."""
