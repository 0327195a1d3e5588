"""Keras models as estimators: the model function clones the model on the features, and compiles the clone on the labels."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.estimator.estimator import Estimator, config_with_folder
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.keras_clones import cloned, is_subclassed
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, name_scope
from penstock.graph.seeds import set_random_seed
from penstock.keras.engine.compiled import Weighted
from penstock.keras.metrics.base import Metric
from penstock.keras.models import clone_model
from penstock.keras.optimizers.registry import TFOptimizer
from penstock.keras.saving.entry import load_model
from penstock.keras.saving.object_graph import children, object_saveables
from penstock.layers.branching import set_learning_phase
from penstock.layers.sessions import any_has_value
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.session.session import Session
from penstock.train.global_step import get_or_create_global_step
from penstock.train.saver import Saver
from penstock.train.scaffold import Scaffold
from penstock.variables.initialization import global_variables_initializer


def model_to_estimator(keras_model: Any = None, keras_model_path: str | None = None, custom_objects: Any = None, model_dir: Any = None,
                       config: Any = None, checkpoint_format: str | None = "saver") -> Estimator:
    """``tf.keras.estimator.model_to_estimator``: an estimator of a compiled model, which starts from the model's weights.

    Checkpoints of the format "checkpoint" name variables by the objects that hold them, as those of ``Model.save_weights`` do.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided, but not both.")
    if keras_model_path is not None and (keras_model_path.startswith("gs://") or "storage.googleapis.com" in keras_model_path):
        raise ValueError(f"{keras_model_path} is not a local path. Please copy the model locally first.")
    if checkpoint_format not in (None, "saver", "checkpoint"):
        raise ValueError(f'Checkpoint format must be one of "checkpoint" or "saver". Got {checkpoint_format}')
    if keras_model is None:
        logging.info("Loading models from %s", keras_model_path)
    else:
        logging.info("Using the Keras model provided.")
    model = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model
    by_objects = checkpoint_format != "saver"
    if by_objects and is_subclassed(model):
        raise ValueError("Object-based checkpoints are currently not supported with subclassed models.")
    if not getattr(model, "optimizer", None):
        raise ValueError("The given keras model has not been compiled yet. Please compile the model with `model.compile()` before calling "
                         "`model_to_estimator()`.")
    config = config_with_folder(config, model_dir)
    new_optimizer = _optimizers_like(model.optimizer)
    first = _first_checkpoint(model, config, new_optimizer, by_objects) if model._is_graph_network else None
    if first is None and model.built:
        logging.warning("The model was called before it became an estimator, and thus has weights. They cannot be taken over, since its inputs "
                        "are not known before it is called: the estimator begins with new weights. The model itself stays as it is.")
    return Estimator(_model_fn(model, new_optimizer, by_objects), config=config, warm_start_from=first)


def _first_checkpoint(model: Any, config: Any, new_optimizer: Callable[[], Any], by_objects: bool) -> str:
    """The checkpoint that training starts from: the model's own weights, if it has values already, else those that the seed of ``config`` gives."""
    folder = os.path.join(str(config.model_dir), "keras")
    path = latest_checkpoint(folder)
    if path:
        return path
    values = model.get_weights() if any_has_value(model.weights) else None
    os.makedirs(folder, exist_ok=True)
    with Graph().as_default(), Session(config=config.session_config) as session:
        set_random_seed(config.tf_random_seed)
        get_or_create_global_step()
        set_learning_phase(True)
        clone = clone_model(model)
        _train_op(clone, _compile(clone, model, new_optimizer(), None), clone._no_weights())
        session.run(global_variables_initializer())
        for variable, value in zip(clone.weights, values or []):
            variable.load(value, session)
        saver = _object_saver(clone) if by_objects else Saver()
        return str(saver.save(session, os.path.join(folder, "keras_model.ckpt"), write_meta_graph=not by_objects))


def _model_fn(model: Any, new_optimizer: Callable[[], Any], by_objects: bool) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        set_learning_phase(mode == ModeKeys.TRAIN)
        features, sample_weights = _without_weights(features)
        with cloned(model, _in_order(features, _end_names(model, "input", features), "features", "inputs")) as clone:
            return _spec(clone, model, labels, sample_weights, mode)

    def _spec(clone: Any, model: Any, labels: Any, sample_weights: Any, mode: str) -> EstimatorSpec:
        predictions = dict(zip(clone.output_names, clone.outputs))
        outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=outputs, scaffold=_scaffold(clone, by_objects))
        compiled = _compile(clone, model, new_optimizer(), _in_order(labels, _end_names(model, "output", labels), "labels", "outputs"))
        weighted = _weigh(compiled, clone.output_names, sample_weights)
        total = compiled.total_loss(weighted)
        if mode == ModeKeys.EVAL:
            metrics = {metric.name: _metric_ops(metric) for metric in compiled.metrics}
            return EstimatorSpec(mode, predictions, total, eval_metric_ops=metrics, export_outputs=outputs, scaffold=_scaffold(clone, by_objects))
        train_op = _train_op(clone, compiled, weighted)
        return EstimatorSpec(mode, predictions, total, train_op, export_outputs=outputs, scaffold=_scaffold(clone, by_objects))
    return model_fn


