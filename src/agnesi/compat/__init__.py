"""Other libraries' names: programs that were written for them run with another import."""
