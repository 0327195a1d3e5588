"""Examples of arrays of tensors. Their gradients run through other arrays, not through outputs: see golden/cases/control_flow.py."""
import numpy as np

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import identity
from penstock.ops.flow.tensor_array import TensorArrayScatterV3, TensorArraySplitV3, TensorArrayV3
from support.examples import example, normal

FLOW = np.float32(0)


def _array():
    return TensorArrayV3(3, dtype=dtypes.float64, name="array")[0]


def _filled():
    """The handle of an array with elements of the extents 1, 2 and 1."""
    handle, flow = TensorArrayV3(3, dtype=dtypes.float64, name="array")
    flow = TensorArraySplitV3(handle, np.arange(8.0).reshape(4, 2), np.array([1, 2, 1]), flow)
    with control_dependencies([flow]):
        return identity(handle)


def _even():
    """The handle of an array with elements of the same shape."""
    handle, flow = TensorArrayV3(3, dtype=dtypes.float64, name="array")
    flow = TensorArraySplitV3(handle, np.arange(6.0).reshape(3, 2), np.array([1, 1, 1]), flow)
    with control_dependencies([flow]):
        return identity(handle)


def _scattered():
    """The flow after all elements of ``_array`` were written: native code can read them."""
    handle, flow = [op for op in default_graph().get_operations() if op.definition is TensorArrayV3][-1].outputs
    return TensorArrayScatterV3(handle, [2, 0, 1], np.arange(6.0).reshape(3, 2), flow)


INDEX, INDICES = np.array(1, np.int32), np.array([0, 2], np.int32)
example("TensorArrayV3", np.array(3, np.int32), dtype=dtypes.float64)
example("TensorArrayV3", np.array(0, np.int32), dtype=dtypes.int32, dynamic_size=True, element_shape=[2], clear_after_read=False)
example("TensorArrayGradV3", _array, FLOW, source="gradients")
example("TensorArrayWriteV3", _array, INDEX, normal(2), FLOW, grad=False, types=())
example("TensorArrayReadV3", _filled, INDEX, FLOW, dtype=dtypes.float64, grad=False, dynamic=True)
example("TensorArrayReadV3", _array, INDEX, _scattered, dtype=dtypes.float64, grad=False, dynamic=True)
example("TensorArrayGatherV3", _array, INDICES, _scattered, dtype=dtypes.float64, grad=False, dynamic=True)
example("TensorArrayGatherV3", _even, INDICES, FLOW, dtype=dtypes.float64, grad=False, dynamic=True)
example("TensorArrayGatherV3", _even, INDICES, FLOW, dtype=dtypes.float64, element_shape=[1, 2], grad=False)
example("TensorArrayScatterV3", _array, INDICES, normal(2, 3), FLOW, grad=False, types=())
example("TensorArrayConcatV3", _filled, FLOW, dtype=dtypes.float64, grad=False, dynamic=True)
example("TensorArrayConcatV3", _filled, FLOW, dtype=dtypes.float64, element_shape_except0=[2], grad=False, dynamic=True)
example("TensorArraySplitV3", _array, normal(4, 2), np.array([1, 3, 0]), FLOW, grad=False, types=())
example("TensorArraySizeV3", _array, FLOW)
example("TensorArrayCloseV3", _array)
example("GatherTree", np.array([[[1, 2]], [[3, 4]]], np.int32), np.array([[[0, 0]], [[1, 0]]], np.int32), np.array([2], np.int32), np.int32(9))
