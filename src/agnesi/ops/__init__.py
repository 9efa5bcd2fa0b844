"""Operations: types, value, gradients, lowering and public function of each in one place.

In: tensors, or what :func:`~agnesi.ops.base.convert.convert` makes one of. Out: tensors.

An operation is an immutable class (``core/op.py``) in the file of its family: ``infer`` (shape and
dtype), ``perform`` (its value by NumPy), ``vjp`` and ``jvp`` (written with public operations),
``batch``, and one of ``lower`` (the expression of one element), ``parts`` (a value made of
regions), ``decompose`` (simpler operations) or ``foreign`` (a C function); with none of these,
compiled code calls ``perform``. Public functions stand below it.

- Elementwise functions are rows of a table (``base/elementwise.py``, ``elementwise/``). A special
  function is one formula that gives generated code and the value alike
  (``elementwise/formula.py``), in as many steps as each element needs, with derivatives carried
  along (``special/taylor.py``, ``special/incomplete.py``), or the inner loop of a universal
  function (``core/ir/calls/ufuncs.py``).
- Functions that NumPy lacks, convolutions and pools run eagerly as compiled code once that pays
  (``compiler/eager.py``).
- ``linalg/`` calls LAPACK from compiled code (``linalg/routines.py``), in the library that NumPy
  has loaded or ``config.lapack`` names (``linalg/library.py``).
- ``sparse/``: containers of three tensors (``api/sparse``); ``sparse/products.py`` has one
  trilinear form, solved for each factor, whose loops have bounds from memory
  (``codegen/kernels/sparse.py``).
- Sums of values in regions (pads, slices, their adjoints) are filled box by box
  (``indexing/overlay.py``).
- ``random/generators.py``: threads exclude each other when they advance a generator; a forked
  process begins a stream of its own.
- Parameters are checked at once, or where compiled code runs (``base/parameter_checks.py``).

What must hold: all rules of an operation agree, which ``ag.testing.check_op`` checks on samples;
``ops`` imports ``core`` only, and its folders form no cycle.
"""
