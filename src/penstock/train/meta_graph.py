"""MetaGraphs: a graph, its collections and its saver in one proto, exported and imported, whole or a part under a scope."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from google.protobuf.wrappers_pb2 import Int64Value
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.op_def_pb2 import OpList
from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock.checkpoint.publish import write_atomically
from penstock.graph.attrs import REQUIRED, to_proto
from penstock.graph.graph import Graph, default_graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.keys import GraphKeys
from penstock.graph.opdef import REGISTRY
from penstock.train.collection_protos import add_collection_def, register_proto_function, restore_collections
from penstock.variables.naming import strip_name_scope
from penstock.variables.variable import Variable

__all__ = ["export_scoped_meta_graph", "import_scoped", "import_scoped_meta_graph", "ops_used_by_graph_def", "read_meta_graph",
           "read_meta_graph_file", "register_proto_function", "stripped_op_list_for_graph"]

VERSION = "1.15.5"  # of TensorFlow's API: what a reader may expect of the graph
_GIT_VERSION = "penstock"
_UNBOUND = "$unbound_inputs_"  # before the names of inputs that lie outside of an exported scope


# --- out -------------------------------------------------------------------------------------------------------------

def export_scoped_meta_graph(filename: str | None = None, graph_def: GraphDef | None = None, graph: Graph | None = None,
                             export_scope: str | None = None, as_text: bool = False, unbound_inputs_col_name: str | None = "unbound_inputs",
                             clear_devices: bool = False, saver_def: SaverDef | None = None, clear_extraneous_savers: bool = False,
                             strip_default_attrs: bool = False, save_debug_info: bool = False, meta_info_def: Any = None,
                             collection_list: Any = None) -> tuple[MetaGraphDef, dict[str, Variable]]:
    """The MetaGraphDef of a graph, or of what lies under ``export_scope``, and {name: variable}; it is also written to ``filename``."""
    graph = graph or default_graph()
    scope = export_scope.rstrip("/") if export_scope else None
    nodes = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
    unbound: list[str] = []
    if scope or clear_devices or strip_default_attrs or clear_extraneous_savers:
        nodes = _edited_graph(nodes, scope, clear_devices, strip_default_attrs, saver_def if clear_extraneous_savers else None, unbound)
    definition = MetaGraphDef(graph_def=nodes)
    _add_meta_info(definition, meta_info_def, strip_default_attrs)
    if graph_def is None and scope is None:
        definition.meta_info_def.any_info.Pack(Int64Value(value=graph.counted_operations()))
    if saver_def is not None:
        definition.saver_def.CopyFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if not (clear_extraneous_savers and key == GraphKeys.SAVERS):
            add_collection_def(definition, key, graph, scope)
    if unbound and unbound_inputs_col_name:
        definition.collection_def[unbound_inputs_col_name].bytes_list.value.extend(name.encode() for name in unbound)
    if filename is not None:
        write_graph(definition, os.path.dirname(filename), os.path.basename(filename), as_text)
    variables = {strip_name_scope(variable.name, scope): variable for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)}
    return definition, variables


def _add_meta_info(definition: MetaGraphDef, given: Any, stripped: bool) -> None:
    if given is not None:
        definition.meta_info_def.CopyFrom(given)
    info = definition.meta_info_def
    if not info.HasField("stripped_op_list"):
        info.stripped_op_list.CopyFrom(stripped_op_list_for_graph(definition.graph_def))
    info.tensorflow_version = info.tensorflow_version or VERSION
    info.tensorflow_git_version = info.tensorflow_git_version or _GIT_VERSION
    info.stripped_default_attrs = stripped


def ops_used_by_graph_def(graph_def: GraphDef) -> list[str]:
    """The types of the operations that a graph uses, also in the functions that it calls."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    used: set[str] = set()
    bodies = [graph_def.node]
    while bodies:
        types = {node.op for node in bodies.pop()} - used
        used |= types
        bodies += [functions[op_type].node_def for op_type in types if op_type in functions]
    return sorted(used - functions.keys())


def stripped_op_list_for_graph(graph_def: GraphDef) -> OpList:
    """The signatures of the operations that a graph uses."""
    return OpList(op=[REGISTRY[op_type].proto for op_type in ops_used_by_graph_def(graph_def) if op_type in REGISTRY])


def _edited_graph(source: GraphDef, scope: str | None, clear_devices: bool, strip: bool, only_saver: SaverDef | None, unbound: list[str]) -> GraphDef:
    """A copy of a graph that is limited to a scope, to one saver, and so on."""
    result = GraphDef()
    result.versions.CopyFrom(source.versions)
    kept = re.compile(re.escape(scope) + "/") if scope else re.compile("")
    for node in source.node:
        if not kept.match(node.name) or (only_saver is not None and _is_of_other_saver(node.name, only_saver)):
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        if clear_devices:
            copy.device = ""
        if strip:
            _strip_defaults(copy)
        if scope:
            _move_out(copy, scope, unbound)
    return result


def _is_of_other_saver(name: str, saver: SaverDef) -> bool:
    own = saver.restore_op_name.rpartition("/")[0]
    return bool(re.match(r"save(_\d+)?/", name)) and name.partition("/")[0] != own


def _strip_defaults(node: Any) -> None:
    for name, attr in REGISTRY[node.op].attrs.items() if node.op in REGISTRY else ():
        if attr.default is not REQUIRED and name in node.attr and node.attr[name] == to_proto(attr.kind, attr.default):
            del node.attr[name]


