"""Examples of the runtime's own ops: they only make sense inside a plan, so they are only built."""
import numpy as np

from penstock.ops.flow.tensor_list import EmptyTensorList
from penstock.ops.queues.queue import FIFOQueue
from penstock.ops.random.random import Generator
from penstock.ops.state.resource import VarHandleOp
from penstock.ops.state.state import VariableV2
from support.examples import example, normal


def variable():
    return VariableV2(shape=[2], dtype="float32", name="v")


def variable_handle():
    return VarHandleOp(shape=[2], dtype="float32", name="v")


def a_list():
    return EmptyTensorList(-1, -1, element_dtype="float32")


example("_Arg", T="float32", index=0, run=False)
example("_Retval", normal(2), index=0, run=False)
example("_Send", normal(2), tensor_name="edge", send_device="/cpu:0", recv_device="/cpu:1", run=False)
example("_Recv", tensor_type="float32", tensor_name="edge", send_device="/cpu:0", recv_device="/cpu:1", run=False)
example("_SendReference", variable, tensor_name="edge", send_device="/cpu:0", recv_device="/cpu:1", run=False)
example("_ResourceName", variable_handle, run=False)
example("_NamedResource", "name", run=False)
example("_HandleNames", lambda: FIFOQueue(component_types=["float32"]), run=False)
example("_VariantBytes", a_list, run=False)
example("_VariantOfBytes", "bytes", run=False)
example("_Token", run=False)
example("_CopyIn", normal(2), run=False)
example("_CopyOut", normal(2), run=False)
example("_Region", [normal(2)], Tout=["float32"], names=["a"], run=False)
example("_Generator", seed=1, seed2=2, run=False)
for draw in ("_DrawUniform", "_DrawNormal", "_DrawTruncated"):
    example(draw, lambda: Generator(seed=1, seed2=2, name="generator"), np.array([5, 40], np.int32), dtype="float32", run=False)
example("_DrawUniformInt", lambda: Generator(seed=1, seed2=2, name="generator"), np.array([5, 40], np.int32), np.int32(-3), np.int32(9), run=False)
example("_DivideIntegers", np.arange(40, dtype=np.int32).reshape(8, 5), np.array([1, 2, 3, 7, 100], np.int32), how="floormod")
for how in ("truncatediv", "truncatemod", "floordiv", "floormod"):
    for dtype in (np.int32, np.int64, np.int8, np.uint8):
        dividends = np.concatenate([np.arange(-20, 21), [np.iinfo(dtype).min, np.iinfo(dtype).max]]).astype(dtype)
        example("_DivideIntegers", dividends[:, None], np.array([1, 2, 3, 7, 100, -1, -2, -3, -7], np.int64).astype(dtype), how=how)
