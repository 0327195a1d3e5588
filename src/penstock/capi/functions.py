"""Functions: parts of graphs as FunctionDefs, and the functions that a graph can call."""
from __future__ import annotations

import hashlib
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.function_pb2 import FunctionDef

from penstock.capi import handles
from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import fill, operations, parsed, read_bytes, tensors, texts
from penstock.errors import InvalidArgumentError
from penstock.graph.graph_to_function import graph_to_function
from penstock.graph.node import Operation


@kind("TF_Function*")
class FunctionHandle:
    """TF_Function."""

    def __init__(self, proto: FunctionDef) -> None:
        self.proto = proto


@entry
def TF_GraphToFunction(fn_body: GraphState, fn_name: str, append_hash: int, num_opers: int, opers: Any, ninputs: int, inputs: Any, noutputs: int,
                       outputs: Any, output_names: Any, opts: Any, description: str | None) -> FunctionHandle:
    """A part of a graph as a function."""
    return TF_GraphToFunctionWithControlOutputs(fn_body, fn_name, append_hash, num_opers, opers, ninputs, inputs, noutputs, outputs, output_names, 0,
                                                None, None, opts, description)


@entry
def TF_GraphToFunctionWithControlOutputs(fn_body: GraphState, fn_name: str, append_hash: int, num_opers: int, opers: Any, ninputs: int, inputs: Any,
                                         noutputs: int, outputs: Any, output_names: Any, ncontrol_outputs: int, control_outputs: Any,
                                         control_output_names: Any, opts: Any, description: str | None) -> FunctionHandle:
    """The same, with operations that run in every call."""
    body = None if num_opers == -1 else operations(opers, num_opers, "opers")
    names = texts(output_names, noutputs, "output_names") if output_names else None
    with fn_body.lock:
        proto = graph_to_function(fn_body.graph, fn_name, body, tensors(inputs, ninputs, "inputs"), tensors(outputs, noutputs, "outputs"), names,
                                  description or "", _control_outputs(control_outputs, ncontrol_outputs, control_output_names))
    if append_hash:
        proto.signature.name += "_" + hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()[:16]
    return FunctionHandle(proto)


def _control_outputs(opers: Any, count: int, names: Any) -> dict[str, Operation]:
    """By the names that they are given, or their own."""
    ops = operations(opers, count, "control_outputs")
    named: dict[str, Operation] = {}
    for name, op in zip(texts(names, count, "control_output_names") if names else [op.name for op in ops], ops):
        if name in named:
            raise InvalidArgumentError(None, None, f"Repeated control output name: {name}")
        named[name] = op
    return named


@entry
def TF_FunctionName(func: FunctionHandle) -> str:
    """Its name."""
    return func.proto.signature.name


@entry
def TF_FunctionToFunctionDef(func: FunctionHandle, output_func_def: Any) -> None:
    """As a proto."""
    fill(output_func_def, func.proto.SerializeToString())


@entry
def TF_FunctionImportFunctionDef(proto: int | None, proto_len: int) -> FunctionHandle:
    """From a proto."""
    return FunctionHandle(parsed(FunctionDef, read_bytes(proto, proto_len), "TF_FunctionImportFunctionDef"))


@entry
def TF_FunctionSetAttrValueProto(func: FunctionHandle, attr_name: str, proto: int | None, proto_len: int) -> None:
    """An attribute of the function itself."""
    func.proto.attr[attr_name].CopyFrom(parsed(AttrValue, read_bytes(proto, proto_len), attr_name))


@entry
def TF_FunctionGetAttrValueProto(func: FunctionHandle, attr_name: str, output_attr_value: Any) -> None:
    """One that was set."""
    if attr_name not in func.proto.attr:
        raise InvalidArgumentError(None, None, f"Function '{func.proto.signature.name}' has no attr named '{attr_name}'.")
    fill(output_attr_value, func.proto.attr[attr_name].SerializeToString())


@entry
def TF_DeleteFunction(func: FunctionHandle | None) -> None:
    """Graphs that it was copied to keep it."""


@entry
def TF_GraphCopyFunction(graph: GraphState, func: FunctionHandle, grad: FunctionHandle | None) -> None:
    """Lets a graph call it. Its gradient follows from its operations; one of its own is kept with it, and not used."""
    with graph.lock:
        for each in (func, grad):
            if each is None:
                continue
            name = each.proto.signature.name
            known = graph.functions.get(name)
            if known is not None and known != each.proto:
                raise InvalidArgumentError(None, None, f"Cannot add function '{name}': a different function with the same name already exists.")
            graph.functions[name] = FunctionDef.FromString(each.proto.SerializeToString())


@entry
def TF_GraphNumFunctions(graph: GraphState) -> int:
    """How many functions it can call."""
    return len(graph.functions)


@entry
def TF_GraphGetFunctions(graph: GraphState, funcs: Any, max_func: int) -> int:
    """New handles of them; how many there are of these."""
    protos = list(graph.functions.values())[:max(max_func, 0)]
    for index, proto in enumerate(protos):
        funcs[index] = handles.add(FunctionHandle(proto))
    return len(protos)
