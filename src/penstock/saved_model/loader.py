"""Loading a SavedModel into a session: the graph with the right tags, the values of its variables, its assets."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef

from penstock.checkpoint.protos import SavedModel
from penstock.graph.graph import Graph
from penstock.platform import logging
from penstock.saved_model import constants
from penstock.train.meta_graph import parse_binary_or_text
from penstock.train.saver import Saver, import_meta_graph_with_return_elements
from penstock.variables.naming import prepend_name_scope

_INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"  # where exporters of TensorFlow 2 put the operation that is run first


def _files(export_dir: str) -> list[str]:
    return [os.path.join(export_dir, name) for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)]


def maybe_saved_model_directory(export_dir: str) -> bool:
    """``tf.saved_model.contains_saved_model``: does the folder look like a SavedModel?"""
    return any(map(os.path.exists, _files(os.fsdecode(export_dir))))


contains_saved_model = maybe_saved_model_directory


def parse_saved_model(export_dir: str) -> Any:
    """The SavedModel proto of a folder; IOError if there is none."""
    for path in _files(os.fsdecode(export_dir)):
        if os.path.exists(path):
            with open(path, "rb") as file:
                return parse_binary_or_text(file.read(), SavedModel, path)
    raise OSError(f"SavedModel file does not exist at: {export_dir}/{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}")


def get_saved_model_tag_sets(saved_model_dir: str) -> list[list[str]]:
    """The tags of each graph in a SavedModel."""
    return [list(definition.meta_info_def.tags) for definition in parse_saved_model(saved_model_dir).meta_graphs]


def get_meta_graph_def(saved_model_dir: str, tag_set: str) -> MetaGraphDef:
    """The graph of a SavedModel that has these tags, which are given with commas between them; RuntimeError if there is none."""
    for definition in parse_saved_model(saved_model_dir).meta_graphs:
        if set(definition.meta_info_def.tags) == set(tag_set.split(",")):
            return definition
    raise RuntimeError(f"MetaGraphDef associated with tag-set {tag_set} could not be found in SavedModel; there are "
                       f"{get_saved_model_tag_sets(saved_model_dir)}")


class SavedModelLoader:
    """The steps of ``load``, one by one."""

    def __init__(self, export_dir: str) -> None:
        self._export_dir = os.fsdecode(export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    @property
    def export_dir(self) -> str:
        """The folder."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The checkpoint inside."""
        return os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)

    @property
    def saved_model(self) -> Any:
        """The SavedModel proto."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> MetaGraphDef:
        """The graph that has exactly these tags; RuntimeError, which says what there is, if there is none."""
        wanted = {tags} if isinstance(tags, str) else set(tags)
        there = [set(meta_graph.meta_info_def.tags) for meta_graph in self._saved_model.meta_graphs]
        for meta_graph, tag_set in zip(self._saved_model.meta_graphs, there):
            if tag_set == wanted:
                return meta_graph
        raise RuntimeError(f"MetaGraphDef associated with tags {', '.join(map(repr, sorted(wanted)))} could not be found in SavedModel "
                           f"{self._export_dir}. The tag-sets in it are: {', '.join(str(sorted(tag_set)) for tag_set in there) or 'none'}")

    def load_graph(self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any) -> tuple[Saver | None, Any]:
        """Adds the nodes to ``graph``; returns the saver, and the ``return_elements`` if some were asked for."""
        with graph.as_default():
            return import_meta_graph_with_return_elements(self.get_meta_graph_def_from_tags(tags), import_scope=import_scope, **saver_kwargs)

    def restore_variables(self, sess: Any, saver: Saver | None, import_scope: str | None = None) -> None:
        """Gives the variables their saved values."""
        with sess.graph.as_default():
            if saver is None or saver._is_empty:
                logging.info("The specified SavedModel has no variables; no checkpoints were restored.")
            else:
                saver.restore(sess, self.variables_path)

    def run_init_ops(self, sess: Any, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Runs what the graph wants to be run first; constants with the paths of assets are given those of the copies in the folder."""
        definition = self.get_meta_graph_def_from_tags(tags)
        first = init_op(definition, sess.graph, import_scope)
        if first is not None:
            sess.run(first, _asset_feeds(definition, self._export_dir, import_scope))

    def load(self, sess: Any, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any) -> MetaGraphDef:
        """All of it."""
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def load(sess: Any, tags: Iterable[str], export_dir: str, import_scope: str | None = None, **saver_kwargs: Any) -> MetaGraphDef:
    """``tf.saved_model.loader.load``: adds the graph with these tags to the session's graph and restores it; returns its MetaGraphDef."""
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


def init_op(definition: MetaGraphDef, graph: Graph, import_scope: str | None) -> Any:
    """The operation to run first, or None."""
    if _INIT_OP_SIGNATURE_KEY in definition.signature_def:
        name = definition.signature_def[_INIT_OP_SIGNATURE_KEY].outputs[_INIT_OP_SIGNATURE_KEY].name
        return graph.as_graph_element(prepend_name_scope(name, import_scope))
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in definition.collection_def:
            names = definition.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel main op in the collection {key}. Found: {list(names)}")
            return graph.as_graph_element(prepend_name_scope(names[0], import_scope))
    return None


def _asset_feeds(definition: MetaGraphDef, export_dir: str, import_scope: str | None) -> dict[str, str]:
    assets = list(definition.asset_file_def)
    if not assets and constants.ASSETS_KEY in definition.collection_def:
        assets = [AssetFileDef.FromString(packed.value) for packed in definition.collection_def[constants.ASSETS_KEY].any_list.value]
    folder = os.path.join(export_dir, constants.ASSETS_DIRECTORY)
    return {prepend_name_scope(asset.tensor_info.name, import_scope): os.path.join(folder, asset.filename) for asset in assets}
