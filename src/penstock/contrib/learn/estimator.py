"""``tf.contrib.learn.Estimator``: a model function with a folder of its own, and the arrays or input functions that it learns from.

Training, evaluation and exports are those of ``tf.estimator``; what differs is how they are called, that metrics may be added to an evaluation, and
that a model function returns ``ModelFnOps``.
"""
from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.contents import list_variables, load_variable
from penstock.contrib.layers.columns.building import infer_real_valued_columns
from penstock.contrib.learn.bundle_export import SignatureFn, export_bundle
from penstock.contrib.learn.exports import signatures_of_alternatives
from penstock.contrib.learn.inputs import InputFn, array_input_fn, check_inputs, check_signatures
from penstock.contrib.learn.interfaces import Evaluable, Trainable
from penstock.contrib.learn.keys import CORE_MODES, MetricKey, ModeKeys
from penstock.contrib.learn.metrics import custom_metric_ops
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.learn.monitors.hooks import replace_monitors_with_hooks
from penstock.contrib.learn.run_config import RunConfig
from penstock.contrib.learn.sklearn_interface import NotFittedError, SklearnInterface
from penstock.contrib.learn.tensor_signature import create_placeholders_from_signatures, create_signatures
from penstock.estimator.evaluating import prepare, run_evaluation
from penstock.estimator.exporting import export_all
from penstock.estimator.input_results import call_with, features_and_labels
from penstock.estimator.training_loop import device_setter, train_spec
from penstock.graph.composite import SparseTensorValue
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import device
from penstock.graph.seeds import set_random_seed
from penstock.layers.metrics.streaming import mean
from penstock.ops.flow.misc import group, no_op
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.saved_model.tag_constants import SERVING
from penstock.train.basic_hooks import FeedFnHook, StopAtStepHook
from penstock.train.evaluation import StopAfterNEvalsHook
from penstock.train.global_step import create_global_step, get_global_step, global_step_read
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator, Scaffold


class GraphRewriteSpec(NamedTuple):
    """A graph of an export: its tags, and what is done to it."""

    tags: tuple[str, ...]
    transforms: tuple[str, ...]


_STEPS_BETWEEN_LOGS = 100  # whatever the configuration says, as in TensorFlow
_AS_IT_IS = (GraphRewriteSpec((SERVING,), ()),)


