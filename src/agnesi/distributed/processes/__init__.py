"""Processes of one job: how they start, find each other, share memory and wait for each other.

In: the environment of a process, or functions to run in others. Out: groups. What must hold: a
process that fails or leaves ends the waits of all others, with its reason.
"""
