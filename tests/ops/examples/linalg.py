"""Examples of products of matrices, diagonals, linear systems and decompositions."""
import numpy as np

from support.examples import example, ints, normal, positive

LAPACK = ("float32", "float64", "complex64", "complex128")  # float16 has its own checks: its condition numbers are hopeless


def spread(n, *batch):
    """Well conditioned square matrices."""
    return normal(*batch, n, n) * 0.3 + np.diag(np.arange(1.0, n + 1))


def definite(n):
    """A symmetric positive definite matrix with different eigenvalues."""
    a = normal(n, n) * 0.2
    return a @ a.T + np.diag(np.arange(1.0, n + 1))


def whole(value):
    """A scalar index."""
    return np.array(value, np.int64)


example("MatMul", normal(2, 3), normal(3, 4))
example("MatMul", normal(3, 2), normal(3, 4), transpose_a=True)
example("MatMul", normal(2, 3), normal(4, 3), transpose_b=True)
example("MatMul", normal(3, 2), normal(4, 3), transpose_a=True, transpose_b=True)
example("MatMul", np.zeros((2, 0)), np.zeros((0, 3)))
example("BatchMatMul", normal(2, 2, 3), normal(2, 3, 4))
example("BatchMatMul", normal(2, 3, 2), normal(2, 4, 3), adj_x=True, adj_y=True)
example("BatchMatMulV2", normal(2, 2, 3), normal(2, 3, 4))
example("BatchMatMulV2", normal(2, 1, 2, 3), normal(4, 3, 2))
example("BatchMatMulV2", normal(3, 2), normal(2, 3, 4), adj_x=True)
example("BatchMatMulV2", normal(2, 2, 3), normal(4, 3), adj_y=True)
example("SparseMatMul", normal(2, 3).astype(np.float32), normal(3, 4).astype(np.float32), grad=False)  # float32 only
example("SparseMatMul", normal(3, 2).astype(np.float32), normal(3, 4).astype(np.float32), transpose_a=True, a_is_sparse=True,
        grad=False)

example("Diag", normal(3))
example("Diag", normal(2, 3))
example("DiagPart", normal(3, 3))
example("DiagPart", normal(2, 3, 2, 3))
example("MatrixDiag", normal(2, 3))
example("MatrixDiagPart", normal(2, 3, 4))
example("MatrixDiagPart", normal(3, 3))
example("MatrixSetDiag", normal(2, 3, 4), normal(2, 3))
example("MatrixBandPart", normal(2, 4, 3), whole(1), whole(-1))
example("MatrixBandPart", normal(3, 3), whole(-1), whole(0))

example("MatrixDiagPartV2", normal(2, 3, 4), ints(-1, 1), np.array(0.5), grad_inputs=(0,), unknown=False)
example("MatrixDiagPartV2", normal(3, 4), np.array(2, np.int32), np.array(0.5), grad_inputs=(0,), unknown=False)
example("MatrixSetDiagV2", normal(2, 3, 4), normal(2, 2, 3), ints(0, 1))
example("MatrixSetDiagV2", normal(3, 4), normal(2), np.array(-1, np.int32))
example("MatrixDiagV2", normal(2, 3), np.array(1, np.int32), np.array(-1, np.int32), np.array(-1, np.int32), np.array(0.0), grad_inputs=(0,),
        unknown=False)
example("MatrixDiagV2", normal(2, 3), ints(-1, 0), np.array(3, np.int32), np.array(4, np.int32), np.array(0.5), grad_inputs=(0,),
        unknown=False)

example("MatrixInverse", spread(3), types=LAPACK)
example("MatrixInverse", spread(2, 2), adjoint=True, types=LAPACK)
example("MatrixDeterminant", spread(3, 2), types=LAPACK)
example("LogMatrixDeterminant", spread(3, 2), types=LAPACK)
example("Cholesky", definite(3), grad=False, types=LAPACK)  # its gradient is symmetric, though only the lower triangle is read
example("MatrixSolve", spread(3), normal(3, 2), types=LAPACK)
example("MatrixSolve", spread(3, 2), normal(2, 3, 2), adjoint=True, types=LAPACK)
example("MatrixTriangularSolve", spread(3), normal(3, 2), types=LAPACK)
example("MatrixTriangularSolve", spread(3, 2), normal(2, 3, 2), lower=False, adjoint=True, types=LAPACK)
example("MatrixSolveLs", normal(5, 3), normal(5, 2), np.array(0.3), grad_inputs=(0, 1), unknown=False, types=LAPACK)
example("MatrixSolveLs", normal(3, 5), normal(3, 2), np.array(0.3), grad_inputs=(0, 1), unknown=False, types=LAPACK)
example("MatrixSolveLs", normal(5, 3), normal(5, 2), np.array(0.0), fast=False, grad=False, types=LAPACK)
example("MatrixExponential", spread(3) * 0.3, types=LAPACK)
example("MatrixSquareRoot", definite(3), unknown=False, types=LAPACK)
example("MatrixLogarithm", definite(3).astype(np.complex128), grad=False)
example("Qr", normal(4, 3), unknown=False, types=LAPACK)
example("Qr", normal(3, 4), grad=False, types=LAPACK)  # not implemented for more columns than rows, as in TensorFlow
example("Svd", normal(4, 3), unknown=False, types=LAPACK)
example("Svd", normal(3, 4), unknown=False, types=LAPACK)
example("Svd", normal(4, 3), compute_uv=False, types=LAPACK)
example("SelfAdjointEigV2", definite(3), types=LAPACK)
example("SelfAdjointEigV2", definite(3), compute_v=False, types=LAPACK)
example("Lu", spread(3, 2), types=LAPACK)
example("Cross", normal(2, 3), positive(2, 3))
example("Cross", ints(1, 2, 3), ints(4, 5, 6))
example("TridiagonalMatMul", normal(2, 1, 4), normal(2, 1, 4), normal(2, 1, 4), normal(2, 4, 3))
example("TridiagonalSolve", np.stack([normal(2, 4), 5 + positive(2, 4), normal(2, 4)], axis=1), normal(2, 4, 3))
example("TridiagonalSolve", np.stack([normal(4), 5 + positive(4), normal(4)]), normal(4, 1), partial_pivoting=False)
