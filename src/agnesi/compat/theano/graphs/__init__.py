"""Graphs as Theano's programs look at them: nodes, text, and rules that rewrite them."""
