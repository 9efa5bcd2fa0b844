"""``agnesi.linalg``: linear algebra, under the names of NumPy, SciPy and the array API.

All functions take stacks of matrices, differentiate in both modes, and work in compiled functions,
where systems and decompositions are LAPACK's without Python in between, and many small systems
generated code's.  ``backend()`` names the library.
"""

from numpy.linalg import LinAlgError as LinAlgError

from agnesi.core.support.errors import explain_missing as _explain_missing
from agnesi.core.support.exports import shown as _shown
from agnesi.ops.base.movement import matrix_transpose as matrix_transpose
from agnesi.ops.contractions.matmul import matmul as matmul
from agnesi.ops.contractions.matmul import outer as outer
from agnesi.ops.contractions.matmul import tensordot as tensordot
from agnesi.ops.contractions.matmul import vecdot as vecdot
from agnesi.ops.linalg.cholesky import cho_factor as cho_factor
from agnesi.ops.linalg.cholesky import cho_solve as cho_solve
from agnesi.ops.linalg.cholesky import cholesky as cholesky
from agnesi.ops.linalg.cholesky import cholesky_ex as cholesky_ex
from agnesi.ops.linalg.det import det as det
from agnesi.ops.linalg.det import slogdet as slogdet
from agnesi.ops.linalg.expm import expm as expm
from agnesi.ops.linalg.functions import coshm as coshm
from agnesi.ops.linalg.functions import cosm as cosm
from agnesi.ops.linalg.functions import expm_frechet as expm_frechet
from agnesi.ops.linalg.functions import fractional_matrix_power as fractional_matrix_power
from agnesi.ops.linalg.functions import logm as logm
from agnesi.ops.linalg.functions import signm as signm
from agnesi.ops.linalg.functions import sinhm as sinhm
from agnesi.ops.linalg.functions import sinm as sinm
from agnesi.ops.linalg.functions import sqrtm as sqrtm
from agnesi.ops.linalg.functions import tanhm as tanhm
from agnesi.ops.linalg.functions import tanm as tanm
from agnesi.ops.linalg.last_axes import cross as cross
from agnesi.ops.linalg.last_axes import diagonal as diagonal
from agnesi.ops.linalg.last_axes import trace as trace
from agnesi.ops.linalg.last_axes import vander as vander
from agnesi.ops.linalg.library import backend as backend
from agnesi.ops.linalg.lu import lu as lu
from agnesi.ops.linalg.lu import lu_factor as lu_factor
from agnesi.ops.linalg.lu import lu_solve as lu_solve
from agnesi.ops.linalg.lu import lu_unpack as lu_unpack
from agnesi.ops.linalg.norms import cond as cond
from agnesi.ops.linalg.norms import matrix_norm as matrix_norm
from agnesi.ops.linalg.norms import norm as norm
from agnesi.ops.linalg.norms import vector_norm as vector_norm
from agnesi.ops.linalg.products import kron as kron
from agnesi.ops.linalg.products import matrix_power as matrix_power
from agnesi.ops.linalg.products import multi_dot as multi_dot
from agnesi.ops.linalg.qr import qr as qr
from agnesi.ops.linalg.solve import inv as inv
from agnesi.ops.linalg.solve import inv_ex as inv_ex
from agnesi.ops.linalg.solve import lu_factor_ex as lu_factor_ex
from agnesi.ops.linalg.solve import solve as solve
from agnesi.ops.linalg.solve import solve_ex as solve_ex
from agnesi.ops.linalg.solve import tensorinv as tensorinv
from agnesi.ops.linalg.solve import tensorsolve as tensorsolve
from agnesi.ops.linalg.special_matrices.banded import solve_banded as solve_banded
from agnesi.ops.linalg.special_matrices.banded import solveh_banded as solveh_banded
from agnesi.ops.linalg.special_matrices.special import block_diag as block_diag
from agnesi.ops.linalg.special_matrices.special import circulant as circulant
from agnesi.ops.linalg.special_matrices.special import companion as companion
from agnesi.ops.linalg.special_matrices.special import hankel as hankel
from agnesi.ops.linalg.special_matrices.special import hilbert as hilbert
from agnesi.ops.linalg.special_matrices.special import khatri_rao as khatri_rao
from agnesi.ops.linalg.special_matrices.special import null_space as null_space
from agnesi.ops.linalg.special_matrices.special import orth as orth
from agnesi.ops.linalg.special_matrices.special import toeplitz as toeplitz
from agnesi.ops.linalg.special_matrices.structured import ishermitian as ishermitian
from agnesi.ops.linalg.special_matrices.structured import issymmetric as issymmetric
from agnesi.ops.linalg.special_matrices.structured import matmul_toeplitz as matmul_toeplitz
from agnesi.ops.linalg.special_matrices.structured import pinvh as pinvh
from agnesi.ops.linalg.special_matrices.structured import qr_multiply as qr_multiply
from agnesi.ops.linalg.special_matrices.structured import rq as rq
from agnesi.ops.linalg.special_matrices.structured import solve_circulant as solve_circulant
from agnesi.ops.linalg.special_matrices.structured import solve_toeplitz as solve_toeplitz
from agnesi.ops.linalg.special_matrices.structured import subspace_angles as subspace_angles
from agnesi.ops.linalg.special_matrices.tables import convolution_matrix as convolution_matrix
from agnesi.ops.linalg.special_matrices.tables import dft as dft
from agnesi.ops.linalg.special_matrices.tables import diagsvd as diagsvd
from agnesi.ops.linalg.special_matrices.tables import fiedler as fiedler
from agnesi.ops.linalg.special_matrices.tables import hadamard as hadamard
from agnesi.ops.linalg.special_matrices.tables import helmert as helmert
from agnesi.ops.linalg.special_matrices.tables import invhilbert as invhilbert
from agnesi.ops.linalg.special_matrices.tables import invpascal as invpascal
from agnesi.ops.linalg.special_matrices.tables import leslie as leslie
from agnesi.ops.linalg.special_matrices.tables import pascal as pascal
from agnesi.ops.linalg.spectral.eig import eig as eig
from agnesi.ops.linalg.spectral.eig import eigvals as eigvals
from agnesi.ops.linalg.spectral.eigh import eigh as eigh
from agnesi.ops.linalg.spectral.eigh import eigvalsh as eigvalsh
from agnesi.ops.linalg.spectral.pinv import lstsq as lstsq
from agnesi.ops.linalg.spectral.pinv import matrix_rank as matrix_rank
from agnesi.ops.linalg.spectral.pinv import pinv as pinv
from agnesi.ops.linalg.spectral.polar import orthogonal_procrustes as orthogonal_procrustes
from agnesi.ops.linalg.spectral.polar import polar as polar
from agnesi.ops.linalg.spectral.schur import schur as schur
from agnesi.ops.linalg.spectral.schur import solve_continuous_lyapunov as solve_continuous_lyapunov
from agnesi.ops.linalg.spectral.schur import solve_discrete_lyapunov as solve_discrete_lyapunov
from agnesi.ops.linalg.spectral.schur import solve_sylvester as solve_sylvester
from agnesi.ops.linalg.spectral.svd import svd as svd
from agnesi.ops.linalg.spectral.svd import svdvals as svdvals
from agnesi.ops.linalg.triangular import solve_triangular as solve_triangular

solve_lyapunov = solve_continuous_lyapunov
# PyTorch's names of the same functions.
inverse = inv
triangular_solve = solve_triangular


def __dir__() -> list[str]:
    return _shown(__name__)


_explain_missing(__name__)
