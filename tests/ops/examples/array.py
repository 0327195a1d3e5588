"""Examples of the array family: shapes, joining, splitting, padding, moving elements."""
from __future__ import annotations

import numpy as np

from support.examples import bools, example, integers, ints, normal, strings


def matrix(*rows: list[int]) -> np.ndarray:
    """An int32 matrix."""
    return np.array(rows, np.int32)


# shapes
example("Shape", normal(2, 3))
example("Shape", normal(2, 0), out_type="int64")
example("ShapeN", [normal(2, 3), normal(4)])
example("Size", normal(2, 3))
example("_CountedShape", normal(5, 3), np.int32(2), grad=False)
example("_CountedSize", normal(5, 3), np.int32(2), out_type="int64", grad=False)
example("Rank", normal(2, 3))
example("Reshape", normal(2, 6), ints(3, 4))
example("Reshape", normal(2, 6), ints(3, -1, 2))
example("Reshape", strings("a", "b"), ints(2, 1))
example("Squeeze", normal(1, 3, 1))
example("Squeeze", normal(1, 3, 1), squeeze_dims=[-1])
example("ExpandDims", normal(2, 3), np.int32(1))
example("ExpandDims", normal(2, 3), np.int32(-1))

# fills
example("Fill", ints(2, 3), normal())
example("ZerosLike", normal(2, 3))
example("OnesLike", normal(2, 3))
example("OneHot", integers(2, 3, high=4), np.int32(4), normal(), normal())
example("OneHot", integers(2, 3, high=6, low=-1), np.int32(4), normal(), normal(), axis=1)

# joining and splitting
example("Concat", np.int32(1), [normal(2, 3), normal(2, 1), normal(2, 2)])
example("ConcatV2", [normal(2, 3), normal(2, 1)], np.int32(1))
example("ConcatV2", [normal(2, 3), normal(1, 3), normal(0, 3)], np.int32(-2))
example("ConcatV2", [strings("a"), strings("b", "c")], np.int32(0))
example("ConcatOffset", np.int32(1), [ints(2, 3), ints(2, 5)])
example("Pack", [normal(2, 3), normal(2, 3)])
example("Pack", [normal(2, 3), normal(2, 3)], axis=-1)
example("Unpack", normal(2, 3), num=2)
example("Unpack", normal(2, 3), num=3, axis=1)
example("ParallelConcat", [normal(1, 3), normal(1, 3)], shape=[2, 3])
example("Split", np.int32(1), normal(2, 6), num_split=3)
example("SplitV", normal(2, 6), ints(1, -1, 2, dtype=np.int64), np.int32(1), num_split=3)

# padding
example("Pad", normal(2, 3), matrix([1, 0], [2, 1]))
example("PadV2", normal(2, 3), matrix([1, 0], [2, 1]), normal())
example("MirrorPad", normal(3, 4), matrix([1, 2], [3, 0]), mode="REFLECT")
example("MirrorPad", normal(3, 4), matrix([1, 2], [3, 0]), mode="SYMMETRIC")
example("MirrorPadGrad", normal(6, 7), matrix([1, 2], [3, 0]), mode="REFLECT")
example("MirrorPadGrad", normal(6, 7), matrix([1, 2], [3, 0]), mode="SYMMETRIC")

# moving elements
example("Transpose", normal(2, 3, 4), ints(2, 0, 1))
example("ConjugateTranspose", normal(2, 3), ints(1, 0))
example("InvertPermutation", ints(2, 0, 1))
example("Reverse", normal(2, 3), np.array([True, False]))
example("ReverseV2", normal(2, 3), ints(-1, 0))
example("ReverseSequence", normal(3, 4, 2), ints(2, 4, 0, dtype=np.int64), seq_dim=1)
example("ReverseSequence", normal(4, 2, 3), ints(2, 4, 0), seq_dim=0, batch_dim=2)
example("Roll", normal(3, 4), ints(1, -2), ints(0, 1))
example("Roll", normal(3, 4), np.int32(5), np.int32(-1))
example("Tile", normal(2, 3), ints(2, 3))
example("BroadcastTo", normal(3, 1), ints(2, 3, 4))

# slices
example("Slice", normal(3, 4), ints(1, 0), ints(2, -1))
example("StridedSlice", normal(4, 5), ints(1, 0), ints(3, 0), ints(1, 2), end_mask=2)
example("StridedSlice", normal(4, 5, 2), ints(0, -1, 0), ints(0, 0, 0), ints(1, 1, 1), ellipsis_mask=1, shrink_axis_mask=2, new_axis_mask=4)
example("StridedSlice", normal(4, 5), ints(3, 4), ints(0, 0), ints(-1, -2), begin_mask=2, end_mask=2)
example("StridedSliceGrad", ints(4, 5), ints(1, 0), ints(3, 0), ints(1, 2), normal(2, 3), end_mask=2)

# passing values on
example("StopGradient", normal(2, 3))
example("PreventGradient", normal(2, 3), message="because", grad=False)  # its gradient is an error
example("CheckNumerics", normal(2, 3), message="all is well")
example("Snapshot", normal(2, 3))
example("GuaranteeConst", normal(2, 3))
example("EnsureShape", normal(2, 3), shape=[None, 3])
example("IdentityN", [normal(2, 3), integers(4), bools(2)])
