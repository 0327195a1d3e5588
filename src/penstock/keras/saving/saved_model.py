"""Models as SavedModels: a graph for serving, the weights, and the configuration in ``assets/saved_model.json``.

``variables/variables`` holds the weights under the names of the graph, for serving, and under their ways through the layers, with the state of the
optimizer, as TensorFlow's ``load_from_saved_model`` looks for them. SavedModels that ``model.save`` of TensorFlow wrote have no such file: there, the
graph of objects tells the configuration.
"""
from __future__ import annotations

import inspect
import json
import os
import pathlib
import shutil
from typing import Any

from penstock.checkpoint.checkpoint_state import update_checkpoint_state
from penstock.checkpoint.contents import load_checkpoint
from penstock.graph.graph import Graph
from penstock.imperative.symbolic import in_symbolic_graph
from penstock.keras.saving import object_graph
from penstock.keras.saving.description import compile_arguments, model_from_config, to_json, training_config
from penstock.keras.saving.json_values import plain
from penstock.layers.branching import set_learning_phase
from penstock.layers.sessions import values_of
from penstock.platform import logging
from penstock.saved_model import constants, signature_constants, tag_constants
from penstock.saved_model.builder import SavedModelBuilder
from penstock.saved_model.loader import parse_saved_model
from penstock.saved_model.signatures import predict_signature_def
from penstock.session.session import Session

_CONFIG, _TRAINING = "saved_model.json", "training_config.json"


def export(model: Any, path: str, include_optimizer: bool = True) -> None:
    """Writes a model as a SavedModel; what was at the path before is replaced."""
    if not model.inputs:
        raise ValueError(f"Model {model} cannot be saved because the input shapes have not been set. Usually, input shapes are automatically "
                         "determined from calling .fit() or .predict(). To manually set the shapes, call model._set_inputs(inputs).")
    config = to_json(model)
    training = training_config(model) if include_optimizer else None
    if os.path.isdir(path):
        shutil.rmtree(path)
    _export_graph(model, values_of(model.weights), path)
    prefix = os.path.join(path, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)
    reader = load_checkpoint(prefix)
    by_name = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    object_graph.write(model, prefix, by_name)
    update_checkpoint_state(os.path.dirname(prefix), constants.VARIABLES_FILENAME, [constants.VARIABLES_FILENAME])
    assets = os.path.join(path, constants.ASSETS_DIRECTORY)
    os.makedirs(assets, exist_ok=True)
    for name, text in ((_CONFIG, config), (_TRAINING, None if training is None else json.dumps(training, default=plain))):
        if text is not None:
            with open(os.path.join(assets, name), "w", encoding="utf-8") as file:
                file.write(text)


def _export_graph(trained: Any, weights: list[Any], path: str) -> None:
    """Builds the model for inference in a graph of its own, and saves that."""
    with Graph().as_default() as graph:
        set_learning_phase(0)
        model = type(trained).from_config(trained.get_config(), custom_objects=_objects_of(trained))
        with Session(graph=graph) as session:
            model.set_weights(weights)
            outputs = dict(zip(model.output_names, model.outputs))
            signature = predict_signature_def(dict(zip(model.input_names, model.inputs)), outputs)
            builder = SavedModelBuilder(path)
            builder.add_meta_graph_and_variables(session, [tag_constants.SERVING],
                                                 {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature}, clear_devices=True)
            builder.save()


def _objects_of(model: Any) -> dict[str, Any]:
    """The classes and functions that a model is made of, by their names: those of a user are not known otherwise."""
    objects: dict[str, Any] = {}
    for layer in model._sublayers():
        for value in (layer, *vars(layer).values()):
            named = value if inspect.isfunction(value) else type(value) if hasattr(value, "get_config") else None
            if named is not None:
                objects[named.__name__] = named
        objects.update(_objects_of(layer))
    return objects


@in_symbolic_graph
def export_saved_model(model: Any, saved_model_path: str, custom_objects: Any = None, as_text: bool = False, input_signature: Any = None,
                       serving_only: bool = False) -> None:
    """``tf.keras.experimental.export_saved_model``."""
    if as_text or input_signature is not None:
        raise NotImplementedError("export_saved_model writes binary files with the model's own inputs; `as_text` and `input_signature` are not "
                                  "supported.")
    export(model, saved_model_path, include_optimizer=not serving_only)


def load(path: str, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model that was exported to ``path``."""
    config, training = _descriptions(path)
    model = model_from_config(config, custom_objects)
    if compile and training is not None:
        model.compile(**compile_arguments(training, custom_objects))
        model._make_train_function()
    elif compile:
        logging.warning("No training configuration found in save file: the model was *not* compiled. Compile it manually.")
    object_graph.load(model, os.path.join(path, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME))
    return model


def _descriptions(path: str) -> tuple[Any, Any]:
    """(configuration, how it was compiled or None) of the model at ``path``."""
    assets = os.path.join(path, constants.ASSETS_DIRECTORY)
    if not os.path.exists(os.path.join(assets, _CONFIG)):
        return _from_objects(path)
    texts = []
    for name in (_CONFIG, _TRAINING):
        file = os.path.join(assets, name)
        texts.append(json.loads(pathlib.Path(file).read_text("utf-8")) if os.path.exists(file) else None)
    return texts[0], texts[1]


def _from_objects(path: str) -> tuple[Any, Any]:
    """What the root of the graph of objects says, if TensorFlow wrote it; OSError for anything but a Keras model with a configuration."""
    objects = parse_saved_model(path).meta_graphs[0].object_graph_def.nodes
    told = json.loads(objects[0].user_object.metadata or "{}") if objects else {}
    if not told.get("config"):
        raise OSError(f"{path} is not a SavedModel of a Keras model with a configuration: it has no {constants.ASSETS_DIRECTORY}/{_CONFIG}, and its "
                      "graph of objects does not begin with one. Use tf.saved_model.load to run its signatures.")
    return {"class_name": told["class_name"], "config": told["config"]}, told.get("training_config")


@in_symbolic_graph
def load_from_saved_model(saved_model_path: str, custom_objects: Any = None) -> Any:
    """``tf.keras.experimental.load_from_saved_model``: the model and its weights, not compiled."""
    return load(saved_model_path, custom_objects, compile=False)
