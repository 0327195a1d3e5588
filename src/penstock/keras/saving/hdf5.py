"""HDF5 files, as Keras writes and reads them: weights by layer, and whole models with the state of the optimizer."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.keras.saving.conversion import converted_weights
from penstock.keras.saving.description import KERAS_VERSION, compile_arguments, model_from_config, training_config
from penstock.keras.saving.json_values import plain
from penstock.keras.saving.portable import portable, portable_optimizer, state_of_other_keras
from penstock.layers.sessions import assign_values, values_of
from penstock.platform import logging

_LIMIT = 64512  # bytes of an attribute: HDF5 keeps attributes in headers of at most 64 KB


def h5py_module() -> Any:
    """h5py; ImportError with what to install if it is missing."""
    try:
        import h5py
    except ImportError:
        raise ImportError("HDF5 files need h5py: pip install penstock[keras] (or: pip install h5py). "
                          "Without it, weights can be saved with save_format='tf'.") from None
    return h5py


@contextmanager
def opened(filepath: Any, mode: str) -> Iterator[Any]:
    """An HDF5 file, by its path; an open file is left open."""
    h5py = h5py_module()
    if isinstance(filepath, h5py.Group):
        yield filepath
        return
    with h5py.File(os.fspath(filepath), mode) as file:
        yield file


def is_hdf5(filepath: Any) -> bool:
    """Whether a path has an extension of HDF5, or is an open file."""
    return not isinstance(filepath, (str, os.PathLike)) or os.fspath(filepath).endswith((".h5", ".keras", ".hdf5"))


# --- attributes ------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _write_names(group: Any, name: str, values: Sequence[str]) -> None:
    """Writes names as an attribute, or as several where one would be too large."""
    data = np.asarray([value.encode("utf-8") for value in values])
    too_long = [value for value in values if len(value.encode("utf-8")) > _LIMIT]
    if too_long:
        raise RuntimeError(f"The following attributes cannot be saved to HDF5 file because they are larger than {_LIMIT} bytes: {too_long}")
    count = 1
    while any(chunk.nbytes > _LIMIT for chunk in np.array_split(data, count)):
        count += 1
    if count == 1:
        group.attrs[name] = data
        return
    for index, chunk in enumerate(np.array_split(data, count)):
        group.attrs[f"{name}{index}"] = chunk


def _read_names(group: Any, name: str) -> list[str]:
    if name in group.attrs:
        return [_text(value) for value in group.attrs[name]]
    names: list[str] = []
    index = 0
    while f"{name}{index}" in group.attrs:
        names += [_text(value) for value in group.attrs[f"{name}{index}"]]
        index += 1
    return names


# --- weights ---------------------------------------------------------------------------------------------------------


def _weights(layer: Any) -> list[Any]:
    """In the order of files: trained ones first."""
    return layer.trainable_weights + layer.non_trainable_weights


def _write_values(group: Any, variables: Sequence[Any]) -> None:
    names = [variable.name for variable in variables]
    _write_names(group, "weight_names", names)
    for name, value in zip(names, values_of(variables)):
        group.create_dataset(name, data=value)


def save_weights(group: Any, layers: Sequence[Any]) -> None:
    """Writes the weights of layers."""
    _write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = np.bytes_("tensorflow")
    group.attrs["keras_version"] = np.bytes_(KERAS_VERSION)
    for layer in layers:
        _write_values(group.create_group(layer.name), _weights(layer))


def _origin(group: Any) -> tuple[str, str | None]:
    """(version of Keras, back end) that wrote the weights."""
    backend = group.attrs.get("backend")
    return _text(group.attrs.get("keras_version", "1")), None if backend is None else _text(backend)


def _saved_weights(group: Any, layer: Any, origin: tuple[str, str | None]) -> list[np.ndarray]:
    values = [np.asarray(group[name]) for name in _read_names(group, "weight_names")]
    return converted_weights(layer, values, *origin)


def load_weights(group: Any, layers: Sequence[Any]) -> None:
    """Loads weights in the order of the layers."""
    owners = [layer for layer in layers if _weights(layer)]
    names = [name for name in _read_names(group, "layer_names") if _read_names(group[name], "weight_names")]
    if len(names) != len(owners):
        raise ValueError(f"You are trying to load a weight file containing {len(names)} layers into a model with {len(owners)} layers.")
    pairs: list[tuple[Any, Any]] = []
    for index, (name, layer) in enumerate(zip(names, owners)):
        values, variables = _saved_weights(group[name], layer, _origin(group)), _weights(layer)
        if len(values) != len(variables):
            raise ValueError(f'Layer #{index} (named "{layer.name}" in the current model) was found to correspond to layer {name} in the save file. '
                             f"However the new layer {layer.name} expects {len(variables)} weights, but the saved weights have {len(values)} "
                             "elements.")
        pairs += list(zip(variables, values))
    _assign(pairs)


def load_weights_by_name(group: Any, layers: Sequence[Any]) -> None:
    """Loads the weights of those layers whose names are in the file."""
    pairs: list[tuple[Any, Any]] = []
    for index, name in enumerate(_read_names(group, "layer_names")):
        for layer in (each for each in layers if each.name == name):
            values, variables = _saved_weights(group[name], layer, _origin(group)), _weights(layer)
            if len(values) != len(variables):
                raise ValueError(f'Layer #{index} (named "{layer.name}") expects {len(variables)} weight(s), but the saved weights have '
                                 f"{len(values)} element(s).")
            for variable, value in zip(variables, values):
                if tuple(variable.shape.as_list()) != value.shape:
                    raise ValueError(f'Layer #{index} (named "{layer.name}"), weight {variable} has shape {tuple(variable.shape.as_list())}, but '
                                     f"the saved weight has shape {value.shape}.")
            pairs += list(zip(variables, values))
    _assign(pairs)


def _assign(pairs: list[tuple[Any, Any]]) -> None:
    for variable, value in pairs:
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(f"Shapes {variable.shape} and {value.shape} are incompatible: the weight {variable.name} was saved with another shape.")
    assign_values(pairs)


# --- models ----------------------------------------------------------------------------------------------------------


def save_model(model: Any, filepath: Any, include_optimizer: bool = True) -> None:
    """Writes a model: configuration, weights, training configuration, state of the optimizer."""
    config = portable({"class_name": type(model).__name__, "config": model.get_config()})
    with opened(filepath, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = KERAS_VERSION, "tensorflow"
        file.attrs["model_config"] = np.bytes_(json.dumps(config, default=plain).encode("utf-8"))
        training = training_config(model) if include_optimizer else None
        if training is not None:
            training["optimizer_config"] = portable_optimizer(training["optimizer_config"])
            file.attrs["training_config"] = np.bytes_(json.dumps(training, default=plain).encode("utf-8"))
        save_weights(file.create_group("model_weights"), model.layers)
        if training is not None and model.optimizer.weights:
            _write_values(file.create_group("optimizer_weights"), model.optimizer.weights)


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model in a file."""
    with opened(filepath, "r") as file:
        config = file.attrs.get("model_config")
        if config is None:
            raise ValueError("No model found in config file.")
        model = model_from_config(json.loads(_text(config)), custom_objects)
        load_weights(file["model_weights"], model.layers)
        if compile:
            _compile(model, file, custom_objects)
    return model


def _compile(model: Any, file: Any, custom_objects: Any) -> None:
    training = file.attrs.get("training_config")
    if training is None:
        logging.warning("No training configuration found in save file: the model was *not* compiled. Compile it manually.")
        return
    model.compile(**compile_arguments(json.loads(_text(training)), custom_objects))
    if "optimizer_weights" not in file:
        return
    if not model._is_graph_network:
        logging.warning("Sequential models without an `input_shape` passed to the first layer cannot reload their optimizer state. As a result, your "
                        "model is starting with a freshly initialized optimizer.")
        return
    model._make_train_function()
    group = file["optimizer_weights"]
    values = [np.asarray(group[name]) for name in _read_names(group, "weight_names")]
    if not _origin(file)[0].endswith("-tf"):
        values = state_of_other_keras(values, model.optimizer.weights)
    try:
        model.optimizer.set_weights(values)
    except ValueError as error:
        logging.warning("Error in loading the saved optimizer state. As a result, your model is starting with a freshly initialized optimizer "
                        "(%s)", error)
