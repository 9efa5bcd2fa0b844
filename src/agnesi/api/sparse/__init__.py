"""Sparse matrices by rows and columns, with gradients, in graphs and compiled: ``ag.sparse``.

:func:`csr` and :func:`csc` make them from ``scipy.sparse``, dense matrices or triples.  What they
are multiplied by, and sums along axes, are dense tensors.

Examples
--------
>>> import agnesi as ag
>>> A = ag.sparse.csr([[0.0, 2.0], [3.0, 0.0]])
>>> x = ag.tensor([1.0, 1.0])
>>> step = ag.jit(lambda A, x: (A @ x).sum())
>>> step(A, x).item()
5.0
>>> ag.grad(lambda data: (A.with_data(data) @ x).sum())(A.data)
tensor([1., 1.])
"""

from agnesi.api.sparse.functions import add as add
from agnesi.api.sparse.functions import col_scale as col_scale
from agnesi.api.sparse.functions import coo as coo
from agnesi.api.sparse.functions import csc as csc
from agnesi.api.sparse.functions import csc_from_dense as csc_from_dense
from agnesi.api.sparse.functions import csm_data as csm_data
from agnesi.api.sparse.functions import csm_indices as csm_indices
from agnesi.api.sparse.functions import csm_indptr as csm_indptr
from agnesi.api.sparse.functions import csm_properties as csm_properties
from agnesi.api.sparse.functions import csm_shape as csm_shape
from agnesi.api.sparse.functions import csr as csr
from agnesi.api.sparse.functions import csr_from_dense as csr_from_dense
from agnesi.api.sparse.functions import dense_from_sparse as dense_from_sparse
from agnesi.api.sparse.functions import diag as diag
from agnesi.api.sparse.functions import dot as dot
from agnesi.api.sparse.functions import eye as eye
from agnesi.api.sparse.functions import from_scipy as from_scipy
from agnesi.api.sparse.functions import mm as mm
from agnesi.api.sparse.functions import mul as mul
from agnesi.api.sparse.functions import neg as neg
from agnesi.api.sparse.functions import norm as norm
from agnesi.api.sparse.functions import remove0 as remove0
from agnesi.api.sparse.functions import row_scale as row_scale
from agnesi.api.sparse.functions import sampling_dot as sampling_dot
from agnesi.api.sparse.functions import sp_sum as sp_sum
from agnesi.api.sparse.functions import spsolve as spsolve
from agnesi.api.sparse.functions import square_diagonal as square_diagonal
from agnesi.api.sparse.functions import structured as structured
from agnesi.api.sparse.functions import structured_dot as structured_dot
from agnesi.api.sparse.functions import sub as sub
from agnesi.api.sparse.functions import to_scipy as to_scipy
from agnesi.api.sparse.functions import transpose as transpose
from agnesi.api.sparse.functions import true_dot as true_dot
from agnesi.api.sparse.pytorch import DoubleTensor as DoubleTensor
from agnesi.api.sparse.pytorch import FloatTensor as FloatTensor
from agnesi.api.sparse.pytorch import LongTensor as LongTensor
from agnesi.api.sparse.pytorch import addmm as addmm
from agnesi.api.sparse.pytorch import log_softmax as log_softmax
from agnesi.api.sparse.pytorch import softmax as softmax
from agnesi.api.sparse.pytorch import sum as sum
from agnesi.api.sparse.tensors import CSC as CSC
from agnesi.api.sparse.tensors import CSR as CSR
from agnesi.api.sparse.tensors import SparseTensor as SparseTensor
from agnesi.api.sparse.variables import csc_matrix as csc_matrix
from agnesi.api.sparse.variables import csr_matrix as csr_matrix
from agnesi.core.keywords import strictly as _strictly
from agnesi.ops.sparse.coordinates import COO as COO

_strictly(__name__)
