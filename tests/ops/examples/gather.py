"""Examples of picking, placing and ordering elements."""
from __future__ import annotations

import numpy as np

from support.examples import bools, distinct, example, integers, ints, normal, strings

# gathering
example("Gather", normal(4, 3), integers(2, 2, high=4))
example("GatherV2", normal(4, 3), integers(5, high=4), np.int32(0))
example("GatherV2", normal(2, 4, 3), integers(2, 2, high=3), np.int32(-1))
example("GatherV2", normal(2, 4, 3), integers(2, 5, high=4), np.int32(1), batch_dims=1)
example("GatherV2", normal(2, 3, 4), integers(2, 5, high=4), np.int32(2), batch_dims=1)
example("GatherNd", normal(3, 4, 2), integers(5, 2, high=3))
example("GatherNd", normal(3, 4), integers(5, 1, high=3))
example("InplaceUpdate", normal(4, 3), np.array([1, 3], np.int32), normal(2, 3))
example("InplaceAdd", normal(4, 3), np.array([1, 1], np.int32), normal(2, 3), types=("float32", "int64", "complex64"))
example("InplaceSub", normal(4, 3), np.array([1, 1], np.int32), normal(2, 3), types=("float32", "int64", "complex64"))
example("Empty", ints(2, 3), dtype="float32")
example("DeepCopy", normal(2, 3))
example("UnravelIndex", ints(2, 5), ints(3, 4))
example("ScatterNd", np.array([[1], [3], [1]], np.int32), normal(3, 2), ints(5, 2))
example("ScatterNdNonAliasingAdd", normal(4, 2), np.array([[1], [3], [1]], np.int32), normal(3, 2))
example("TensorScatterUpdate", normal(4, 2), np.array([[1], [3]], np.int32), normal(2, 2))
example("TensorScatterAdd", normal(4, 2), np.array([[1, 0], [3, 1]], np.int32), normal(2))
example("TensorScatterSub", normal(4, 2), np.array([[1], [1]], np.int32), normal(2, 2),
        types=("float16", "bfloat16", "float32", "int8", "int64", "complex64"))  # bools have no difference

# choosing
example("Where", bools(3, 4), dynamic=True)
example("Where", ints(0, 3, 0, -1), dynamic=True)
example("_BoundedWhere", bools(3, 4), grad=False)
example("_BoundedWhere", ints(0, 3, 0, -1), grad=False)
example("Select", bools(2, 3), normal(2, 3), normal(2, 3))
example("Select", bools(2), normal(2, 3), normal(2, 3))
example("Select", bools(), normal(2, 3), normal(2, 3))
example("SelectV2", bools(3), normal(2, 3), normal(2, 1))

# sets
example("Unique", ints(3, 1, 3, 2, 1), dynamic=True)
example("Unique", strings("b", "a", "b"), out_idx="int64", dynamic=True)
example("UniqueV2", np.array([[1, 2], [1, 2], [0, 2]], np.int32), ints(0, dtype=np.int64), dynamic=True)
example("UniqueV2", ints(3, 1, 3), ints(dtype=np.int64), dynamic=True)
example("UniqueWithCounts", ints(3, 1, 3, 2, 1), dynamic=True)
example("UniqueWithCountsV2", np.array([[1, 2, 1], [1, 2, 1]], np.int32), ints(1, dtype=np.int64), dynamic=True)
example("ListDiff", ints(1, 2, 3, 2, 4), ints(2, 5), dynamic=True)
example("EditDistance", np.array([[0, 0], [0, 1], [1, 0]], np.int64), strings("a", "b", "c"), ints(2, 2, dtype=np.int64),
        np.array([[0, 0], [1, 0], [1, 1]], np.int64), strings("b", "c", "d"), ints(2, 2, dtype=np.int64))

# order
example("TopKV2", distinct(3, 5), np.int32(2))
example("TopKV2", distinct(5), np.int32(5))
example("TopK", distinct(3, 5), k=1)
example("NthElement", distinct(3, 5), np.int32(1), second=False)  # the choice jumps where two elements are equal
example("NthElement", distinct(3, 5), np.int32(1), reverse=True, second=False)
example("LowerBound", np.sort(normal(2, 5), 1), normal(2, 3))
example("UpperBound", np.sort(integers(2, 5), 1), integers(2, 3))

# partitions
example("DynamicPartition", normal(4, 2), ints(1, 0, 2, 0), num_partitions=3, dynamic=True)
example("DynamicStitch", [ints(0, 3), np.array([[1], [2]], np.int32)], [normal(2, 2), normal(2, 1, 2)])
example("ParallelDynamicStitch", [ints(0, 3), ints(1, 2)], [normal(2), normal(2)])

# space
example("SpaceToDepth", normal(1, 4, 6, 2), block_size=2)
example("SpaceToDepth", normal(1, 2, 4, 6), block_size=2, data_format="NCHW")
example("DepthToSpace", normal(1, 2, 3, 8), block_size=2)
example("DepthToSpace", normal(1, 8, 2, 3), block_size=2, data_format="NCHW")
example("SpaceToBatch", normal(1, 3, 4, 2), np.array([[1, 0], [0, 0]], np.int32), block_size=2)
example("BatchToSpace", normal(4, 2, 2, 2), np.array([[1, 0], [0, 0]], np.int32), block_size=2)
example("SpaceToBatchND", normal(1, 3, 4, 2), ints(2, 1), np.array([[1, 0], [0, 0]], np.int32))
example("SpaceToBatchND", normal(2, 4), ints(2), np.array([[0, 2]], np.int32))
example("BatchToSpaceND", normal(4, 2, 3, 1), ints(2, 2), np.array([[1, 0], [0, 1]], np.int32))
example("ExtractImagePatches", normal(1, 5, 4, 2), ksizes=[1, 2, 2, 1], strides=[1, 2, 1, 1], rates=[1, 2, 1, 1], padding="SAME")
example("ExtractImagePatches", normal(2, 5, 4, 1), ksizes=[1, 3, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
example("ExtractVolumePatches", normal(1, 3, 4, 3, 1), ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 2, 1, 1], padding="SAME")
example("GatherNd", normal(2, 3), np.zeros((3, 0), np.int32), grad=False)  # no coordinates: the whole, three times
