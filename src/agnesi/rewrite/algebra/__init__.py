"""Rules of scalar algebra: canonical form, cancellations, stable forms, cheaper operations.

In: a node of a graph. Out: what replaces it, or None. What must hold: the replacement has the
same shape and dtype, and the same value up to rounding wherever the original is finite; stable
forms are never less exact.

- ``cancellations.py``: differences in which digits are lost, and the forms in which they are
  not.
- ``bases.py``: values near 0 in which sums are expanded, and what others are in terms of them.
- ``canonical.py``: canonical form: what is known is computed, what does nothing is dropped,
  signs move outwards.
- ``complements.py``: complements ``1 - x`` of values near 1, in the forms in which they are
  composed.
- ``exponentials.py``: sums of exponentials, and their quotients, in which what overflows is
  divided out.
- ``fractions.py``: sums of quotients over one denominator, where terms of the numerator cancel.
- ``gammas.py``: gamma functions in logarithms and quotients, where they overflow.
- ``logarithms.py``: logarithms go inwards: to where what they are taken of overflows or
  vanishes.
- ``near_one.py``: roots and logarithms of quotients near 1.
- ``power_series.py``: power series of expressions in one value, with 60 digits.
- ``powers.py``: powers less one, which cancel where the power is near 1.
- ``proportions.py``: quotients of sums of exponentials with weights: masked softmaxes, and means
  weighted by one.
- ``quotients.py``: products and quotients as bags of factors: what cancels, cancels; what
  overflows, is paired off.
- ``removable.py``: sums whose leading terms cancel where a value they are functions of is 0, or
  large.
- ``scales.py``: the powers of two that values are multiplied with where their squares overflow or
  vanish.
- ``signed_logarithms.py``: logarithms of products of factors whose signs are not known, beyond the
  range of numbers.
- ``simplify.py``: inverse functions cancel (``log(exp(x))``), powers become products, quotients
  get one division.
- ``softmaxes.py``: softmax as people compose it.
- ``specialize.py``: strength reduction: the same value, bit for bit or nearly, from cheaper
  operations.
- ``squares.py``: sums of squares that overflow or vanish before what is computed of them.
- ``stable.py``: numerical stability: forms that overflow, vanish or cancel become those that do
  not.
- ``finite_differences.py``: differences of one function at two arguments, by what is between
  them.
- ``sums.py``: the terms of a sum, and their signs.
- ``weighted.py``: sums of exponentials with weights of any sign: what overflows or vanishes is
  taken out of them.
"""
