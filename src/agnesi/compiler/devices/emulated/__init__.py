"""A device that is emulated on the host: loop nests on a grid of blocks, in a memory of its own.

It exercises the interfaces that a real device needs, and finds what forgets to copy or to wait:
addresses of its memory mean nothing to the host, and what is launched runs when the host waits for
it.  Products and convolutions are loop nests here; all else is refused by name.

In: arrays that were moved here by ``x.to("emulated")``. Out: arrays here.
What must hold: threads of a block may run in any order, and blocks too (``Grid.order``).
"""
