"""Saving and loading, by the format that a path or ``save_format`` asks for."""
from __future__ import annotations

import os
from typing import Any

from penstock.checkpoint.checkpoint_state import is_there
from penstock.errors import NotFoundError
from penstock.graph import version2
from penstock.keras.optimizers.optimizer import OptimizerV2
from penstock.keras.saving import hdf5, object_graph, saved_model
from penstock.keras.saving.checkpoint import RestoreStatus
from penstock.keras.saving.description import to_json as to_json
from penstock.keras.saving.description import to_yaml as to_yaml
from penstock.layers import restoring


def _may_overwrite(path: str, overwrite: bool) -> bool:
    """Whether a file may be written; asks the user if it exists and ``overwrite`` is False."""
    if overwrite or not os.path.exists(path):
        return True
    answer = input(f"[WARNING] {path} already exists - overwrite? [y/n]").strip().lower()
    while answer not in ("y", "n"):
        answer = input("Enter 'y' (overwrite) or 'n' (cancel).").strip().lower()
    return answer == "y"


def save_model(model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True, save_format: str | None = None,
               signatures: Any = None, options: Any = None) -> None:
    """``tf.keras.models.save_model``: in HDF5, unless ``save_format``, or the behaviour of TensorFlow 2, says "tf"."""
    if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    if save_format is None and version2.enabled():
        save_format = "tf"
    if hdf5.is_hdf5(filepath) or save_format not in ("tf", "tensorflow"):
        if not model._is_graph_network and type(model).__name__ != "Sequential":
            raise NotImplementedError("Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model. It does "
                                      "not work for subclassed models, because such models are defined via the body of a Python method, which isn't "
                                      "safely serializable. Consider saving to the Tensorflow SavedModel format (by setting save_format=\"tf\") or "
                                      "using `save_weights`.")
        if not isinstance(filepath, (str, os.PathLike)) or _may_overwrite(os.fspath(filepath), overwrite):
            hdf5.save_model(model, filepath, include_optimizer)
        return
    if _may_overwrite(os.fspath(filepath), overwrite):
        saved_model.export(model, os.fspath(filepath), include_optimizer)


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """``tf.keras.models.load_model``: from HDF5 or a SavedModel."""
    if isinstance(filepath, (str, os.PathLike)) and os.path.isdir(filepath):
        return saved_model.load(os.fspath(filepath), custom_objects, compile)
    if isinstance(filepath, (str, os.PathLike)) and not os.path.exists(filepath):
        raise OSError(f"SavedModel file does not exist at: {os.fspath(filepath)}/{{saved_model.pbtxt|saved_model.pb}}")
    return hdf5.load_model(filepath, custom_objects, compile)


def save_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
    """Saves weights: in HDF5 if the path or the format says so, else as a checkpoint of TensorFlow."""
    model._check_has_weights()
    user_format = None if save_format is None else save_format.lower().strip()
    if user_format not in (None, "tensorflow", "tf", "hdf5", "h5", "keras"):
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    is_h5 = hdf5.is_hdf5(filepath) if user_format is None else user_format in ("hdf5", "h5", "keras")
    if user_format in ("tf", "tensorflow") and hdf5.is_hdf5(filepath):
        raise ValueError(f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{filepath}") looks like an HDF5 file. Omit the '
                         '".h5"/".keras" when saving in TensorFlow format.')
    if not _may_overwrite(os.fspath(filepath) if is_h5 else f"{os.fspath(filepath)}.index", overwrite):
        return
    if is_h5:
        with hdf5.opened(filepath, "w") as file:
            hdf5.save_weights(file, model.layers)
    else:
        object_graph.save(model, os.fspath(filepath))


def _load_later(model: Any, path: str) -> RestoreStatus:
    """Gives a model its weights as it makes them."""
    status = RestoreStatus(model, path)
    if not status.restore_more():
        model.__dict__["_restore_status"] = status  # it lives as long as the model
        restoring.wait(status)
    return status


def _awaits_optimizer(model: Any) -> bool:
    """Is there no optimizer yet, or one that has not made its variables? They get their values when it does."""
    optimizer = getattr(model, "optimizer", None)
    return optimizer is None or (isinstance(optimizer, OptimizerV2) and not optimizer._weights)


def load_weights(model: Any, filepath: Any, by_name: bool = False) -> Any:
    """Loads weights, from what the path leads to."""
    if isinstance(filepath, (str, os.PathLike)) and not hdf5.is_hdf5(filepath) and is_there(os.fspath(filepath)):
        if by_name:
            raise NotImplementedError("Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights (got "
                                      "by_name=True to load_weights).")
        at_once = model.built and not _awaits_optimizer(model)
        return object_graph.load(model, os.fspath(filepath)) if at_once else _load_later(model, os.fspath(filepath))
    if not model.built:
        raise ValueError("Unable to load weights saved in HDF5 format into a subclassed Model which has not created its variables yet. Call the "
                         "Model first, then load the weights.")
    if isinstance(filepath, (str, os.PathLike)) and not hdf5.is_hdf5(filepath) and not os.path.exists(filepath):
        raise NotFoundError(None, None, f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {os.fspath(filepath)}")
    with hdf5.opened(filepath, "r") as file:
        group = file["model_weights"] if "layer_names" not in file.attrs and "model_weights" in file else file
        (hdf5.load_weights_by_name if by_name else hdf5.load_weights)(group, model.layers)
    return None
