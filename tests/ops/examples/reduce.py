"""Examples of reductions, scans, sequences, segments, counts and clipping."""
import numpy as np

from support.examples import bools, distinct, example, integers, ints, normal, positive, uniform

for name in ("Sum", "Mean"):
    example(name, normal(2, 3), ints(0, 1))
    example(name, normal(2, 3, 2), ints(-2), keep_dims=True)
    example(name, normal(2, 3), np.int32(1))
    example(name, normal(2, 3), ints())
    example(name, integers(2, 3), ints(0))
example("Sum", np.zeros((0, 3)), ints(0))
example("Mean", np.zeros((3, 0)), ints(0))
example("Prod", positive(2, 3), ints(0, 1))
example("Prod", positive(2, 3, 2), ints(1, 2), keep_dims=True)
example("Prod", np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]]), ints(1), second=False)  # through Cumprod, which divides
for name in ("Max", "Min"):
    example(name, distinct(2, 3), ints(1))
    example(name, distinct(2, 3), ints(0, 1), keep_dims=True)
    example(name, np.zeros((2, 0)), ints(1), grad=False)  # nothing to differentiate
example("All", bools(2, 3), ints(1))
example("Any", bools(2, 3), ints(0), keep_dims=True)
example("EuclideanNorm", normal(2, 3), ints(1))
example("EuclideanNorm", normal(2, 3), ints(0, 1), keep_dims=True)
for name in ("ArgMax", "ArgMin"):
    example(name, distinct(2, 3), np.int32(1))
    example(name, distinct(2, 3), np.int32(-2), output_type=np.int32)

example("Cumsum", normal(2, 3), np.int32(1))
example("Cumsum", normal(2, 3), np.int32(0), exclusive=True, reverse=True)
example("Cumprod", positive(2, 3), np.int32(1))
example("Cumprod", positive(2, 3), np.int32(-1), exclusive=True)
example("Cumprod", positive(3), np.int32(0), reverse=True)
example("CumulativeLogsumexp", normal(2, 3), np.int32(1))
example("CumulativeLogsumexp", normal(4), np.int32(0), reverse=True)
example("CumulativeLogsumexp", normal(4), np.int32(0), exclusive=True, grad=False, types=())  # starts at the lowest number

example("Range", np.int32(1), np.int32(8), np.int32(3))
example("Range", np.float64(3), np.float64(0), np.float64(-1))
example("LinSpace", np.float64(0), np.float64(1), np.int32(5))
example("BroadcastGradientArgs", ints(2, 3), ints(3), dynamic=True)
example("BroadcastGradientArgs", ints(2, 1, 1), ints(1, 4), dynamic=True)
example("BroadcastArgs", ints(2, 1), ints(3))

IDS = ints(0, 0, 2)
for name in ("SegmentSum", "SegmentMean"):
    example(name, normal(3, 2), IDS, dynamic=True)
example("SegmentProd", normal(3, 2), IDS, dynamic=True)
example("SegmentMax", distinct(3, 2), IDS, dynamic=True)
example("SegmentMin", distinct(3, 2), IDS, dynamic=True)
example("UnsortedSegmentSum", normal(3, 2), ints(2, 0, 2), np.int32(4))
example("UnsortedSegmentSum", normal(2, 3, 2), np.array([[2, 0, -1], [1, 1, 0]], np.int32), np.int32(3))
example("UnsortedSegmentProd", positive(3, 2), ints(2, 0, 2), np.int32(4))
for name in ("UnsortedSegmentMax", "UnsortedSegmentMin"):
    example(name, distinct(4, 2), ints(1, 0, 1, -1), np.int32(2))
    example(name, distinct(3, 2), ints(2, 0, 2), np.int32(3), grad=False, types=())  # segment 1 has the extreme number of its type

ROWS = ints(3, 0, 2, 3)
SORTED = ints(0, 0, 1, 3)
for name in ("Sum", "Mean", "SqrtN"):
    example(f"SparseSegment{name}", normal(4, 2), ROWS, SORTED, dynamic=True)
    example(f"SparseSegment{name}WithNumSegments", normal(4, 2), ROWS, SORTED, np.int32(5))
example("SparseSegmentMeanGrad", normal(4, 2), ROWS, SORTED, np.int32(5))
example("SparseSegmentSqrtNGrad", normal(4, 2), ROWS, SORTED, np.int32(5))

example("Bincount", ints(1, 1, 3), np.int32(5), positive(3), grad=False)  # TensorFlow has none
example("Bincount", ints(1, 1, 3), np.int32(2), np.zeros(0, np.int32))
example("HistogramFixedWidth", np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), np.array([0.0, 5.0]), np.int32(5), grad=False)
example("Bucketize", uniform(2, 3), boundaries=[-0.5, 0.0, 0.5], grad=False)  # a step function
example("ClipByValue", normal(2, 3), np.float64(-0.5), np.float64(0.5))
