"""``theano.sandbox``: random streams."""
