"""Importing GraphDefs into graphs."""
from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.capi import handles
from penstock.capi.entries import entry, kind
from penstock.capi.handles import GraphState
from penstock.capi.memory import from_buffer, write_output
from penstock.capi.structs import Output
from penstock.errors import InvalidArgumentError
from penstock.graph.graph import Graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.node import Operation, Tensor


@kind("TF_ImportGraphDefOptions*")
class ImportOptions:
    """TF_ImportGraphDefOptions."""

    def __init__(self) -> None:
        self.prefix = self.device = ""
        self.uniquify_names = self.uniquify_prefix = False
        self.validate_colocation = True
        self.mapped: dict[tuple[str, int], Tensor] = {}
        self.remapped: dict[str, Operation] = {}  # control inputs
        self.waits_for: list[Operation] = []
        self.outputs: list[tuple[str, int]] = []
        self.operations: list[str] = []


@kind("TF_ImportGraphDefResults*")
class ImportResults:
    """TF_ImportGraphDefResults; the memory that C is shown of it lives as long."""

    def __init__(self, outputs: list[Tensor], operations: list[Operation], missing: list[tuple[str, int]]) -> None:
        self.tensors = outputs
        self.outputs = (Output * len(outputs))()
        for place, tensor in zip(self.outputs, outputs):
            write_output(place, tensor)
        self.operations = (ctypes.c_void_p * len(operations))(*[handles.add(op) for op in operations])
        self.missing_names = (ctypes.c_char_p * len(missing))(*[name.encode() for name, _ in missing])
        self.missing_indices = (ctypes.c_int * len(missing))(*[index for _, index in missing])


@contextmanager
def unchanged_if_it_fails(graph: Graph) -> Iterator[None]:
    """Takes away what was added to a graph inside a block that raises."""
    size, names = len(graph._ops), dict(graph._names)
    try:
        yield
    except BaseException:
        for op in reversed(graph._ops[size:]):
            for tensor in op._inputs:
                tensor._consumers.remove(op)
            del graph._by_name[op.name]
        del graph._ops[size:]
        graph._names.clear()
        graph._names.update(names)
        graph._note_change()
        raise


def import_into(state: GraphState, graph_def: GraphDef, options: ImportOptions) -> ImportResults:
    """Adds the nodes of a GraphDef; if something is wrong with it, nothing is added."""
    graph = state.graph
    nodes = {node.name: node for node in graph_def.node}
    used = {_place(text) for node in graph_def.node for text in node.input}
    _check_colocation(graph_def, options, nodes)
    missing = [key for key in options.mapped if key[0] not in nodes and key not in used]
    waiting = _without_remapped(graph_def, options)
    scope = _scope(graph, options)
    renamed = _rename(graph, graph_def, f"{scope}/" if scope else "", options.uniquify_names)
    if options.device:
        for node in graph_def.node:
            node.device = node.device or options.device
    mapped = {f"{renamed.get(name, name)}:{index}": tensor for (name, index), tensor in options.mapped.items() if (name, index) not in missing}
    wanted = [f"{renamed.get(name, name)}:{index}" for name, index in options.outputs] + [renamed.get(name, name) for name in options.operations]
    everything = list(dict.fromkeys([*wanted, *(renamed.get(name, name) for name, _ in waiting)]))
    with state.lock, unchanged_if_it_fails(graph), graph.as_default(), graph.control_dependencies(options.waits_for):
        imported: dict[str, Any] = dict(zip(everything, import_graph_def(graph_def, mapped, everything, name=f"{scope}/" if scope else "") or []))
        for name, op in waiting:
            imported[renamed.get(name, name)]._add_control_input(op)
    for function in graph_def.library.function:
        state.functions.setdefault(function.signature.name, function)
    elements: list[Any] = [imported[text] for text in wanted]
    return ImportResults(elements[:len(options.outputs)], elements[len(options.outputs):], missing)


