"""Rules about whole arrays: movements, reductions, products, scatters, pooling, linear algebra.

In: a node of a graph. Out: what replaces it, or None. What must hold: the replacement has the
same shape and dtype, and takes no more memory than the original.

- ``algorithms.py``: linear algebra: functions of matrices that need not be made become cheaper,
  exacter ones.
- ``product_dtypes.py``: products of dtypes that have no tiles are products of others.
- ``movement.py``: movement: reshapes, transposes and slices that do nothing go; of several in a
  row one stays.
- ``overlays.py``: sums of values in regions of one shape, shifted rows of a stencil say, are
  filled box by box.
- ``pools.py``: max-pooling: what follows or precedes it is done for the winners of windows only.
- ``products.py``: matrix products: transposed ones are made as they are wanted, sums of them are
  one product.
- ``reductions.py``: rules for empty, nested and broadcast reductions; loop-invariant factors
  move out of sums.
- ``adjacent_slices.py``: parts of one value that are joined again, as in borders and rolls, are
  read in one pass.
- ``scatter.py``: sums of terms most elements of which are zero: only what they name is touched.
"""
