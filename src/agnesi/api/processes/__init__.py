"""Memory that several processes see.

In: arrays, names of segments. Out: mapped arrays, and handles of them that pickles carry. What
must hold: files of memory without references are removed, also of killed processes.
"""
