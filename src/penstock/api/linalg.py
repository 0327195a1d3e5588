"""``tf.linalg``: linear algebra."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.array.permute": "matrix_transpose transpose=matrix_transpose",
    "penstock.ops.linalg.matmul": "matmul matvec",
    "penstock.ops.linalg.einsum": "einsum tensordot",
    "penstock.ops.nn.nn_ops": "l2_normalize",
    "penstock.ops.math.clip": "global_norm",
    "penstock.ops.linalg.diag": "diag=matrix_diag diag_part=matrix_diag_part tensor_diag=diag tensor_diag_part=diag_part set_diag=matrix_set_diag "
                         "band_part=matrix_band_part trace eye",
    "penstock.ops.linalg.linalg": "inv=matrix_inverse det=matrix_determinant slogdet=log_matrix_determinant logdet cholesky cholesky_solve "
                           "solve=matrix_solve triangular_solve=matrix_triangular_solve adjoint",
    "penstock.ops.linalg.tridiagonal": "tridiagonal_matmul tridiagonal_solve",
    "penstock.ops.linalg.least_squares": "lstsq=matrix_solve_ls",
    "penstock.ops.linalg.decompositions": "qr svd eigh=self_adjoint_eig eigvalsh=self_adjoint_eigvals lu",
    "penstock.ops.linalg.matrix_functions": "norm normalize expm=matrix_exponential logm=matrix_logarithm sqrtm=matrix_square_root pinv matrix_rank "
                                     "cross",
    "penstock.contrib.linalg.linear_operator": "LinearOperator",
    "penstock.contrib.linalg.identity": "LinearOperatorIdentity LinearOperatorScaledIdentity",
    "penstock.contrib.linalg.low_rank": "LinearOperatorLowRankUpdate",
    "penstock.contrib.linalg.matrices": "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorLowerTriangular",
    "penstock.contrib.linalg.combined": "LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorComposition LinearOperatorInversion",
    "penstock.contrib.linalg.structured": "LinearOperatorHouseholder LinearOperatorKronecker LinearOperatorZeros",
    "penstock.contrib.linalg.circulant": "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorToeplitz",
}
publish(__name__, TABLE)