def _check_colocation(graph_def: GraphDef, options: ImportOptions, nodes: Collection[str]) -> None:
    """Nodes that are to be where another one is, which is not imported: an error, or, if that is not wanted, they may be anywhere."""
    for node in graph_def.node:
        groups = node.attr["_class"].list.s if "_class" in node.attr else []
        unknown = [group for group in groups if group.startswith(b"loc:@") and group[5:].decode() not in nodes]
        if unknown and options.validate_colocation:
            raise InvalidArgumentError(None, None, f"Node '{node.name}' expects to be colocated with unknown node '{unknown[0][5:].decode()}'")
        for group in unknown:
            groups.remove(group)


def _place(text: str) -> tuple[str, int]:
    name, _, index = text.partition(":")
    return name, int(index) if index.isdigit() else 0


def _without_remapped(graph_def: GraphDef, options: ImportOptions) -> list[tuple[str, Operation]]:
    """Takes the control inputs that are remapped out of the nodes; (name of a node, what it waits for instead)."""
    waiting = []
    for node in graph_def.node:
        names = [text[1:] for text in node.input if text.startswith("^") and text[1:] in options.remapped]
        for name in names:
            node.input.remove(f"^{name}")
            waiting.append((node.name, options.remapped[name]))
    return waiting


def _scope(graph: Graph, options: ImportOptions) -> str:
    """The prefix without a slash at its end; with a number, if it is taken and that is wanted."""
    prefix = options.prefix.rstrip("/")
    if not prefix or not options.uniquify_prefix:
        return prefix
    number, unique = 0, prefix
    while unique in graph._by_name or any(name.startswith(f"{unique}/") for name in graph._by_name):
        number += 1
        unique = f"{prefix}_{number}"
    return unique


def _rename(graph: Graph, graph_def: GraphDef, prefix: str, uniquify: bool) -> dict[str, str]:
    """New names for the nodes whose names are taken, which the GraphDef has from now on; an error if that is not wanted."""
    taken = [node.name for node in graph_def.node if prefix + node.name in graph._by_name]
    if taken and not uniquify:
        raise InvalidArgumentError(None, None, f"Node name '{prefix}{taken[0]}' already exists in the Graph")
    if not taken:
        return {}
    others = {node.name for node in graph_def.node}
    renamed: dict[str, str] = {}
    for name in taken:
        number = 1
        while f"{name}_{number}" in others or prefix + f"{name}_{number}" in graph._by_name:
            number += 1
        renamed[name] = f"{name}_{number}"
        others.add(renamed[name])
    for node in graph_def.node:
        node.name = renamed.get(node.name, node.name)
        node.input[:] = [_renamed_input(text, renamed) for text in node.input]
        for index, group in enumerate(node.attr["_class"].list.s if "_class" in node.attr else ()):
            name = group.decode().removeprefix("loc:@")
            node.attr["_class"].list.s[index] = f"loc:@{renamed.get(name, name)}".encode()
    return renamed


def _renamed_input(text: str, renamed: dict[str, str]) -> str:
    control = "^" if text.startswith("^") else ""
    name, colon, index = text.removeprefix("^").partition(":")
    return control + renamed.get(name, name) + colon + index


# --- options ---------------------------------------------------------------------------------------------------------

@entry
def TF_NewImportGraphDefOptions() -> ImportOptions:
    """Names are taken as they are, and must be new."""
    return ImportOptions()


@entry
def TF_DeleteImportGraphDefOptions(opts: ImportOptions | None) -> None:
    """Nothing else is to be done."""


@entry
def TF_ImportGraphDefOptionsSetPrefix(opts: ImportOptions, prefix: str | None) -> None:
    """A scope for the names."""
    opts.prefix = prefix or ""


@entry
def TF_ImportGraphDefOptionsSetDefaultDevice(opts: ImportOptions, device: str | None) -> None:
    """For the nodes that have none."""
    opts.device = device or ""


@entry
def TF_ImportGraphDefOptionsSetUniquifyNames(opts: ImportOptions, uniquify_names: int) -> None:
    """Names that are taken get a number."""
    opts.uniquify_names = bool(uniquify_names)


@entry
def TF_ImportGraphDefOptionsSetUniquifyPrefix(opts: ImportOptions, uniquify_prefix: int) -> None:
    """A prefix that is taken gets a number."""
    opts.uniquify_prefix = bool(uniquify_prefix)


