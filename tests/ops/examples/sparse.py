"""Examples of sparse tensors, candidate samplers, CTC and sets."""
import numpy as np

from penstock.graph.composite import SparseTensor
from penstock.ops.sparse.sparse_serialize import serialize_many_sparse, serialize_sparse
from support.examples import example, ints, normal, positive, strings

ROWS = np.array([[0, 1], [1, 0], [1, 4], [3, 2]])
OTHER = np.array([[0, 0], [0, 1], [1, 4], [3, 2]])
SHAPE = np.array([4, 5])
VALUES = np.array([1.0, -2.0, 3.0, 4.5])
TRUE = np.array([[1], [5], [3]])


def longs(*values):
    """A vector of int64."""
    return ints(*values, dtype=np.int64)


def scalar(value):
    """A float64 scalar."""
    return np.array(value)


example("SparseToDense", ROWS, SHAPE, normal(4), scalar(0.5), unknown=False)
example("SparseToDense", longs(1, 3), longs(5), scalar(2.0), scalar(0.0), unknown=False)
example("SparseReorder", ROWS[[2, 0, 3, 1]], normal(4), SHAPE)
example("SparseReshape", ROWS, SHAPE, longs(2, -1))
example("SparseConcat", [ROWS, OTHER], [normal(4), normal(4)], [SHAPE, SHAPE], concat_dim=1)
example("SparseSplit", np.array(1), ROWS, normal(4), SHAPE, num_split=2, dynamic=True)
example("SparseSlice", ROWS, normal(4), SHAPE, longs(1, 0), longs(3, 4), dynamic=True, second=False)  # as in TensorFlow
example("SparseSliceGrad", normal(3), ROWS, longs(1, 0), np.array([[0, 0], [0, 4], [2, 2]]), grad=False)
example("SparseFillEmptyRows", ROWS, normal(4), SHAPE, scalar(0.5), dynamic=True, second=False)  # TensorFlow has no second order
example("SparseFillEmptyRowsGrad", longs(0, 1, 3), normal(5), types=("float32", "float64", "int32"))

example("SparseCross", [ROWS], [strings("a", "b", "c", "d")], [SHAPE], [longs(1, 2, 3, 4).reshape(4, 1)], hashed_output=True, num_buckets=9,
        hash_key=7, out_type="int64", internal_type="int64", dynamic=True)
example("SparseCross", [], [], [], [strings("a", "b").reshape(2, 1), strings("c", "d").reshape(2, 1)], hashed_output=False, num_buckets=0,
        hash_key=7, out_type="string", internal_type="string", dynamic=True)
example("SparseFeatureCross", [ROWS], [strings("a", "b", "c", "d")], [SHAPE], [longs(1, 2, 3, 4).reshape(4, 1)], hashed_output=True, num_buckets=9,
        out_type="int64", internal_type="int64", dynamic=True)
example("SerializeSparse", ROWS, normal(4), SHAPE)
example("SerializeManySparse", ROWS, normal(4), SHAPE, dynamic=True)
example("DeserializeSparse", lambda: serialize_sparse(SparseTensor(ROWS, VALUES, SHAPE), out_type="variant"), dtype="float64", dynamic=True)
example("DeserializeManySparse", lambda: serialize_many_sparse(SparseTensor(ROWS, VALUES, SHAPE)), dtype="float64", dynamic=True)
example("DeserializeSparse", lambda: serialize_sparse(SparseTensor(ROWS, VALUES, SHAPE)), dtype="float64", dynamic=True)
example("AddSparseToTensorsMap", ROWS, normal(4), SHAPE, exact=False)
example("AddManySparseToTensorsMap", ROWS, normal(4), SHAPE, dynamic=True, exact=False)
example("TakeManySparseFromTensorsMap", longs(0), dtype="float64", run=False)  # takes what another op has put there

example("SparseTensorDenseMatMul", ROWS, normal(4), SHAPE, normal(5, 2), types=("float32", "float64", "int32", "complex64"))
example("SparseTensorDenseMatMul", ROWS, normal(4), SHAPE, normal(4, 2), adjoint_a=True, types=())
example("SparseTensorDenseMatMul", ROWS, normal(4), SHAPE, normal(2, 5), adjoint_b=True, types=())
example("SparseAdd", ROWS, normal(4), SHAPE, OTHER, normal(4), SHAPE, scalar(0.0), dynamic=True, second=False,
        grad_inputs=(1, 4))  # no gradient of a gradient in TensorFlow
