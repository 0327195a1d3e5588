"""Functions: parts of graphs as FunctionDefs, and the functions that a graph can call."""
from __future__ import annotations

import hashlib
import re
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.function_pb2 import FunctionDef

from penstock.capi import handles
from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import fill, operations, parsed, read_bytes, tensors, texts
from penstock.errors import InvalidArgumentError
from penstock.graph.export import export_with_names
from penstock.graph.function_def import to_function_name
from penstock.graph.node import Operation, Tensor


@kind("TF_Function*")
class Function:
    """TF_Function."""

    def __init__(self, proto: FunctionDef) -> None:
        self.proto = proto


class _Names:
    """Names for arguments and results: those of their operations, in small letters, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, name: str) -> str:
        """A name like this one."""
        plain = re.sub(r"[^a-z0-9]", "_", name.lower())
        plain = plain if plain[:1].isalpha() else f"arg{plain}" if plain.startswith("_") else f"arg_{plain}"
        number, unique = 0, plain
        while unique in self._taken:
            unique, number = f"{plain}_{number}", number + 1
        self._taken.add(unique)
        return unique


def function_def(state: GraphState, name: str, body: list[Operation] | None, inputs: list[Tensor], outputs: list[Tensor],
                 output_names: list[str] | None, description: str) -> FunctionDef:
    """The function of ``inputs`` that computes ``outputs`` by the operations of ``body``; None: by all of the graph but the inputs'."""
    graph_def, name_of = export_with_names(state.graph)
    sources = {tensor.op for tensor in inputs}
    chosen = None if body is None else {name_of(op) for op in body if op not in sources}
    left_out = {name_of(op) for op in sources}
    nodes = {node.name: node for node in graph_def.node if (node.name in chosen if chosen is not None else node.name not in left_out)}
    proto, names = FunctionDef(), _Names()
    proto.signature.name, proto.signature.description = name, description
    arguments: dict[str, str] = {}
    for tensor in inputs:
        text = _graph_name(name_of(tensor))
        if text in arguments:
            raise InvalidArgumentError(None, None, f"TF_Output {tensor.name} appears twice in the input list")
        arguments[text] = names.new(tensor.op.name)
        proto.signature.input_arg.add(name=arguments[text], type=tensor.dtype.base_dtype.as_datatype_enum)
    results = output_names if output_names is not None else [_Names().new(tensor.op.name) for tensor in outputs]
    if len(set(results)) != len(results):
        results = list(map(_Names().new, results)) if output_names is None else results
    for result, tensor in zip(results, outputs):
        if result in proto.ret:
            raise InvalidArgumentError(None, None, f"Cannot have duplicate output names. Name '{result}' appears more than once in 'output_names'")
        proto.signature.output_arg.add(name=result, type=tensor.dtype.base_dtype.as_datatype_enum)
        proto.ret[result] = _inner(_graph_name(name_of(tensor)), arguments, nodes, name)
    for node in nodes.values():
        copy = proto.node_def.add()
        copy.CopyFrom(node)
        copy.input[:] = [_inner(_graph_name(text), arguments, nodes, name) for text in node.input]
    return proto


def _graph_name(text: str) -> str:
    """``name`` of the first output, ``name:index`` of others, as inputs of nodes are written."""
    return text.removesuffix(":0")


def _inner(text: str, arguments: dict[str, str], nodes: dict[str, Any], function: str) -> str:
    """What a tensor of the graph is called in the function."""
    if text in arguments:
        return arguments[text]
    if text.removeprefix("^").partition(":")[0] not in nodes:
        raise InvalidArgumentError(None, None, f"Input '{text}' of a node of the function '{function}' is neither in its body nor one of its inputs")
    return to_function_name(text, nodes)


@entry
def TF_GraphToFunction(fn_body: GraphState, fn_name: str, append_hash: int, num_opers: int, opers: Any, ninputs: int, inputs: Any, noutputs: int,
                       outputs: Any, output_names: Any, opts: Any, description: str | None) -> Function:
    """A part of a graph as a function."""
    body = None if num_opers == -1 else operations(opers, num_opers, "opers")
    names = texts(output_names, noutputs, "output_names") if output_names else None
    with fn_body.lock:
        proto = function_def(fn_body, fn_name, body, tensors(inputs, ninputs, "inputs"), tensors(outputs, noutputs, "outputs"), names,
                             description or "")
    if append_hash:
        proto.signature.name += "_" + hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()[:16]
    return Function(proto)


@entry
def TF_FunctionName(func: Function) -> str:
    """Its name."""
    return func.proto.signature.name


@entry
def TF_FunctionToFunctionDef(func: Function, output_func_def: Any) -> None:
    """As a proto."""
    fill(output_func_def, func.proto.SerializeToString())


@entry
def TF_FunctionImportFunctionDef(proto: int | None, proto_len: int) -> Function:
    """From a proto."""
    return Function(parsed(FunctionDef, read_bytes(proto, proto_len), "TF_FunctionImportFunctionDef"))


@entry
def TF_FunctionSetAttrValueProto(func: Function, attr_name: str, proto: int | None, proto_len: int) -> None:
    """An attribute of the function itself."""
    func.proto.attr[attr_name].CopyFrom(parsed(AttrValue, read_bytes(proto, proto_len), attr_name))


@entry
def TF_FunctionGetAttrValueProto(func: Function, attr_name: str, output_attr_value: Any) -> None:
    """One that was set."""
    if attr_name not in func.proto.attr:
        raise InvalidArgumentError(None, None, f"Function '{func.proto.signature.name}' has no attr named '{attr_name}'.")
    fill(output_attr_value, func.proto.attr[attr_name].SerializeToString())


@entry
def TF_DeleteFunction(func: Function | None) -> None:
    """Graphs that it was copied to keep it."""


@entry
def TF_GraphCopyFunction(graph: GraphState, func: Function, grad: Function | None) -> None:
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
        funcs[index] = handles.add(Function(proto))
    return len(protos)
