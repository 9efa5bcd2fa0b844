"""Losses, as functions and as modules.

In: predictions and targets. Out: one number, or one for each example.
What must hold: values and gradients are finite wherever the exact ones are.
"""
