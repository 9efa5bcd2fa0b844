"""State of the process that a traced function reads or changes: settings, random draws, output.

In: names that code has of modules, objects that it meets, caches of functions. Out: sources, which
each call checks again; what is to be said in each call; or an error that lets the function run
eagerly, always or once.
What must hold: each call answers, draws and prints as the eager function would.
"""
