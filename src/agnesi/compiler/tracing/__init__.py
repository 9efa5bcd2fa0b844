"""Tracing: a Python function runs once on symbols, and its graph remains.

In: a Python function with its arguments. Out: a closed graph, what Python decided and read on the
way (names, attributes, elements of containers), and what it changed.

- Tensors that the function touches become live leaves; what it assigns to them becomes updates
  (``trace.py``). Gradients that it makes are followed, also from symbols that it makes require
  one (``begun`` in ``autodiff/recording.py``).
- What it reads besides its arguments are sources (``sources.py``): bytecode has the names of
  modules and of enclosing functions (``bytecode.py``), hooks in classes report attributes
  (``hooks.py``), containers that it finds count as read (``reads.py``, ``object_kinds.py``).
  Bytecode also shows what code does with a container (``containers``): single entries and elements
  that it replaces are sources of their own, as are the parts of nests that it puts instead of
  others, and a list to which it only appends may hold anything. A NumPy array of which code assigns
  elements is a tensor over its memory meanwhile.
- What it queries of arguments besides their values (names, whether two are the same) is noted and
  assumed by its code (``arguments/facts.py``); elements of arrays that Python reads are compared.
- Objects among the arguments are taken apart where nothing else shows what they are
  (``arguments/objects.py``).
- What it queries of functions, classes and tensors about themselves is checked again
  (``introspection.py``, ``tensor_facts.py``); a library that opens a file for it, and objects whose
  content no call can compare, let it run eagerly (``process/files.py``).
- What it queries of the process (settings, folders, the clock) and of objects of libraries is read
  again by each call, or lets it run eagerly, as does a setting that it leaves changed; what it
  prints, warns and logs is said by each call (``process``).
- What it checks of values that no result needs stays checked (``dead_checks.py``).
- What it puts into containers and objects is undone after the trace and repeated by each call
  (``effects.py``). Iterators that a trace would use up make the function eager.
- Where Python decides by a value (``if``, ``int``, ``item``), it gets that of the present call,
  computed by the operations' own NumPy code. The decision becomes a check
  (``ops/control/decided.py``, collected by ``decisions.py``) on a result that is not returned, and
  each outcome is a specialization.
- What ``item()``, ``float`` and ``int`` give is a number that each call computes (``numbers.py``):
  arithmetic goes on with it, comparisons of it decide, and it may be kept or returned. Code calls
  stand-ins of ``float``, ``isinstance``, ``math.isnan`` meanwhile (``builtin_calls.py``).
- A number or tensor that was another one twice, in a source or in a tuple that one holds, is an
  argument that users do not see (``Versions.hidden`` in ``compiler/specialization/table.py``).
- Meanwhile the garbage collector is paused, within a bound (``core/support/gc_pause.py``).
- A node's source line knows the function that the user called, which errors of compiled checks
  name.

What must hold: whatever the graph depends on besides its inputs is recorded as a guard, which is
checked at each call; effects are repeated by each call in program order.
"""
