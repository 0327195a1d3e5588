"""Writes session bundles: a checkpoint, a MetaGraphDef whose collections hold signatures, and files that the model needs."""
from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from google.protobuf.any_pb2 import Any as AnyProto
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.contrib.session_bundle import constants
from penstock.contrib.session_bundle.manifest import AssetFile, Signature, Signatures
from penstock.estimator import gc
from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.platform import gfile
from penstock.platform.compat import as_str_any
from penstock.train.global_step import global_step as global_step_value
from penstock.train.saver import Saver


def gfile_copy_callback(files_to_copy: dict[Any, Any], export_dir_path: Any) -> None:
    """Copies files, original path -> name, to a folder."""
    gfile.MakeDirs(export_dir_path)
    for source, name in files_to_copy.items():
        gfile.Copy(source, os.path.join(as_str_any(export_dir_path), as_str_any(name)), overwrite=True)


def regression_signature(input_tensor: Tensor, output_tensor: Tensor) -> Any:
    """The signature of a model that predicts a number."""
    signature = Signature()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


def classification_signature(input_tensor: Tensor, classes_tensor: Tensor | None = None, scores_tensor: Tensor | None = None) -> Any:
    """The signature of a model that predicts classes, scores of classes, or both."""
    signature = Signature()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


def generic_signature(name_tensor_map: dict[str, Tensor]) -> Any:
    """The signature of any model: names, and the tensors that they stand for."""
    signature = Signature()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


class Exporter:
    """Exports the model of the current graph, whose variables ``saver`` writes."""

    def __init__(self, saver: Saver) -> None:
        definition = saver.as_saver_def()
        definition.ClearField("max_to_keep")  # exports are kept or removed as a whole
        self._saver = Saver(saver_def=definition)
        self._assets: dict[str, str] = {}
        self._assets_callback: Callable[[dict[str, str], str], Any] | None = None
        self._has_init = False

    def init(self, graph_def: GraphDef | None = None, init_op: Operation | None = None, clear_devices: bool = False,
             default_graph_signature: Any = None, named_graph_signatures: dict[str, Any] | None = None, assets_collection: Any = None,
             assets_callback: Callable[[dict[str, str], str], Any] | None = gfile_copy_callback) -> None:
        """Says what is exported: the graph, the operation that prepares it, its signatures, and constants that are the paths of files."""
        assets = [(_path_of(tensor), tensor) for tensor in assets_collection or ()]
        if self._has_init:
            raise RuntimeError("init should be called only once")
        self._has_init, self._assets_callback = True, assets_callback
        self._assets = {path: os.path.basename(path) for path, _ in assets}
        graph = default_graph()
        if graph_def is not None or clear_devices:
            copy = GraphDef()
            copy.CopyFrom(graph.as_graph_def() if graph_def is None else graph_def)
            for node in copy.node if clear_devices else ():
                node.device = ""
            _collect(constants.GRAPH_KEY, copy)
        if init_op is not None:
            if not isinstance(init_op, Operation):
                raise TypeError(f"init_op needs to be an Operation: {init_op}")
            graph.add_to_collection(constants.INIT_OP_KEY, init_op)
        _collect(constants.SIGNATURES_KEY, Signatures(default_signature=default_graph_signature, named_signatures=named_graph_signatures or {}))
        for path, tensor in assets:
            _collect(constants.ASSETS_KEY, AssetFile(filename=self._assets[path], tensor_binding={"tensor_name": tensor.name}))

    def export(self, export_dir_base: Any, global_step_tensor: Any, sess: Any = None,
               exports_to_keep: Callable[[Any], list[gc.Path]] | None = None) -> bytes:
        """Writes the export of this step in a folder of its own, which has its name once it is complete; returns its path."""
        if not self._has_init:
            raise RuntimeError("init must be called first")
        base = as_str_any(export_dir_base).removesuffix("/")
        folder = os.path.join(base, constants.VERSION_FORMAT_SPECIFIER % global_step_value(sess, global_step_tensor))
        if gfile.Exists(folder):
            raise RuntimeError(f"Overwriting exports can cause corruption and are not allowed. Duplicate export dir: {folder}")
        unfinished = folder + "-tmp"
        gfile.MakeDirs(unfinished)
        self._saver.save(sess, os.path.join(unfinished, constants.EXPORT_BASE_NAME), meta_graph_suffix=constants.EXPORT_SUFFIX_NAME)
        if self._assets and self._assets_callback is not None:
            assets = os.path.join(unfinished, constants.ASSETS_DIRECTORY)
            gfile.MakeDirs(assets)
            self._assets_callback(self._assets, assets)
        gfile.Rename(unfinished, folder)
        if exports_to_keep is not None:
            for path in gc.negation(exports_to_keep)(gc.get_paths(base, _numbered)):
                gfile.DeleteRecursively(path.path)
        return folder.encode()


def _numbered(path: gc.Path) -> gc.Path | None:
    """The path with the number of its export; None for other folders."""
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if re.fullmatch(r"\d{8}", name) else None


def _collect(key: str, message: Any) -> None:
    """Adds a message to a collection, packed under the name that TensorFlow has for it."""
    name = message.DESCRIPTOR.full_name.replace("tensorboard.", "tensorflow.")
    default_graph().add_to_collection(key, AnyProto(type_url=f"type.googleapis.com/{name}", value=message.SerializeToString(deterministic=True)))


def _path_of(tensor: Any) -> str:
    """The path that a constant holds."""
    if not isinstance(tensor, Tensor):
        raise TypeError("tensor is not a Tensor")
    if tensor.op.type != "Const":
        raise TypeError("Only constants tensor are supported")
    if tensor.dtype != dtypes.string:
        raise TypeError("File paths should be string")
    if tensor.shape.ndims != 0:
        raise TypeError("Only scalar tensors are supported")
    path = tensor.op.get_attr("value").string_val[0]
    if not path:
        raise ValueError(f"invalid asset filepath tensor {tensor}")
    return as_str_any(path)