def _end_names(model: Any, what: str, given: Any) -> list[str]:
    """The names of the model's inputs or outputs; without a graph of layers they have numbers."""
    if model._is_graph_network:
        return list(model.input_names if what == "input" else model.output_names)
    return [f"{what}_{number + 1}" for number in range(len(given) if isinstance(given, (dict, list, tuple)) else 1)]


class _WithStep:
    """A model and the global step: what the estimator's checkpoints hold."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield from children(self.model)
        yield "estimator_global_step", get_or_create_global_step()


def _object_saver(clone: Any) -> Saver:
    return Saver(object_saveables(_WithStep(clone)), sharded=True)


def _scaffold(clone: Any, by_objects: bool) -> Scaffold | None:
    return Scaffold(saver=_object_saver(clone)) if by_objects else None


def _without_weights(features: Any) -> tuple[Any, Any]:
    """(features, weights of samples): an input function gives both in a dict of these two; otherwise there are no weights."""
    if isinstance(features, dict) and set(features) == {"features", "sample_weights"}:
        return features["features"], features["sample_weights"]
    return features, None


def _weigh(compiled: Any, names: list[str], sample_weights: Any) -> Weighted:
    """Has each output that has a loss take the weights of samples; returns which of them have some."""
    by_output = {} if sample_weights is None else dict(zip(names, _in_order(sample_weights, names, "sample_weights", "outputs")))
    for endpoint in compiled.trained_endpoints:
        endpoint.take_weights(by_output.get(endpoint.name))
    return tuple(endpoint.name in by_output for endpoint in compiled.trained_endpoints)


def _compile(clone: Any, model: Any, optimizer: Any, targets: list[Any] | None) -> Any:
    """Compiles the clone with the arguments that the model was compiled with."""
    loss, metrics, weighted_metrics, loss_weights, _, _ = model._compile_arguments
    clone.compile(optimizer, loss, _copies(metrics), loss_weights, weighted_metrics=_copies(weighted_metrics), target_tensors=targets)
    return clone._compile_now()


def _train_op(clone: Any, compiled: Any, weighted: Weighted) -> Any:
    """One step of the optimizer, and the updates of the layers."""
    with name_scope("training"):
        trained = clone.optimizer.get_updates(params=compiled.trained, loss=compiled.total_loss(weighted))
    return group(*trained, *clone.get_updates_for(None), *clone.get_updates_for(clone.inputs))


class UnfitNames(KeyError, ValueError):
    """Features or labels with other names than a model's. Up to TensorFlow 1.4 it was a ValueError."""


def _in_order(given: Any, names: list[str], what: str, whose: str) -> list[Any]:
    """Tensors in the order of the model's; in a dict they have its names."""
    if isinstance(given, dict):
        if set(given) != set(names):
            raise UnfitNames(f"The dictionary passed into {what} does not have the expected {whose} keys defined in the keras model.\n"
                           f"\tExpected keys: {set(names)}\n\t{what} keys: {set(given)}\n\tDifference: {set(given) ^ set(names)}")
        return [given[name] for name in names]
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _optimizers_like(original: Any) -> Callable[[], Any]:
    """A function that makes optimizers like that of the model, whose steps are the global step."""
    # What the model's graph knows is read here: where they are made, another graph is the default one.
    settings = None if isinstance(original, TFOptimizer) else original.get_config()

    def new_optimizer() -> Any:
        step = get_or_create_global_step()
        if settings is None:
            return TFOptimizer(original.optimizer, step)
        optimizer = type(original).from_config(dict(settings))
        optimizer.iterations = step
        return optimizer
    return new_optimizer


def _copies(metrics: Any) -> Any:
    """Metrics with variables of their own."""
    if isinstance(metrics, dict):
        return {key: _copies(each) for key, each in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_copies(each) for each in metrics]
    return type(metrics).from_config(metrics.get_config()) if isinstance(metrics, Metric) else metrics


def _metric_ops(metric: Metric) -> tuple[Any, Any]:
    """(value, update); the variables of the metric are local ones."""
    for variable in metric.variables:
        add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
    update = metric._call_result
    return metric.result(), update
