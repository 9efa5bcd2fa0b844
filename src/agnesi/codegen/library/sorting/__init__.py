"""Sorts as code: a module of IR for each dtype, for rows of any length; see ``module``."""
