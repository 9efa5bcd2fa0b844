"""The public names: functions, methods of ``Tensor``, namespaces, loops, custom operations.

In: the operations of ``ops`` and the transformations of ``autodiff`` and ``compiler``. Out: what
``import agnesi`` brings (``functions.py``) or loads at first use (``lazy_names.py``); a new public
name has a line in one of them. Files such as ``agnesi/random.py`` stand for modules of this package
in import statements.

- ``tensor/``: methods (``tensor/methods.py``), other array libraries (array API, DLPack:
  ``tensor/exchange.py``), NumPy's own functions (``tensor/array_function.py``), bfloat16, which is
  that of ``ml_dtypes`` (``tensor/bfloats.py``).
- ``control/``: ``scan``, ``while_loop``, ``fori_loop``, ``cond`` and ``map`` (``control/loops.py``;
  Theano's words for them, ``control/taps.py``). On values they are plain Python; where a trace
  runs, the body is traced once (``autodiff/bodies.py``) and becomes the parameter of an operation
  (``ops/control``).
- ``linalg``, ``fft``, ``special``, ``random``, ``sparse``, ``func``: namespaces over the files of
  ``ops``.
- ``draws/``: distributions, made of ``Noise`` (``ops/random/noise.py``), which uses every word of a
  block; rejection takes as many steps as each element needs (``ops/random/samplers.py``). Large
  eager draws run as compiled code. ``streams/``: states in shared variables, which every draw
  advances.
- ``custom/``: operations of users (``custom/userops.py``), kernels from expressions
  (``custom/kernels.py``), callbacks and prints, which read and write a hidden state that keeps
  their order (``custom/effects.py``).

What must hold: a public function forgives (scalars, axes, defaults); the operation that it applies
is strict. Names of other libraries are explained by ``core/support/migration_hints``.
"""
