"""Examples of the ops on variables: references and resources."""
import numpy as np

from penstock.graph import dtypes
from penstock.ops.state.state import TemporaryVariable
from support.examples import example, ints, normal, positive, resource, variable

# --- references ------------------------------------------------------------------------------------------------------

example("VariableV2", shape=[2, 3], dtype=dtypes.float32, run=False)  # has no value by itself
example("Variable", shape=[2, 3], dtype=dtypes.float32, run=False)
example("TemporaryVariable", shape=[2], dtype=dtypes.float32, var_name="t")
example("DestroyTemporaryVariable", lambda: TemporaryVariable(shape=[2], dtype=dtypes.float32, var_name="t"), var_name="t")
example("IsVariableInitialized", variable(normal(2)))
example("_InitializedValue", variable(normal(2, 3)), normal(2, 3))
example("Assign", variable(normal(2, 3)), normal(2, 3))
example("Assign", variable(normal(2, 3)), normal(4), validate_shape=False)
example("AssignAdd", variable(normal(2, 3)), normal(2, 3))
example("AssignAdd", variable(normal()), normal())
example("AssignSub", variable(normal(2, 3)), normal(2, 3))
example("CountUpTo", variable(np.array(3, np.int64)), limit=5)

ROWS = ints(2, 0, 2)  # one row twice
for how in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    example(f"Scatter{how}", variable(positive(4, 2)), ROWS, positive(3, 2))
    example(f"ResourceScatter{how}", resource(positive(4, 2)), ROWS, positive(3, 2), types=["float64"])
example("ScatterAdd", variable(normal(4, 2)), ROWS, normal())
example("ScatterAdd", variable(normal(4)), ints(1, 3).reshape(1, 2), normal(1, 2))
for how in ("Update", "Add", "Sub"):
    example(f"ScatterNd{how}", variable(normal(4, 3, 2)), np.array([[0, 1], [3, 2]], np.int32), normal(2, 2))
    example(f"ResourceScatterNd{how}", resource(normal(4, 3, 2)), np.array([[0, 1], [3, 2]], np.int32), normal(2, 2), types=["float64"])
example("StridedSliceAssign", variable(normal(4, 3)), ints(1, 0), ints(3, 1), ints(1, 1), normal(2), shrink_axis_mask=2)

# --- resources -------------------------------------------------------------------------------------------------------
# A handle knows the type of its variable, here float64: the ops on it take no other.

example("VarHandleOp", shape=[2, 3], dtype=dtypes.float32, run=False)  # a handle has no array form
example("ReadVariableOp", resource(normal(2, 3)), dtype=dtypes.float64)
example("VarIsInitializedOp", resource(normal(2)))
example("VariableShape", resource(normal(2, 3)))
example("_ResourceInitializedValue", resource(normal(2, 3)), normal(2, 3), types=["float64"])
example("DestroyResourceOp", resource(normal(2)))
example("AssignVariableOp", resource(normal(2, 3)), normal(2, 3), types=["float64"])
example("AssignAddVariableOp", resource(normal(2, 3)), normal(2, 3), types=["float64"])
example("AssignSubVariableOp", resource(normal(2, 3)), normal(2, 3), types=["float64"])
example("ResourceCountUpTo", resource(np.array(3, np.int64)), limit=5, T=dtypes.int64)
example("ResourceGather", resource(normal(4, 2)), ROWS, dtype=dtypes.float64)
example("ResourceGather", resource(normal(2, 4, 3)), ints(3, 0, 1, 1).reshape(2, 2), dtype=dtypes.float64, batch_dims=1)
example("ResourceGatherNd", resource(normal(4, 3, 2)), np.array([[0, 1], [3, 2]], np.int32), dtype=dtypes.float64)
example("ResourceStridedSliceAssign", resource(normal(4, 3)), ints(1, 0), ints(3, 1), ints(1, 1), normal(2), shrink_axis_mask=2, types=["float64"])
