"""Random streams for symbolic graphs: state in shared variables, which every call advances."""
