"""Specializations: a jitted function is compiled for each signature that needs code of its own.

In: the signature of a call (dtypes, ranks, sizes, values that Python decided by). Out: the
specialization that serves it, found by guards, or traced and compiled now.

**Dynamic sizes** (``dynamic_sizes.py``). A specialization is made for the sizes of its call. When
a leading size changes, or another one alone, the next specialization takes it as a run-time value:
an ``Extent``, a polynomial over named sizes (``core/ir/extents.py``), stands where a number stood
in shapes, loops and strides, and code loads it from a table. What cannot be decided for all sizes
(by the bounds of sums, quotients and products) is decided for a range around the present one, for
sizes from one on, or for the multiples of a number that all sizes seen are multiples of. What a
program cannot have as a run-time value it gets as a constant, and ``explain()`` says why. Native
code computes the sizes of results and workspace before it requests them.

**Sizes that are values.** A size of a declared program is a ``Dim``. Arithmetic on it gives a size
where it can, else a tensor (``ops/base/sizes.py``); so do comparisons that a user writes, while
the library checks whether sizes are *surely* equal (``from_user_code``, ``core/ir/dims.py``). Back,
any integer scalar is a size (``size_of`` in ``core/value_sizes.py``): what is computed from sizes
alone stays an expression over them, all else becomes a ``ValueDim``, which knows the scalar.
``ag.function`` collects those of its graph, computes their scalars by a function of its own, which
runs first, and passes them as the sizes of arguments without elements
(``data_dependent_sizes.py``). One that is the same in every call is a constant in the code (the
rows of a minibatch), one that changes an ``Extent``. Bounds of slices are clipped to the axis by
integer scalars, the rows read at indices counted from the first (``ops/indexing/spans.py``;
contiguous ones by ``Stretch`` in ``ops/base/gather/elements.py``), so where a minibatch begins is
a value and its length a size. In the body of a loop a size may depend on what is outside
(``BodyTrace.outward`` in ``autodiff/bodies.py``), not on the step. Under ``jit`` the scalars are
found one by one while tracing and computed before each call (``precomputed_sizes.py``). Such a
function also checks what Python decided before it requested the size, and returns none on other
branches.

**Sizes that data decides.** ``x[mask]``, ``nonzero``, ``unique`` and their kin are made of
``Chosen`` (``ops/base/chosen.py``): the indices at which a vector of bools is true, as many as a
size says, which is the count of the mask. A function with such results is a sequence of segments:
one computes the count and hands on the mask and what is expensive before it (``_forwarded`` in
``precomputed_sizes.py``), the next has the count as a size; a few generated lines of Python
connect them (``compiler/binding/call_adapter.py``). Such a size changes with every call and is
bounded by its operand, so specializations take it as a run-time value from the first call on and
down to 0 (``Growing._grown_apart``): loops over it test before the first iteration, and what needs
an element says so (``need_elements``), which makes specializations from 2 on and for 0 and 1.
Equal counts are computed once (``alike`` in ``core/graph.py``). As long as selected elements are
only changed, put back or summed, there is no size at all: ``Selection``
(``ops/indexing/masked.py``) keeps them among the others under ``where(mask, ..., 1)``; whatever
else reads one gets them packed. Where the count would differ from step to step of a loop or between
examples of ``vmap`` (``refusal`` in ``core/value_sizes.py``), all such results stay among what they
are chosen of (``ops/indexing/unsized.py``): positions among all of them, ranges below the most that
follows from operations (``ops/base/bounds.py``), repeated elements with the count as their weight;
they can be reduced, and what would need the size is an error.

What must hold: a specialization serves a call only if all its guards hold; the count of
specializations stays bounded.
"""
