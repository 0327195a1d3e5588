"""Functions in a GraphDef: the graphs that ops call (``Dataset.map``) as FunctionDefs of its library, and back.

In a FunctionDef a tensor has another name than in a GraphDef: ``node:output:index`` with the name of the output in the op's signature, where a
GraphDef has ``node:number``; an argument is named alone. Names of nodes are those inside of the function's own scope.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.errors import OpError
from penstock.graph import dtypes
from penstock.graph.exporter import NONE_KEPT, Exporter, Kept, is_flow
from penstock.graph.function import FuncGraph, FunctionSignature, is_effect
from penstock.graph.function_calls import add_function, call_definition, outputs_of
from penstock.graph.graph import Graph, default_graph
from penstock.graph.importer import Importer, check_types
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.tensor_proto import expanded_bytes

_NOT_INLINED = "_noinline"  # attribute of a function: a call of it stays one node
_IN_PLACE = "_in_place"  # attribute of a function: the body of a conditional or loop, whose operations have names of the graph around it


def separate_function(name: str, outer: Graph) -> FuncGraph:
    """A new function with a name scope of its own, so that the names of its ops are those of no other op."""
    function = FuncGraph(name, outer)
    function._name_stack = ""
    function._name_stack = function.scope = function.name = function.unique_name(name)
    return function


def named_function(name: str, outer: Graph, kind: type[FuncGraph] = FuncGraph) -> FuncGraph:
    """A new function that nodes call by exactly this name; the name of its scope is another one, since calls are often named after it."""
    function = kind(name, outer)
    function._name_stack = ""
    function._name_stack = function.scope = function.unique_name(f"{name}_body")
    return function


# --- names -----------------------------------------------------------------------------------------------------------

Functions = dict[str, FuncGraph]  # those that nodes may call by their names


def _outputs(node: NodeDef, functions: Functions) -> Iterator[tuple[str, int]]:
    """(name in the signature, number of tensors) of each output of a node."""
    names = outputs_of(node.op, functions)
    if names is not None:
        yield from ((name, 1) for name in names)
        return
    for arg in REGISTRY[node.op].outputs:
        length = 1
        if arg.type_list_attr is not None:
            length = len(node.attr[arg.type_list_attr].list.type)
        elif arg.number_attr is not None:
            length = node.attr[arg.number_attr].i
        yield arg.name, length


def to_function_name(text: str, nodes: dict[str, NodeDef], functions: Functions) -> str:
    """What a FunctionDef calls a tensor of one of ``nodes`` that a GraphDef calls ``text``."""
    name, _, number = text.partition(":")
    if text.startswith("^") or name not in nodes:
        return text
    index = int(number or 0)
    for output, length in _outputs(nodes[name], functions):
        if index < length:
            return f"{name}:{output}:{index}"
        index -= length
    raise ValueError(f"there is no tensor {text!r}")


def to_graph_name(text: str, nodes: dict[str, NodeDef], functions: Functions) -> str:
    """The other way round."""
    name, *rest = text.split(":")
    if len(rest) != 2 or name not in nodes:
        return text
    start = 0
    for output, length in _outputs(nodes[name], functions):
        if output == rest[0] and int(rest[1]) < length:
            return f"{name}:{start + int(rest[1])}"
        start += length
    raise ValueError(f"there is no tensor {text!r}: {nodes[name].op} has no such output")


def _inside(text: str, function: FuncGraph) -> str:
    """A name without the scope of the function."""
    control = "^" if text.startswith("^") else ""
    return control + text.removeprefix(control).removeprefix(function.scope + "/")


# --- out -------------------------------------------------------------------------------------------------------------

def called_functions(operations: Iterable[Operation], kept: Kept = NONE_KEPT) -> list[FuncGraph]:
    """The functions that are written to the library: all that these ops call, and that those call.

    Of conditionals and loops, those that stay what they are; the others are written as nodes.
    """
    called: dict[FuncGraph, None] = {}
    seen = set[FuncGraph]()
    stack = list(operations)
    while stack:
        op = stack.pop()
        functions = [function for value in op.attrs.values() for function in _with_gradients(value) if function not in seen]
        if not is_flow(op):
            called.update((function, None) for function in functions)
        elif kept.keeps(op):
            kept.add(op)
            called.update((function, None) for function in functions)
        seen.update(functions)
        stack.extend(inner for function in functions for inner in function._ops)
    return list(called)


def _with_gradients(value: Any) -> list[FuncGraph]:
    """A function, its gradient, if that is a function of its own, and the gradient of that: what an attribute has a library contain."""
    functions: list[FuncGraph] = []
    while isinstance(value, FuncGraph):
        functions.append(value)
        value = value.signature.gradient if value.signature is not None else None
    return functions


def to_function_def(function: FuncGraph, kept: Kept = NONE_KEPT) -> FunctionDef:
    """A function as a proto; what it captures are further arguments."""
    exporter, signature = Exporter(function, False, kept), function.signature or _plain_signature(function)
    exporter.rename(dict(zip(function.inputs, signature.arguments)))
    exporter.emit(function, None)
    for node in exporter.nodes:
        node.name = _inside(node.name, function)
        node.input[:] = [_inside(text, function) for text in node.input]
    nodes = {node.name: node for node in exporter.nodes}
    proto = FunctionDef()
    proto.signature.name = kept.names.get(function, function.name)
    if function in kept.names:
        proto.attr[_IN_PLACE].b = True
    proto.signature.description = signature.description
    proto.signature.is_stateful = bool(function.effects)
    if signature.stays_call:
        proto.attr[_NOT_INLINED].b = True
    for index, (name, tensor) in enumerate(zip(signature.arguments, function.inputs)):
        proto.signature.input_arg.add(name=name, type=tensor.dtype.base_dtype.as_datatype_enum, is_ref=tensor.dtype.is_ref)
        proto.arg_attr[index].attr["_output_shapes"].list.shape.append(tensor.shape.as_proto())
    for name, tensor in zip(signature.results, function.outputs):
        proto.signature.output_arg.add(name=name, type=tensor.dtype.base_dtype.as_datatype_enum)
        proto.ret[name] = to_function_name(_inside(exporter.input_name(tensor), function), nodes, function._functions)
    for node in exporter.nodes:
        node.input[:] = [to_function_name(text, nodes, function._functions) for text in node.input]
    proto.node_def.extend(exporter.nodes)
    return proto


def _plain_signature(function: FuncGraph) -> FunctionSignature:
    return FunctionSignature([f"arg_{index}" for index in range(len(function.inputs))], [f"result_{index}" for index in range(len(function.outputs))])


def to_library(functions: Iterable[FuncGraph], kept: Kept = NONE_KEPT) -> FunctionDefLibrary:
    """Functions, and which of them are gradients of which others."""
    library = FunctionDefLibrary()
    for function in functions:
        library.function.append(to_function_def(function, kept))
        if function.signature is not None and function.signature.gradient is not None:
            library.gradient.add(function_name=function.name, gradient_func=function.signature.gradient.name)
    return library


# --- what a file may become ------------------------------------------------------------------------------------------

_FEW_OUTPUTS = 1 << 17  # that any graph may have; a larger one as many as it has bytes: to use an output takes some
_SMALL, _FACTOR = 64 << 20, 1000  # bytes that the constants of any graph may take; those of a larger one, times its own size


def _check_constants(graph_def: GraphDef, size: int) -> None:
    """ValueError if the constants of a graph and its functions would take much more memory than the graph itself."""
    nodes = chain(graph_def.node, *(function.node_def for function in graph_def.library.function))
    total = sum(expanded_bytes(node.attr["value"].tensor) for node in nodes if "value" in node.attr)
    if total > max(_SMALL, _FACTOR * size):
        raise ValueError(f"the constants of a graph of {size} bytes would take {total}: too much for their file to be an honest one")


# --- in --------------------------------------------------------------------------------------------------------------

class MissingFunction(str):
    """The name of a function that could not be imported, and the ``reason``: an op that calls it can be imported, but not run."""

    reason = "it is not in the library of the GraphDef"


class FunctionLibrary:
    """The functions of a GraphDef that is imported into ``graph``, each made when the first op needs it."""

    def __init__(self, graph_def: GraphDef, graph: Graph) -> None:
        self._protos = {proto.signature.name: proto for proto in graph_def.library.function}
        self._gradients = {each.function_name: each.gradient_func for each in graph_def.library.gradient}
        self._graph = graph
        self._functions: dict[str, Any] = {}
        size = graph_def.ByteSize()
        self._outputs_left = max(_FEW_OUTPUTS, size)
        _check_constants(graph_def, size)

    def count_outputs(self, node: NodeDef, count: int) -> None:
        """A node is about to be given so many outputs. ValueError if, together, they are more than a graph of this size has a use for."""
        self._outputs_left -= count
        if self._outputs_left < 0:
            raise ValueError(f"Node {node.name!r} ({node.op}) declares {count} outputs: more than a graph of this size can use")

    def get(self, name: str) -> Any:
        """The function of this name; a MissingFunction if there is none, or it uses what Penstock does not have."""
        if name not in self._functions:
            missing = self._functions[name] = MissingFunction(name)  # also for a function that calls itself
            if name in self._protos:
                try:
                    self._functions[name] = self._make(self._protos[name])
                except (OpError, ValueError, KeyError) as error:
                    missing.reason = str(error)
        return self._functions[name]

    def __contains__(self, op_type: str) -> bool:
        """Whether nodes of this type call a function of the library, or one that the graph knows."""
        return op_type in self._protos or op_type in self._graph._functions

    def definition(self, op_type: str) -> OpDef:
        """The op type of this name, which may be that of a function."""
        if op_type in REGISTRY:
            return REGISTRY[op_type]
        return call_definition(self._callable(op_type))

    def _callable(self, name: str) -> FuncGraph:
        """A function that nodes call by its name. ValueError if it uses what Penstock does not have, or calls itself."""
        known = self._graph._functions.get(name)
        if known is not None and (name not in self._protos or name in self._functions or _same(known, self._protos[name])):
            return known
        function = self.get(name)
        if isinstance(function, MissingFunction):
            raise ValueError(f"the function {name!r} cannot be called: {function.reason}")
        function.name = name
        add_function(self._graph, function)
        return function

    def _make(self, proto: FunctionDef) -> FuncGraph:
        name, scope = re.sub(r"\W+", "_", proto.signature.name).strip("_"), ""
        if _has(proto, _IN_PLACE):
            function = FuncGraph(name, self._graph)
            function._name_stack = ""
        else:
            function = named_function(name, self._graph)
            function.name = proto.signature.name + function.scope.removeprefix(f"{name}_body")  # another import may have one of this name
            scope = f"{function.scope}/"
            function.signature = self._signature(proto)
        with function.as_default():
            arguments = {arg.name: self._argument(function, proto, index) for index, arg in enumerate(proto.signature.input_arg)}
            function.outputs = _add_body(proto, arguments, scope, function, self)
            names = {f"{scope}{name}" for name in proto.control_ret.values()}
            function.effects = [op for op in function._ops if op.name in names or (proto.signature.is_stateful and is_effect(op))]
        return function

    def _signature(self, proto: FunctionDef) -> FunctionSignature:
        signature, gradient = proto.signature, self._gradients.get(proto.signature.name)
        return FunctionSignature([arg.name for arg in signature.input_arg], [arg.name for arg in signature.output_arg], signature.description,
                                 _has(proto, _NOT_INLINED), None if gradient is None else self._callable(gradient),
                                 proto.SerializeToString(deterministic=True))

    @staticmethod
    def _argument(function: FuncGraph, proto: FunctionDef, index: int) -> Tensor:
        arg = proto.signature.input_arg[index]
        shapes = proto.arg_attr[index].attr["_output_shapes"].list.shape if index in proto.arg_attr else ()
        dtype = dtypes.as_dtype(arg.type)
        return function.add_input(dtype._as_ref if arg.is_ref else dtype, TensorShape(shapes[0]) if shapes else unknown_shape(), arg.name)


def _has(proto: FunctionDef, attribute: str) -> bool:
    return attribute in proto.attr and proto.attr[attribute].b  # (a look at a missing one would add it)


def _same(function: FuncGraph, proto: FunctionDef) -> bool:
    """Whether a function is the one that a proto defines."""
    known = function.signature.proto if function.signature is not None else None
    return (known or to_function_def(function).SerializeToString(deterministic=True)) == proto.SerializeToString(deterministic=True)


def _add_body(proto: FunctionDef, arguments: dict[str, Tensor], scope: str, graph: Graph, library: FunctionLibrary) -> list[Tensor]:
    """Adds the nodes of a function to ``graph``; returns its outputs."""
    nodes = {node.name: node for node in proto.node_def}
    graph_def = GraphDef(node=proto.node_def)
    check_types(graph_def, library)
    for node in graph_def.node:
        library.definition(node.op)  # a function that it calls is made now: its outputs have names
    for node in graph_def.node:
        node.input[:] = [to_graph_name(text, nodes, graph._functions) for text in node.input]
    used = {text for node in graph_def.node for text in node.input}
    importer = Importer(graph, graph_def, scope, {name: tensor for name, tensor in arguments.items() if name in used}, library=library)
    importer.run()
    results = [to_graph_name(proto.ret[arg.name], nodes, graph._functions) for arg in proto.signature.output_arg]
    return [arguments[text] if text in arguments else importer.element(text) for text in results]  # type: ignore[misc]


def inline(proto: FunctionDef, inputs: list[Tensor], scope: str) -> list[Tensor]:
    """What a function computes of ``inputs``, by nodes in the current graph, under ``scope``."""
    graph = default_graph()
    arguments = {arg.name: tensor for arg, tensor in zip(proto.signature.input_arg, inputs)}
    return _add_body(proto, arguments, scope, graph, FunctionLibrary(GraphDef(), graph))