class BaseEstimator(SklearnInterface, Evaluable, Trainable):
    """``tf.contrib.learn.BaseEstimator``: trains, evaluates and predicts. How the model is built, ``Estimator`` says."""

    def __init__(self, model_dir: str | None = None, config: Any = None) -> None:
        if config is None:
            config = RunConfig()
            logging.info("Using default config.")
        if model_dir is not None and config.model_dir is not None and model_dir != config.model_dir:
            raise ValueError(f"model_dir are set both in constructor and RunConfig, but with different values. In constructor: '{model_dir}', in "
                             f"RunConfig: '{config.model_dir}' ")
        self._model_dir = model_dir or config.model_dir
        if self._model_dir is None:
            self._model_dir = tempfile.mkdtemp()
            logging.warning("Using temporary folder as model directory: %s", self._model_dir)
        self._config = config if config.model_dir is not None else config.replace(model_dir=self._model_dir)
        logging.info("Using config: %s", vars(self._config))
        self._session_config = ConfigProto(allow_soft_placement=True) if config.session_config is None else config.session_config
        self._device_fn = device_setter(self._config)
        self._features_info: Any = None
        self._labels_info: Any = None

    @property
    def config(self) -> Any:
        """A copy of its configuration."""
        return copy.deepcopy(self._config)

    @property
    def model_dir(self) -> str:
        """The folder of its checkpoints and event files."""
        return self._model_dir

    @property
    def model_fn(self) -> Callable[..., ModelFnOps]:
        """The model as a function of features, labels, mode and config."""
        def public_model_fn(features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
            return self._model_ops(features, labels, mode, config=config)
        return public_model_fn

    def get_variable_value(self, name: str) -> np.ndarray:
        """The value of a variable in the latest checkpoint."""
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint."""
        return [name for name, _ in list_variables(self.model_dir)]

    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint; None if there is none."""
        return latest_checkpoint(self._model_dir)

    def _model_ops(self, features: Any, labels: Any, mode: str, metrics: Any = None, config: Any = None) -> ModelFnOps:
        """Builds the model."""
        raise NotImplementedError(f"{type(self).__name__}._model_ops")

    def _trained_checkpoint(self, checkpoint_path: str | None = None) -> str:
        path = checkpoint_path or latest_checkpoint(self._model_dir)
        if not path:
            raise NotFittedError(f"Couldn't find trained model at {self._model_dir}.")
        return path

    def _inputs(self, input_fn: InputFn, mode: str) -> tuple[Any, Any, list[Any]]:
        """(features, labels, hooks) of an input function. Its operations are on the CPU of this task."""
        with device("/cpu:0"):
            return features_and_labels(call_with(input_fn, mode=CORE_MODES[mode], params=None, config=self.config))

    def _check_inputs(self, features: Any, labels: Any) -> None:
        """ValueError if inputs are others than those of the first call."""
        if self._features_info is None:
            self._features_info = create_signatures(features)
        else:
            check_signatures("Features", features, self._features_info)
        if self._labels_info is None:
            self._labels_info = create_signatures(labels)
        elif labels is not None:
            check_signatures("Labels", labels, self._labels_info)

    # --- training ----------------------------------------------------------------------------------------------------

    def fit(self, x: Any = None, y: Any = None, input_fn: InputFn | None = None, steps: int | None = None, batch_size: int | None = None,
            monitors: Any = None, max_steps: int | None = None) -> Any:
        """Trains ``steps`` more steps, or up to step ``max_steps``, or until the input ends; goes on from the latest checkpoint."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        check_inputs(x, y, input_fn, None, batch_size)
        if input_fn is None:
            input_fn = array_input_fn(x, y, batch_size, shuffle=True, epochs=None)
        if max_steps is not None and self._saved_step() >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = replace_monitors_with_hooks(monitors, self)
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        logging.info("Loss for final step: %s.", self._train_model(input_fn, hooks))
        return self

    def partial_fit(self, x: Any = None, y: Any = None, input_fn: InputFn | None = None, steps: int | None = 1, batch_size: int | None = None,
                    monitors: Any = None) -> Any:
        """Trains one step, or ``steps``."""
        logging.warning("The current implementation of partial_fit is not optimized for use in a loop. Consider using fit() instead.")
        return self.fit(x=x, y=y, input_fn=input_fn, steps=steps, batch_size=batch_size, monitors=monitors)

    def _saved_step(self) -> int:
        return int(load_variable(self._model_dir, GraphKeys.GLOBAL_STEP)) if self.latest_checkpoint() else 0

    def _train_model(self, input_fn: InputFn, hooks: list[Any]) -> Any:
        with Graph().as_default() as graph, graph.device(self._device_fn):
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            features, labels, input_hooks = self._inputs(input_fn, ModeKeys.TRAIN)
            self._check_inputs(features, labels)
            global_step_read("BaseEstimator", graph)
            ops = self._model_ops(features, labels, ModeKeys.TRAIN)
            config = self._config.replace(log_step_count_steps=_STEPS_BETWEEN_LOGS)
            return train_spec(ops.training_spec(), config, self._model_dir, self._session_config, [*input_hooks, *hooks], [])

    # --- evaluation --------------------------------------------------------------------------------------------------

    def evaluate(self, x: Any = None, y: Any = None, input_fn: InputFn | None = None, feed_fn: Any = None, batch_size: int | None = None,
                 steps: int | None = None, metrics: dict[Any, Any] | None = None, name: str | None = None, checkpoint_path: str | None = None,
                 hooks: Any = None, log_progress: bool = True) -> dict[str, Any]:
        """The metrics of the model, and those of ``metrics``, over ``steps`` batches or the whole input."""
        check_inputs(x, y, input_fn, feed_fn, batch_size)
        if metrics is not None and not isinstance(metrics, dict):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        if input_fn is None:
            input_fn = array_input_fn(x, y, batch_size, shuffle=False, epochs=1)
        return self._evaluate_model(input_fn, steps, feed_fn, metrics, name, checkpoint_path, hooks)

    def _evaluate_model(self, input_fn: InputFn, steps: int | None, feed_fn: Any, metrics: Any, name: str | None, checkpoint_path: str | None,
                        hooks: Iterable[Any] | None) -> dict[str, Any]:
        path = self._trained_checkpoint(checkpoint_path)
        with Graph().as_default() as graph:
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            features, labels, all_hooks = self._inputs(input_fn, ModeKeys.EVAL)
            self._check_inputs(features, labels)
            ops = self._model_ops(features, labels, ModeKeys.EVAL, metrics)
            if MetricKey.LOSS not in ops.eval_metric_ops:
                ops.eval_metric_ops[MetricKey.LOSS] = mean(ops.loss)
            update, values = _metric_ops(ops.eval_metric_ops)
            values[GraphKeys.GLOBAL_STEP] = get_global_step(graph)
            all_hooks += hooks or []
            all_hooks += [FeedFnHook(feed_fn)] if feed_fn else []
            if steps == 0:
                logging.warning("evaluation steps are 0. If `input_fn` does not raise `OutOfRangeError`, the evaluation will never stop. Use "
                                "steps=None if intended.")
            all_hooks += [StopAfterNEvalsHook(steps)] if steps else []
            folder = os.path.join(self._model_dir, f"eval_{name}" if name else "eval")
            return run_evaluation(prepare(ops.scaffold or Scaffold(), update, values, all_hooks), path, folder, self._config.evaluation_master,
                                  self._session_config, names_checkpoint=False)

    # --- predictions -------------------------------------------------------------------------------------------------

    def predict(self, x: Any = None, input_fn: InputFn | None = None, batch_size: int | None = None, outputs: Any = None, as_iterable: bool = True,
                iterate_batches: bool = False) -> Any:
        """Predictions, one example (or one batch) after the other; without ``as_iterable``, those of all of ``x``, or of the first batch."""
        check_inputs(x, None, input_fn, None, batch_size)
        if x is not None and not as_iterable:
            return joined(list(self._infer(array_input_fn(x, None, batch_size, False, 1), outputs, True, True)))
        from_arrays = input_fn is None
        batches = self._infer(input_fn or array_input_fn(x, None, batch_size, False, 1), outputs, iterate_batches or not as_iterable, from_arrays)
        return batches if as_iterable else next(batches)

    def _infer(self, input_fn: InputFn, outputs: Any, whole_batches: bool, from_arrays: bool) -> Iterator[Any]:
        """Builds the graph; the predictions come one by one. An input function whose graph has no queue runners gives one batch, as in TensorFlow."""
        path = self._trained_checkpoint()
        with Graph().as_default() as graph:
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            features, _, hooks = self._inputs(input_fn, ModeKeys.INFER)
            ops = self._model_ops(features, create_placeholders_from_signatures(self._labels_info), ModeKeys.INFER)
            wanted = _select_outputs(ops.predictions, outputs)
            is_constant = not (from_arrays or hooks or graph.get_collection(GraphKeys.QUEUE_RUNNERS))
            creator = ChiefSessionCreator(ops.scaffold, config=self._session_config, checkpoint_filename_with_path=path)
        batches = _batches(graph, creator, hooks, wanted, only_one=is_constant)
        return batches if whole_batches else (example for batch in batches for example in _examples(batch))

    def _create_global_step(self, graph: Graph) -> Any:
        return create_global_step(graph)


class Estimator(BaseEstimator):
    """``tf.contrib.learn.Estimator``: the model that ``model_fn(features, labels, mode, params, config, model_dir)`` describes.

    The model function takes those of its arguments behind ``labels`` that it names. It returns ``ModelFnOps``, or (predictions, loss, train_op).
    """

    def __init__(self, model_fn: Callable[..., Any] | None = None, model_dir: str | None = None, config: Any = None, params: Any = None,
                 feature_engineering_fn: Callable[[Any, Any], tuple[Any, Any]] | None = None) -> None:
        super().__init__(model_dir=model_dir, config=config)
        if model_fn is not None:
            names = fn_args(model_fn)
            if params is not None and "params" not in names:
                raise ValueError(f"Estimator's model_fn ({model_fn}) does not have a params argument, but params ({params}) were passed to the "
                                 "Estimator's constructor.")
            if params is None and "params" in names:
                logging.warning("Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn)
        self._model_fn = model_fn
        self.params = params
        self._feature_engineering_fn = feature_engineering_fn

    def _model_ops(self, features: Any, labels: Any, mode: str, metrics: Any = None, config: Any = None) -> ModelFnOps:
        """Calls the model function, and adds ``metrics``, which may replace those of the model."""
        if self._model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        if self._feature_engineering_fn is not None:
            features, labels = self._feature_engineering_fn(features, labels)
        available = {"mode": mode, "params": self.params, "config": config or self.config, "model_dir": self.model_dir}
        names = fn_args(self._model_fn)
        result = self._model_fn(features, labels, **{name: value for name, value in available.items() if name in names})
        if not isinstance(result, ModelFnOps):
            if not isinstance(result, (list, tuple)) or len(result) != 3:
                raise ValueError(f"Unrecognized value returned by model_fn, please return ModelFnOps. It returned {type(result).__name__} in mode "
                                 f"{mode!r}.")
            result = ModelFnOps(mode, predictions=result[0], loss=result[1], train_op=result[2])
        result.eval_metric_ops.update(custom_metric_ops(metrics, features, labels, result.predictions))
        return result

    _bundle_signature: tuple[SignatureFn | None, str | None] = (None, None)  # of bundles, unless one is given; and the predictions that it gets

    def export(self, export_dir: Any, input_fn: Callable[..., Any] | None = None, input_feature_key: str | None = None,
               use_deprecated_input_fn: bool = True, signature_fn: SignatureFn | None = None, prediction_key: str | None = None,
               default_batch_size: int | None = 1, exports_to_keep: int | None = None, checkpoint_path: str | None = None) -> bytes:
        """Writes a session bundle, the format of before SavedModels; returns the path of its folder.

        ``input_fn(estimator, examples)`` parses serialized examples; without ``use_deprecated_input_fn`` it takes no argument and returns features,
        among them the examples under ``input_feature_key``, and labels.
        """
        usual, key = self._bundle_signature
        return export_bundle(self, export_dir, input_fn, input_feature_key, use_deprecated_input_fn, signature_fn or usual, key or prediction_key,
                             default_batch_size, exports_to_keep, checkpoint_path)

    def export_savedmodel(self, export_dir_base: str, serving_input_fn: Callable[[], Any], default_output_alternative_key: str | None = None,
                          assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
                          graph_rewrite_specs: Any = _AS_IT_IS, strip_default_attrs: bool = False) -> bytes:
        """Writes a SavedModel of the latest (or the named) checkpoint; returns the path of its folder."""
        if serving_input_fn is None:
            raise ValueError("serving_input_fn must be defined.")
        if tuple(map(tuple, graph_rewrite_specs)) != tuple(map(tuple, _AS_IT_IS)):
            raise NotImplementedError("export_savedmodel: Penstock does not rewrite exported graphs. Leave graph_rewrite_specs out.")
        path = self._trained_checkpoint(checkpoint_path)
        receivers = {CORE_MODES[ModeKeys.INFER]: serving_input_fn}
        return export_all(self, export_dir_base, receivers, assets_extra, as_text, path, strip_default_attrs,
                          signatures_of_alternatives(default_output_alternative_key))

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any = None) -> Any:
        """The model of an export."""
        ops = self._model_ops(features, labels, ModeKeys.INFER, config=config)
        return ops if ops.scaffold is not None else ops._replace(scaffold=Scaffold())


class SKCompat(SklearnInterface):
    """``tf.contrib.learn.SKCompat``: an estimator with the interface of scikit-learn. ``score`` gives all metrics, in a dict."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a checkpoint: what pipelines of scikit-learn ask."""
        return self._estimator.latest_checkpoint() is not None

    def fit(self, x: Any, y: Any, batch_size: int | None = 128, steps: int | None = None, max_steps: int | None = None,
            monitors: Any = None) -> SKCompat:
        """Trains on shuffled batches. Without a number of steps it does not end."""
        self._estimator.fit(x, y, batch_size=batch_size, steps=steps, max_steps=max_steps, monitors=monitors)
        return self

    def score(self, x: Any, y: Any, batch_size: int | None = 128, steps: int | None = None, metrics: Any = None, name: str | None = None) -> Any:
        """The metrics by name."""
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x: Any, batch_size: int | None = 128, outputs: Any = None) -> Any:
        """The predictions for all examples: an array, or a dict of them."""
        return joined(list(self._estimator._infer(array_input_fn(x, None, batch_size, False, 1), outputs, True, True)))


