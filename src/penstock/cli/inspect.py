"""``penstock inspect FILE``: what is in a checkpoint, a SavedModel, or a file with a graph."""
from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

from penstock.checkpoint.contents import checkpoint_path
from penstock.checkpoint.reader import Checkpoint
from penstock.checkpoint.versions import open_checkpoint
from penstock.errors import OpError
from penstock.graph.dtypes import as_dtype
from penstock.graph.shape import TensorShape
from penstock.saved_model.loader import maybe_saved_model_directory, parse_saved_model
from penstock.train.meta_graph import parse_binary_or_text


def main(argv: list[str]) -> int:
    """Runs the command; the exit code is 1 if the file cannot be read."""
    parser = argparse.ArgumentParser(prog="penstock inspect", description="Show what is in a checkpoint, a SavedModel or a graph.")
    parser.add_argument("file", metavar="FILE", help="a checkpoint (model.ckpt-100, or one of its files, or a folder with checkpoints), "
                                                     "a SavedModel's folder, a .meta file, a GraphDef (.pb, .pbtxt)")
    parser.add_argument("name", nargs="*", metavar="NAME", help="only these tensors, with their values")
    parser.add_argument("--values", action="store_true", help="the values too, long ones shortened")
    parser.add_argument("--all-values", action="store_true", help="the values too, all of them")
    options = parser.parse_args(argv)
    try:
        _show(options)
    except (OSError, ValueError, OpError) as error:
        print(f"penstock inspect: {error}", file=sys.stderr)
        return 1
    return 0


def _show(options: argparse.Namespace) -> None:
    path = options.file
    if os.path.isdir(path) and maybe_saved_model_directory(path):
        _show_saved_model(path)
    elif path.endswith(".meta"):
        with open(path, "rb") as file:
            _show_meta_graph(parse_binary_or_text(file.read(), MetaGraphDef, path))
    elif path.endswith((".pb", ".pbtxt")):
        _show_graph_file(path)
    else:
        _show_checkpoint(open_checkpoint(_prefix(path)), options)


def _prefix(path: str) -> str:
    """The name of a checkpoint, for the name of one of its files or of the folder that it is in."""
    return checkpoint_path(path.removesuffix(".index").partition(".data-")[0])


# --- checkpoints -----------------------------------------------------------------------------------------------------

def _show_checkpoint(checkpoint: Checkpoint, options: argparse.Namespace) -> None:
    names = options.name or sorted(checkpoint.tensors)
    stored = {name: checkpoint.stored(name) for name in names}
    width = max(map(len, names), default=0)
    for name, tensor in stored.items():
        parts = f"  in {len(tensor.parts)} parts" if tensor.parts else ""
        print(f"{name:<{width}}  {tensor.dtype.name:<10} {list(tensor.shape)}{parts}")
        if options.values or options.all_values or options.name:
            with np.printoptions(threshold=sys.maxsize if options.all_values else 100, linewidth=120):
                print("    " + str(checkpoint.read(name)).replace("\n", "\n    "))
    elements = sum(int(np.prod(tensor.shape)) for tensor in stored.values())
    print(f"{len(stored)} tensors, {elements:,} elements")


# --- graphs ----------------------------------------------------------------------------------------------------------

def _show_graph_file(path: str) -> None:
    """A ``.pb`` file does not say what it is: a GraphDef is tried first."""
    with open(path, "rb") as file:
        contents = file.read()
    try:
        _show_graph(parse_binary_or_text(contents, GraphDef, path))
    except (OSError, DecodeError):
        _show_meta_graph(parse_binary_or_text(contents, MetaGraphDef, path))


def _show_graph(graph_def: GraphDef) -> None:
    types = Counter(node.op for node in graph_def.node)
    for node in graph_def.node:
        if node.op.startswith("Placeholder"):
            print(f"input     {node.name}  {as_dtype(node.attr['dtype'].type).name} {TensorShape(node.attr['shape'].shape)}")
        elif node.op in ("VariableV2", "Variable", "VarHandleOp"):
            print(f"variable  {node.name}  {as_dtype(node.attr['dtype'].type).name} {TensorShape(node.attr['shape'].shape)}")
    used = {name.lstrip("^").partition(":")[0] for node in graph_def.node for name in node.input}
    for node in graph_def.node:
        if node.name not in used:
            print(f"end       {node.name}  {node.op}")
    print(f"{len(graph_def.node)} nodes: " + ", ".join(f"{count} {op}" for op, count in types.most_common()))


def _show_meta_graph(meta_graph: MetaGraphDef) -> None:
    _show_graph(meta_graph.graph_def)
    for key, collection in sorted(meta_graph.collection_def.items()):
        kind = collection.WhichOneof("kind")
        print(f"collection {key}: {len(getattr(collection, kind).value) if kind else 0} items")


def _show_saved_model(path: str) -> None:
    for meta_graph in parse_saved_model(path).meta_graphs:
        print(f"tags: {', '.join(meta_graph.meta_info_def.tags)}  ({len(meta_graph.graph_def.node)} nodes)")
        for key, signature in sorted(meta_graph.signature_def.items()):
            print(f"  signature {key}  {signature.method_name}")
            _show_infos("in ", signature.inputs)
            _show_infos("out", signature.outputs)


def _show_infos(label: str, infos: Any) -> None:
    for name, info in sorted(infos.items()):
        where = info.name or info.coo_sparse.values_tensor_name
        print(f"    {label} {name}: {as_dtype(info.dtype).name} {TensorShape(info.tensor_shape)}  {where}")
