"""Compilation: a closed graph goes in, a native function comes out.

In: a closed graph, and what the functions around it request (threads, memory, passes left out).
Out: a compiled function bound to its state, and the artifact of it that the disk cache keeps.

- ``pipeline.py``: all stages, in order. What compile time is spent on is one object,
  ``CompilePolicy`` (``core/support/policy.py``), chosen by the optimizer's name.
- ``artifact.py``: all that rewriting, scheduling and emission found out, without a single address.
  It is kept on disk under the graph's fingerprint (``fingerprint.py``) and the contents of the
  library's own files (``build.py``); a later process skips these stages.
- ``stable_forms.py``: the disk cache keeps, too, by which files of rules a graph got the stable
  form that is differentiated, so that a later process reads those alone, or none.
- ``products.py``: under ``fast_compile`` the BLAS that NumPy has loaded evaluates matrix products,
  with updates (``core/ir/calls/gemm.py``, ``schedule/lowering/library_products.py``,
  ``codegen/kernels/library_products.py``), and convolutions of one tap. Our threads share its
  products, cut into calls for rows, columns or members of a batch; meanwhile it works in the
  thread that calls it (``runtime/native/blas.ll``), and NumPy gets its threads back behind each
  product. A library whose threads cannot be set keeps them, and convolutions are ours then.
- ``failures.py``: errors of compiled checks, at the user's line.
- ``copies.py``, ``graph_serialization.py``: ``fn.copy()`` gives a function other state, without
  rewriting again; pickles carry the rewritten graph. On another processor it is scheduled again,
  under another build of agnesi rewritten again.

What must hold: artifacts hold no addresses and depend on the graph, the settings, the processor
and the build of the library only; errors in compiled code name the user's line.
"""
