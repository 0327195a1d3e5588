"""Keras models as estimators: the model function clones the model on the features, and compiles the clone on the labels."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.estimator.estimator import Estimator, config_with_folder
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, name_scope
from penstock.graph.seeds import set_random_seed
from penstock.keras.engine.model import Model
from penstock.keras.metrics.base import Metric
from penstock.keras.models import clone_model
from penstock.keras.optimizers.registry import TFOptimizer
from penstock.keras.saving.entry import load_model
from penstock.layers.branching import set_learning_phase
from penstock.layers.sessions import any_has_value
from penstock.ops.flow.misc import group
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.session.session import Session
from penstock.train.global_step import get_or_create_global_step
from penstock.train.saver import Saver
from penstock.variables.initialization import global_variables_initializer


def model_to_estimator(keras_model: Any = None, keras_model_path: str | None = None, custom_objects: Any = None, model_dir: Any = None,
                       config: Any = None, checkpoint_format: str = "saver") -> Estimator:
    """``tf.keras.estimator.model_to_estimator``: an estimator of a compiled model, which starts from the model's weights."""
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided, but not both.")
    if keras_model_path is not None and (keras_model_path.startswith("gs://") or "storage.googleapis.com" in keras_model_path):
        raise ValueError(f"{keras_model_path} is not a local path. Please copy the model locally first.")
    if checkpoint_format != "saver":
        raise NotImplementedError(f'model_to_estimator: checkpoints are of the format "saver". Got {checkpoint_format!r}')
    model = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model
    if not isinstance(model, Model) or not model._is_graph_network:
        raise NotImplementedError("model_to_estimator: the model must be Sequential or functional, and built (its inputs known), since it is cloned.")
    if not model.optimizer:
        raise ValueError("The given keras model has not been compiled yet. Please compile the model with `model.compile()` before calling "
                         "`model_to_estimator()`.")
    config = config_with_folder(config, model_dir)
    new_optimizer = _optimizers_like(model.optimizer)
    return Estimator(_model_fn(model, new_optimizer), config=config, warm_start_from=_first_checkpoint(model, config, new_optimizer))


def _first_checkpoint(model: Any, config: Any, new_optimizer: Callable[[], Any]) -> str:
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
        _train_op(clone, _compile(clone, model, new_optimizer(), None))
        session.run(global_variables_initializer())
        for variable, value in zip(clone.weights, values or []):
            variable.load(value, session)
        return str(Saver().save(session, os.path.join(folder, "keras_model.ckpt")))


def _model_fn(model: Any, new_optimizer: Callable[[], Any]) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        set_learning_phase(mode == ModeKeys.TRAIN)
        clone = clone_model(model, _in_order(features, model.input_names, "features", "inputs"))
        predictions = dict(zip(clone.output_names, clone.outputs))
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs={DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)})
        compiled = _compile(clone, model, new_optimizer(), _in_order(labels, model.output_names, "labels", "outputs"))
        total = compiled.total_loss(clone._no_weights())
        if mode == ModeKeys.EVAL:
            return EstimatorSpec(mode, predictions, total, eval_metric_ops={metric.name: _metric_ops(metric) for metric in compiled.metrics})
        return EstimatorSpec(mode, predictions, total, _train_op(clone, compiled))
    return model_fn


def _compile(clone: Any, model: Any, optimizer: Any, targets: list[Any] | None) -> Any:
    """Compiles the clone with the arguments that the model was compiled with."""
    loss, metrics, weighted_metrics, loss_weights, _, _ = model._compile_arguments
    clone.compile(optimizer, loss, _copies(metrics), loss_weights, weighted_metrics=_copies(weighted_metrics), target_tensors=targets)
    return clone._compile_now()


def _train_op(clone: Any, compiled: Any) -> Any:
    """One step of the optimizer, and the updates of the layers."""
    with name_scope("training"):
        trained = clone.optimizer.get_updates(params=compiled.trained, loss=compiled.total_loss(clone._no_weights()))
    return group(*trained, *clone.get_updates_for(None), *clone.get_updates_for(clone.inputs))


class UnfitNames(KeyError, ValueError):
    """Features or labels with other names than a model's. Up to TensorFlow 1.4 it was a ValueError."""


def _in_order(given: Any, names: list[str], what: str, whose: str) -> list[Any]:
    """Tensors in the order of the model's; in a dict they have its names."""
    if isinstance(given, dict):
        if set(given) == {"features", "sample_weights"}:
            raise NotImplementedError("model_to_estimator: sample_weights among the features are not supported.")
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
