"""Schedules of learning rates, by family."""
