"""Graphs: their operations and shapes, what is known of values, and which ops there are."""
from __future__ import annotations

import os
import runpy
from typing import Any

from tensorboard.compat.proto.op_def_pb2 import OpList

from penstock.capi.descriptions import shape_proto
from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import buffer_struct, fill, new_buffer
from penstock.capi.structs import Buffer
from penstock.capi.tensors import tensor_of
from penstock.errors import InvalidArgumentError, NotFoundError
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value


@entry
def TF_NewGraph() -> GraphState:
    """An empty graph."""
    return GraphState()


@entry
def TF_DeleteGraph(graph: GraphState | None) -> None:
    """The caller does not need it any more; sessions may."""
    if graph is not None:
        graph.release()


def _of(graph: GraphState, tensor: Tensor) -> Tensor:
    if tensor.graph is not graph.graph:
        raise InvalidArgumentError(None, None, f"Node {tensor.op.name} was not found in the graph")
    return tensor


@entry
def TF_GraphSetTensorShape(graph: GraphState, tensor: Tensor, dims: Any, num_dims: int) -> None:
    """Adds what the caller knows of a shape."""
    with graph.lock:
        _of(graph, tensor).set_shape(TensorShape(shape_proto(dims, num_dims, "TF_GraphSetTensorShape")))


@entry
def TF_GraphGetTensorNumDims(graph: GraphState, tensor: Tensor) -> int:
    """The number of dimensions; -1 if it is not known."""
    rank = _of(graph, tensor).shape.ndims
    return -1 if rank is None else rank


@entry
def TF_GraphGetTensorShape(graph: GraphState, tensor: Tensor, dims: Any, num_dims: int) -> None:
    """The extents; -1 for one that is not known."""
    extents = _of(graph, tensor).shape.extents
    if extents is None:
        return
    if num_dims != len(extents):
        raise InvalidArgumentError(None, None, f"Expected rank is {num_dims} but actual rank is {len(extents)}")
    for index, extent in enumerate(extents):
        dims[index] = -1 if extent is None else extent


@entry
def TF_GraphOperationByName(graph: GraphState, oper_name: str | None) -> Operation | None:
    """The operation of this name, or None."""
    return graph.graph._by_name.get(oper_name or "")


@entry
def TF_GraphNextOperation(graph: GraphState, pos: Any) -> Operation | None:
    """The operation at a place, which moves on."""
    ops, at = graph.graph._ops, pos[0]
    if at >= len(ops):
        return None
    pos[0] = at + 1
    return ops[at]


@entry
def TF_GraphToGraphDef(graph: GraphState, output_graph_def: Any) -> None:
    """The graph as a GraphDef, with its functions."""
    with graph.lock:
        graph_def = graph.graph.as_graph_def()
    known = {function.signature.name for function in graph_def.library.function}
    graph_def.library.function.extend(proto for name, proto in graph.functions.items() if name not in known)
    fill(output_graph_def, graph_def.SerializeToString())


@entry
def TF_GraphGetOpDef(graph: GraphState, op_name: str | None, output_op_def: Any) -> None:
    """The signature of an op, or of a function of the graph."""
    name = op_name or ""
    if name in graph.functions:
        fill(output_op_def, graph.functions[name].signature.SerializeToString())
    elif name in REGISTRY:
        fill(output_op_def, REGISTRY[name].proto.SerializeToString())
    else:
        raise NotFoundError(None, None, f"Op type not registered '{name}' in this version of Penstock.")


@entry
def TF_GraphVersions(graph: GraphState, output_version_def: Any) -> None:
    """The versions of the GraphDef format."""
    fill(output_version_def, graph.graph.graph_def_versions.SerializeToString())


@entry
def TF_TryEvaluateConstant(graph: GraphState, tensor: Tensor, result: Any) -> int:
    """1, and the value, if it is known without a run."""
    value = constant_value(_of(graph, tensor))
    result[0] = None if value is None else tensor_of(value, tensor.dtype)
    return int(value is not None)


# --- which ops there are ---------------------------------------------------------------------------------------------

def _op_list(names: Any) -> bytes:
    return OpList(op=[REGISTRY[name].proto for name in sorted(names) if not name.startswith("_")]).SerializeToString()


@entry
def TF_GetAllOpList() -> int:
    """A new buffer with the signatures of all ops."""
    return new_buffer(_op_list(REGISTRY))


def _kernel(op: str) -> bytes:
    """An entry of a KernelList, a proto that is not among those we have: {1: {1: op, 2: the kind of device}}."""
    fields = b"".join(bytes([key, len(text)]) + text for key, text in ((0x0A, op.encode()), (0x12, b"CPU")))
    return bytes([0x0A, len(fields)]) + fields


@entry
def TF_GetAllRegisteredKernels() -> int:
    """A new buffer with a KernelList: each op has one kernel here, for all its types."""
    return new_buffer(b"".join(_kernel(name) for name in sorted(REGISTRY) if not name.startswith("_")))


@entry
def TF_GetRegisteredKernelsForOp(name: str | None) -> int:
    """The same, of one op."""
    return new_buffer(_kernel(name) if name in REGISTRY and name is not None else b"")


@kind("TF_Library*")
class Ops:
    """TF_Library: the ops that a Python file has declared."""

    def __init__(self, names: set[str]) -> None:
        self.names = names


@entry
def TF_LoadLibrary(library_filename: str | None) -> Ops:
    """Runs a Python file that declares ops."""
    path = library_filename or ""
    if not os.path.exists(path):
        raise NotFoundError(None, None, f"{path}: cannot open file: No such file")
    if not path.endswith(".py"):
        raise InvalidArgumentError(None, None, f"{path}: Penstock loads ops from Python files (penstock.op); compiled ones are for TensorFlow alone")
    before = set(REGISTRY)
    runpy.run_path(path)
    return Ops(set(REGISTRY) - before)


@entry
def TF_GetOpList(library: Ops) -> Buffer:
    """The signatures of the ops of a library."""
    return buffer_struct(_op_list(library.names))


@entry
def TF_DeleteLibraryHandle(library: Ops | None) -> None:
    """The ops stay."""