def _move_out(node: Any, scope: str, unbound: list[str]) -> None:
    """Takes the scope off all names; inputs from outside of it become unbound."""
    node.name = strip_name_scope(node.name, scope)
    inputs = list(node.input)
    del node.input[:]
    for name in inputs:
        if name.lstrip("^").startswith(scope + "/"):
            node.input.append(strip_name_scope(name, scope))
        elif not name.startswith("^"):
            node.input.append(_UNBOUND + name)
            if _UNBOUND + name not in unbound:
                unbound.append(_UNBOUND + name)
    if "_class" in node.attr:
        inside = f"loc:@{scope}/".encode()
        groups = [b"loc:@" + group.removeprefix(inside) for group in node.attr["_class"].list.s if group.startswith(inside)]
        del node.attr["_class"]
        if groups:
            node.attr["_class"].list.s.extend(groups)


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """``tf.train.write_graph``: writes a graph, GraphDef or MetaGraphDef to ``logdir/name``, as text or binary; returns the path."""
    proto = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    logdir = os.fspath(logdir)
    os.makedirs(logdir or ".", exist_ok=True)
    path = os.path.join(logdir, name)
    write_atomically(path, text_format.MessageToString(proto).encode() if as_text else proto.SerializeToString(deterministic=True))
    return path


# --- in --------------------------------------------------------------------------------------------------------------

def read_meta_graph(meta_graph_or_file: Any) -> MetaGraphDef:
    """A MetaGraphDef, or the one in a file."""
    return meta_graph_or_file if isinstance(meta_graph_or_file, MetaGraphDef) else read_meta_graph_file(meta_graph_or_file)


def read_meta_graph_file(filename: Any) -> MetaGraphDef:
    """The MetaGraphDef in a file, binary or text; IOError if there is none."""
    filename = os.fspath(filename)
    if not os.path.exists(filename):
        raise OSError(f"File {filename} does not exist.")
    with open(filename, "rb") as file:
        contents = file.read()
    return parse_binary_or_text(contents, MetaGraphDef, filename)


def parse_binary_or_text(contents: bytes, kind: Any, filename: str) -> Any:
    """The proto of a file that may be in either form; IOError, naming the file, if it is in neither."""
    try:
        return kind.FromString(contents)
    except DecodeError as binary_error:
        try:
            return text_format.Parse(contents.decode(), kind())
        except UnicodeDecodeError:
            raise OSError(f"Cannot parse file {filename}: {binary_error}.") from None
        except text_format.ParseError as error:
            raise OSError(f"Cannot parse file {filename}: {error}.") from None


def copy_scoped_meta_graph(from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None) -> dict[str, Any]:
    """Copies what is in a scope, with its collections, into another scope or graph; returns the variables of the copy by their names."""
    from_graph = from_graph or default_graph()
    to_graph = to_graph or default_graph()
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError("'from_scope' and 'to_scope' need to be different when performing copy in the same graph.")
    exported, copied = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    variables = import_scoped_meta_graph(exported, graph=to_graph, import_scope=to_scope)
    return {name: variables[name] for name in copied}


def import_scoped_meta_graph(meta_graph_or_file: Any, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
                             input_map: dict[str, Any] | None = None, unbound_inputs_col_name: str | None = "unbound_inputs",
                             restore_collections_predicate: Callable[[str], bool] = lambda key: True) -> dict[str, Variable]:
    """Adds a saved graph and its collections to ``graph``; returns {name in the saved graph: variable}."""
    return import_scoped(read_meta_graph(meta_graph_or_file), clear_devices, graph, import_scope, input_map, unbound_inputs_col_name,
                         restore_collections_predicate)[0]


def import_scoped(definition: MetaGraphDef, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
                  input_map: dict[str, Any] | None = None, unbound_inputs_col_name: str | None = "unbound_inputs",
                  restore_collections_predicate: Callable[[str], bool] = lambda key: True,
                  return_elements: Any = None) -> tuple[dict[str, Variable], Any, str]:
    """({name in the saved graph: variable}, the ``return_elements``, the scope that it went into)."""
    graph = graph or default_graph()
    nodes = definition.graph_def
    if clear_devices:
        nodes = _edited_graph(nodes, None, True, False, None, [])
    _check_unbound(definition, unbound_inputs_col_name, input_map)
    with graph.as_default():
        scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
        with _counting_as_saved(definition, graph):
            elements = import_graph_def(nodes, input_map, return_elements, name=import_scope or "")
        variables = restore_collections(definition, graph, scope or graph.get_name_scope(), restore_collections_predicate)
    return {strip_name_scope(variable.name, scope): variable for variable in variables}, elements, scope


@contextmanager
def _counting_as_saved(definition: MetaGraphDef, graph: Graph) -> Iterator[None]:
    """A graph that was saved here counts as what TensorFlow would have saved, for the seeds of layers that are added to it."""
    info, count = definition.meta_info_def, Int64Value()
    if info.tensorflow_git_version == _GIT_VERSION and info.any_info.Unpack(count):
        with graph.counting_as(count.value):
            yield
    else:
        yield


def _check_unbound(definition: MetaGraphDef, collection: str | None, input_map: dict[str, Any] | None) -> None:
    if not collection or collection not in definition.collection_def:
        return
    needed = [name.decode() for name in definition.collection_def[collection].bytes_list.value]
    missing = sorted(name for name in needed if name not in (input_map or {}))
    if missing:
        raise ValueError(f"Graph contains unbound inputs: {', '.join(missing)}. Must provide these inputs through input_map.")
