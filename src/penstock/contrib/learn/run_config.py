"""``tf.contrib.learn.RunConfig``: the RunConfig of ``tf.estimator``, with other arguments and other rules for the task in TF_CONFIG.

A cluster needs no chief here: outside of the "cloud" environment worker 0 is the chief, in it the task of the job "master".
"""
from __future__ import annotations

import json
import os
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto, GPUOptions

from penstock.contrib.learn.keys import Environment, TaskType
from penstock.distributed.cluster_spec import ClusterSpec
from penstock.estimator import run_config
from penstock.estimator.run_config import chosen_model_dir, environment

_NOT_IN_UID = ["tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config", "keep_checkpoint_max",
               "keep_checkpoint_every_n_hours", "log_step_count_steps"]


class ClusterConfig:
    """``tf.contrib.learn.ClusterConfig``: which task of which cluster this process is, from TF_CONFIG."""

    def __init__(self, master: str | None = None, evaluation_master: str | None = None) -> None:
        tf_config = environment(takes_empty=True)
        task = tf_config.get("task", {})
        job, index = task.get("type"), self.get_task_id()
        cluster = ClusterSpec(tf_config.get("cluster", {}))
        sizes = {name: len(cluster.job_tasks(name)) for name in cluster.jobs}
        where = tf_config.get("environment", Environment.LOCAL)
        chief = TaskType.MASTER if where == Environment.CLOUD else TaskType.WORKER
        self.__dict__.update(
            _task_type=job, _task_id=index, _cluster_spec=cluster, _master=_own_address(cluster, job, index) if master is None else master,
            _num_ps_replicas=sizes.get(TaskType.PS, 0), _num_worker_replicas=sizes.get(TaskType.WORKER, 0) + sizes.get(TaskType.MASTER, 0),
            _environment=where, _is_chief=index == 0 and job in (None, chief), _evaluation_master=evaluation_master or "")

    cluster_spec = property(lambda self: self._cluster_spec, doc="The tasks of the cluster.")
    environment = property(lambda self: self._environment, doc="Where the task runs: one of ``Environment``.")
    evaluation_master = property(lambda self: self._evaluation_master, doc="The target of sessions that evaluate.")
    is_chief = property(lambda self: self._is_chief, doc="Whether this task initializes and saves.")
    master = property(lambda self: self._master, doc="The target of sessions that train.")
    num_ps_replicas = property(lambda self: self._num_ps_replicas, doc="The number of parameter servers.")
    num_worker_replicas = property(lambda self: self._num_worker_replicas, doc="The number of tasks that train.")
    task_id = property(lambda self: self._task_id, doc="The number of this task in its job.")
    task_type = property(lambda self: self._task_type, doc="The job of this task; None if TF_CONFIG names none.")

    @staticmethod
    def get_task_id() -> int:
        """The number of this task in its job: 0 if TF_CONFIG does not say."""
        return int(json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {}).get("index") or 0)


def _own_address(cluster: ClusterSpec, job: str | None, index: int) -> str:
    """The target of sessions: the task's own server; none if the task is alone, or unknown."""
    if len(cluster.addresses()) <= 1 or not job:
        return ""
    hint = f"in the cluster_spec:\n{cluster}\n\nNote that these values may be coming from the TF_CONFIG environment variable."
    if job not in cluster.jobs:
        raise ValueError(f"{job} is not a valid task_type {hint}")
    if not 0 <= index < len(cluster.job_tasks(job)):
        raise ValueError(f"{index} is not a valid task_id for task_type {job} {hint}")
    return f"grpc://{cluster.task_address(job, index)}"


class RunConfig(ClusterConfig, run_config.RunConfig):
    """``tf.contrib.learn.RunConfig``: the surroundings of an estimator."""

    def __init__(self, master: str | None = None, num_cores: int = 0, log_device_placement: bool = False, gpu_memory_fraction: float = 1,
                 tf_random_seed: int | None = None, save_summary_steps: int | None = 100, save_checkpoints_secs: float | None = 0,
                 save_checkpoints_steps: int | None = None, keep_checkpoint_max: int | None = 5, keep_checkpoint_every_n_hours: float = 10000,
                 log_step_count_steps: int | None = 100, protocol: str | None = None, evaluation_master: str = "", model_dir: str | None = None,
                 session_config: Any = None, session_creation_timeout_secs: float = 7200) -> None:
        ClusterConfig.__init__(self, master, evaluation_master)
        if save_checkpoints_secs == 0:  # TensorFlow's way to say "by default"
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        session = ConfigProto(log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
                              intra_op_parallelism_threads=num_cores, gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction))
        self._set(
            tf_config=session, tf_random_seed=tf_random_seed, save_summary_steps=save_summary_steps, save_checkpoints_secs=save_checkpoints_secs,
            save_checkpoints_steps=save_checkpoints_steps, keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, log_step_count_steps=log_step_count_steps, protocol=protocol,
            model_dir=chosen_model_dir(environment(takes_empty=True), model_dir or None), session_config=session_config, train_distribute=None,
            eval_distribute=None,
            experimental_distribute=None, experimental_max_worker_delay_secs=None, device_fn=None, service=None, global_id_in_cluster=None,
            session_creation_timeout_secs=session_creation_timeout_secs)

    def uid(self, whitelist: list[str] | None = None) -> str:
        """A text that is equal for equal configurations. Properties in ``whitelist`` may differ."""
        skipped = {f"_{name}" for name in (_NOT_IN_UID if whitelist is None else whitelist)}
        state = {key: value for key, value in sorted(vars(self).items()) if key not in skipped}
        state["_cluster_spec"] = dict(sorted(self.cluster_spec.as_dict().items()))
        return ", ".join(f"{key}={value!r}" for key, value in state.items())
