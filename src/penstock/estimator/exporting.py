"""Exports of an Estimator: SavedModels in folders that are named by the time of the export.

A folder gets its name when it is complete, so that a server that watches for new ones never loads half of one.
"""
from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.estimator.export_outputs import SupervisedOutput, build_all_signature_defs
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, get_collection
from penstock.graph.seeds import set_random_seed
from penstock.platform import logging
from penstock.saved_model.builder import SavedModelBuilder
from penstock.saved_model.constants import TRAIN_OP_KEY
from penstock.saved_model.tag_constants import SERVING, TRAINING
from penstock.session.session import Session
from penstock.train.saver import Saver
from penstock.train.scaffold import Scaffold

TAGS = {ModeKeys.PREDICT: [SERVING], ModeKeys.TRAIN: [TRAINING], ModeKeys.EVAL: ["eval"]}
_ATTEMPTS = 10


def export_all(estimator: Any, export_dir_base: str, receiver_fns: dict[str, Callable[[], Any]], assets_extra: dict[str, str] | None, as_text: bool,
               checkpoint_path: str | None, strip_default_attrs: bool, signatures_of: Callable[..., dict[str, Any]] | None = None) -> bytes:
    """Exports a graph for each mode that has an input receiver function; returns the path of the new folder.

    ``signatures_of(receiver, spec, mode)`` names the inputs and outputs of the graph; by default they are those of receiver and spec.
    """
    path = checkpoint_path or estimator.latest_checkpoint()
    if not path:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    final = timestamped_folder(os.fsdecode(export_dir_base))
    temporary = os.path.join(os.path.dirname(final), f"temp-{os.path.basename(final)}")
    builder = SavedModelBuilder(temporary)
    modes = [mode for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if receiver_fns.get(mode)]
    if not modes:
        raise ValueError("No valid modes for exporting found. Got {}.".format(list(receiver_fns)))
    for number, mode in enumerate(modes):
        _add_mode(estimator, builder, mode, receiver_fns[mode], path, number == 0, strip_default_attrs, signatures_of or _signatures)
    builder.save(as_text)
    for name, source in (assets_extra or {}).items():
        target = os.path.join(temporary, "assets.extra", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
    os.rename(temporary, final)
    return final.encode()


def _signatures(receiver: Any, spec: EstimatorSpec, mode: str) -> dict[str, Any]:
    return build_all_signature_defs(receiver.receiver_tensors, _outputs(spec, mode), getattr(receiver, "receiver_tensors_alternatives", None),
                                    mode == ModeKeys.PREDICT)


def _add_mode(estimator: Any, builder: SavedModelBuilder, mode: str, receiver_fn: Callable[[], Any], path: str, first: bool, strip: bool,
              signatures_of: Callable[..., dict[str, Any]]) -> None:
    with Graph().as_default() as graph:
        estimator._create_global_step(graph)
        set_random_seed(estimator.config.tf_random_seed)
        receiver = receiver_fn()
        spec = estimator._call_model_fn(receiver.features, getattr(receiver, "labels", None), mode, estimator.config)
        signatures = signatures_of(receiver, spec, mode)
        with Session(config=estimator._session_config) as session:
            local_init = spec.scaffold.local_init_op
            local_init = Scaffold.default_local_init_op() if local_init is None else local_init
            saver = spec.scaffold.saver or Saver(sharded=True)
            if mode == ModeKeys.TRAIN and spec.train_op is not None:
                add_to_collection(TRAIN_OP_KEY, spec.train_op)  # SavedModelEstimator trains by it
            _restore(saver, session, path, mode)
            arguments = {"tags": TAGS[mode], "signature_def_map": signatures, "assets_collection": get_collection(GraphKeys.ASSET_FILEPATHS),
                         "main_op": local_init, "saver": saver, "strip_default_attrs": strip}
            if first:
                builder.add_meta_graph_and_variables(session, **arguments)
            else:
                builder.add_meta_graph(**arguments)


def _outputs(spec: EstimatorSpec, mode: str) -> dict[str, Any]:
    if mode == ModeKeys.PREDICT:
        return dict(spec.export_outputs)
    return {mode: SupervisedOutput(mode, spec.loss, spec.predictions, spec.eval_metric_ops)}


def _restore(saver: Saver, session: Session, path: str, mode: str) -> None:
    try:
        saver.restore(session, path)
    except errors.NotFoundError as error:
        raise ValueError("Could not load all requested variables from checkpoint. Please make sure your model_fn does not expect variables that "
                         f"were not saved in the checkpoint.\n\nEncountered error with mode `{mode}` while restoring checkpoint from: `{path}`. "
                         f"{error}") from error


def export_saved_model_for_mode(estimator: Any, export_dir_base: str, input_receiver_fn: Callable[[], Any],
                                assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
                                mode: str = ModeKeys.PREDICT) -> bytes:
    """``tf.contrib.estimator.export_saved_model_for_mode``: ``estimator.export_saved_model`` for a mode."""
    return estimator.export_saved_model(export_dir_base, input_receiver_fn, assets_extra, as_text, checkpoint_path, mode)


def export_all_saved_models(estimator: Any, export_dir_base: str, input_receiver_fn_map: dict[str, Callable[[], Any]],
                            assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None) -> bytes:
    """``tf.contrib.estimator.export_all_saved_models``: ``estimator.experimental_export_all_saved_models``."""
    return estimator.experimental_export_all_saved_models(export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path)


def timestamped_folder(base: str) -> str:
    """The path of a folder below ``base`` that is not there yet, named by the seconds since 1970."""
    for attempt in range(_ATTEMPTS):
        folder = os.path.join(base, str(int(time.time())))
        if not os.path.exists(folder):
            return folder
        time.sleep(1)
        logging.warning("Directory %s already exists; retrying (attempt %s/%s)", folder, attempt + 1, _ATTEMPTS)
    raise RuntimeError(f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts.")
