"""Compilation: a closed graph goes in, a native function comes out.

In: a closed graph, and what the functions around it wish (threads, memory, passes left out). Out: a
compiled function bound to its state, and the artifact of it that the disk cache keeps.
What must hold: artifacts hold no addresses and depend on the graph, the settings, the processor and
the build of the library only; errors in compiled code name the user's line.
"""
