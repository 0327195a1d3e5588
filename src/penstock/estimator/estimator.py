"""Estimator: a model function with a folder of its own, trained, evaluated, asked and exported.

Each method builds a graph of its own and closes it. What lasts between two calls is in the folder: checkpoints and event files.
"""
from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.contents import list_variables, load_checkpoint, load_variable
from penstock.checkpoint.object_keys import keys_by_name
from penstock.estimator.evaluating import Evaluation, metric_ops, prepare, run_evaluation
from penstock.estimator.exporting import export_all
from penstock.estimator.input_results import DatasetInitializerHook, call_with, features_alone, features_and_labels, features_and_labels_of
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.run_config import RunConfig, default_session_config
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.training_loop import device_setter, train_spec
from penstock.estimator.warm_start_settings import WarmStartSettings, apply_settings, as_settings
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import device, get_default_graph
from penstock.graph.seeds import set_random_seed
from penstock.platform import logging
from penstock.platform.inspection import fn_args, has_kwargs
from penstock.train.basic_hooks import StopAtStepHook
from penstock.train.evaluation import StopAfterNEvalsHook
from penstock.train.file_hooks import CheckpointSaverListener
from penstock.train.global_step import get_global_step, global_step_read, new_global_step
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator
from penstock.train.session_run_hook import SessionRunHook
from penstock.train.strategies import Strategy

_MODEL_FN_ARGUMENTS = {"features", "labels", "mode", "params", "self", "config"}


