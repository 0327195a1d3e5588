"""Collections of a graph as CollectionDefs, and back.

Collections of objects that have a proto form (variables, savers, queue runners) are lists of such protos; other collections hold names of tensors and
operations, strings or numbers.
"""
from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.any_pb2 import Any as AnyProto
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.variable_pb2 import VariableDef

from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.variables.naming import prepend_name_scope, strip_name_scope
from penstock.variables.variable import Variable


class ProtoFunctions(NamedTuple):
    """How the items of a collection become protos and come back."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_registry: dict[str, ProtoFunctions] = {}


def register_proto_function(collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None) -> None:
    """Says how the items of a collection become protos (``to_proto(item, export_scope)``) and come back (``from_proto(proto, import_scope)``)."""
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise TypeError("to_proto and from_proto must be callable.")
    _registry[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


def get_collection_proto_type(collection_name: str) -> Any:
    """The proto that the items of a collection become, or None."""
    functions = _registry.get(collection_name)
    return None if functions is None else functions.proto_type


def get_to_proto_function(collection_name: str) -> Any:
    """How the items of a collection become protos, or None."""
    functions = _registry.get(collection_name)
    return None if functions is None else functions.to_proto


def get_from_proto_function(collection_name: str) -> Any:
    """How the items of a collection come back from protos, or None."""
    functions = _registry.get(collection_name)
    return None if functions is None else functions.from_proto


for _key in (*GraphKeys._VARIABLE_COLLECTIONS, GraphKeys.GLOBAL_STEP):
    register_proto_function(_key, VariableDef, lambda variable, export_scope=None: variable.to_proto(export_scope), Variable.from_proto)


# --- out -------------------------------------------------------------------------------------------------------------

def add_collection_def(meta_graph_def: MetaGraphDef, key: str, graph: Graph, export_scope: str | None = None) -> None:
    """Adds a collection of ``graph``, with names inside ``export_scope``; one that cannot be written is left out, with a warning."""
    items = graph.get_collection(key)
    if not isinstance(key, str) or not items:
        return
    try:
        kind, values = _encode_items(key, items, export_scope)
        if values:
            getattr(meta_graph_def.collection_def[key], kind).value.extend(values)
    except (TypeError, ValueError, AttributeError) as error:
        meta_graph_def.collection_def.pop(key, None)
        logging.warning("Issue encountered when serializing %s.\nType is unsupported, or the types of the items don't match field type in "
                        "CollectionDef. Note this is a warning and probably safe to ignore.\n%s", key, error)


def _encode_items(key: str, items: list[Any], scope: str | None) -> tuple[str, list[Any]]:
    to_proto = get_to_proto_function(key)
    if to_proto is not None and not isinstance(items[0], bytes):
        protos = [to_proto(item, export_scope=scope) for item in items]
        return "bytes_list", [proto.SerializeToString() for proto in protos if proto is not None]
    first = items[0]
    if isinstance(first, (str, bytes)):
        return "bytes_list", [item.encode() if isinstance(item, str) else item for item in items]
    if isinstance(first, AnyProto):
        return "any_list", items
    if isinstance(first, numbers.Integral):
        return "int64_list", items
    if isinstance(first, numbers.Real):
        return "float_list", items
    return "node_list", [strip_name_scope(item.name, scope) for item in items if not scope or item.name.startswith(scope)]


# --- in --------------------------------------------------------------------------------------------------------------

def restore_collections(meta_graph_def: MetaGraphDef, graph: Graph, scope: str, wanted: Callable[[str], bool]) -> list[Variable]:
    """Fills the collections of ``graph``, into which the nodes were imported under ``scope``; returns the variables.

    A variable that is in several collections is one object.
    """
    variables: dict[bytes, Variable] = {}
    for key, collection in sorted(meta_graph_def.collection_def.items()):
        kind = collection.WhichOneof("kind")
        if kind is None:
            logging.error("Cannot identify data type for collection %s. Skipping.", key)
        elif wanted(key):
            for value in getattr(collection, kind).value:
                graph.add_to_collection(key, _decode_item(key, kind, value, graph, scope, variables))
    return list(variables.values())


def _parse_proto(kind: Any, key: str, value: bytes) -> Any:
    try:
        return kind.FromString(value)
    except DecodeError as error:
        raise ValueError(f"The collection {key!r} is damaged: {error}") from None


def _decode_item(key: str, kind: str, value: Any, graph: Graph, scope: str, variables: dict[bytes, Variable]) -> Any:
    functions = _registry.get(key)
    if kind == "bytes_list" and functions is not None and functions.from_proto is not None:
        if functions.proto_type is VariableDef:
            if value not in variables:
                variables[value] = functions.from_proto(_parse_proto(VariableDef, key, value), import_scope=scope)
            return variables[value]
        return functions.from_proto(_parse_proto(functions.proto_type, key, value), import_scope=scope)
    if kind == "node_list":
        return graph.as_graph_element(prepend_name_scope(value, scope))
    if kind == "any_list":
        return value
    return int(value) if kind == "int64_list" else value
