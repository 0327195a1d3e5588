"""TPUConfig and the RunConfig of a TPUEstimator. What concerns TPUs alone is checked and kept, and has no effect."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.estimator.run_config import RunConfig as EstimatorRunConfig


class InputPipelineConfig:
    """``tf.contrib.tpu.InputPipelineConfig``: how often an input function is called; here always once."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _Fields(NamedTuple):
    iterations_per_loop: Any
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: Any
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Any
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


class TPUConfig(_Fields):
    """``tf.contrib.tpu.TPUConfig``: how a model would be spread over TPUs."""

    def __new__(cls, iterations_per_loop: Any = 2, num_shards: int | None = None, num_cores_per_replica: int | None = None,
                per_host_input_for_training: Any = True, tpu_job_name: str | None = None, initial_infeed_sleep_secs: int | None = None,
                input_partition_dims: Any = None, eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
                experimental_host_call_every_n_steps: int = 1) -> TPUConfig:
        """Checks its arguments."""
        for value, name in ((iterations_per_loop, "iterations_per_loop"), (num_shards, "num_shards")):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"TPUConfig {name} must be positive: {value}")
        if input_partition_dims is not None:
            if len(input_partition_dims) not in (1, 2):
                raise ValueError("input_partition_dims must be a list/tuple with one or two elements.")
            if per_host_input_for_training is not InputPipelineConfig.PER_HOST_V2:
                raise ValueError("input_partition_dims is only supported in PER_HOST_V2 mode.")
            if num_cores_per_replica is None:
                raise ValueError("input_partition_dims requires setting num_cores_per_replica.")
        if num_cores_per_replica not in (None, 1, 2, 4, 8, 16, 32, 64, 128):
            raise ValueError(f"num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; got {num_cores_per_replica}")
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training else InputPipelineConfig.PER_SHARD_V1
        return super().__new__(cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training, tpu_job_name,
                               initial_infeed_sleep_secs, input_partition_dims, eval_training_input_configuration,
                               experimental_host_call_every_n_steps)


class RunConfig(EstimatorRunConfig):
    """``tf.contrib.tpu.RunConfig``: that of an Estimator, with a TPUConfig; ``master`` or ``cluster`` name the session target."""

    tpu_config: TPUConfig
    cluster: Any

    def __init__(self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None, master: str | None = None, cluster: Any = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        target = master if master is not None else cluster.master() if cluster is not None else self.master
        self._set(tpu_config=tpu_config or TPUConfig(), cluster=cluster, master=target)
        if evaluation_master is not None or not self.evaluation_master:
            self._set(evaluation_master=target if evaluation_master is None else evaluation_master)

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other properties."""
        tpu_config = kwargs.pop("tpu_config", self.tpu_config)
        other = super().replace(**kwargs)
        other._set(tpu_config=tpu_config)
        return other  # type: ignore[return-value]  # a copy of this object