class Estimator:
    """``tf.estimator.Estimator``: trains and evaluates the model that ``model_fn(features, labels, mode, params, config)`` describes."""

    _step_is_resource: bool | None = None  # the kind of variable that the global step is; None: the usual one

    def __init__(self, model_fn: Callable[..., EstimatorSpec], model_dir: Any = None, config: Any = None, params: dict[str, Any] | None = None,
                 warm_start_from: Any = None) -> None:
        self._config = config_with_folder(config, model_dir)
        logging.info("Using config: %s", vars(self._config))
        self._model_dir = str(self._config.model_dir)
        self._session_config = self._config.session_config
        self._device_fn = device_setter(self._config)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = as_settings(warm_start_from)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """The folder of its checkpoints and event files."""
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of its configuration."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> dict[str, Any]:
        """A copy of what its model function gets as ``params``."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function with ``params`` given: a function of features, labels, mode and config."""
        def public_model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)
        return public_model_fn

    @property
    def warm_start_settings(self) -> WarmStartSettings | None:
        """From which checkpoint it takes its first values."""
        return self._warm_start_settings

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the latest checkpoint."""
        self._check_checkpoint()
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint."""
        self._check_checkpoint()
        return [name for name, _ in list_variables(self.model_dir)]

    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint; None if there is none."""
        return latest_checkpoint(self.model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the event files of evaluations with this name."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def _check_checkpoint(self) -> None:
        if not latest_checkpoint(self.model_dir):
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")

    # --- training ----------------------------------------------------------------------------------------------------

    def train(self, input_fn: Callable[..., Any], hooks: Iterable[SessionRunHook] | None = None, steps: int | None = None,
              max_steps: int | None = None, saving_listeners: Iterable[CheckpointSaverListener] | None = None) -> Estimator:
        """Trains ``steps`` more steps, or up to step ``max_steps``, or until the input ends; goes on from the latest checkpoint."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        if max_steps is not None and self.step_in_checkpoint() >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = [*_checked_hooks(hooks), *self._convert_train_steps_to_hooks(steps, max_steps)]
        listeners = _checked_listeners(saving_listeners)
        loss = self._train_model(input_fn, all_hooks, listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def step_in_checkpoint(self) -> int:
        """The global step of the latest checkpoint; 0 without one."""
        if not self.latest_checkpoint():
            return 0
        reader = load_checkpoint(self._model_dir)
        keys = keys_by_name(reader) or {}
        return int(reader.get_tensor(keys.get(GraphKeys.GLOBAL_STEP, GraphKeys.GLOBAL_STEP)))

    def _convert_train_steps_to_hooks(self, steps: int | None, max_steps: int | None) -> list[SessionRunHook]:
        return [] if steps is None and max_steps is None else [StopAtStepHook(steps, max_steps)]

    def _train_model(self, input_fn: Callable[..., Any], hooks: list[SessionRunHook], saving_listeners: list[CheckpointSaverListener]) -> Any:
        strategy = _checked_strategy(self._config, "train_distribute")
        if strategy is not None and strategy.num_replicas_in_sync > 1:
            return self._train_replicas(strategy, input_fn, hooks, saving_listeners)
        with Graph().as_default() as graph, graph.device(self._device_fn):
            set_random_seed(self._config.tf_random_seed)
            step = self._begin_training(graph)
            features, labels, input_hooks = self._get_features_and_labels_from_input_fn(input_fn, ModeKeys.TRAIN)
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
            apply_settings(self._warm_start_settings)
            return self._train_with_estimator_spec(spec, input_hooks, hooks, step, saving_listeners)

    def _train_with_estimator_spec(self, estimator_spec: EstimatorSpec, worker_hooks: list[SessionRunHook], hooks: list[SessionRunHook],
                                   global_step_tensor: Any, saving_listeners: list[CheckpointSaverListener]) -> Any:
        """Trains what a model function returned, with hooks of its input and those of the caller."""
        return train_spec(estimator_spec, self._config, self._model_dir, self._session_config, [*worker_hooks, *hooks], saving_listeners)

    def _train_replicas(self, strategy: Strategy, input_fn: Callable[..., Any], hooks: list[SessionRunHook],
                        listeners: list[CheckpointSaverListener]) -> Any:
        """Trains a model per replica of the strategy; each gets batches of its own."""
        with Graph().as_default() as graph, strategy.scope(), strategy.scaling_losses():
            set_random_seed(self._config.tf_random_seed)
            self._begin_training(graph)
            iterator = strategy.make_input_fn_iterator(lambda context: call_with(
                input_fn, mode=ModeKeys.TRAIN, params=self.params_for(ModeKeys.TRAIN), config=self.config, input_context=context))
            specs: list[EstimatorSpec] = []

            def build(batch: Any) -> Any:
                features, labels = features_and_labels_of(batch)
                specs.append(self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config))
                return specs[-1].loss

            losses = strategy.extended.call_for_each_replica(build, (iterator.get_next(),))
            loss = strategy.reduce("MEAN" if strategy.loss_is_mean() else "SUM", losses)
            apply_settings(self._warm_start_settings)
            return train_spec(specs[0]._replace(loss=loss), self._config, self._model_dir, self._session_config,
                              [DatasetInitializerHook(iterator), *hooks], listeners)

    # --- evaluation and predictions ----------------------------------------------------------------------------------

    def evaluate(self, input_fn: Callable[..., Any], steps: int | None = None, hooks: Iterable[SessionRunHook] | None = None,
                 checkpoint_path: str | None = None, name: str | None = None) -> dict[str, Any]:
        """The metrics over ``steps`` batches, or the whole input; with the loss and the global step. Also written to an event file."""
        strategy = _checked_strategy(self._config, "eval_distribute")
        replicas = 1 if strategy is None else strategy.num_replicas_in_sync
        all_hooks = evaluation_hooks(hooks, None if steps is None else steps * replicas)  # a batch per replica and step
        path = self._checkpoint_or_initialization(checkpoint_path, "evaluate")
        with Graph().as_default() as graph, graph.device(self._device_fn):
            evaluation = self.build_evaluation(input_fn, all_hooks, path)
            return run_evaluation(evaluation, path, self.eval_dir(name), self._config.evaluation_master, self._session_config)

    def build_evaluation(self, input_fn: Callable[..., Any], hooks: list[SessionRunHook], path: str | None) -> Evaluation:
        """Builds an evaluation in the default graph; one without the ``path`` of a checkpoint may be warm-started."""
        set_random_seed(self._config.tf_random_seed)
        self._create_and_assert_global_step(get_default_graph())
        features, labels, input_hooks = self._get_features_and_labels_from_input_fn(input_fn, ModeKeys.EVAL)
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
        values, update_op = metric_ops(spec.eval_metric_ops, spec.loss)
        values[GraphKeys.GLOBAL_STEP] = get_global_step()
        if not path:
            apply_settings(self._warm_start_settings)
        return prepare(spec.scaffold, update_op, values, [*input_hooks, *hooks, *spec.evaluation_hooks])

    def predict(self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Iterable[SessionRunHook] | None = None,
                checkpoint_path: str | None = None, yield_single_examples: bool = True) -> Iterator[Any]:
        """Yields predictions, one example (or one batch) after the other."""
        all_hooks = _checked_hooks(hooks)
        path = self._checkpoint_or_initialization(checkpoint_path, "predict")
        with Graph().as_default() as graph, graph.device(self._device_fn):
            set_random_seed(self._config.tf_random_seed)
            self._create_and_assert_global_step(graph)
            features, input_hooks = self._get_features_from_input_fn(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            if not path:
                apply_settings(self._warm_start_settings)
            predictions = self._extract_keys(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(spec.scaffold, self._config.master, self._session_config, checkpoint_filename_with_path=path)
            with MonitoredSession(creator, [*input_hooks, *all_hooks, *spec.prediction_hooks]) as session:
                while not session.should_stop():
                    batch = session.run(predictions)
                    yield from _examples(batch) if yield_single_examples else [batch]

    def _checkpoint_or_initialization(self, checkpoint_path: str | None, what: str) -> str | None:
        path = checkpoint_path or latest_checkpoint(self._model_dir)
        if not path:
            logging.info("Could not find trained model in model_dir: %s, running initialization to %s.", self._model_dir, what)
        return path

    # --- exports -----------------------------------------------------------------------------------------------------

    def export_saved_model(self, export_dir_base: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: dict[str, str] | None = None,
                           as_text: bool = False, checkpoint_path: str | None = None, experimental_mode: str = ModeKeys.PREDICT) -> bytes:
        """Writes a SavedModel of the latest (or the named) checkpoint; returns the path of its folder."""
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        return export_all(self, export_dir_base, {experimental_mode: serving_input_receiver_fn}, assets_extra, as_text, checkpoint_path, True)

    def export_savedmodel(self, export_dir_base: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: dict[str, str] | None = None,
                          as_text: bool = False, checkpoint_path: str | None = None, strip_default_attrs: bool = False) -> bytes:
        """The older name of ``export_saved_model``."""
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        return export_all(self, export_dir_base, {ModeKeys.PREDICT: serving_input_receiver_fn}, assets_extra, as_text, checkpoint_path,
                          strip_default_attrs)

    def experimental_export_all_saved_models(self, export_dir_base: str, input_receiver_fn_map: dict[str, Callable[[], Any]],
                                             assets_extra: dict[str, str] | None = None, as_text: bool = False,
                                             checkpoint_path: str | None = None) -> bytes:
        """A SavedModel with a graph for each mode that has an input receiver function."""
        return export_all(self, export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path, True)

    # --- the parts, named and called as TensorFlow's: subclasses of others call and replace them -----------------------

    def _create_global_step(self, graph: Graph) -> Any:
        """Adds the global step to a graph."""
        return new_global_step(graph, self._step_is_resource)

    def _create_and_assert_global_step(self, graph: Graph) -> Any:
        step = self._create_global_step(graph)
        if step is not get_global_step(graph):
            raise AssertionError(f"{type(self).__name__}._create_global_step returned {step}, which is not the global step of the graph.")
        return step

    def _begin_training(self, graph: Graph) -> Any:
        """Adds the global step, with the read of it that training loops use; a SavedModel brings its own."""
        step = self._create_and_assert_global_step(graph)
        if step is not None:
            global_step_read("Estimator", graph)
        return step

    def _get_features_and_labels_from_input_fn(self, input_fn: Callable[..., Any], mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        return features_and_labels(self._call_input_fn(input_fn, mode))

    def _get_features_from_input_fn(self, input_fn: Callable[..., Any], mode: str) -> tuple[Any, list[SessionRunHook]]:
        return features_alone(self._call_input_fn(input_fn, mode))

    def params_for(self, mode: str) -> Any:
        """What input and model functions get as ``params``."""
        return self.params

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, input_context: Any = None) -> Any:
        """What an input function returns. Its operations are on the CPU of this task."""
        with device("/cpu:0"):
            return call_with(input_fn, mode=mode, params=self.params_for(mode), config=self.config, input_context=input_context)

    def _extract_keys(self, predictions: Any, predict_keys: Any) -> Any:
        """The predictions that are wanted."""
        if not predict_keys:
            return predictions
        if not isinstance(predictions, dict):
            raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
        keys = [predict_keys] if isinstance(predict_keys, str) else predict_keys
        selected = {key: value for key, value in predictions.items() if key in keys}
        if not selected:
            raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {keys}.")
        return selected

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        available = {"mode": mode, "params": self.params_for(mode), "config": config}
        if "labels" in fn_args(self._model_fn):
            available["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        logging.info("Calling model_fn.")
        spec = call_with(self._model_fn, features=features, **available)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(f"model_fn should return an EstimatorSpec. It returned {type(spec).__name__} in mode {mode!r}.")
        return spec


def config_with_folder(config: Any, model_dir: Any) -> RunConfig:
    """The configuration with one of sessions; its folder is the given one, its own, or a new temporary one."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    elif isinstance(config, dict):
        config = RunConfig(**config)
    elif not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = RunConfig.replace(config, session_config=default_session_config())
    if model_dir is not None:
        model_dir = os.fspath(model_dir)
        if config.model_dir is not None and config.model_dir != model_dir:
            raise ValueError("`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                             f"'{model_dir}', in `RunConfig`: '{config.model_dir}' ")
        return config.replace(model_dir=model_dir) if config.model_dir is None else config
    if config.model_dir is None:
        config = config.replace(model_dir=tempfile.mkdtemp())
        logging.warning("Using temporary folder as model directory: %s", config.model_dir)
    return config


def check_model_fn(model_fn: Callable[..., Any], params: Any) -> None:
    """ValueError, or a warning, if a model function does not have the arguments of one."""
    names = set(fn_args(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator.")
    if params is None and "params" in names:
        logging.warning("Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn)
    if names - _MODEL_FN_ARGUMENTS and not has_kwargs(model_fn):
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {sorted(names - _MODEL_FN_ARGUMENTS)}")


def _checked_strategy(config: RunConfig, name: str) -> Strategy | None:
    """A strategy of the configuration; AttributeError, as in TensorFlow, for something else."""
    strategy = getattr(config, name)
    if strategy is not None and not isinstance(strategy, Strategy):
        raise AttributeError(f"{name} of the RunConfig must be a tf.distribute.Strategy, not {strategy!r}.")
    return strategy


def evaluation_hooks(hooks: Iterable[Any] | None, steps: int | None) -> list[SessionRunHook]:
    """The hooks of an evaluation of so many batches; None: of all."""
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify steps > 0, given: {steps}")
    return [*_checked_hooks(hooks), *([] if steps is None else [StopAfterNEvalsHook(steps)])]


def _checked_hooks(hooks: Iterable[Any] | None) -> list[SessionRunHook]:
    checked = list(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return checked


def _checked_listeners(listeners: Iterable[Any] | None) -> list[CheckpointSaverListener]:
    checked = list(listeners or ())
    for listener in checked:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return checked


def _examples(batch: Any) -> Iterator[Any]:
    """The examples of a batch of predictions."""
    if not isinstance(batch, dict):
        yield from batch
        return
    sizes = {key: len(value) for key, value in batch.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"Batch length of predictions should be same. They have {sizes}; yield_single_examples=False gives whole batches.")
    for number in range(next(iter(sizes.values()), 0)):
        yield {key: value[number] for key, value in batch.items()}
