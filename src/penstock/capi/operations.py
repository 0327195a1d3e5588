"""Looking at operations."""
from __future__ import annotations

from typing import Any

from penstock.capi import handles
from penstock.capi.entries import entry
from penstock.capi.memory import fill
from penstock.capi.structs import Output
from penstock.errors import InvalidArgumentError
from penstock.graph.node import Operation, Tensor
from penstock.graph.signature import Argument


@entry
def TF_OperationName(op: Operation) -> str:
    """Its name."""
    return op.name


@entry
def TF_OperationOpType(op: Operation) -> str:
    """Its type; for a call the name of the function."""
    return handles.state_of(op.graph).called.get(op, op.type)


@entry
def TF_OperationDevice(op: Operation) -> str:
    """The device that was asked for."""
    return op.device


@entry
def TF_OperationNumOutputs(op: Operation) -> int:
    """How many outputs it has."""
    return len(op.outputs)


@entry
def TF_OperationNumInputs(op: Operation) -> int:
    """How many inputs it has."""
    return len(op.inputs)


@entry
def TF_OperationOutputType(tensor: Tensor) -> int:
    """The type of an output."""
    return tensor.dtype.as_datatype_enum


@entry
def TF_OperationInputType(place: tuple[Operation, int]) -> int:
    """The type that an input is taken as."""
    op, index = place
    return op._input_types[index].as_datatype_enum


def _length(arguments: tuple[Argument, ...], op: Operation, name: str, what: str) -> int:
    for arg in arguments:
        if arg.name == name:
            return arg.length(op.attrs)
    raise InvalidArgumentError(None, None, f"{what} arg '{name}' not found: {op.type} has {', '.join(arg.name for arg in arguments) or 'none'}")


@entry
def TF_OperationOutputListLength(op: Operation, arg_name: str) -> int:
    """How many tensors an output of the signature is."""
    return _length(op.definition.outputs, op, arg_name, "Output")


@entry
def TF_OperationInputListLength(op: Operation, arg_name: str) -> int:
    """How many tensors an input of the signature is."""
    return _length(op.definition.inputs, op, arg_name, "Input")


@entry
def TF_OperationInput(place: tuple[Operation, int]) -> Output:
    """Where an input comes from."""
    op, index = place
    tensor = op.inputs[index]
    return Output(handles.add(tensor.op), tensor.value_index)


def _uses(tensor: Tensor) -> list[tuple[Operation, int]]:
    """(operation, number of the input), for each input that takes the tensor."""
    return [(op, index) for op in dict.fromkeys(tensor.consumers()) for index, taken in enumerate(op.inputs) if taken is tensor]


@entry
def TF_OperationOutputNumConsumers(tensor: Tensor) -> int:
    """How many inputs take an output."""
    return len(_uses(tensor))


@entry
def TF_OperationOutputConsumers(tensor: Tensor, consumers: Any, max_consumers: int) -> int:
    """Which ones; the number of all."""
    uses = _uses(tensor)
    for place, (op, index) in enumerate(uses[:max(max_consumers, 0)]):
        consumers[place] = Output(handles.add(op), index)
    return len(uses)


def _followers(op: Operation) -> list[Operation]:
    return [other for other in op.graph.get_operations() if op in other.control_inputs]


def _write(ops: list[Operation], places: Any, most: int) -> int:
    for index, op in enumerate(ops[:max(most, 0)]):
        places[index] = handles.add(op)
    return len(ops)


@entry
def TF_OperationNumControlInputs(op: Operation) -> int:
    """How many operations it waits for besides its inputs."""
    return len(op.control_inputs)


@entry
def TF_OperationGetControlInputs(op: Operation, control_inputs: Any, max_control_inputs: int) -> int:
    """Which ones; the number of all."""
    return _write(op.control_inputs, control_inputs, max_control_inputs)


@entry
def TF_OperationNumControlOutputs(op: Operation) -> int:
    """How many operations wait for it besides those that take its outputs."""
    return len(_followers(op))


@entry
def TF_OperationGetControlOutputs(op: Operation, control_outputs: Any, max_control_outputs: int) -> int:
    """Which ones; the number of all."""
    return _write(_followers(op), control_outputs, max_control_outputs)


@entry
def TF_OperationToNodeDef(op: Operation, output_node_def: Any) -> None:
    """The operation as a NodeDef."""
    fill(output_node_def, op.node_def.SerializeToString())