example("SparseAddGrad", normal(5), ROWS, OTHER, np.array([[0, 0], [0, 1], [1, 0], [1, 4], [3, 2]]))
example("SparseTensorDenseAdd", ROWS, normal(4), SHAPE, normal(4, 5))
example("SparseDenseCwiseMul", ROWS, normal(4), SHAPE, normal(4, 5))
example("SparseDenseCwiseMul", ROWS, normal(4), SHAPE, normal(1, 5))
example("SparseDenseCwiseDiv", ROWS, normal(4), SHAPE, positive(5))
example("SparseDenseCwiseAdd", ROWS, normal(4), SHAPE, normal(4, 1))
example("SparseReduceSum", ROWS, normal(4), SHAPE, ints(1))
example("SparseReduceSum", ROWS, normal(4), SHAPE, ints(0, 1), keep_dims=True)
example("SparseReduceMax", ROWS, normal(4), SHAPE, ints(1))
example("SparseReduceSumSparse", ROWS, normal(4), SHAPE, ints(1), dynamic=True)
example("SparseReduceMaxSparse", ROWS, normal(4), SHAPE, ints(0), keep_dims=True, dynamic=True)
example("SparseSoftmax", ROWS, normal(4), SHAPE)
example("SparseSparseMaximum", ROWS, normal(4), SHAPE, OTHER, normal(4), SHAPE, dynamic=True)
example("SparseSparseMinimum", ROWS, normal(4), SHAPE, OTHER, normal(4), SHAPE, dynamic=True)

for sampler in ("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
                "ThreadUnsafeUnigramCandidateSampler"):
    example(sampler, TRUE, num_true=1, num_sampled=4, unique=True, range_max=10, seed=3)
example("FixedUnigramCandidateSampler", TRUE, num_true=1, num_sampled=4, unique=True, range_max=6, unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        seed=3)
example("AllCandidateSampler", TRUE, num_true=1, num_sampled=6, unique=True)
example("ComputeAccidentalHits", TRUE, longs(5, 0, 1), num_true=1, dynamic=True)

example("CTCLoss", normal(5, 2, 4), np.array([[0, 0], [0, 1], [1, 0]]), ints(0, 1, 2), ints(5, 4),
        grad=False)  # its second output is the gradient, which TensorFlow refuses to differentiate
example("CTCGreedyDecoder", normal(5, 2, 4), ints(5, 4), merge_repeated=True, dynamic=True)
example("CTCBeamSearchDecoder", normal(5, 2, 4), ints(5, 4), beam_width=10, top_paths=2, dynamic=True)

example("DenseToDenseSetOperation", np.array([[1, 2, 2], [5, 4, 9]]), np.array([[2, 3], [9, 9]]), set_operation="union", dynamic=True)
example("DenseToDenseSetOperation", strings("a", "b").reshape(1, 2), strings("b", "c").reshape(1, 2), set_operation="a-b", dynamic=True)
example("DenseToSparseSetOperation", np.array([[1, 2], [5, 4]]), np.array([[0, 0], [1, 0]]), longs(2, 9), longs(2, 1),
        set_operation="intersection", dynamic=True)
example("SparseToSparseSetOperation", np.array([[0, 0], [0, 1]]), longs(1, 2), longs(2, 2), np.array([[0, 0], [1, 0]]), longs(2, 9),
        longs(2, 1), set_operation="b-a", dynamic=True)
example("SetSize", np.array([[0, 0], [0, 1], [1, 0]]), longs(1, 1, 2), longs(2, 2), dynamic=True)

# ids of a matrix of 5 rows: row 1 has two and an invalid one, row 3 has none
LOOKUP = np.array([[0, 0], [1, 0], [1, 1], [1, 2], [2, 1], [4, 0]], np.int64)
PADDED_IDS, SEGMENTS = np.array([3, 1, 3, 2, 0, 5, -1, -1], np.int64), np.array([0, 1, 1, 2, 3, 4, -1, -1], np.int32)
COUNTS = np.array([1, 2, 1, 1, 1], np.int32)
example("_LookupIds", LOOKUP, np.array([3, 1, -7, 3, 2, 5], np.int64), np.array([5, 3], np.int64), np.int64(0), dynamic=True)
example("_LookupIds", LOOKUP[[0, 1, 4]], np.array([3, 1, 2], np.int64), np.array([3, 3], np.int64), np.int64(0), dynamic=True)
for power in (0.0, 0.5, 1.0):
    example("_LookupRows", normal(6, 3), PADDED_IDS, SEGMENTS, COUNTS, power=power, grad=False)
    example("_LookupGrad", normal(5, 3), SEGMENTS, COUNTS, power=power, grad=False)
example("_LookupRows", normal(6), PADDED_IDS, SEGMENTS, COUNTS, grad=False)
example("_SumDuplicates", normal(8, 3), PADDED_IDS, padded=True, grad=False)
example("_SumDuplicates", normal(6), np.array([3, 1, 3, 2, 1 << 20, 3], np.int32), grad=False)
