"""Parts of graphs as functions."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.function_pb2 import FunctionDef

from penstock.errors import InvalidArgumentError
from penstock.graph.export import export_with_names
from penstock.graph.function_def import to_function_name
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor


class ArgumentNames:
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


def graph_to_function(graph: Graph, name: str, body: list[Operation] | None, inputs: list[Tensor], outputs: list[Tensor],
                      output_names: list[str] | None, description: str, control_outputs: dict[str, Operation] | None = None) -> FunctionDef:
    """The function of ``inputs`` that computes ``outputs`` by the operations of ``body``; None: by all of the graph but the inputs'.

    ``control_outputs`` run in every call, whether or not an output needs them; their names say so.
    """
    graph_def, name_of = export_with_names(graph)
    sources = {tensor.op for tensor in inputs}
    chosen = None if body is None else {name_of(op) for op in body if op not in sources}
    left_out = {name_of(op) for op in sources}
    nodes = {node.name: node for node in graph_def.node if (node.name in chosen if chosen is not None else node.name not in left_out)}
    proto, names = FunctionDef(), ArgumentNames()
    proto.signature.name, proto.signature.description = name, description
    arguments: dict[str, str] = {}
    for tensor in inputs:
        text = _graph_name(name_of(tensor))
        if text in arguments:
            raise InvalidArgumentError(None, None, f"TF_Output {tensor.name} appears twice in the input list")
        arguments[text] = names.new(tensor.op.name)
        proto.signature.input_arg.add(name=arguments[text], type=tensor.dtype.base_dtype.as_datatype_enum)
    results = output_names if output_names is not None else list(map(ArgumentNames().new, (tensor.op.name for tensor in outputs)))
    for result, tensor in zip(results, outputs):
        if result in proto.ret:
            raise InvalidArgumentError(None, None, f"Cannot have duplicate output names. Name '{result}' appears more than once in 'output_names'")
        proto.signature.output_arg.add(name=result, type=tensor.dtype.base_dtype.as_datatype_enum)
        proto.ret[result] = _inner(_graph_name(name_of(tensor)), arguments, nodes, graph, name)
    for node in nodes.values():
        copy = proto.node_def.add()
        copy.CopyFrom(node)
        copy.input[:] = [_inner(_graph_name(text), arguments, nodes, graph, name) for text in node.input]
    for label, op in (control_outputs or {}).items():
        if name_of(op) not in nodes:
            raise InvalidArgumentError(None, None, f"The control output '{op.name}' is not in the body of the function '{name}'")
        proto.signature.control_output.append(label)
        proto.control_ret[label] = name_of(op)
    return proto


def _graph_name(text: str) -> str:
    """``name`` of the first output, ``name:index`` of others, as inputs of nodes are written."""
    return text.removesuffix(":0")


def _inner(text: str, arguments: dict[str, str], nodes: dict[str, Any], graph: Graph, function: str) -> str:
    """What a tensor of the graph is called in the function."""
    if text in arguments:
        return arguments[text]
    if text.removeprefix("^").partition(":")[0] not in nodes:
        raise InvalidArgumentError(None, None, f"Input '{text}' of a node of the function '{function}' is neither in its body nor one of its inputs")
    return to_function_name(text, nodes, graph._functions)


def graph_to_function_def(graph: Graph, operations: Sequence[Operation], inputs: Sequence[Tensor], outputs: Sequence[Tensor],
                          out_names: Sequence[str] | None = None) -> FunctionDef:
    """``tensorflow.python.framework.graph_to_function_def``: the function, without a name, that computes ``outputs`` of ``inputs``."""
    if out_names is not None and len(out_names) != len(outputs):
        raise ValueError(f"Length of out_names ({len(out_names)}) does not match number of outputs ({len(outputs)}): {', '.join(out_names)}")
    return graph_to_function(graph, "", list(operations), list(inputs), list(outputs), None if out_names is None else list(out_names), "")
