"""TPUEstimator: an Estimator for programs that were written for TPUs.

There are none here, so the model runs on CPUs, as TensorFlow's own does with ``use_tpu=False``: as one shard, whose batch is the whole batch. A
warning says so once.
"""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from penstock.estimator.estimator import Estimator, check_model_fn
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.tpu.config import RunConfig
from penstock.estimator.tpu.reporting import ExamplesPerSecondHook, reported_end, times_of_reports
from penstock.estimator.tpu.spec import TPUEstimatorSpec
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.basic_hooks import LoggingTensorHook
from penstock.train.file_hooks import CheckpointSaverListener
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunHook

_RESERVED = ("batch_size", "use_tpu", "context")


class ExportSavedModelApiVersion(enum.Enum):
    """``tf.contrib.tpu``'s kinds of exports; both are exports for CPUs here."""

    V1 = 1
    V2 = 2


class BatchConfig(NamedTuple):
    """How requests to a served model are put into batches for a TPU; there are none here, so each request is one."""

    num_batch_threads: int
    max_batch_size: int
    batch_timeout_micros: int
    allowed_batch_sizes: Any
    max_enqueued_batches: int = 10


class TPUEstimator(Estimator):
    """``tf.contrib.tpu.TPUEstimator``: input and model functions get the size of the batch as ``params["batch_size"]``."""

    _step_is_resource = True

    def __init__(self, model_fn: Callable[..., Any] | None = None, model_dir: Any = None, config: RunConfig | None = None, params: Any = None,
                 use_tpu: bool = True, train_batch_size: int | None = None, eval_batch_size: int | None = None, predict_batch_size: int | None = None,
                 batch_axis: Any = None, eval_on_tpu: bool = True, export_to_tpu: bool = True, export_to_cpu: bool = True,
                 warm_start_from: Any = None, embedding_config_spec: Any = None,
                 export_saved_model_api_version: ExportSavedModelApiVersion = ExportSavedModelApiVersion.V1) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to TPUEstimator.")
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(key in params for key in _RESERVED):
            raise ValueError(f"{_RESERVED} are reserved keys but existed in params {params}.")
        if embedding_config_spec is not None:
            raise NotImplementedError("TPUEstimator: embedding_config_spec describes tables in the memory of TPUs, which are not there. Use "
                                      "tf.feature_column.embedding_column.")
        self._batch_sizes = {ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size, ModeKeys.PREDICT: predict_batch_size}
        if use_tpu:
            if train_batch_size is None:
                raise ValueError("`train_batch_size` cannot be `None`")
            logging.log_first_n(logging.WARN, "TPUEstimator: there are no TPUs. The model runs on the CPUs of this machine or cluster.", 1)
        for mode, size in self._batch_sizes.items():
            if size is not None and size <= 0:
                raise ValueError(f"the batch size for {mode} must be positive, given: {size}")
        self._use_tpu = use_tpu
        self._reports = times_of_reports(config.log_step_count_steps, config.tpu_config.iterations_per_loop, use_tpu)
        config = config.replace(log_step_count_steps=None)  # it reports itself
        super().__init__(self._returning_estimator_specs(model_fn, params), model_dir, config, {} if params is None else params, warm_start_from)
        logging.info("_TPUContext: eval_on_tpu %s", eval_on_tpu)
        if not use_tpu and eval_on_tpu:
            logging.warning("eval_on_tpu ignored because use_tpu is False.")

    def train(self, input_fn: Callable[..., Any], hooks: Iterable[SessionRunHook] | None = None, steps: int | None = None,
              max_steps: int | None = None, saving_listeners: Iterable[CheckpointSaverListener] | None = None) -> Estimator:
        """Trains, and logs that it has ended."""
        with reported_end("training_loop"):
            return super().train(input_fn, hooks, steps, max_steps, saving_listeners)

    def evaluate(self, input_fn: Callable[..., Any], steps: int | None = None, hooks: Iterable[SessionRunHook] | None = None,
                 checkpoint_path: str | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates, and logs that it has ended."""
        with reported_end("evaluation_loop"):
            return super().evaluate(input_fn, steps, hooks, checkpoint_path, name)

    def predict(self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Iterable[SessionRunHook] | None = None,
                checkpoint_path: str | None = None, yield_single_examples: bool = True) -> Iterator[Any]:
        """Yields predictions, and logs that it has ended."""
        with reported_end("prediction_loop"):
            yield from super().predict(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples)

    def params_for(self, mode: str) -> Any:
        """``params`` with the size of the batch, and the news that there is no TPU."""
        params = self.params
        additions = {"batch_size": self._batch_sizes[mode], "use_tpu": False}
        for key, value in additions.items():
            if value is None:
                continue
            if hasattr(params, "add_hparam"):
                params.add_hparam(key, value)
            else:
                params[key] = value
        return params

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, input_context: Any = None) -> Any:
        """What the input function returns, which has to know the size of the batch."""
        if "params" not in fn_args(input_fn):
            raise ValueError(f'input_fn ({input_fn}) does not include params argument, required by TPUEstimator to pass batch size as '
                             'params["batch_size"]')
        return super()._call_input_fn(input_fn, mode, input_context)

    def _returning_estimator_specs(self, model_fn: Callable[..., Any], params: Any) -> Callable[..., EstimatorSpec]:
        """The model function, with specs for TPUs as those of an Estimator, and with hooks that report."""
        names = _checked_names(model_fn)
        check_model_fn(model_fn, params)

        def estimator_model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
            logging.info("Running %s on CPU", mode)
            given = {"features": features, "labels": labels, "mode": mode, "params": params, "config": config}
            spec = model_fn(**{name: value for name, value in given.items() if name in names})
            spec = spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec
            return spec._replace(training_hooks=(*spec.training_hooks, *self._reporting_hooks(spec.loss))) if mode == ModeKeys.TRAIN else spec
        return estimator_model_fn

    def _reporting_hooks(self, loss: Any) -> list[SessionRunHook]:
        """Those of the speed, and of the loss where TensorFlow's programs for TPUs have it."""
        if self._reports is None:
            return []
        folder = self.model_dir if self.config.save_summary_steps else None
        hooks: list[SessionRunHook] = [ExamplesPerSecondHook(self._batch_sizes[ModeKeys.TRAIN] or 0, **self._reports, output_dir=folder)]
        if self._use_tpu:
            tensors = {"loss": loss, "step": get_global_step()}
            hooks.insert(0, LoggingTensorHook(tensors, self._reports["every_n_steps"], self._reports["every_n_secs"]))
        return hooks


def export_estimator_savedmodel(estimator: Estimator, export_dir_base: str, serving_input_receiver_fn: Callable[[], Any],
                                assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
                                strip_default_attrs: bool = False) -> bytes:
    """``tf.contrib.tpu.export_estimator_savedmodel``: the model of any Estimator, for serving on CPUs. TensorFlow adds a graph for TPUs."""
    return estimator.export_savedmodel(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, strip_default_attrs)


def model_fn_inference_on_tpu(model_fn: Callable[..., Any], features: Any, labels: Any = None, config: Any = None, params: Any = None,
                              batch_config: BatchConfig | None = None) -> EstimatorSpec:
    """The spec of a model for predictions, which programs export with ``ExportSavedModelApiVersion.V2``; here for CPUs."""
    names = _checked_names(model_fn)
    given = {"labels": labels, "mode": ModeKeys.PREDICT, "config": config, "params": params}
    spec = model_fn(features, **{name: value for name, value in given.items() if name in names})
    return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec


def _checked_names(model_fn: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments of a model function."""
    names = fn_args(model_fn)
    for name in ("params", "features"):
        if name not in names:
            raise ValueError(f"model_fn ({model_fn}) does not include {name} argument, required by TPUEstimator to pass batch size as "
                             'params["batch_size"]')
    return tuple(names)