@entry
def TF_ImportGraphDefOptionsSetValidateColocationConstraints(opts: ImportOptions, enable: int) -> None:
    """Whether colocation with a node that is not imported is an error: it is, if nothing is said."""
    opts.validate_colocation = bool(enable)


@entry
def TF_ImportGraphDefOptionsAddInputMapping(opts: ImportOptions, src_name: str, src_index: int, dst: Tensor) -> None:
    """``dst`` takes the place of a tensor of the GraphDef."""
    opts.mapped[src_name, src_index] = dst


@entry
def TF_ImportGraphDefOptionsRemapControlDependency(opts: ImportOptions, src_name: str, dst: Operation) -> None:
    """What waits for a node of the GraphDef waits for ``dst`` instead."""
    opts.remapped[src_name] = dst


@entry
def TF_ImportGraphDefOptionsAddControlDependency(opts: ImportOptions, oper: Operation) -> None:
    """All that is imported waits for ``oper``."""
    opts.waits_for.append(oper)


@entry
def TF_ImportGraphDefOptionsAddReturnOutput(opts: ImportOptions, oper_name: str, index: int) -> None:
    """A tensor to be returned."""
    opts.outputs.append((oper_name, index))


@entry
def TF_ImportGraphDefOptionsNumReturnOutputs(opts: ImportOptions) -> int:
    """How many of them there are."""
    return len(opts.outputs)


@entry
def TF_ImportGraphDefOptionsAddReturnOperation(opts: ImportOptions, oper_name: str) -> None:
    """An operation to be returned."""
    opts.operations.append(oper_name)


@entry
def TF_ImportGraphDefOptionsNumReturnOperations(opts: ImportOptions) -> int:
    """How many of them there are."""
    return len(opts.operations)


# --- imports, results ------------------------------------------------------------------------------------------------

@entry
def TF_GraphImportGraphDefWithResults(graph: GraphState, graph_def: Any, options: ImportOptions | None) -> ImportResults:
    """Adds a GraphDef, and tells what came of it."""
    return import_into(graph, from_buffer(GraphDef, graph_def), options or ImportOptions())


@entry
def TF_GraphImportGraphDefWithReturnOutputs(graph: GraphState, graph_def: Any, options: ImportOptions | None, return_outputs: Any,
                                            num_return_outputs: int) -> None:
    """The same, with room for the tensors that are asked for."""
    options = options or ImportOptions()
    if num_return_outputs != len(options.outputs):
        raise InvalidArgumentError(None, None, f"Expected 'num_return_outputs' to be {len(options.outputs)}, got {num_return_outputs}")
    for index, tensor in enumerate(import_into(graph, from_buffer(GraphDef, graph_def), options).tensors):
        write_output(return_outputs[index], tensor)


@entry
def TF_GraphImportGraphDef(graph: GraphState, graph_def: Any, options: ImportOptions | None) -> None:
    """The same, with nothing returned."""
    import_into(graph, from_buffer(GraphDef, graph_def), options or ImportOptions())


@entry
def TF_ImportGraphDefResultsReturnOutputs(results: ImportResults, num_outputs: Any, outputs: Any) -> None:
    """The tensors that were asked for."""
    num_outputs[0], outputs[0] = len(results.outputs), ctypes.cast(results.outputs, ctypes.POINTER(Output))


@entry
def TF_ImportGraphDefResultsReturnOperations(results: ImportResults, num_opers: Any, opers: Any) -> None:
    """The operations that were asked for."""
    num_opers[0], opers[0] = len(results.operations), ctypes.addressof(results.operations)


@entry
def TF_ImportGraphDefResultsMissingUnusedInputMappings(results: ImportResults, number: Any, src_names: Any, src_indexes: Any) -> None:
    """What was mapped, and is not in the GraphDef."""
    number[0], src_names[0] = len(results.missing_names), ctypes.addressof(results.missing_names)
    src_indexes[0] = ctypes.cast(results.missing_indices, ctypes.POINTER(ctypes.c_int))


@entry
def TF_DeleteImportGraphDefResults(results: ImportResults | None) -> None:
    """With the arrays that it has shown."""
