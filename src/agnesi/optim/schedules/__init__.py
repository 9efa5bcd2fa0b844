"""Schedules of learning rates, by family.

In: an optimizer, epochs or steps. Out: its rates.
What must hold: rates are PyTorch's, also behind another schedule, a state or a rate set by hand.
"""
