"""The process around a traced function: what it asks of that, draws, changes and says.

In: names that code has of modules, objects that it meets, caches of functions. Out: places, which
each call asks again; what is to be said in each call; or an error that lets the function run
eagerly, always or once.
"""
