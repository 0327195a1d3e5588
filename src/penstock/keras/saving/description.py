"""What is saved of a model besides its weights: its configuration, and how it was compiled."""
from __future__ import annotations

import json
from typing import Any

from penstock.graph import nest
from penstock.keras import losses
from penstock.keras.layer_classes import deserialize
from penstock.keras.metrics import registry as metrics
from penstock.keras.optimizers import registry as optimizers
from penstock.keras.saving.json_values import plain
from penstock.platform import logging

KERAS_VERSION = "2.2.4-tf"  # the version that TensorFlow 1.15 says it has


def updated_config(model: Any) -> dict[str, Any]:
    """The configuration of a model, with the version of Keras."""
    return {"class_name": type(model).__name__, "config": model.get_config(), "keras_version": KERAS_VERSION, "backend": "tensorflow"}


def to_json(model: Any, **kwargs: Any) -> str:
    """The configuration, as JSON."""
    return json.dumps(updated_config(model), default=plain, **kwargs)


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError("Requires yaml module installed (`pip install pyyaml`).") from None
    return yaml


def to_yaml(model: Any, **kwargs: Any) -> str:
    """The configuration, as YAML."""
    return _yaml().dump(json.loads(to_json(model)), **kwargs)


def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.models.model_from_config``."""
    if isinstance(config, list):
        raise TypeError("`model_from_config` expects a dictionary, not a list. Maybe you meant to use `Sequential.from_config(config)`?")
    return deserialize({"class_name": config["class_name"], "config": config["config"]}, custom_objects=custom_objects)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """``tf.keras.models.model_from_json``."""
    return model_from_config(json.loads(json_string), custom_objects)


def model_from_yaml(yaml_string: str, custom_objects: Any = None) -> Any:
    """``tf.keras.models.model_from_yaml``. TensorFlow writes tuples as objects of Python, no others of which are made."""
    yaml = _yaml()

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        pass

    Loader.add_constructor("tag:yaml.org,2002:python/tuple", Loader.construct_yaml_seq)
    return model_from_config(yaml.load(yaml_string, Loader), custom_objects)


# --- compiled ---------------------------------------------------------------------------------------------------------


def training_config(model: Any) -> dict[str, Any] | None:
    """How a model was compiled; None if it was not, or if its optimizer cannot be described."""
    if not model.optimizer:
        return None
    if isinstance(model.optimizer, optimizers.TFOptimizer):
        logging.warning("TensorFlow optimizers do not make it possible to access optimizer attributes or optimizer state after instantiation. As a "
                        "result, we cannot save the optimizer as part of the model save file. You will have to compile your model again after "
                        "loading it. Prefer using a Keras optimizer instead (see keras.io/optimizers).")
        return None
    return {"loss": model.loss, "metrics": model._compile_metrics, "weighted_metrics": model._compile_weighted_metrics,
            "sample_weight_mode": model.sample_weight_mode, "loss_weights": model.loss_weights,
            "optimizer_config": {"class_name": type(model.optimizer).__name__, "config": model.optimizer.get_config()}}


def compile_arguments(config: dict[str, Any], custom_objects: Any = None) -> dict[str, Any]:
    """The arguments of ``compile`` that a training configuration describes."""
    custom = custom_objects or {}

    def named(value: Any) -> Any:
        return nest.map_structure(lambda each: custom.get(each, each) if isinstance(each, str) else each, value)

    loss = config["loss"]
    loss = losses.deserialize(loss, custom) if isinstance(loss, dict) and "class_name" in loss else named(loss)
    return {"optimizer": optimizers.deserialize(config["optimizer_config"], custom), "loss": loss,
            "metrics": _metrics(config["metrics"], custom), "weighted_metrics": _metrics(config.get("weighted_metrics"), custom),
            "loss_weights": config["loss_weights"], "sample_weight_mode": config["sample_weight_mode"]}


def _metrics(value: Any, custom: Any) -> Any:
    if isinstance(value, dict) and "class_name" in value and "config" in value:
        return metrics.deserialize(value, custom)
    if isinstance(value, dict):
        return {key: _metrics(each, custom) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_metrics(each, custom) for each in value]
    return custom.get(value, value) if isinstance(value, str) else value
