"""TPUEstimator: an Estimator for programs that were written for TPUs.

There are none here, so the model runs on CPUs, as TensorFlow's own does with ``use_tpu=False``: as one shard, whose batch is the whole batch. A
warning says so once.
"""
from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.estimator.tpu.config import RunConfig
from penstock.estimator.tpu.spec import TPUEstimatorSpec
from penstock.platform import logging
from penstock.platform.inspection import fn_args

_RESERVED = ("batch_size", "use_tpu", "context")


class ExportSavedModelApiVersion(enum.Enum):
    """``tf.contrib.tpu``'s kinds of exports; both are exports for CPUs here."""

    V1 = 1
    V2 = 2


class TPUEstimator(Estimator):
    """``tf.contrib.tpu.TPUEstimator``: input and model functions get the size of the batch as ``params["batch_size"]``."""

    def __init__(self, model_fn: Callable[..., Any] | None = None, model_dir: Any = None, config: RunConfig | None = None, params: Any = None,
                 use_tpu: bool = True, train_batch_size: int | None = None, eval_batch_size: int | None = None, predict_batch_size: int | None = None,
                 batch_axis: Any = None, eval_on_tpu: bool = True, export_to_tpu: bool = True, export_to_cpu: bool = True,
                 warm_start_from: Any = None, embedding_config_spec: Any = None,
                 export_saved_model_api_version: ExportSavedModelApiVersion = ExportSavedModelApiVersion.V1) -> None:
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
        super().__init__(_returning_estimator_specs(model_fn), model_dir, config, {} if params is None else params, warm_start_from)

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

    def call_input_fn(self, input_fn: Callable[..., Any], mode: str) -> Any:
        """What the input function returns, which has to know the size of the batch."""
        if "params" not in fn_args(input_fn):
            raise ValueError(f'input_fn ({input_fn}) does not include params argument, required by TPUEstimator to pass batch size as '
                             'params["batch_size"]')
        return super().call_input_fn(input_fn, mode)


def export_estimator_savedmodel(estimator: Estimator, export_dir_base: str, serving_input_receiver_fn: Callable[[], Any],
                                assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
                                strip_default_attrs: bool = False) -> bytes:
    """``tf.contrib.tpu.export_estimator_savedmodel``: the model of any Estimator, for serving on CPUs. TensorFlow adds a graph for TPUs."""
    return estimator.export_savedmodel(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, strip_default_attrs)


def _returning_estimator_specs(model_fn: Callable[..., Any] | None) -> Callable[..., EstimatorSpec]:
    """The model function, with specs for TPUs as those of an Estimator."""
    if model_fn is None:
        raise ValueError("model_fn must be provided to TPUEstimator.")
    names = fn_args(model_fn)
    for name in ("params", "features"):
        if name not in names:
            raise ValueError(f"model_fn ({model_fn}) does not include {name} argument, required by TPUEstimator to pass batch size as "
                             'params["batch_size"]')

    def estimator_model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
        given = {"features": features, "labels": labels, "mode": mode, "params": params, "config": config}
        spec = model_fn(**{name: value for name, value in given.items() if name in names})
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec
    return estimator_model_fn
