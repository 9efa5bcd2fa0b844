"""Basics that know no tensor: settings, errors, dtypes, records, containers.

In: nothing of the library. Out: ``config``, error classes with the user's line, dtypes with their
promotion, classes of fields, trees of containers, sections that forks and interrupts respect.
What must hold: no file here imports anything outside of this folder; only ``config`` reads the
environment.
"""
