"""Branches and loops as operations whose bodies are graphs: ``Scan``, ``While``, ``Cond``.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.

A body is a closed graph in a ``Body`` (``body.py``), the parameter of ``Scan`` and ``While``
(``loop.py``) or ``Cond`` (``branch.py``). What the body uses from outside becomes operands; what
it changes in place is carried along, and so are states of random streams (``StreamState`` in
``api/streams/common.py``), which every draw in a body advances. Derivatives:
``autodiff/loops.py``; rules that take work out of bodies: ``rewrite/control``; code:
``schedule/lowering/loops.py`` and ``codegen/control.py``. Only the compiler makes a ``Segment``
(``segment.py``), the body of equal parts of a graph, and only derivatives of graphs that of an
``Excerpt`` (``excerpt.py``), the part that they flow through.  A branch that known sizes do not fit
becomes a body that raises (``refusal.py``).

What must hold: a body reads nothing but its arguments and constants; what Python decided while a
graph was recorded is checked again when the compiled code runs.
"""
