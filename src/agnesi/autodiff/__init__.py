"""Derivatives: reverse and forward mode over records and graphs, ``grad`` and its kin, ``vmap``.

In: nodes, recorded by an eager run or made by a trace, and cotangents or tangents. Out: tensors,
whose own nodes can be differentiated again.

``backward`` (``reverse.py``) walks the nodes back from the result and calls ``Op.vjp`` of each.
Rules are written with public operations, so the same rule runs eagerly, extends a graph, compiles,
and has derivatives. Gradients that arrive at a tensor without one become tensors of their own; one
that is there already is added to in place, so that a jitted function finds the same memory again
(``accumulation.py``).
A derivative of one scalar with respect to one scalar is taken forwards, so that it is computed
beside the function and not behind it (``forward.py``). Graphs are brought into stable forms before
they are differentiated (``stable.py``, ``compiler/compilation/stable_forms.py``,
``rewrite/derived.py``).

- ``recording.py``: what is recorded (``no_grad``, ``detach``), and what a trace notes of it.
- ``forward.py``: ``Op.jvp``; ``transforms.py`` and ``jacobians.py``: ``grad``, ``vjp``, ``jvp``,
  ``hessian``.
- ``bodies.py``: the body of a loop or branch is traced once and becomes a closed graph. The
  derivative of a scan is a scan (``loops.py``), which is given the expensive values of the forward
  step and computes the others again (``recompute.py``). What no branch and no step reaches that
  runs has no gradient: compiled code finds that out (``reached.py``).
- ``vmap.py``: the function runs once on an example, a symbol, and its graph is evaluated for all
  examples by ``Op.batch`` of each operation. The rules of array operations are one table,
  ``ops/batching.py``, which rewriting uses too; those of loops and branches are in ``batched.py``.
  An operation without a rule is expanded, or runs over the examples in a scan. Tensors that are no
  arguments keep their values, so Python may branch on them.
- ``deferred.py``: calls that must know sizes which are not known yet.
- ``opgraph.py``: graphs as operations, and calls of ``ag.function`` inside of other graphs.
- ``pullbacks.py``: rules that a trace asks once: of elementwise operations, and those that read no
  values.
- ``checkpoint.py``, ``recompute.py``: segments that are computed again instead of kept.

What must hold: a rule gives each operand a cotangent of the operand's shape and dtype
(``rules.py`` checks those of users).
"""
