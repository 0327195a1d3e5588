"""Examples of functions, lists of tensors, control-flow nodes, transfers and summaries."""
import numpy as np

from penstock.graph import dtypes
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.shape import TensorShape
from penstock.ops.constant import constant
from penstock.ops.flow.tensor_list import EmptyTensorList, TensorListPushBack
from support.examples import example, normal, strings, variable

EMPTY, NEVER = FuncGraph("empty", Graph()), FuncGraph("never", Graph())
with NEVER.as_default():
    NEVER.outputs.append(constant(False))

# If and While hold the graphs of functions, which belong to the graph they were made in: see tests/ops/flow/test_control_flow.py.
example("_CallFunction", [], f=EMPTY, Tout=[], run=False)
example("_CallNamed", [], f=EMPTY, Tout=[], run=False)
example("PartitionedCall", [], f=EMPTY, Tout=[], run=False)
example("StatefulPartitionedCall", [], f=EMPTY, Tout=[], run=False)
example("RemoteCall", np.array(b"", object), [normal(2)], f=NEVER, Tout=[dtypes.bool_], run=False)
example("SymbolicGradient", [normal(2), normal(2)], f=EMPTY, Tout=[dtypes.float64], run=False)
example("If", np.array(True), [], Tout=[], then_branch=EMPTY, else_branch=EMPTY, run=False)
example("While", [], cond=NEVER, body=EMPTY, output_shapes=[], run=False)
example("StatelessIf", np.array(True), [], Tout=[], then_branch=EMPTY, else_branch=EMPTY, run=False)
example("StatelessWhile", [], cond=NEVER, body=EMPTY, output_shapes=[], run=False)
example("_FuncInput", T=dtypes.float32, shape=TensorShape([2]), run=False)
example("EmptyTensorList", np.array([2], np.int32), np.array(-1, np.int32), element_dtype=dtypes.float32, run=False)
example("TensorListPushBack", lambda: EmptyTensorList([2], -1, element_dtype=dtypes.float64), normal(2), run=False)
example("TensorListPopBack", lambda: TensorListPushBack(EmptyTensorList([2], -1, element_dtype=dtypes.float64), normal(2)), np.array([2], np.int32),
        element_dtype=dtypes.float64, run=False)
example("TensorListConcatV2", lambda: TensorListPushBack(EmptyTensorList([2], -1, element_dtype=dtypes.float64), normal(2)),
        np.array([2], np.int32), np.zeros(0, np.int64), element_dtype=dtypes.float64, run=False)
example("TensorListSplit", normal(3, 2), np.array([-1, 2], np.int32), np.array([1, 2]), run=False)
example("TensorListStack", lambda: TensorListPushBack(EmptyTensorList([2], -1, element_dtype=dtypes.float64), normal(2)), np.array([2], np.int32),
        element_dtype=dtypes.float64, run=False)
example("TensorListFromTensor", normal(3, 2), np.array([2], np.int32), run=False)
example("TensorListLength", lambda: TensorListPushBack(EmptyTensorList([2], -1, element_dtype=dtypes.float64), normal(2)), run=False)

# Their meaning is in how they are scheduled: see tests/execute/test_frames.py.
example("Switch", normal(2), np.array(True), run=False)
example("RefSwitch", variable(normal(2)), np.array(True), run=False)
example("Merge", [normal(2), normal(2)], run=False)
example("RefMerge", [variable(normal(2)), variable(normal(2))], run=False)
example("Enter", normal(2), frame_name="frame", run=False)
example("RefEnter", variable(normal(2)), frame_name="frame", run=False)
example("Exit", normal(2), run=False)
example("RefExit", variable(normal(2)), run=False)
example("NextIteration", normal(2), run=False)
example("RefNextIteration", variable(normal(2)), run=False)
example("LoopCond", np.array(True))
example("ControlTrigger", run=False)

# The runtime adds these to a step; programs cannot.
DEVICES = {"send_device": "/device:CPU:0", "recv_device": "/device:CPU:1"}
example("_Arg", T=dtypes.float32, index=0, run=False)
example("_Retval", normal(2), index=0, run=False)
example("_Refuse", np.array([False, False]), run=False)
example("_Send", normal(2), tensor_name="t", **DEVICES, run=False)
example("_Recv", tensor_type=dtypes.float32, tensor_name="t", **DEVICES, run=False)

example("ScalarSummary", strings("loss", "rate"), normal(2))
example("HistogramSummary", np.array(b"weights", object), normal(3, 4))
example("MergeSummary", [np.array(b"", object), np.array(b"", object)])

example("ImageSummary", np.array(b"pictures", object), (np.arange(2 * 3 * 4 * 3) % 256).astype(np.uint8).reshape(2, 3, 4, 3))
example("ImageSummary", np.array(b"pictures", object), normal(1, 3, 4, 1), max_images=1)
example("AudioSummaryV2", np.array(b"tone", object), normal(1, 20).astype(np.float32), np.array(8000, np.float32))
example("TensorSummaryV2", np.array(b"tensor", object), normal(2), np.array(b"", object))
