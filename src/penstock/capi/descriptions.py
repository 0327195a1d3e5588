"""Adding operations: descriptions, which grow by inputs and attributes and become nodes."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from penstock.capi.calls import add_call
from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import items, parsed, read_bytes, tensors
from penstock.capi.tensors import array_of
from penstock.errors import InvalidArgumentError
from penstock.graph.graph_def import extend_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.signature import Argument
from penstock.graph.tensor_proto import array_to_proto


@kind("TF_OperationDescription*")
class Description:
    """TF_OperationDescription: a node to be. The first thing that is wrong with it is told when it is finished."""

    def __init__(self, state: GraphState, op_type: str, name: str) -> None:
        self.state, self.node = state, NodeDef(name=name, op=op_type)
        self.inputs: list[Tensor | list[Tensor]] = []
        self.control: list[Operation] = []
        self.error: BaseException | None = None

    def note_error(self, error: BaseException) -> None:
        """A call that has no status went wrong."""
        self.error = self.error or error

    def finish(self) -> Operation:
        """The operation."""
        node, graph = self.node, self.state.graph
        if self.error is not None:
            raise self.error
        if node.name in graph._by_name:
            raise InvalidArgumentError(None, None, f"Duplicate node name in graph: '{node.name}'")
        flat = [tensor for given in self.inputs for tensor in (given if isinstance(given, list) else [given])]
        elements: list[Tensor | Operation] = [*flat, *self.control]
        for element in elements:
            if element.graph is not graph:
                raise InvalidArgumentError(None, None, f"'{element.name}', an input of '{node.name}', is of another graph")
        if node.op in self.state.functions:
            return add_call(self.state, node, flat, self.control)
        if node.op not in REGISTRY:
            raise InvalidArgumentError(None, None, f"Op type not registered '{node.op}' in this version of Penstock, while building '{node.name}'")
        self._infer_attributes()
        node.input.extend(tensor._input_name for tensor in flat)
        node.input.extend(f"^{op.name}" for op in dict.fromkeys(self.control))
        graph_def = GraphDef(node=[node])
        if any(value.HasField("func") for value in node.attr.values()):
            graph_def.library.function.extend(self.state.functions.values())
        return extend_graph(graph, graph_def)[0]

    def _infer_attributes(self) -> None:
        """The types and lengths that follow from the inputs, where they were not set."""
        arguments = REGISTRY[self.node.op].inputs
        if len(self.inputs) != len(arguments):
            raise InvalidArgumentError(None, None, f"{self.node.op} takes {len(arguments)} inputs ({', '.join(arg.name for arg in arguments)}), and "
                                                   f"'{self.node.name}' was given {len(self.inputs)}")
        for arg, given in zip(arguments, self.inputs):
            if isinstance(given, list) != arg.is_list:
                problem = "Single tensor passed to '{}', expected list" if arg.is_list else "List of tensors passed to '{}', expected one"
                raise InvalidArgumentError(None, None, problem.format(arg.name) + f" while building NodeDef '{self.node.name}' using {self.node.op}")
            self._infer_from(arg, given if isinstance(given, list) else [given])

    def _infer_from(self, arg: Argument, given: list[Tensor]) -> None:
        types, attr = [tensor.dtype.base_dtype.as_datatype_enum for tensor in given], self.node.attr
        if arg.type_attr is not None and arg.type_attr not in attr and types:
            attr[arg.type_attr].type = types[0]
        if arg.number_attr is not None and arg.number_attr not in attr:
            attr[arg.number_attr].i = len(given)
        if arg.type_list_attr is not None and arg.type_list_attr not in attr:
            attr[arg.type_list_attr].CopyFrom(AttrValue(list=AttrValue.ListValue(type=types)))


@entry
def TF_NewOperation(graph: GraphState, op_type: str | None, oper_name: str | None) -> Description:
    """Begins one."""
    return Description(graph, op_type or "", oper_name or "")


@entry
def TF_FinishOperation(desc: Description) -> Operation:
    """Adds it to its graph."""
    with desc.state.lock:
        return desc.finish()


@entry
def TF_SetDevice(desc: Description, device: str | None) -> None:
    """Where it is to run."""
    desc.node.device = device or ""


@entry
def TF_AddInput(desc: Description, tensor: Tensor) -> None:
    """The next argument."""
    desc.inputs.append(tensor)


@entry
def TF_AddInputList(desc: Description, inputs: Any, num_inputs: int) -> None:
    """The next argument, which is a list."""
    desc.inputs.append(tensors(inputs, num_inputs, "TF_AddInputList"))


@entry
def TF_AddControlInput(desc: Description, op: Operation) -> None:
    """It runs after ``op``."""
    desc.control.append(op)


@entry
def TF_ColocateWith(desc: Description, op: Operation) -> None:
    """It runs where ``op`` runs."""
    desc.node.attr["_class"].list.s.append(f"loc:@{op.name}".encode())


# --- attributes ------------------------------------------------------------------------------------------------------

def _set(desc: Description, name: str | None, value: AttrValue) -> None:
    desc.node.attr[name or ""].CopyFrom(value)


def _set_list(desc: Description, name: str | None, **values: Any) -> None:
    _set(desc, name, AttrValue(list=AttrValue.ListValue(**values)))


@entry
def TF_SetAttrString(desc: Description, name: str, value: int | None, length: int) -> None:
    """Bytes."""
    _set(desc, name, AttrValue(s=read_bytes(value, length)))


@entry
def TF_SetAttrStringList(desc: Description, name: str, values: Any, lengths: Any, num_values: int) -> None:
    """Several."""
    pairs = zip(items(values, num_values, name), items(lengths, num_values, name))
    _set_list(desc, name, s=[read_bytes(address, length) for address, length in pairs])


@entry
def TF_SetAttrInt(desc: Description, name: str, value: int) -> None:
    """A whole number."""
    _set(desc, name, AttrValue(i=value))


@entry
def TF_SetAttrIntList(desc: Description, name: str, values: Any, num_values: int) -> None:
    """Several."""
    _set_list(desc, name, i=items(values, num_values, name))


@entry
def TF_SetAttrFloat(desc: Description, name: str, value: float) -> None:
    """A number."""
    _set(desc, name, AttrValue(f=value))


@entry
def TF_SetAttrFloatList(desc: Description, name: str, values: Any, num_values: int) -> None:
    """Several."""
    _set_list(desc, name, f=items(values, num_values, name))


@entry
def TF_SetAttrBool(desc: Description, name: str, value: int) -> None:
    """True or false."""
    _set(desc, name, AttrValue(b=bool(value)))


@entry
def TF_SetAttrBoolList(desc: Description, name: str, values: Any, num_values: int) -> None:
    """Several."""
    _set_list(desc, name, b=[bool(value) for value in items(values, num_values, name)])


@entry
def TF_SetAttrType(desc: Description, name: str, value: int) -> None:
    """A type of elements."""
    _set(desc, name, AttrValue(type=value))


@entry
def TF_SetAttrTypeList(desc: Description, name: str, values: Any, num_values: int) -> None:
    """Several."""
    _set_list(desc, name, type=items(values, num_values, name))


@entry
def TF_SetAttrPlaceholder(desc: Description, name: str, placeholder: str) -> None:
    """The name of an attribute of the function around it."""
    _set(desc, name, AttrValue(placeholder=placeholder))


@entry
def TF_SetAttrFuncName(desc: Description, name: str, value: int | None, length: int) -> None:
    """A function of the graph, by its name."""
    proto = AttrValue()
    proto.func.name = read_bytes(value, length).decode()
    _set(desc, name, proto)


def shape_proto(dims: Any, num_dims: int, what: str) -> TensorShapeProto:
    """A shape; unknown if the number of dimensions is negative."""
    if num_dims < 0:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=max(size, -1)) for size in items(dims, num_dims, what)])


@entry
def TF_SetAttrShape(desc: Description, name: str, dims: Any, num_dims: int) -> None:
    """A shape."""
    _set(desc, name, AttrValue(shape=shape_proto(dims, num_dims, name)))


@entry
def TF_SetAttrShapeList(desc: Description, name: str, dims: Any, num_dims: Any, num_shapes: int) -> None:
    """Several."""
    pairs = zip(items(dims, num_shapes, name), items(num_dims, num_shapes, name))
    _set_list(desc, name, shape=[shape_proto(sizes, rank, name) for sizes, rank in pairs])


@entry
def TF_SetAttrTensorShapeProto(desc: Description, name: str, proto: int | None, proto_len: int) -> None:
    """A shape, serialized."""
    _set(desc, name, AttrValue(shape=parsed(TensorShapeProto, read_bytes(proto, proto_len), name)))


@entry
def TF_SetAttrTensorShapeProtoList(desc: Description, name: str, protos: Any, proto_lens: Any, num_shapes: int) -> None:
    """Several."""
    pairs = zip(items(protos, num_shapes, name), items(proto_lens, num_shapes, name))
    _set_list(desc, name, shape=[parsed(TensorShapeProto, read_bytes(proto, length), name) for proto, length in pairs])


def _tensor_proto(address: int | None) -> TensorProto:
    array, dtype = array_of(address)
    return array_to_proto(array, dtype)


@entry
def TF_SetAttrTensor(desc: Description, name: str, value: int | None) -> None:
    """A value."""
    _set(desc, name, AttrValue(tensor=_tensor_proto(value)))


@entry
def TF_SetAttrTensorList(desc: Description, name: str, values: Any, num_values: int) -> None:
    """Several."""
    _set_list(desc, name, tensor=[_tensor_proto(value) for value in items(values, num_values, name)])


@entry
def TF_SetAttrValueProto(desc: Description, name: str, proto: int | None, proto_len: int) -> None:
    """Anything, serialized."""
    _set(desc, name, parsed(AttrValue, read_bytes(proto, proto_len), name))