def joined(batches: list[Any]) -> Any:
    """The predictions of several batches, one after the other."""
    if not isinstance(batches[0], dict):
        return np.concatenate(batches, axis=0)
    return {key: np.concatenate([batch[key] for batch in batches], axis=0) for key in batches[0]}


def _metric_ops(metrics: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """(one operation that updates all, {name: value}); a metric may also be a tensor alone."""
    pairs = {key: metric if isinstance(metric, (list, tuple)) and len(metric) == 2 else (metric, None) for key, metric in metrics.items()}
    updates = [update for _, update in pairs.values() if update is not None]
    return group(*updates) if updates else no_op(), {key: value for key, (value, _) in pairs.items()}


def _batches(graph: Graph, creator: ChiefSessionCreator, hooks: Any, wanted: Any, only_one: bool) -> Iterator[Any]:
    """What a session gives, step by step: until its inputs end, or once."""
    with graph.as_default():
        monitored = MonitoredSession(creator, hooks)
    with monitored as session:
        while not session.should_stop():
            yield session.run(wanted)
            if only_one:
                return


def _select_outputs(predictions: Any, outputs: Any) -> Any:
    if not outputs:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("outputs argument is not valid in case of non-dict predictions.")
    selected = {key: value for key, value in predictions.items() if key in outputs}
    if not selected:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {outputs}.")
    return selected


def _examples(batch: Any) -> Iterator[Any]:
    """The examples of a batch of predictions."""
    if not isinstance(batch, dict):
        yield from batch
        return
    first = next(iter(batch.values()))
    for number in range(int(first.dense_shape[0]) if isinstance(first, SparseTensorValue) else len(first)):
        yield {key: value[number] for key, value in batch.items()}


def infer_real_valued_columns_from_input_fn(input_fn: InputFn) -> list[Any]:
    """``tf.contrib.learn.infer_real_valued_columns_from_input_fn``: a column of numbers for each feature that an input function gives."""
    with Graph().as_default():
        features, _ = input_fn()
        return infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """``tf.contrib.learn.infer_real_valued_columns_from_input``: a column of numbers for an array, or for each of a dict of them."""
    return infer_real_valued_columns_from_input_fn(array_input_fn(x, None, None, False, 1))
