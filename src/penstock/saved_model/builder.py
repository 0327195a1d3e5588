"""SavedModelBuilder: writes a SavedModel.

    DIR/saved_model.pb             graphs, each with its tags and signatures
    DIR/variables/variables.*      a checkpoint, which all graphs share
    DIR/assets/                    files that the graphs read, such as vocabularies
"""
from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyProto
from tensorboard.compat.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef, SignatureDef
from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock.checkpoint.protos import SavedModel
from penstock.checkpoint.publish import write_atomically
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import get_collection, get_collection_ref
from penstock.graph.static import constant_value
from penstock.platform import logging
from penstock.saved_model import constants, signature_constants, tag_constants
from penstock.saved_model.signatures import predict_signature_def
from penstock.train.saveable import all_saveable_objects
from penstock.train.saver import Saver

_ASSET_URL = "type.googleapis.com/tensorflow.AssetFileDef"  # the name that TensorFlow knows the message by


class SavedModelBuilder:
    """``tf.saved_model.Builder``: add the first graph with the variables, further graphs without, then ``save``."""

    def __init__(self, export_dir: str) -> None:
        self._export_dir = os.fsdecode(export_dir)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(f"Export directory {self._export_dir} already exists, and isn't empty. Please choose a different export directory, "
                                 f"or delete all the contents of the specified directory: {os.listdir(self._export_dir)}")
        os.makedirs(self._export_dir, exist_ok=True)
        self._saved_model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False

    def add_meta_graph_and_variables(self, sess: Any, tags: Iterable[str], signature_def_map: dict[str, SignatureDef] | None = None,
                                     assets_collection: Sequence[Tensor] | None = None, legacy_init_op: Operation | None = None,
                                     clear_devices: bool = False, main_op: Operation | None = None, strip_default_attrs: bool = False,
                                     saver: Saver | None = None) -> None:
        """Adds the current graph, the values that its variables have in ``sess``, and its assets."""
        if self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` instead.")
        _check_signatures(signature_def_map)
        with sess.graph.as_default():
            self._add_collections(assets_collection, legacy_init_op, main_op)
            saver = saver or _make_saver()
            folder = os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            saver.save(sess, os.path.join(folder, constants.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
            self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(self, tags: Iterable[str], signature_def_map: dict[str, SignatureDef] | None = None,
                       assets_collection: Sequence[Tensor] | None = None, legacy_init_op: Operation | None = None, clear_devices: bool = False,
                       main_op: Operation | None = None, strip_default_attrs: bool = False, saver: Saver | None = None) -> None:
        """Adds the current graph, which uses the variables that were saved before."""
        if not self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        _check_signatures(signature_def_map)
        self._add_collections(assets_collection, legacy_init_op, main_op)
        self._add(saver or _make_saver(), tags, signature_def_map, clear_devices, strip_default_attrs)

    def save(self, as_text: bool = False) -> str:
        """Writes ``saved_model.pb`` (``saved_model.pbtxt`` as text), which makes the folder a SavedModel; returns the path."""
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._export_dir, name)
        contents = text_format.MessageToString(self._saved_model).encode() if as_text else self._saved_model.SerializeToString(deterministic=True)
        write_atomically(path, contents)
        logging.info("SavedModel written to: %s", path)
        return path

    def _add(self, saver: Saver, tags: Iterable[str], signatures: dict[str, SignatureDef] | None, clear_devices: bool, strip: bool) -> None:
        definition = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip)
        definition.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            definition.signature_def[key].CopyFrom(signature)
        _list_assets(definition)
        self._saved_model.meta_graphs.add().CopyFrom(definition)

    # --- what the graph needs when it is loaded ----------------------------------------------------------------------

    def _add_collections(self, assets: Sequence[Tensor] | None, legacy_init_op: Operation | None, main_op: Operation | None) -> None:
        _save_assets(self._export_dir, assets)
        for key, op in ((constants.MAIN_OP_KEY, main_op), (constants.LEGACY_INIT_OP_KEY, legacy_init_op)):
            if op is None:
                continue
            if not isinstance(op, Operation):
                raise TypeError(f"{'main_op' if op is main_op else 'legacy_init_op'} needs to be an Operation: {op!r}")
            get_collection_ref(key)[:] = [op]


Builder = SavedModelBuilder


def _make_saver() -> Saver:
    return Saver(all_saveable_objects(), sharded=True, write_version=SaverDef.V2, allow_empty=True)


def _check_signatures(signatures: dict[str, SignatureDef] | None) -> None:
    """AssertionError for a signature that a server of models could not use."""
    for name, signature in (signatures or {}).items():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None:
                raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have the name, coo_sparse or composite_tensor field set "
                                     f"(signature {name!r}): {info}")
            if not info.dtype:
                raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have the dtype field set (signature {name!r}): {info}")


def _save_assets(export_dir: str, assets: Sequence[Tensor] | None) -> None:
    """Copies the files that string constants name, and lists (constant, file) in a collection of the graph."""
    listed = get_collection_ref(constants.ASSETS_KEY)
    targets: dict[str, str] = {}
    for tensor in assets or ():
        source = _asset_path(tensor)
        name = targets.get(source) or _free_name(os.path.basename(source), set(targets.values()))
        targets[source] = name
        folder = os.path.join(export_dir, constants.ASSETS_DIRECTORY)
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, name)):
            shutil.copyfile(source, os.path.join(folder, name))
        asset = AssetFileDef(filename=name)
        asset.tensor_info.name = tensor.name
        packed = AnyProto(type_url=_ASSET_URL, value=asset.SerializeToString())
        if packed not in listed:
            listed.append(packed)
    logging.info("Assets added to graph.")
    if targets:
        logging.info("Assets written to: %s", os.path.join(export_dir, constants.ASSETS_DIRECTORY))
    else:
        logging.info("No assets to write.")


def _asset_path(tensor: Any) -> str:
    value = constant_value(tensor) if isinstance(tensor, Tensor) else None
    if value is None or not isinstance(value.item(), bytes) or not value.item():
        raise ValueError(f"An asset must be a constant string tensor with the path of a file: {tensor}")
    return str(value.item().decode())


def _free_name(name: str, taken: set[str]) -> str:
    """Two files of one name from two folders become ``name`` and ``name_1``."""
    number, free = 0, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _list_assets(definition: MetaGraphDef) -> None:
    """The assets in a field of their own: where TensorFlow looks for them since 1.10."""
    for packed in get_collection(constants.ASSETS_KEY):
        definition.asset_file_def.append(AssetFileDef.FromString(packed.value))
    if get_collection(constants.ASSETS_KEY):
        definition.collection_def[constants.ASSETS_KEY].any_list.value.extend(get_collection(constants.ASSETS_KEY))


def simple_save(session: Any, export_dir: str, inputs: dict[str, Tensor], outputs: dict[str, Tensor],
                legacy_init_op: Operation | None = None) -> None:
    """``tf.saved_model.simple_save``: a SavedModel with one signature, for serving."""
    builder = SavedModelBuilder(export_dir)
    with session.graph.as_default():
        signatures = {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)}
        builder.add_meta_graph_and_variables(session, tags=[tag_constants.SERVING], signature_def_map=signatures,
                                             assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op, clear_devices=True)
    builder.save()
