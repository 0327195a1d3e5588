"""Configurations in HDF5 files, in words that both Keras's know: the one that is ``tf.keras`` and the multi-backend one, which has no classes for
some initializers and calls the learning rate ``lr``. Both read the same from them.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_FUNCTIONS = {"GlorotUniform": "glorot_uniform", "GlorotNormal": "glorot_normal"}  # initializers that are functions in the multi-backend Keras
_LATER_OPTIONS = {"ragged": False, "time_major": False}  # of layers, and their defaults
_SHARED = frozenset(["SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax"])  # optimizers of both, but for what _LATER has
_LATER = {"momentum": 0.0, "centered": False}  # hyperparameters that came later, and their defaults
_WITH_MOMENTUM = "SGD"


def portable(config: Any) -> Any:
    """A configuration with the class of what it describes."""
    if isinstance(config, Mapping):
        if config.get("class_name") in _FUNCTIONS and (config.get("config") or {}).get("dtype", "float32") == "float32":
            return {"class_name": _FUNCTIONS[config["class_name"]], "config": {"seed": config["config"].get("seed")}}
        if config.get("class_name", "").startswith("BatchNormalization") and _is_one(config["config"].get("axis")):
            config = {**config, "config": {**config["config"], "axis": config["config"]["axis"][0]}}
        left_out = dict(_LATER_OPTIONS, implementation=1) if config.get("class_name", "").startswith("LocallyConnected") else _LATER_OPTIONS
        return {key: _without(value, left_out) if key == "config" else portable(value) for key, value in config.items()}
    if isinstance(config, (list, tuple)):
        return type(config)(portable(each) for each in config) if type(config) in (list, tuple) else [portable(each) for each in config]
    return config


def _is_one(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 1


def _without(config: Any, left_out: Mapping[str, Any]) -> Any:
    """A portable configuration without options that have these values."""
    made = portable(config)
    return {key: value for key, value in made.items() if key not in left_out or value != left_out[key]} if isinstance(made, dict) else made


def portable_optimizer(described: dict[str, Any]) -> dict[str, Any]:
    """The class and configuration of an optimizer."""
    name, config = described["class_name"], dict(described["config"])
    if name not in _SHARED:
        return described
    if config.get("name") == name:
        del config["name"]
    if not isinstance(config.get("learning_rate"), dict):  # a schedule
        config["lr"] = config.pop("learning_rate")
    if name != _WITH_MOMENTUM:
        config = {key: value for key, value in config.items() if key not in _LATER or value != _LATER[key]}
    return {"class_name": name, "config": config}


def state_of_other_keras(values: list[Any], wanted: list[Any]) -> list[Any]:
    """The state of an optimizer that the multi-backend Keras wrote, as ``tf.keras`` has it.

    Some of its optimizers do not save the number of steps, which comes first here; some save slots that they do not use, last.
    """
    if len(values) == len(wanted) - 1:
        return [np.zeros((), wanted[0].dtype.as_numpy_dtype), *values]
    return values[:len(wanted)]
