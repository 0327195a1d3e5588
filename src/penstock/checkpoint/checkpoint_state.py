"""The file ``checkpoint`` in a folder of checkpoints: which one is the latest, and which others there are.

Paths in it are relative to the folder, or absolute, as the program wrote them.
"""
from __future__ import annotations

import contextlib
import glob
import logging
import os
from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import text_format

from penstock.checkpoint.claims import remove_if_there, temporary_path
from penstock.checkpoint.protos import CheckpointState
from penstock.checkpoint.publish import data_path, index_path, write_atomically
from penstock.checkpoint.version1 import files_of
from penstock.errors import NotFoundError

_log = logging.getLogger("tensorflow")
_V1 = 1  # SaverDef.V1


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, latest_filename or "checkpoint")


def generate_checkpoint_state_proto(save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: Sequence[str] | None = None,
                                    all_model_checkpoint_timestamps: Sequence[float] | None = None,
                                    last_preserved_timestamp: float | None = None) -> Any:
    """``tf.train.generate_checkpoint_state_proto``: the CheckpointState for these paths, which become relative if ``save_dir`` is."""
    paths = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError(f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and timestamps "
                         f"{all_model_checkpoint_timestamps})")
    if not os.path.isabs(save_dir):  # relative paths are meant from the folder that the file is in
        paths = [path if os.path.isabs(path) else os.path.relpath(path, save_dir) for path in paths]
        if not os.path.isabs(model_checkpoint_path):
            model_checkpoint_path = os.path.relpath(model_checkpoint_path, save_dir)
    return CheckpointState(model_checkpoint_path=model_checkpoint_path, all_model_checkpoint_paths=paths,
                           all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
                           last_preserved_timestamp=last_preserved_timestamp)


def update_checkpoint_state(save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: Sequence[str] | None = None,
                            latest_filename: str | None = None, all_model_checkpoint_timestamps: Sequence[float] | None = None,
                            last_preserved_timestamp: float | None = None, save_relative_paths: bool = False) -> None:
    """``tf.train.update_checkpoint_state``: writes the file ``checkpoint``; it has its old contents or all of the new ones."""
    path = _state_path(save_dir, latest_filename)
    others = list(all_model_checkpoint_paths or [])
    if save_relative_paths:
        model_checkpoint_path = _relative_to(save_dir, model_checkpoint_path)
        others = [_relative_to(save_dir, other) for other in others]
    state = generate_checkpoint_state_proto(save_dir, model_checkpoint_path, others, all_model_checkpoint_timestamps, last_preserved_timestamp)
    if path in (state.model_checkpoint_path, model_checkpoint_path):
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  Please use a different save path.")
    write_atomically(path, text_format.MessageToString(state).encode())


def _relative_to(folder: str, path: str) -> str:
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """``tf.train.get_checkpoint_state``: the CheckpointState of a folder, with full paths; None if there is none that can be read."""
    path = _state_path(checkpoint_dir, latest_filename)
    try:
        with open(path, encoding="utf-8") as file:
            state = text_format.Parse(file.read(), CheckpointState())
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        _log.warning("%s: Checkpoint ignored: %s", path, error)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [os.path.join(checkpoint_dir, each) for each in state.all_model_checkpoint_paths]
    return state


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """``tf.train.latest_checkpoint``: the path of the newest checkpoint in a folder; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    _log.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """``tf.train.checkpoint_exists``: is there a checkpoint, of either version, that was saved under this name? NotFoundError without its folder."""
    prefix = os.fsdecode(checkpoint_prefix)
    folder = os.path.dirname(prefix)
    if folder and not os.path.isdir(folder):
        raise NotFoundError(None, None, f"{folder}; No such file or directory")
    return is_there(prefix)


def is_there(prefix: str) -> bool:
    """True if there is a checkpoint, of either version, that was saved under this name."""
    return bool(glob.glob(index_path(prefix)) or files_of(prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str]) -> list[float]:
    """``tf.train.get_checkpoint_mtimes``: when each of these checkpoints was written, in seconds; those that are gone are left out."""
    files = [sorted(glob.glob(index_path(prefix))) or files_of(prefix) for prefix in checkpoint_prefixes]
    return [os.path.getmtime(names[0]) for names in files if names]


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The file with the graph that belongs to a checkpoint.

    >>> meta_graph_filename("model-100-?????-of-00002")
    'model-100.meta'
    """
    head, sharded, _ = checkpoint_filename.partition("-?????-of-")
    return f"{head if sharded else checkpoint_filename}.{meta_graph_suffix}"


def remove_checkpoint(checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta") -> None:
    """``tf.train.remove_checkpoint``: deletes a checkpoint and its graph. The index goes first: without it the rest is not a checkpoint."""
    remove_if_there(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == _V1:
        remove_if_there(*files_of(checkpoint_prefix))
        return
    claim = temporary_path(index_path(checkpoint_prefix))  # if this process ends here, the next save finds it and goes on
    with contextlib.suppress(FileNotFoundError):
        os.replace(index_path(checkpoint_prefix), claim)
    remove_if_there(*glob.glob(glob.escape(checkpoint_prefix) + data_path("", 0, 0).replace("0", "?")), claim)


