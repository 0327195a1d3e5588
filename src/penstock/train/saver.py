"""``tf.train.Saver``: saves variables to checkpoints, restores them, and removes old checkpoints."""
from __future__ import annotations

import numbers
import os
import time
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.saver_pb2 import SaverDef

from penstock import errors
from penstock.checkpoint import checkpoint_state
from penstock.checkpoint.claims import claim_folders, remove_abandoned_folders
from penstock.graph.graph import default_graph
from penstock.graph.input_proto import QueueRunnerDef
from penstock.graph.keys import GraphKeys
from penstock.graph.static import constant_value
from penstock.platform import logging
from penstock.train import meta_graph
from penstock.train.global_step import global_step as read_global_step
from penstock.train.queue_runner import QueueRunner
from penstock.train.saveable import all_saveable_objects
from penstock.train.saver_builder import BaseSaverBuilder, BulkSaverBuilder
from penstock.train.saver_mismatches import describe_mismatches
from penstock.train.saver_objects import restore_objects
from penstock.train.saver_snapshot import SAVED, SNAPSHOT, BackgroundSave
from penstock.train.saver_values import read_values, variables_by_name, write_values
from penstock.variables.naming import prepend_name_scope, strip_name_scope

_HOUR = 3600.0


class MissingCheckpointError(errors.NotFoundError, ValueError):
    """There is no checkpoint. Up to TensorFlow 1.4 that was a NotFoundError, and programs wait for it."""


