"""Losses, as functions and as modules."""
