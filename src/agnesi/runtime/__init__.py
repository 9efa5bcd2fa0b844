"""Runtime: IR to machine code, its disk cache, the native entry of calls, buffers, threads.

In: IR text and the table that a function is called by. Out: addresses, and a builtin function.

- ``machine.py`` compiles IR through LLVM (inlining, memory to registers, constant propagation,
  block merging; passes that gained nothing here are switched off) or finds it in the disk cache
  (``disk_cache.py``; which files are trusted, ``cache_folder.py``). A module is cut into units
  (``units.py``) that threads compile side by side, those with most lines first, and while the rest
  is still being emitted (``Ahead`` in ``machine.py``); programs share large units in the cache.
- ``llvm.py`` and ``llvm_api.py`` call the C functions of LLVM in llvmlite's shared library, not
  through its Python, which takes 25 ms to import and gives Python's lock away in every call; it is
  imported only to compare signatures with builds of llvmlite newer than those known, and where
  ``elf.py`` does not serve.
- ``elf.py`` places relocatable objects in memory: a process that finds its code on disk never
  loads LLVM. On other systems than Linux on x86-64, LLVM links the same objects.
- ``entry.py`` writes the table of a call: addresses of states and constants, what arguments must
  be, and guards: where states are, and what memory held (``guards.py``: words of objects, four at
  a time where they are adjacent, tags and entries of dicts, items of lists). The entry itself,
  ``native/entry.ll``, is one function compiled once for all; ``vectorcall.py`` lets Python call it
  without a tuple of the arguments.
- ``pool.py``: buffers that are kept when freed; another thread touches the pages of an arena while
  code is generated. Calls that would pass ``ag.limit_memory`` wait for those of other threads.
- ``state_locks.py``, ``native/state_locks.ll``: calls that run without Python's lock exclude each
  other by the memory that they write and share it with readers; all locks at once or none, so
  there is no deadlock.
- ``threads.py``, ``native/threads.ll``: the threads. ``native/interrupts.ll``: a call that a
  signal's handler ends has changed nothing, or is completed first where that takes less than a
  second; else the error has a note. Eager work that takes long (``Op.work``) runs in a thread
  beside the main one, which waits for it and is interrupted at once
  (``core/support/worker_threads.py``).
- ``collectives.py``: native collectives between processes; ``c_function.py``: bodies as C
  functions.

What must hold: a process never runs a file of the cache that another user could have written; a
fork waits until no other thread is inside LLVM or an import (``core/support/forks.py``).
"""