class Saver:
    """Saves and restores variables.

    >>> import penstock as tf, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([1.0, 2.0], name="w")
    ...     saver = tf.train.Saver()
    ...     sess.run(w.initializer)
    ...     path = saver.save(sess, folder + "/model", global_step=7)
    ...     sess.run(w.assign([0.0, 0.0]))
    ...     saver.restore(sess, path)
    ...     os.path.basename(path), sess.run(w)
    array([0., 0.], dtype=float32)
    ('model-7', array([1., 2.], dtype=float32))

    ``asynchronous=True`` is Penstock's own: ``save`` then takes a snapshot of the variables, which needs no copies, and returns; a thread writes it
    while training goes on. The checkpoint is there after ``wait()``. The next ``save``, ``restore`` and the end of the session wait by themselves,
    and raise what went wrong.
    """

    def __init__(self, var_list: Any = None, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
                 keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
                 saver_def: SaverDef | None = None, builder: BaseSaverBuilder | None = None, defer_build: bool = False, allow_empty: bool = False,
                 write_version: int = SaverDef.V2, pad_step_number: bool = False, save_relative_paths: bool = False,
                 filename: str | None = None, asynchronous: bool = False) -> None:
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None.")
        self._var_list, self._reshape, self._sharded, self._max_to_keep = var_list, reshape, sharded, max_to_keep
        self._keep_hours, self._name, self._restore_sequentially = keep_checkpoint_every_n_hours, name, restore_sequentially
        self.saver_def, self._builder, self._allow_empty = saver_def, builder, allow_empty
        self._write_version, self._pad_step_number, self._filename = write_version, pad_step_number, filename
        self._save_relative_paths, self._asynchronous = save_relative_paths, asynchronous
        self._named = variables_by_name(var_list) if default_graph().imperative else None  # imperative style: values, no nodes and no session
        self._background = BackgroundSave()
        self._is_built = self._is_empty = False
        self._last_checkpoints: list[tuple[str, float]] = []
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        if saver_def is not None:
            _check_saver_def(saver_def)
            self._write_version = saver_def.version
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the nodes to the graph; only needed after ``defer_build=True``."""
        if self._is_built:
            return
        self._is_built = True
        if self._named is not None:
            self.saver_def = SaverDef(max_to_keep=self._max_to_keep or 0, keep_checkpoint_every_n_hours=self._keep_hours, version=self._write_version)
            self._next_checkpoint_time = time.time() + self._keep_hours * _HOUR
            return
        if self.saver_def is None:
            self._var_list = all_saveable_objects() if self._var_list is None else self._var_list
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            builder = self._builder or BulkSaverBuilder(self._write_version)
            self.saver_def = builder._build_internal(
                self._var_list, reshape=self._reshape, sharded=self._sharded, max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_hours, name=self._name, restore_sequentially=self._restore_sequentially,
                filename=self._filename, **({"asynchronous": True} if self._asynchronous else {}))
        elif self._name:
            self.saver_def = _renamed_saver_def(self.saver_def, lambda text: prepend_name_scope(text, self._name))
        _check_saver_def(self.saver_def)
        self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * _HOUR

    # --- saving ------------------------------------------------------------------------------------------------------

    def save(self, sess: Any, save_path: str, global_step: Any = None, latest_filename: str | None = None, meta_graph_suffix: str = "meta",
             write_meta_graph: bool = True, write_state: bool = True, strip_default_attrs: bool = False,
             save_debug_info: bool = False) -> str | None:
        """Saves the variables as ``save_path`` (with ``-STEP`` behind it if there is a ``global_step``); returns the name of the checkpoint.

        When it returns, the checkpoint is complete, and ``tf.train.latest_checkpoint`` finds it; that of an asynchronous saver is after ``wait()``.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if self._named is None and not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        save_path, latest_filename = os.fsdecode(save_path), latest_filename or "checkpoint"
        if os.path.dirname(latest_filename):
            raise ValueError("'latest_filename' must not contain path components")
        self.wait()
        checkpoint_file = self._file_for(sess, save_path, global_step, latest_filename)

        def finish(path: str) -> None:
            if write_state:
                self._record(path)
                checkpoint_state.update_checkpoint_state(os.path.dirname(save_path), path, self.last_checkpoints, latest_filename,
                                                         save_relative_paths=self._save_relative_paths)
                self._delete_old(meta_graph_suffix)

        beside = self._asynchronous and not self._is_empty and self._named is None
        path: str | None = None
        if beside:
            self._run_snapshot(sess)
            path = checkpoint_file
        elif not self._is_empty:
            path = self._run_save(sess, checkpoint_file, save_path)
        if write_meta_graph and self._named is None:
            with sess.graph.as_default():
                self.export_meta_graph(checkpoint_state.meta_graph_filename(checkpoint_file, meta_graph_suffix),
                                       strip_default_attrs=strip_default_attrs)
        if beside:
            self._background.start(lambda: finish(self._run_save(sess, checkpoint_file, save_path)))
        elif path is not None:
            finish(path)
        return path

    def wait(self) -> None:
        """Returns when the checkpoint that an asynchronous ``save`` began is complete; raises what went wrong with it."""
        self._background.wait()

    def _run_snapshot(self, sess: Any) -> None:
        try:
            snapshot = sess.graph.get_operation_by_name(self._sibling_name(SNAPSHOT))
        except KeyError:
            raise ValueError("This saver cannot save asynchronously: its nodes were made by one that is not asynchronous") from None
        if hasattr(sess, "before_close"):
            sess.before_close(self.wait)
        sess.run(snapshot)

    def _sibling_name(self, name: str) -> str:
        """The name of a node in the scope of this saver's nodes."""
        return self.as_saver_def().filename_tensor_name.rpartition("/")[0] + "/" + name

    def _file_for(self, sess: Any, save_path: str, global_step: Any, latest_filename: str) -> str:
        if global_step is not None:
            step = int(global_step) if isinstance(global_step, numbers.Integral) else read_global_step(sess, global_step)
            return f"{save_path}-{step:08d}" if self._pad_step_number else f"{save_path}-{step}"
        if os.path.basename(save_path) == latest_filename and not self._sharded:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'")
        return save_path

    def _run_save(self, sess: Any, checkpoint_file: str, save_path: str) -> str:
        if self._named is not None:
            return write_values(self._named, checkpoint_file)
        saver_def = self.as_saver_def()
        tensor = f"{self._sibling_name(SAVED)}:0" if self._asynchronous else saver_def.save_tensor_name
        try:
            remove_abandoned_folders(os.path.dirname(checkpoint_file))
            with claim_folders(self._folders(sess, checkpoint_file)):
                saved = sess.run(tensor, {saver_def.filename_tensor_name: checkpoint_file})
        except errors.OpError as error:
            parent = os.path.dirname(save_path)
            if isinstance(error, (errors.FailedPreconditionError, errors.NotFoundError)) and parent and not os.path.isdir(parent):
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from error
            raise
        return saved.decode() if isinstance(saved, bytes) else str(saved)

    def _folders(self, sess: Any, checkpoint_file: str) -> list[str]:
        """Where the devices put their parts of a sharded checkpoint until all are there."""
        if not self.as_saver_def().sharded:
            return []
        joined = [op for op in sess.graph.get_tensor_by_name(self.as_saver_def().filename_tensor_name).consumers() if op.type == "StringJoin"]
        endings = [constant_value(op.inputs[1]) for op in joined]
        return [os.path.dirname(checkpoint_file + os.fsdecode(ending.item())) for ending in endings if ending is not None]

    def _record(self, path: str) -> None:
        """Remembers a new checkpoint, and which old one is one too many."""
        kept = self.as_saver_def().max_to_keep
        if kept <= 0:
            return
        self._last_checkpoints = [(other, when) for other, when in self._last_checkpoints if other != path]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > kept:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _delete_old(self, meta_graph_suffix: str) -> None:
        if not self._checkpoints_to_be_deleted:
            return
        path, when = self._checkpoints_to_be_deleted.pop(0)
        if when > self._next_checkpoint_time:  # one in so many hours stays
            self._next_checkpoint_time += self.as_saver_def().keep_checkpoint_every_n_hours * _HOUR
            return
        try:
            checkpoint_state.remove_checkpoint(path, self._write_version, meta_graph_suffix)
        except OSError as error:
            logging.warning("Ignoring: %s", error)

    # --- restoring ---------------------------------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Gives the variables the values that they have in a checkpoint; they need no initialization."""
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = os.fsdecode(save_path)
        self.wait()
        if not checkpoint_state.checkpoint_exists(save_path):
            raise MissingCheckpointError(None, None, f"The passed save_path is not a valid checkpoint: {save_path}")
        logging.info("Restoring parameters from %s", save_path)
        if self._named is not None:
            read_values(self._named, save_path)
            return
        saver_def = self.as_saver_def()
        try:
            sess.run(saver_def.restore_op_name, {saver_def.filename_tensor_name: save_path})
        except errors.NotFoundError as error:
            if restore_objects(sess, save_path, self._var_list):
                return
            raise _restore_error(error, "a Variable name or other graph key that is missing from the checkpoint") from error
        except errors.InvalidArgumentError as error:
            mismatches = describe_mismatches(sess.graph, saver_def.filename_tensor_name, save_path)
            raise _restore_error(error, "a mismatch between the current graph and the graph from the checkpoint", mismatches) from error

    # --- what is kept ------------------------------------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The names of the checkpoints that are kept, the oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Iterable[str]) -> None:
        """Sets the list of kept checkpoints (deprecated: it knows no times)."""
        self.set_last_checkpoints_with_time([(path, float("inf")) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Sets the list of kept checkpoints and when they were made."""
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError("a list of (path, time) is needed")
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Iterable[str]) -> None:
        """Takes over the checkpoints of an earlier run, those of them that are still there."""
        existing = [path for path in checkpoint_paths if checkpoint_state.is_there(os.fsdecode(path))]
        self.set_last_checkpoints_with_time(list(zip(existing, checkpoint_state.get_checkpoint_mtimes(existing))))

    # --- protos ------------------------------------------------------------------------------------------------------

    def as_saver_def(self) -> SaverDef:
        """The SaverDef, which names the nodes of this saver."""
        if self.saver_def is None:
            raise RuntimeError("the Saver has not been built" if not self._is_built else "the Saver has nothing to save")
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """The SaverDef with names inside ``export_scope``; None if the saver is outside of it."""
        saver_def = self.as_saver_def()
        if export_scope is None:
            return saver_def
        if not all(name.startswith(export_scope) for name in (saver_def.filename_tensor_name, saver_def.save_tensor_name,
                                                              saver_def.restore_op_name)):
            return None
        return _renamed_saver_def(saver_def, lambda text: strip_name_scope(text, export_scope))

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """The saver whose nodes, which are in the graph already, a SaverDef names."""
        return Saver(saver_def=saver_def, name=import_scope)

    @staticmethod
    def _MetaGraphFilename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
        """For programs that know it by this name."""
        return checkpoint_state.meta_graph_filename(checkpoint_filename, meta_graph_suffix)

    def export_meta_graph(self, filename: str | None = None, collection_list: Any = None, as_text: bool = False, export_scope: str | None = None,
                          clear_devices: bool = False, clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
                          save_debug_info: bool = False) -> Any:
        """Writes the graph, its collections and this saver to ``filename``; returns the MetaGraphDef."""
        return export_meta_graph(filename, saver_def=self.saver_def,
                                 collection_list=collection_list, as_text=as_text, export_scope=export_scope, clear_devices=clear_devices,
                                 clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs)


def _check_saver_def(saver_def: Any) -> None:
    if not isinstance(saver_def, SaverDef):
        raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
    if not saver_def.save_tensor_name and not saver_def.restore_op_name:
        raise ValueError(f"saver_def must specify the save_tensor_name: {saver_def}")


def _renamed_saver_def(saver_def: SaverDef, rename: Any) -> SaverDef:
    changed = SaverDef()
    changed.CopyFrom(saver_def)
    for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
        setattr(changed, field, rename(getattr(saver_def, field)))
    return changed


def _restore_error(error: errors.OpError, reason: str, details: str = "") -> errors.OpError:
    return type(error)(None, error.op, f"Restoring from checkpoint failed. This is most likely due to {reason}. Please ensure that you have not "
                                       f"altered the graph expected based on the checkpoint.{details or ' '}Original error:\n\n{error.message}")


# --- graphs with their collections and their saver -------------------------------------------------------------------

def export_meta_graph(filename: str | None = None, meta_info_def: Any = None, graph_def: Any = None, saver_def: SaverDef | None = None,
                      collection_list: Any = None, as_text: bool = False, graph: Any = None, export_scope: str | None = None,
                      clear_devices: bool = False, clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
                      save_debug_info: bool = False, **kwargs: Any) -> Any:
    """``tf.train.export_meta_graph``: the graph, its collections and its saver as a MetaGraphDef, which is written to ``filename``."""
    exported, _ = meta_graph.export_scoped_meta_graph(
        filename=filename, graph_def=graph_def, graph=graph, export_scope=export_scope, as_text=as_text, clear_devices=clear_devices,
        saver_def=saver_def, collection_list=collection_list, meta_info_def=meta_info_def, strip_default_attrs=strip_default_attrs,
        clear_extraneous_savers=clear_extraneous_savers, **kwargs)
    return exported


def import_meta_graph(meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any) -> Saver | None:
    """``tf.train.import_meta_graph``: adds a saved graph and its collections to the current graph; returns its saver, None if it has no variables."""
    return import_meta_graph_with_return_elements(meta_graph_or_file, clear_devices, import_scope, **kwargs)[0]


def import_meta_graph_with_return_elements(meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None,
                                           return_elements: Any = None, **kwargs: Any) -> tuple[Saver | None, Any]:
    """``import_meta_graph`` that also returns the tensors and operations called ``return_elements``."""
    definition = meta_graph.read_meta_graph(meta_graph_or_file)
    _, elements, scope = meta_graph.import_scoped(definition, clear_devices=clear_devices, import_scope=import_scope,
                                                  return_elements=return_elements, **kwargs)
    if definition.HasField("saver_def"):
        return Saver(saver_def=definition.saver_def, name=scope or None), elements
    if all_saveable_objects(scope or None):
        return Saver(), elements
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None, elements


meta_graph.register_proto_function(GraphKeys.QUEUE_RUNNERS, proto_type=QueueRunnerDef, to_proto=QueueRunner.to_proto,
                                   from_proto=QueueRunner.from_proto)
meta_graph.register_proto_function(GraphKeys.SAVERS, proto_type=SaverDef, to_proto=Saver.to_proto, from_proto=Saver.from_proto)
