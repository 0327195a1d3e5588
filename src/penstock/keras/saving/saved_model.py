"""Models as SavedModels: a graph for serving, the weights, and the configuration in ``assets/saved_model.json``.

``variables/variables`` holds the weights under the names of the graph, for serving; ``variables/keras`` under their ways through the layers, with
the state of the optimizer. SavedModels that TensorFlow's ``export_saved_model`` wrote have the latter only, as ``variables/variables``.
"""
from __future__ import annotations

import json
import os
import shutil
from typing import Any

from penstock.graph.graph import Graph
from penstock.imperative.symbolic import in_symbolic_graph
from penstock.keras.saving import object_graph
from penstock.keras.saving.description import compile_arguments, model_from_json, to_json, training_config
from penstock.keras.saving.json_values import plain
from penstock.layers.branching import set_learning_phase
from penstock.layers.sessions import values_of
from penstock.platform import logging
from penstock.saved_model import constants, signature_constants, tag_constants
from penstock.saved_model.builder import SavedModelBuilder
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
    _export_graph(config, values_of(model.weights), path)
    object_graph.save(model, os.path.join(path, constants.VARIABLES_DIRECTORY, "keras"))
    assets = os.path.join(path, constants.ASSETS_DIRECTORY)
    os.makedirs(assets, exist_ok=True)
    for name, text in ((_CONFIG, config), (_TRAINING, None if training is None else json.dumps(training, default=plain))):
        if text is not None:
            with open(os.path.join(assets, name), "w", encoding="utf-8") as file:
                file.write(text)


def _export_graph(config: str, weights: list[Any], path: str) -> None:
    """Builds the model for inference in a graph of its own, and saves that."""
    with Graph().as_default() as graph:
        set_learning_phase(0)
        model = model_from_json(config)
        with Session(graph=graph) as session:
            model.set_weights(weights)
            outputs = dict(zip(model.output_names, model.outputs))
            signature = predict_signature_def(dict(zip(model.input_names, model.inputs)), outputs)
            builder = SavedModelBuilder(path)
            builder.add_meta_graph_and_variables(session, [tag_constants.SERVING],
                                                 {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature}, clear_devices=True)
            builder.save()


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
    config = os.path.join(path, constants.ASSETS_DIRECTORY, _CONFIG)
    if not os.path.exists(config):
        raise OSError(f"{path} is not a SavedModel of Keras that can be loaded: it has no {constants.ASSETS_DIRECTORY}/{_CONFIG}. "
                      "Use tf.saved_model.load to run its signatures.")
    with open(config, encoding="utf-8") as file:
        model = model_from_json(file.read(), custom_objects)
    training = os.path.join(path, constants.ASSETS_DIRECTORY, _TRAINING)
    if compile and os.path.exists(training):
        with open(training, encoding="utf-8") as file:
            model.compile(**compile_arguments(json.load(file), custom_objects))
        model._make_train_function()
    elif compile:
        logging.warning("No training configuration found in save file: the model was *not* compiled. Compile it manually.")
    variables = os.path.join(path, constants.VARIABLES_DIRECTORY)
    own = os.path.join(variables, "keras")
    object_graph.load(model, own if os.path.exists(f"{own}.index") else os.path.join(variables, constants.VARIABLES_FILENAME))
    return model


@in_symbolic_graph
def load_from_saved_model(saved_model_path: str, custom_objects: Any = None) -> Any:
    """``tf.keras.experimental.load_from_saved_model``: the model and its weights, not compiled."""
    return load(saved_model_path, custom_objects, compile=False)
